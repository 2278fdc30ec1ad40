"""A metric from cannot-links alone: the closest pair that is known to differ as far apart as can be."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot

from coterie._arrays import Floats, Index
from coterie._words import count_of
from coterie.base import (
    CHECKS_OF_ROWS,
    About,
    Rule,
    check_parameters,
    least_eigenvalue,
    one_of,
    real,
    warn_user,
    whole,
)
from coterie.constraints import Constraints
from coterie.distance._kernels import (
    FEATURE_KERNELS,
    TABLE_KERNELS,
    KernelMaker,
    given_kernel,
    refuse_large_table,
)
from coterie.distance._learned_distance import MOST_FEATURES, LearnedDistance
from coterie.distance._margin import KnownApart, Margin, Space, WorkingPairs, widest_margin
from coterie.exceptions import InfeasibleConstraintsError, ParameterError

# Items up to which the axes of a kernel are made few by an eigendecomposition.
_MOST_AXES = 3_000
# Features up to which a step goes by them; above, by a table of similarities, up to so many items.
_NARROW, _MOST_IN_TABLE = 100, 5_000
_NO_TABLE = 'Take a sample of the items; kernel="linear" with fewer features than items needs no table.'


class CannotLinkMetric(LearnedDistance):
    """A metric learned from pairs that are known to differ, and nothing else.

    Of all matrices A it takes the smallest by which every pair that is known to differ is at a distance of 1
    or more: minimises |A|^2 / 2 + C x (sum of slacks) with (x - z)' A (x - z) >= 1 - slack for each pair.
    That is the widest margin, as of a support vector machine whose examples are pairs. Such pairs come for
    nothing where records have names: `Constraints.across(names)`. What comes out nearer than 1 is nearer than
    any two items that are known to differ.

    Parameters
    ----------
    C : float, default 1
        What a slack costs, times the strength of the pair; `inf` allows none. It has a unit: one over the
        fourth power of that of X. From 1 / (the least distance of a pair)^4 on it is the same as `inf`: for
        rows of zeros and ones, no two of a pair the same, 1 is.
    kernel : {"linear", "cosine", "rbf", "laplacian", "polynomial", "precomputed"}, default "linear"
        Similarity of items, as in `KernelPCKMeans`; A then lives in its space. "precomputed": X holds the
        similarities, positive semidefinite; of new items those to the items of the fit.
    gamma, degree, coef0
        Of the kernels, as in `KernelPCKMeans`.
    max_iter : int, default 1000
        Most steps of the search.
    tol : float, default 1e-4
        The search ends when what it minimises is proven to be the least but for this share.

    Attributes
    ----------
    components_, metric_, n_used_, converged_
        As in all learned distances. With "cosine" the axes are for rows of length 1, with other kernels for
        similarities to `support_items_`; then there is no `metric_`.
    support_pairs_ : array of shape (n_support, 2)
        The pairs that hold the margin, rows of X.
    dual_coef_ : array of shape (n_support,)
        Their multipliers: A = sum of dual_coef_ x d d' over the differences d of these pairs.
    support_items_ : array
        The items of `support_pairs_`.
    margin_ : float
        1 / |A|: without slacks, the least squared distance of all pairs by the best A of length 1.
    violated_pairs_ : array of shape (n, 2)
        The pairs, of all that are known to differ, whose squared distance is below 0.999, nearest first; at
        most a million, and those of identical items before them.
    n_violated_ : int
        How many there are.
    dual_gap_ : float
        What is left at most to gain, as a share of what is minimised; from a look at all pairs.
    n_iter_ : int
        Steps made.
    gamma_ : float
        The gamma that was used, where the kernel has one.

    See Also
    --------
    RCA : learns from must-links.
    XingMetric : learns from both kinds.
    ConstrainedLinkage : to go on with; single linkage with `distance_threshold=0.95` joins what is nearer.

    Notes
    -----
    Learns from cannot-links, different labels, `across` and `distinct`. Groups stay groups: their pairs are
    looked at in chunks, and the program is solved for those that matter. Whether a constraint is marked hard
    does not matter here, `C` says that. Columns of different units should be scaled first: those with large
    numbers part items by the smallest A. Directions in which no support pair differs count nothing. A step
    costs O(p d + n d^2) for p pairs at hand, a look at all pairs O(n^2 d). With a kernel, or more than 100
    features and not many items, it goes by similarities of all items, which are kept: O(p n), O(n^3). Pairs
    within the margin are all held in memory: many, if C is small.

    References
    ----------
    Oyama and Tanaka, Distance metric learning from cannot-be-linked example pairs, with application to name
    disambiguation, chapter 15 of Basu, Davidson and Wagstaff (eds.), Constrained Clustering.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from coterie import CannotLinkMetric, Constraints
    >>> X, y = load_wine(return_X_y=True)
    >>> metric = CannotLinkMetric(C=float("inf")).fit(X, constraints=Constraints.across(y))
    >>> float(metric.pair_distances(X, metric.support_pairs_).min().round(3)), metric.n_violated_
    (1.0, 0)
    """

    about = About(
        what="learns a distance from items that are known to differ: all of them at least 1 apart",
        when="only differences are known, as between records of different names",
        source="Oyama and Tanaka; chapter 15",
        measure="learned",
    )
    constraint_kinds: ClassVar[frozenset[str]] = frozenset({"cannot-link", "label", "distinct", "across"})
    parameter_rules: ClassVar[Any] = {
        "C": real(0.0, above=True) | Rule(lambda value: value == math.inf, "inf"),
        "kernel": one_of(*FEATURE_KERNELS, *TABLE_KERNELS, "precomputed"),
        "gamma": real(0.0, above=True) | one_of("median"),
        "degree": whole(1),
        "coef0": real(),
        "max_iter": whole(1),
        "tol": real(0.0, above=True),
    }
    exempt: ClassVar[Any] = {
        "check_units_of_columns": "the size of A counts, and it has the units of the columns"
    }
    _needs = "cannot-links, different labels, `across` or `distinct` groups"

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "linear",
        gamma: float | str = "median",
        degree: int = 2,
        coef0: float = 0.0,
        max_iter: int = 1000,
        tol: float = 1e-4,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.tol = tol

    def _learn(self, X: Any, known: Constraints) -> None:
        apart = self._read_apart(known)
        space = self._space_of(X, apart.items)
        apart = apart.without(*self._same(space, apart, known))
        found = widest_margin(space, apart, self.C, self.tol, self.max_iter)
        self.n_used_, self.n_iter_ = self._count_used(known), found.n_iter
        self.dual_gap_, self.converged_ = found.gap, found.gap <= self.tol
        self.support_pairs_ = apart.items[np.column_stack([found.i, found.j])]
        self.dual_coef_, self.margin_ = found.alpha, 1.0 / found.norm
        twins = np.column_stack(np.divmod(apart.skipped, len(apart.items)))
        self.violated_pairs_ = apart.items[np.vstack([twins, np.column_stack(found.violated)])]
        self.n_violated_ = len(twins) + found.n_violated
        self._tell(found, known)
        self._keep_support(X, space, found, apart.items)

    def _read_apart(self, known: Constraints) -> KnownApart:
        apart = KnownApart.read(known)
        if not len(apart.items):
            raise self._nothing_of_use(known)
        return apart

    def _space_of(self, X: Any, items: Index) -> Space:
        """The items that are spoken of, as features, or as a table of similarities if that is narrower."""
        if self.kernel == "precomputed":
            table = given_kernel(X).data[items][:, items].astype(np.float64)
            table = table.toarray() if sparse.issparse(table) else table
            least = least_eigenvalue(lambda v: table @ v, len(table))
            if least < -1e-6 * np.abs(table).max():
                raise ValueError(
                    f"X is not positive semidefinite (an eigenvalue is {least:.3g}), so that it is no inner "
                    f"product of items; add {-least:.3g} to its diagonal, or take another kernel."
                )
            return Space(table, True)
        maker = KernelMaker(self.kernel, self.gamma, self.degree, self.coef0, X, np.ones(X.shape[0]))
        if self.kernel != "linear":
            self._maker_ = maker
        if self.kernel in TABLE_KERNELS:
            self.gamma_ = maker.gamma
        similar = maker.items(X[items].astype(np.float64), _NO_TABLE)
        if not similar.is_features:
            return Space(similar.data, True)
        n, d = similar.data.shape
        if d <= _NARROW or (n > _MOST_IN_TABLE and d <= min(n, MOST_FEATURES)):
            return Space(similar.data, False)
        refuse_large_table(self.kernel, len(items), np.float64, _NO_TABLE)
        return Space(safe_sparse_dot(similar.data, similar.data.T, dense_output=True), True)

    def _same(self, space: Space, apart: KnownApart, known: Constraints) -> tuple[Index, Index]:
        """Pairs that no distance can part; an error where none may be left."""
        i, j = space.twins(apart)
        if len(i) and math.isinf(self.C):
            raise InfeasibleConstraintsError(
                f"{count_of(len(i), 'pair')} of items known to differ, yet X has the same values for both: "
                f"{self._named(apart.items[i], apart.items[j], known)}. No distance parts them: let X tell "
                "them apart, drop what is said of them, or take a finite C, which lists them in "
                "violated_pairs_."
            )
        return i, j

    def _named(self, i: Index, j: Index, known: Constraints) -> str:
        """Up to ten pairs in the user's words."""
        names = np.arange(known.n_items) if known.ids is None else known.ids
        some = [f"({names[a]}, {names[b]})" for a, b in zip(i[:10], j[:10], strict=True)]
        return ", ".join(some) + (", ..." if len(i) > 10 else "")

    def _tell(self, found: Margin, known: Constraints) -> None:
        """Warn of what makes the answer worth little."""
        if not self.converged_:
            warn_user(
                f"CannotLinkMetric stopped after {found.n_iter} steps, {found.gap:.1e} from the best as a "
                "share; raise max_iter or tol.",
                ConvergenceWarning,
            )
        part = found.alpha * found.squares
        ruler = int(np.argmax(part))
        close = found.squares[ruler] < 0.01 * found.typical
        if close and part[ruler] > 0.5 * part.sum() and math.isinf(self.C):
            i, j = self.support_pairs_[[ruler]].T
            pair = self._named(i, j, known)
            warn_user(
                f"the pair {pair} is so close that it alone makes up {part[ruler] / part.sum():.0%} of the "
                f"metric; look whether its items really differ, or take a finite C (its multiplier is "
                f"{found.alpha[ruler]:.3g}).",
                UserWarning,
            )
        if not found.n_free and self.n_violated_:
            enough = 1.0 / np.median(found.squares) ** 2
            warn_user(
                f"C={self.C:g} is small for the unit of X: no pair reaches the margin. A C of {enough:.1g} "
                "or more, or inf, lets them; or scale X.",
                UserWarning,
            )

    def _keep_support(self, X: Any, space: Space, found: Margin, items: Index) -> None:
        """Keep the learned axes: as few as pairs, features or items allow."""
        pairs = WorkingPairs(space, found.i, found.j)
        self.support_items_ = items[pairs.items]
        rows, n_pairs, n_items = X[self.support_items_], len(found.i), len(pairs.items)
        of_features = self.kernel in FEATURE_KERNELS
        if of_features and self.kernel != "linear":
            rows = self._maker_.prepared(rows)
        few = n_items <= _MOST_AXES and n_items * rows.shape[1] <= MOST_FEATURES**2
        components = pairs.differences(np.sqrt(found.alpha))
        components = components @ rows.astype(np.float64) if of_features else components
        if of_features and rows.shape[1] <= min(n_pairs, n_items, MOST_FEATURES):
            components = _root(safe_sparse_dot(components.T, components, dense_output=True))
        elif n_pairs > n_items and few:
            components = _root(pairs.laplacian(found.alpha, np.eye(n_items)))
            components = safe_sparse_dot(components, rows) if of_features else components
        elif sparse.issparse(components) and math.prod(components.shape) <= MOST_FEATURES**2:
            components = components.toarray()
        if self.kernel in TABLE_KERNELS:
            self._support_rows_ = self._maker_.prepared(rows)
        self._keep(components.astype(X.dtype), has_matrix=self.kernel == "linear")

    def _place(self, X: Any) -> Any:
        if self.kernel == "cosine" and hasattr(self, "_maker_"):
            X = self._maker_.prepared(X)
        elif hasattr(self, "_support_rows_"):
            X = self._maker_.table(self._maker_.prepared(X), self._support_rows_)
        elif self.kernel == "precomputed" and hasattr(self, "support_items_"):
            X = X[:, self.support_items_]
        return super()._place(X)

    def partial_fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Any:
        """Learn from a batch by the online rule (15.19): a pair that is too near is put at the margin.

        Goes through the pairs in their order and adds (1 - v) / |d|^4 x d d' to A where v = d' A d < 1; with
        a finite C, at most C x strength at a time. No pair is remembered. Over many passes A comes to meet
        all pairs, but it is not the smallest that does; it goes on from an earlier `fit`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The items of the batch.
        y : ignored
            Not used.
        constraints : Constraints or array of partial labels (-1: unknown), optional
            What is known about the items of the batch.

        Returns
        -------
        self
        """
        check_parameters(self)
        if self.kernel != "linear":
            raise ParameterError(f"partial_fit has no kernels; kernel={self.kernel!r}.", "kernel")
        begun = hasattr(self, "metric_")
        X, known = self._read_rows(X, constraints, reset=not begun, **CHECKS_OF_ROWS)
        if X.shape[1] > MOST_FEATURES:
            raise ValueError(
                f"X has {X.shape[1]:,} features; partial_fit keeps a matrix of them, and "
                f"{MOST_FEATURES:,} are the most."
            )
        if not known:
            return self if begun else self._told_nothing(X)
        A = self.__dict__.get("_stream_")
        if A is None:
            A = self.metric_.astype(np.float64) if begun and self.n_used_ else np.zeros((X.shape[1],) * 2)
        apart = self._read_apart(known)
        rows = X[apart.items].astype(np.float64)
        rows = rows.toarray() if sparse.issparse(rows) else rows
        self._same(Space(rows - rows.mean(axis=0), False), apart, known)
        for i in range(len(rows)):
            _go_online(A, rows, i, apart, self.C)
        used = self._count_used(known) + (self.n_used_ if begun else 0)
        self._forget()
        self._stream_, self.n_used_, self.converged_ = A, used, False
        self._keep(_root(A).astype(X.dtype))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _root(A: Floats) -> Floats:
    """Axes by which a positive semidefinite matrix is B' B, without those of no length."""
    values, vectors = linalg.eigh(A)
    kept = values >= len(values) * np.finfo(np.float64).eps * values[-1]
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)


def _go_online(A: Floats, rows: Floats, i: int, apart: KnownApart, C: float) -> None:
    """Make one item differ from the later ones that it is known to differ from, in turn; changes A."""
    later = apart.with_later(i)
    away = rows[later] - rows[i]
    length = np.einsum("ij,ij->i", away, away)
    most = C * apart.strength_of(np.full(len(later), i), later)
    value = np.einsum("ij,ij->i", away @ A, away)
    at = 0
    while True:
        due = np.flatnonzero((value[at:] < 1.0) & (length[at:] > 0))
        if not len(due):
            return
        at += int(due[0])
        step = min((1.0 - value[at]) / length[at] ** 2, most[at])
        A += step * np.outer(away[at], away[at])
        value[at:] += step * (away[at:] @ away[at]) ** 2
        at += 1
