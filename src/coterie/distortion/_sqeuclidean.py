"""What it costs to stand for an item by a centre: squared Euclidean and cosine.

A distortion is one class. Given centres it is, up to a part that depends on the item alone, a linear score
`x . slopes[h] + intercepts[h]`, so that one matrix product finds the nearest centre; and it turns the
weighted sum of a cluster into the best centre. The objective follows from the sums: no pass over the data.

Precision: slopes are taken about a typical row. The rounding error of a score is then that of x itself
times the distance of the centre to there, so that an offset of the features does no more harm to the labels
than it did to the data (in float32 too), and a far centre harms itself alone.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import cosine_distances, euclidean_distances

from coterie._arrays import NOTHING, Floats, Index, Labels
from coterie.distortion._rows.points import Points, as_points

_TINY = float(np.finfo(np.float64).tiny)


class SquaredEuclidean:
    """`|x - c|^2`; the best centre is the mean.

    Attributes
    ----------
    factor, mass : array of shape (n,) or (0,)
        What a row is multiplied by in the sums, and what it weighs; empty means 1.
    total : float
        The sum of the masses.
    """

    name: ClassVar[str] = "sqeuclidean"
    # the objectives of the soft methods count half the squared distance
    share: ClassVar[float] = 0.5

    def __init__(self, X: Any, sample_weight: Floats | None = None) -> None:
        self.points: Points = as_points(X)
        self.mass = self.factor = NOTHING if sample_weight is None else sample_weight
        self.total = float(self.mass.sum()) if len(self.mass) else float(self.points.n)
        self.typical = self.points.typical()

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """The mean of the items, and the squared gaps to it by feature."""
        return self.points.moments(self.mass)

    @property
    def middle(self) -> Floats:
        """The mean of the items."""
        return self.moments[0]

    @property
    def spread(self) -> float:
        """The distortion with one centre for all items."""
        return float(self.moments[1].sum())

    def check_range(self) -> None:
        """Raise where squares of the features leave the range of their type: all distances would be equal."""
        X = self.points.X
        if sparse.issparse(X):
            width = np.abs(X.data).max(initial=0.0)
        elif len(self.mass):
            width = np.max(X.max(axis=0).astype(np.float64) - X.min(axis=0))
        else:
            width = np.sqrt(self.spread / self.total)
        with np.errstate(over="ignore"):
            scale = float(np.float64(width) ** 2)
        limits = np.finfo(X.dtype)
        if not scale <= 1e-4 * float(limits.max):
            raise _out_of_range("large", X)
        if scale < 1e4 * float(limits.tiny) and np.any(X.data if sparse.issparse(X) else X[:1] != X):
            raise _out_of_range("small", X)

    def alone(self, items: Index) -> float:
        """The least distortion of some items in a cluster of their own."""
        mass = self.mass[items] if len(self.mass) else np.ones(len(items))
        sums = total_of(self, items)
        if sparse.issparse(self.points.X):
            part = self.points.X[items]
            squares = np.asarray(part.multiply(part).sum(axis=1)).ravel()
            return max(float(mass @ squares) - float(sums @ sums) / max(float(mass.sum()), _TINY), 0.0)
        centre = sums / max(float(mass.sum()), _TINY)
        parts = (items[start : start + 4096] for start in range(0, len(items), 4096))
        found = [((self.points.rows(part) - centre) ** 2).sum(axis=1) for part in parts]
        return float(mass @ np.concatenate(found))

    @property
    def tolerance_unit(self) -> float:
        """Mean variance of the features: the unit of `tol`."""
        return self.spread / (self.total * self.points.d)

    def linear(self, centres: Floats) -> tuple[Floats, Floats]:
        """Slopes and intercepts of the scores of the centres."""
        away = centres - self.typical
        return -2.0 * away, np.einsum("hj,hj->h", away, away) + 2.0 * (away @ self.typical)

    def centres(self, sums: Floats, masses: Floats, before: Floats) -> Floats:
        """The best centres; a cluster without mass keeps the one it had."""
        held = masses > 0
        found = before.copy()
        found[held] = sums[held] / masses[held, None]
        return found

    def value(self, sums: Floats, masses: Floats, centres: Floats) -> float:
        """The distortion of all items, from the sums by cluster."""
        shifted = sums - masses[:, None] * self.middle
        away = centres - self.middle
        around = masses @ np.einsum("hj,hj->h", away, away) - 2.0 * np.einsum("hj,hj->", shifted, away)
        return max(self.spread + float(around), 0.0)

    def to_own(self, labels: Labels, centres: Floats) -> Floats:
        """Weighted distortion of each item, by its definition."""
        gaps = self.points.to_own(labels, centres)
        return gaps * self.mass if len(self.mass) else gaps

    def block(self, start: int, stop: int, centres: Floats) -> Floats:
        """Costs of rows `start` to `stop` with each centre, without their weight."""
        return self.points.squared_distances(start, stop, centres, self.middle)

    def fill_costs(self, centres: Floats, out: Any) -> None:
        """Write to `out`, n x k, what each centre costs each row in the objective, less `constants`."""
        slopes, intercepts = self.linear(centres)
        self.points.fill_scores(self.share * slopes, self.share * intercepts, self.mass, self.mass, out)

    def constants(self) -> Floats:
        """What `fill_costs` leaves out: the part of each row's cost that no centre changes."""
        nearest = np.zeros(self.points.n, dtype=np.int32)
        return self.share * self.to_own(nearest, self.typical[None])

    def rows(self, items: Index) -> Floats:
        """Some rows as they enter the sums, without their weight."""
        return self.points.rows(items)

    @property
    def plain(self) -> SquaredEuclidean:
        """The distortion before anything is learned: starts are made with it."""
        return self

    def stand_in(self, rows: Floats) -> Floats:
        """Centres that stand where rows, or means of rows, are."""
        return rows

    def as_centres(self, given: Floats) -> Floats:
        """Centres as the user gave them."""
        return given

    @staticmethod
    def distances(X: Any, centres: Any) -> Any:
        """Distance of each row to each centre, not squared."""
        return euclidean_distances(X, centres)


class Cosine:
    """`1 - cos(x, c)`; the best centre is the mean of the unit vectors, of unit length itself.

    A row of zeros has distance 1 to every centre. Attributes as in `SquaredEuclidean`.
    """

    name: ClassVar[str] = "cosine"
    share: ClassVar[float] = 1.0

    def __init__(self, X: Any, sample_weight: Floats | None = None) -> None:
        self.points: Points = as_points(X)
        lengths = np.sqrt(self.points.squared_norms())
        self.scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        self.mass = NOTHING if sample_weight is None else sample_weight
        self.factor = self.scale if sample_weight is None else self.scale * sample_weight
        self.total = float(self.mass.sum()) if len(self.mass) else float(self.points.n)

    @cached_property
    def spread(self) -> float:
        """Half the squared distances of the unit vectors to their mean."""
        summed = total_of(self, np.arange(self.points.n))
        return max(0.5 * (self.total - float(summed @ summed) / self.total), 0.0)

    def check_range(self) -> None:
        """Raise where the length of a row leaves the range of its type."""
        X = self.points.X
        # an infinite length has the scale 0 too
        empty = X[np.flatnonzero(self.scale == 0)]
        largest = np.abs(empty.data if sparse.issparse(empty) else empty).max(initial=0.0)
        if largest > 0:
            raise _out_of_range("large" if largest > 1 else "small", X)

    def alone(self, items: Index) -> float:
        """The least distortion of some items in a cluster of their own."""
        mass = self.mass[items].sum() if len(self.mass) else len(items)
        return max(float(mass) - float(np.linalg.norm(total_of(self, items))), 0.0)

    @property
    def tolerance_unit(self) -> float:
        """Mean variance of the features of the unit vectors: the unit of `tol`."""
        return 2.0 * self.spread / (self.total * self.points.d)

    def linear(self, centres: Floats) -> tuple[Floats, Floats]:
        """Slopes and intercepts; a row's length does not matter to which score is least."""
        return -centres, np.zeros(len(centres))

    def centres(self, sums: Floats, masses: Floats, before: Floats) -> Floats:
        """Unit vectors along the sums; a cluster without direction keeps the one it had."""
        lengths = np.linalg.norm(sums, axis=1)
        held = (masses > 0) & (lengths > 0)
        found = before.copy()
        found[held] = sums[held] / lengths[held, None]
        return found

    def value(self, sums: Floats, masses: Floats, centres: Floats) -> float:
        """The distortion of all items, from the sums by cluster."""
        return max(float(masses.sum()) - float(np.einsum("hj,hj->", sums, centres)), 0.0)

    def to_own(self, labels: Labels, centres: Floats) -> Floats:
        """Weighted distortion of each item, by its definition."""
        cosines = self.points.dot_own(labels, centres) * self.scale
        return (1.0 - cosines) * (self.mass if len(self.mass) else 1.0)

    def block(self, start: int, stop: int, centres: Floats) -> Floats:
        """Costs of rows `start` to `stop` with each centre, without their weight."""
        return 1.0 - self.scale[start:stop, None] * np.asarray(self.points.X[start:stop] @ centres.T)

    def fill_costs(self, centres: Floats, out: Any) -> None:
        """Write to `out`, n x k, what each centre costs each row in the objective, less `constants`."""
        self.points.fill_scores(-centres, np.zeros(len(centres)), self.factor, self.mass, out)

    def constants(self) -> Floats:
        """What `fill_costs` leaves out: the part of each row's cost that no centre changes."""
        return self.mass if len(self.mass) else np.ones(self.points.n)

    def rows(self, items: Index) -> Floats:
        """Some rows at unit length."""
        return self.points.rows(items) * self.scale[items, None]

    @property
    def plain(self) -> Cosine:
        """The distortion before anything is learned: starts are made with it."""
        return self

    def stand_in(self, rows: Floats) -> Floats:
        """Centres along rows, or means of rows; zeros have no direction, and take the middle of all."""
        empty = np.linalg.norm(rows, axis=1) == 0
        rows[empty] = 1.0
        return self.as_centres(rows)

    def as_centres(self, given: Floats) -> Floats:
        """Centres at unit length."""
        lengths = np.linalg.norm(given, axis=1, keepdims=True)
        if not (lengths > 0).all():
            raise ValueError(
                f"centre {int(np.argmin(lengths))} is all zeros: it has no direction, so no cosine."
            )
        return given / lengths

    @staticmethod
    def distances(X: Any, centres: Any) -> Any:
        """Cosine distance of each row to each centre."""
        return cosine_distances(X, centres)


def total_of(distortion: Any, items: Index) -> Floats:
    """The sum of some items as they enter the sums of clusters."""
    whole = distortion.points.add_up(items, np.zeros(len(items), dtype=np.int64), 1, distortion.factor)
    return np.asarray(whole.toarray() if sparse.issparse(whole) else whole).ravel()


def _out_of_range(how: str, X: Any) -> ValueError:
    return ValueError(
        f"squared distances of X are too {how} for {X.dtype}; multiply X by a constant (clusters do not "
        "depend on the unit), or pass float64."
    )


Distortion = SquaredEuclidean | Cosine
DISTORTIONS: dict[str, type[Any]] = {kind.name: kind for kind in (SquaredEuclidean, Cosine)}
