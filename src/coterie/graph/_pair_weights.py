"""LearnedPairWeights: how much features speak for a pair's being together, learned from known clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from coterie._arrays import Floats, Index
from coterie.base import anything, check_parameters, one_of, real, whole
from coterie.constraints import Constraints
from coterie.graph._correlation.search import improve_partition
from coterie.graph._correlation.signed_graph import graph_of_pairs


class LearnedPairWeights(BaseEstimator):
    """Weights of pairs that are linear in features, such that correlation clustering finds known clusters.

    A step clusters an example with the weights so far, and moves them towards the pairs that are together in
    truth, away from those that were put together (Finley and Joachims).

    Parameters
    ----------
    C : float, default 1.0
        How much mistakes count against the size of the weights ("svm").
    loss : {"svm", "perceptron"}, default "svm"
        "svm": the true clusters are to be better than others by the share of pairs in which these are wrong.
        "perceptron": they are to be the best.
    max_iter : int, default 50
        Passes over the examples; the perceptron stops when one brings no mistake.
    random_state : int, RandomState or None
        Seed of the order of the examples and of the search.

    Attributes
    ----------
    coef_, intercept_ : array of shape (n_features,), float
        The weight of a pair is ``features @ coef_ + intercept_``: the mean of all steps, the t-th t times,
        since the first ones are large and rough.
    n_iter_ : int
        Passes made.

    Notes
    -----
    With theta the coefficients, psi(Y) the sum of the features of the pairs that Y puts together, and Y* the
    truth, step t is ``theta -= (theta + C (psi(Y) - psi(Y*))) / t``, where Y is the best clustering for the
    weights, and 1 / n_pairs in favour of each wrong pair. The perceptron: ``theta -= psi(Y) - psi(Y*)``.

    References
    ----------
    Finley and Joachims 2005, Supervised clustering with support vector machines. Constrained Clustering,
    chapter 13.

    Examples
    --------
    >>> from coterie.graph import LearnedPairWeights
    >>> pairs, features = [(0, 1), (1, 2), (0, 2)], [[0.9], [0.1], [0.2]]
    >>> model = LearnedPairWeights(random_state=0).fit([(pairs, features, [0, 0, 1])])
    >>> (model.weights(pairs, features, 3).toarray() > 0).astype(int)
    array([[0, 1, 0],
           [1, 0, 0],
           [0, 0, 0]])
    """

    parameter_rules: ClassVar[Any] = {
        "C": real(0.0, above=True),
        "loss": one_of("svm", "perceptron"),
        "max_iter": whole(1),
        "random_state": anything("None, a seed or a RandomState"),
    }

    def __init__(
        self, C: float = 1.0, *, loss: str = "svm", max_iter: int = 50, random_state: Any = None
    ) -> None:
        # scikit-learn reads the names from here
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    def fit(self, examples: Sequence[tuple[Any, Any, Any]], y: Any = None) -> LearnedPairWeights:
        """Learn from examples.

        Parameters
        ----------
        examples : list of (pairs, features, labels)
            Arrays of shape (n_pairs, 2), (n_pairs, n_features) and (n_items,): pairs of items, what is known
            of each pair, and the cluster of each item.
        y : ignored
            Present for the API.

        Returns
        -------
        self
        """
        check_parameters(self)
        read = [
            (*_read_pairs(pairs, features, len(labels), f"example {at}"), np.asarray(labels))
            for at, (pairs, features, labels) in enumerate(examples)
        ]
        widths = sorted({features.shape[1] - 1 for _, features, _ in read})
        if len(widths) != 1:
            raise ValueError(
                f"examples have {widths} features; give all the same." if widths else "there are no examples."
            )
        rng = check_random_state(self.random_state)
        theta = np.zeros(widths[0] + 1)
        total, step = np.zeros_like(theta), 0
        self.n_iter_, wrong = 0, True
        while self.n_iter_ < self.max_iter and (wrong or self.loss == "svm"):
            self.n_iter_, wrong = self.n_iter_ + 1, False
            for at in rng.permutation(len(read)):
                step += 1
                excess = self._excess(theta, read[at], rng)
                wrong |= bool(excess.any())
                theta = theta - ((theta + self.C * excess) / step if self.loss == "svm" else excess)
                total += step * theta
        total /= 0.5 * step * (step + 1)
        self.coef_, self.intercept_ = total[:-1], float(total[-1])
        return self

    def _excess(self, theta: Floats, example: tuple[Index, Floats, Any], rng: Any) -> Floats:
        """Features of the pairs that the best clusters join, less those of the pairs that are together."""
        pairs, features, labels = example
        true = labels[pairs[:, 0]] == labels[pairs[:, 1]]
        score = features @ theta
        if self.loss == "svm":
            score += (1.0 - 2.0 * true) / len(pairs)
        n = len(labels)
        graph = graph_of_pairs(n, Constraints(n_items=n), (pairs, score))
        label = np.arange(n)
        label = improve_partition(graph.level, label, rng, 0.0, graph.cost(label))[0]
        found = label[pairs[:, 0]] == label[pairs[:, 1]]
        return features.T @ (found.astype(np.float64) - true)

    def weights(self, pairs: Any, features: Any, n_items: int) -> Any:
        """Weights of pairs, for `CorrelationClustering`.

        Parameters
        ----------
        pairs, features : arrays of shape (n_pairs, 2) and (n_pairs, n_features)
            As in `fit`.
        n_items : int
            Number of items.

        Returns
        -------
        CSR matrix of shape (n_items, n_items)
            Symmetric; a pair that is listed twice has the sum of its weights.
        """
        check_is_fitted(self, "coef_")
        ij, read = _read_pairs(pairs, features, n_items, "weights")
        score = read @ np.append(self.coef_, self.intercept_)
        one_way = sparse.coo_matrix((score, ij.T), (n_items, n_items))
        return (one_way + one_way.T).tocsr()


def _read_pairs(pairs: Any, features: Any, n_items: int, where: str) -> tuple[Index, Floats]:
    """Pairs of items, and their features with a column of ones."""
    ij = check_array(pairs, dtype=np.int64, input_name=f"pairs of {where}")
    table = check_array(features, dtype=np.float64, input_name=f"features of {where}")
    if ij.shape != (len(table), 2):
        raise ValueError(f"{where}: pairs have shape {ij.shape} and features {table.shape}; one row a pair.")
    bad = (ij < 0).any(axis=1) | (ij >= n_items).any(axis=1) | (ij[:, 0] == ij[:, 1])
    if bad.any():
        raise ValueError(
            f"{where}: pair {ij[bad][0].tolist()} is not of two of the items 0 to {n_items - 1}; drop it."
        )
    return ij, np.column_stack([table, np.ones(len(table))])
