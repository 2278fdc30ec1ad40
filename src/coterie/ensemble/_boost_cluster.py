"""BoostCluster: any clusterer, run again and again where pairs are still broken."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie._arrays import Floats, Labels
from coterie._words import count_of
from coterie.base import (
    CHECKS_OF_ROWS,
    About,
    Account,
    ConstrainedClusterMixin,
    Price,
    Trace,
    anything,
    constrained_fit,
    instance,
    numbers_by_label,
    one_of,
    progress,
    real,
    whole,
)
from coterie.constraints import Violations
from coterie.constraints._model import StatedPairs, stated_pairs
from coterie.ensemble._boosting import (
    NAMED,
    BaseClusterer,
    BoostingRounds,
    Consensus,
    PairLoss,
    rounds_help,
)

_NO_ROUND = {
    "no_gain": "rounds broke no less of the pairs that were held out than the base alone, or hardly less",
    "no_edge": "no partition that the base found would lower the loss",
    "no_positive_eigenvalue": "no direction of X tells what is stated together from what is stated apart",
    "stopped": "a callback asked to stop",
}


def _has_predict(model: Any) -> bool:
    if not hasattr(model, "labels_"):
        named = model.estimator is None or model.estimator == "k-means"
        if named or hasattr(model.estimator, "predict"):
            return True
        raise AttributeError("the base has no predict, so that new rows have no clusters.")
    if model._predictor is not None:
        return True
    raise AttributeError(
        "the base, or what clusters the kernel at the end, has no predict, so that new rows have no clusters."
    )


class BoostCluster(ConstrainedClusterMixin, BaseEstimator):
    """Boosts any clusterer with pairs: rounds on projected rows, and a kernel of what the rounds found.

    Each round projects the rows so that must-links that are still broken come together and cannot-links
    that are still broken come apart, runs the base there, and adds its partition to a kernel, with the weight
    that lowers the loss most. At the end the kernel is clustered. No pair is bound to hold; wrong ones do
    little harm. Where the base meets every pair in X as it is, or rounds do not help with pairs that were
    held out, the clusters are those of the base alone.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters; by default that of the base. Of a base that finds it by itself the end does, too:
        items are together that more than half of the weight has together, and in no cluster (-1) if so much
        has them in none.
    estimator : clusterer or {"k-means", "ward", "single", "spectral"}, optional
        The base, by default "k-means" (4 starts). Its parameter `random_state` is set anew for each round. Of
        a pipeline the last step tells the number of clusters.
    n_components : int, default 5
        Most columns of the projected rows; beyond `n_clusters` - 1 it hardly matters.
    n_rounds : int, default 25
        Most rounds. Mostly the base finds nothing better after some 3 to 10.
    round_weight : {"exact", "bound"}, default "exact"
        The weight that makes the loss least, (13) of the paper, or the least of its bound (9), which is about
        15 times as cautious.
    smoothing : float or "auto", default "auto"
        Added above and below in (13), or weights grow without end where no pair is broken. "auto" counts one
        pair of pairs. With 0 it is added only where it must be.
    center : bool, default True
        Take the mean off first. The paper does not, and then the origin counts: ``center=False, smoothing=0``
        is its text. With one kind of pairs alone rows are centred in any case.
    scatter : {"gram", "difference"}, default "gram"
        "gram" goes by inner products of the pairs (the paper), "difference" by their differences; that is
        better where there are many pairs.
    final : {"kernel", "embedding", "select"}, default "kernel"
        "kernel": k-means on the kernel; a base with the parameter `affinity` gets the kernel itself, one with
        `linkage` its distances. "embedding": the base on the first `n_components` + 1 eigenvectors. "select":
        of the rounds and "kernel" the partition that breaks the least; mostly better.
    n_retries : int, default 0
        How often a round runs the base again, with another seed, where it found nothing better.
    n_folds : int, default 5
        Rounds are made if they break less than the base alone, by more than one pair, of pairs that they have
        not seen: items are held out in so many folds, with their pairs. 0: no such check, as in the paper, in
        a sixth of the time; few pairs can do harm then, in ten clusters some hundred.
    random_state : int, RandomState or None, default None
        For the base and the end.

    Attributes
    ----------
    labels_, violations_
        As in `PCKMeans`.
    round_labels_ : array of shape (n_rounds, n_samples)
        What the base found, in the rounds that lowered the loss.
    round_weights_ : array of shape (n_rounds,)
        The weights of the rounds in the kernel.
    projections_ : list of arrays of shape (n_features, n_columns)
        What centred rows were multiplied with.
    history_, objective_ : array of shape (n_rounds + 1,), float
        The log of the loss before the first and after every round, each pair once; it always falls.
    n_iter_ : int
        How many rounds there are.
    stop_reason_ : str
        "max_rounds", "no_edge" (nothing better was found), "all_satisfied" (by the last round, or by the base
        alone), "no_gain" (on held-out pairs, so that there are no rounds), "no_positive_eigenvalue" (no
        direction helps), "no_constraints" or "stopped" (by a callback).
    converged_ : bool
        Whether another round would have found nothing.

    See Also
    --------
    PCKMeans : k-means that weighs pairs itself; hard ones hold.
    MPCKMeans : learns what features are worth; it gains more from many true pairs.

    Notes
    -----
    The base is run on X once, to see what is broken; rounds are made once, and once for each fold. A round
    costs a run on n x `n_components` numbers, O(n d) for the projection, and O(p d^2) for p pairs; with more
    than 500 features O(p (d + p)), and sparse rows stay sparse. All rounds are kept, a byte for each item and
    round, with the fitted bases. Only the table of a base that asks for `affinity` is n x n. Groups are
    written out as pairs, 2,000,000 at most.
    Features of different units should be scaled first.

    References
    ----------
    Liu, Jin and Jain 2007, BoostCluster: boosting clustering by pairwise constraints (KDD).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from coterie import BoostCluster, Constraints
    >>> rng, kind = np.random.default_rng(0), np.repeat([0, 1], 100)
    >>> X = np.column_stack([6 * kind + rng.normal(size=200), 10 * rng.normal(size=200)])  # a column is noise
    >>> known = Constraints.sample(kind, n_pairs=20, random_state=0)
    >>> plain = KMeans(n_clusters=2, n_init=4, random_state=0)
    >>> boosted = BoostCluster(estimator=plain, random_state=0).fit_predict(X, constraints=known)
    >>> adjusted_rand_score(kind, boosted) > adjusted_rand_score(kind, plain.fit_predict(X)) + 0.5
    True
    """

    about = About(
        what="runs any clusterer again where pairs are broken, and clusters what it found; none must hold",
        when="you want to keep your clusterer; there are a hundred pairs or more, some may be wrong",
        source="Liu, Jin and Jain 2007",
        guides="the rounds",
        number_from="estimator",
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "none"
    parameter_rules: ClassVar[Any] = {
        "n_clusters": whole(1) | one_of(None),
        "estimator": one_of(None, *NAMED) | instance(BaseEstimator, "a clusterer"),
        "n_components": whole(1),
        "n_rounds": whole(1),
        "round_weight": one_of("exact", "bound"),
        "smoothing": real(0.0) | one_of("auto"),
        "center": one_of(True, False),
        "scatter": one_of("gram", "difference"),
        "final": one_of("kernel", "embedding", "select"),
        "n_retries": whole(0),
        "n_folds": whole(2) | one_of(0),
        "random_state": anything("None, a seed or a RandomState"),
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        estimator: Any = None,
        n_components: int = 5,
        n_rounds: int = 25,
        round_weight: str = "exact",
        smoothing: Any = "auto",
        center: bool = True,
        scatter: str = "gram",
        final: str = "kernel",
        n_retries: int = 0,
        n_folds: int = 5,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.estimator = estimator
        self.n_components = n_components
        self.n_rounds = n_rounds
        self.round_weight = round_weight
        self.smoothing = smoothing
        self.center = center
        self.scatter = scatter
        self.final = final
        self.n_retries = n_retries
        self.n_folds = n_folds
        self.random_state = random_state

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Any:
        """Cluster X, with what is known about its rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The items.
        y : ignored
            Present for the API.
        constraints : Constraints or array of partial labels (-1: unknown), optional
            What is known; a pair counts its strength, groups are written out. Nothing is promised to hold.

        Returns
        -------
        self
        """
        X, known = self._begin_fit(X, constraints, n_clusters=self.n_clusters, **CHECKS_OF_ROWS)
        base = BaseClusterer(self.estimator, self.n_clusters, check_random_state(self.random_state))
        pairs = stated_pairs(known, hard=True)
        apart = base.seed()  # the check draws from a stream of its own: the rounds are those without it
        loss = PairLoss(pairs)
        self._consensus, self.projections_ = Consensus(X.shape[0]), list[Floats]()
        self.history_ = np.array([loss.value])
        found, self._predictor = self._alone(X, base, loss)
        if found is not None and not loss.n_broken(found):
            self.stop_reason_ = "all_satisfied" if loss.n_pairs else "no_constraints"
        elif found is not None and self.n_folds and not self._helps(X, pairs, found, apart):
            self.stop_reason_ = "no_gain"
        else:
            rounds = self._boost(X, base, loss)
            if rounds.projections:
                found, self._predictor = rounds.end()
        self.objective_, self.n_iter_ = float(self.history_[-1]), len(self.projections_)
        self.converged_ = self.stop_reason_ not in ("max_rounds", "stopped")
        self.round_weights_ = np.array(self._consensus.weights)
        partitions = self._consensus.partitions
        self.round_labels_ = np.stack(partitions) if partitions else np.empty((0, X.shape[0]), dtype=np.int8)
        if found is None:
            raise ValueError(
                f"no round was made: {_NO_ROUND[self.stop_reason_]}; and {type(base.made()).__name__} takes "
                "no sparse rows, so that there are no clusters without rounds either."
            )
        k = int(found.max(initial=-1)) + 1
        # a label of -1, of no cluster, comes last and stays
        self._number = np.append(numbers_by_label(known, found, k), -1).astype(np.int32)
        self.labels_ = self._number[found]
        return self

    def _alone(self, X: Any, base: BaseClusterer, loss: PairLoss) -> tuple[Any, Any]:
        """What the base finds in X as it is, which may meet every pair; nothing where it cannot read X."""
        model = base.made(own_seed=True)
        if loss.n_pairs and sparse.issparse(X) and not get_tags(model).input_tags.sparse:
            return None, None
        return base.labels(model, X, "X"), (model if hasattr(model, "predict") else None)

    def _helps(self, X: Any, pairs: StatedPairs, alone: Labels, seed: int) -> bool:
        """Whether rounds break less of pairs that they have not seen than the base alone."""
        base = BaseClusterer(self.estimator, self.n_clusters, check_random_state(seed))

        def boosted(loss: PairLoss) -> Any:
            rounds = BoostingRounds(self, X, base, loss)
            rounds.run()
            return rounds.end()[0] if rounds.projections else None

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what matters is said of the whole
            return rounds_help(pairs, self.n_folds, alone, boosted, seed)

    def _boost(self, X: Any, base: BaseClusterer, loss: PairLoss) -> BoostingRounds:
        """Make the rounds, and keep what they say."""
        rounds = BoostingRounds(self, X, base, loss)
        with progress(self, X, max_steps=self.n_rounds, name="round") as starts, starts() as step:
            self.stop_reason_ = rounds.run(step)
        self._consensus, self.projections_ = rounds.consensus, rounds.projections
        self.history_ = np.array(rounds.history)
        return rounds

    @available_if(_has_predict)
    def predict(self, X: Any) -> Any:
        """The cluster of each row, by the bases of all rounds.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        array of shape (n_samples,)
            Labels; -1 where one base alone decides, and puts a row where no item of the fit was.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **CHECKS_OF_ROWS)
        found, k = np.asarray(self._predictor.predict(X)), len(self._number) - 1
        return self._number[np.where(found < k, found, -1)]

    def affinity(self, rows: Any = None) -> Floats:
        """The kernel among some items: the weights of the rounds that have two of them in one cluster.

        Parameters
        ----------
        rows : array of int, optional
            The items; all of them where they are few enough for a table.

        Returns
        -------
        array of shape (n_rows, n_rows)
            The kernel; divided by the sum of `round_weights_` it is a share.
        """
        check_is_fitted(self)
        return self._consensus.affinity(rows)

    def _report(self, broken: Violations) -> None:
        """Warn of what is broken; where there was no round, say why."""
        why = _NO_ROUND.get(self.stop_reason_)
        alone = f" No round was made: {why}. These are the clusters of the base alone."
        self._warn_of_outvoted(broken, alone if why and not self.n_iter_ else "")

    def account(self) -> Account:
        """As the contract says; the trace is that of the rounds, and constraints have no common price."""
        found = super().account()
        why = {
            "max_rounds": "n_rounds was reached",
            "no_edge": "the base found nothing that would lower it further",
            "all_satisfied": "the last round met every pair",
            "no_positive_eigenvalue": "no direction was left that would help",
            "stopped": "a callback asked to",
        }
        trace = None
        if self.n_iter_:
            text = (
                "The log of what stated pairs lack in the kernel of all rounds. It stopped after "
                f"{count_of(self.n_iter_, 'round')}: {why[self.stop_reason_]}."
            )
            words: dict[str, Any] = {"title": "The loss after each round", "text": text, "step": "round"}
            trace = Trace(self.history_, value="log of the loss", stride=1.0, **words)
        return replace(found, trace=trace, price=Price())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
