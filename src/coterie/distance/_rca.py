"""RCA: directions in which items of one chunklet differ count less."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse

from coterie._arrays import Floats, Index
from coterie.base import About, one_of, real, whole
from coterie.constraints import Constraints
from coterie.distance._learned_distance import MOST_FEATURES, LearnedDistance, column_scale
from coterie.exceptions import ParameterError

# A variance that is this small beside the largest, in columns of deviation 1, is rounding: that of sums of
# squares, or of columns that repeat others in single precision.
_SINGULAR = 1e-12


class RCA(LearnedDistance):
    """Relevant component analysis: what varies among items that belong together does not matter.

    Must-links, and items with the same label, make chunklets. The distance is Mahalanobis' by the covariance
    C within chunklets: the transformed items vary by 1 in every direction within them.

    Parameters
    ----------
    shrinkage : float from 0 to 1, or "auto"
        How far C is drawn towards the identity, in columns divided by their standard deviation, so that
        units do not matter. "auto" is d / (d + f) with d features and f = items less chunklets: little is
        known from few items, and then little is changed. 0 is the paper's; it needs f of at least d.
    n_components : int, optional
        Keep so many directions: those in which all items vary most, compared with chunklets (constrained
        discriminant analysis). By default all.

    Attributes
    ----------
    components_, metric_, n_used_, converged_
        As in all learned distances: the new axes; their matrix A = C^-1 (without `n_components`); how many
        must-links and labels taught; True.
    n_chunklets_ : int
        Number of chunklets.
    shrinkage_ : float
        The shrinkage that was used.

    See Also
    --------
    XingMetric : learns from cannot-links too.
    CannotLinkMetric : learns from cannot-links alone.
    MPCKMeans : learns the metric while it clusters.

    Notes
    -----
    Strengths are not used: a chunklet is a chunklet. A column that is constant has no unit, and gets the
    weight 0. Contradictory must-links are all believed. Time O(p d^2 + d^3) for p items in chunklets, beside
    one look at X; memory O(p d + d^2), and a copy of X for `n_components` where it is dense.

    References
    ----------
    Bar-Hillel, Hertz, Shental and Weinshall 2005, Learning a Mahalanobis metric from equivalence constraints.
    Basu, Davidson and Wagstaff (eds.), Constrained Clustering, chapter 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from coterie import RCA, Constraints
    >>> X, y = load_wine(return_X_y=True)
    >>> known = Constraints.sample(y, n_pairs=100, random_state=0)
    >>> def score(rows):
    ...     return adjusted_rand_score(y, KMeans(3, n_init=4, random_state=0).fit_predict(rows))
    >>> round(score(X), 2), round(score(RCA().fit_transform(X, constraints=known)), 2)
    (0.37, 0.95)
    """

    about = About(
        what="learns a distance from must-links and labels: what varies within them does not matter",
        when="columns differ in worth or in unit, and some items are known to belong together",
        source="Bar-Hillel, Hertz, Shental and Weinshall 2005; chapter 1",
        measure="learned",
    )
    constraint_kinds: ClassVar[frozenset[str]] = frozenset({"must-link", "label"})
    parameter_rules: ClassVar[Any] = {
        "shrinkage": real(0.0, 1.0) | one_of("auto"),
        "n_components": whole(1) | one_of(None),
    }
    _needs = "must-links, or labels that two items share"

    def __init__(self, *, shrinkage: Any = "auto", n_components: int | None = None) -> None:
        self.shrinkage = shrinkage
        self.n_components = n_components

    def _learn(self, X: Any, known: Constraints) -> None:
        d = X.shape[1]
        if d > MOST_FEATURES:
            raise ValueError(
                f"RCA of {d:,} features needs matrices of {8e-9 * d * d:.1f} GB, and {MOST_FEATURES:,} "
                "features are the most; reduce X (TruncatedSVD), or use XingMetric, which weighs columns."
            )
        if self.n_components is not None and self.n_components > d:
            raise ParameterError(f"n_components={self.n_components}, but X has {d} features.", "n_components")
        items, chunklet = _chunklets(known)
        if not len(items):
            raise self._nothing_of_use(known)
        self.n_chunklets_, self.converged_ = int(chunklet[-1]) + 1, True
        labels = [group.counts() for group in known.groups if group.kind == "label" and group.active]
        # a label that no other item has teaches nothing
        self.n_used_ = int(known.must_table.active.sum() + sum(n[n > 1].sum() for n in labels))
        scale = column_scale(X)
        columns = np.flatnonzero(scale)
        within = _deviations(X[items], chunklet)[:, columns] / scale[columns]
        n_free, n_columns = len(items) - self.n_chunklets_, len(columns)
        self.shrinkage_ = (
            n_columns / (n_columns + n_free) if self.shrinkage == "auto" else float(self.shrinkage)
        )
        covariance = within.T @ within * ((1.0 - self.shrinkage_) / len(items))
        covariance[np.diag_indices(n_columns)] += self.shrinkage_
        found = np.zeros((self.n_components or d, d))
        if n_columns:
            axes = self._whitening(covariance, X[:, columns], scale[columns]) / scale[columns]
            # the root of C has an axis for each column; a column that is constant has one of zeros
            rows = columns if self.n_components is None else np.arange(len(axes))
            found[np.ix_(rows, columns)] = axes
        self._keep(found.astype(X.dtype))

    def _whitening(self, covariance: Floats, X: Any, scale: Floats) -> Floats:
        """Axes, in columns of deviation 1, along which the covariance is the identity."""
        values, vectors = linalg.eigh(covariance)
        if values[0] <= _SINGULAR * values[-1]:
            raise ParameterError(
                f"the covariance within chunklets has no inverse: {len(values)} features, and chunklets do "
                "not vary in all directions. Leave out columns that repeat others, state more must-links, or "
                'take a shrinkage above 0 ("auto").',
                "shrinkage",
            )
        if self.n_components is None:
            return np.asarray((vectors / np.sqrt(values)) @ vectors.T)
        total = _total_covariance(X).reshape(covariance.shape) / np.outer(scale, scale)
        _, axes = linalg.eigh(total, covariance)
        return np.asarray(axes.T[::-1][: self.n_components])


def _total_covariance(X: Any) -> Floats:
    """Of all items, without writing out rows that are sparse."""
    if not sparse.issparse(X):
        return np.cov(X, rowvar=False, bias=True)
    X = X.astype(np.float64)
    mean = np.asarray(X.mean(axis=0)).ravel()
    return np.asarray((X.T @ X).toarray() / X.shape[0] - np.outer(mean, mean))


def _chunklets(known: Constraints) -> tuple[Index, Index]:
    """Items that are known to be together with others, and the number of their chunklet, in its order."""
    component = known.components
    items = np.flatnonzero(np.bincount(component)[component] > 1)
    items = items[np.argsort(component[items], kind="stable")]
    return items, np.unique(component[items], return_inverse=True)[1]


def _deviations(rows: Any, chunklet: Index) -> Floats:
    """Each item less the mean of its chunklet."""
    rows = (rows.toarray() if sparse.issparse(rows) else rows).astype(np.float64)
    starts = np.flatnonzero(np.diff(chunklet, prepend=-1))
    means = np.add.reduceat(rows, starts, axis=0) / np.bincount(chunklet)[:, None]
    return np.asarray(rows - means[chunklet])
