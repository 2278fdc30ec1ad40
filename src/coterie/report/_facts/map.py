"""Where each item stands on the map: two principal components, given coordinates, or scaled distances.

Above 50,000 items a seeded sample is drawn. The ends of the statements that are drawn are always in it, so
that no line hangs in the air, and up to 5,000 other items that statements name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coterie._words import count_of
from coterie.report._facts.rows import Floats, Ints, Rows
from coterie.report._page.numbers import percent

MOST_POINTS = 50_000
_MOST_NAMED = 5_000
# With more columns than this the components are found by a randomised method.
_WIDE = 500
# A sparse table of no more cells than this is written out.
_FEW_CELLS = 2_000_000
_LANDMARKS = 400
# Points outside these quantiles are drawn at the edge, if the view would else be this many times wider.
_TAILS, _MUCH_WIDER = (0.01, 0.99), 4.0


@dataclass(frozen=True)
class Map:
    """Points to draw."""

    items: Ints  # those shown, sorted
    xy: Floats  # where they stand: x to the right, y upwards, both from 0 to 1
    axes: tuple[str, str]  # what the two directions are
    ratio: float  # height of the drawing by its width
    notes: tuple[str, ...]


def draw_map(
    rows: Rows,
    *,
    coordinates: Any,
    coordinate_names: Any,
    precomputed: bool,
    wanted: Ints,
    named: Ints,
    seed: int,
) -> Map:
    """Find the points of the map; items of `wanted`, then of `named`, come into a sample first."""
    rng = np.random.default_rng(seed)
    notes: list[str] = []
    given = None if coordinates is None else _read_coordinates(coordinates, coordinate_names, rows.n)
    can_show = np.arange(rows.n)
    if given is not None:
        can_show = np.flatnonzero(np.isfinite(given[0]).all(axis=1))
        missing = rows.n - len(can_show)
        if missing:
            notes.append(f"{count_of(missing, 'item')} without coordinates: not on the map.")
    items = _sample(can_show, wanted, named, rng)
    if len(items) < len(can_show):
        notes.append(
            f"{len(items):,} of {rows.n:,} items are shown: a random sample, with the items that the drawn "
            "statements name. All numbers on this page count every item."
        )
    if given is not None:
        xy, axes = given[0][items], given[1]
    elif precomputed:
        xy, axes = _scaled_distances(rows, items, rng), ("scaled distances, first direction", "second")
    elif rows.d == 1:
        xy = np.column_stack([rows.dense(items)[:, 0], rng.uniform(size=len(items))])
        name = "the only feature" if rows.names is None else rows.names[0]
        axes = name, "no meaning (spread out to be seen)"
    else:
        xy, axes = _components(rows, items, seed)
    xy, at_edge = _pulled_in(xy)
    if at_edge:
        notes.append(f"{count_of(at_edge, 'item')} far from all others: drawn at the edge.")
    placed, ratio = _to_unit(xy)
    return Map(items, placed, axes, ratio, tuple(notes))


def _read_coordinates(coordinates: Any, given: Any, n: int) -> tuple[Floats, tuple[str, str]]:
    names = [str(name) for name in (getattr(coordinates, "columns", ()) if given is None else given)]
    table = np.asarray(coordinates, dtype=np.float64)
    if table.shape != (n, 2):
        raise ValueError(f"coordinates must be two numbers for each of {n} items; got shape {table.shape}.")
    return table, (names[0], names[1]) if len(names) == 2 else ("first coordinate", "second coordinate")


def _sample(can_show: Ints, wanted: Ints, named: Ints, rng: np.random.Generator) -> Ints:
    if len(can_show) <= MOST_POINTS:
        return can_show
    free = np.zeros(int(can_show[-1]) + 1, dtype=bool)
    free[can_show] = True
    wanted, named = (np.unique(items[items < len(free)]) for items in (wanted, named))
    first = wanted[free[wanted]]
    free[first] = False
    also = named[free[named]]
    room = max(0, _MOST_NAMED - len(first))
    if len(also) > room:
        also = rng.choice(also, room, replace=False)
    free[also] = False
    drawn = rng.choice(np.flatnonzero(free), MOST_POINTS - len(first) - len(also), replace=False)
    return np.sort(np.concatenate([first, also, drawn]))


def _components(rows: Rows, items: Ints, seed: int) -> tuple[Floats, tuple[str, str]]:
    names = "first principal component", "second principal component"
    part = rows.values[items]
    if rows.sparse and part.shape[0] * part.shape[1] <= _FEW_CELLS:
        part = part.toarray()
    part, solver = _ready(part)
    if part is None:
        return np.zeros((len(items), 2)), names
    from sklearn.decomposition import PCA

    found = PCA(2, svd_solver=solver, random_state=seed)
    xy = found.fit_transform(part)
    # the sign of a component is arbitrary: the largest entry is made positive
    turn = np.sign(found.components_[np.arange(2), np.abs(found.components_).argmax(axis=1)])
    xy = xy * np.where(turn == 0, 1.0, turn)
    first, second = np.nan_to_num(found.explained_variance_ratio_).tolist()
    message = " of the variance"
    return xy, (f"{names[0]}, {percent(first)}{message}", f"{names[1]}, {percent(second)}{message}")


def _ready(part: Any) -> tuple[Any, str]:
    """The rows in a range in which squares are safe, and a way to their components; None if all are alike."""
    part = part.astype(np.float64)
    if sparse.issparse(part):
        largest = np.abs(part.data).max(initial=0.0)
        part = part / largest if largest > 0 else part
        mean = np.asarray(part.mean(axis=0)).ravel()
        varies = part.multiply(part).mean(axis=0).sum() > (1 + 1e-12) * (mean @ mean)
        return (part if varies else None), "arpack"
    part -= part[:1].mean(axis=0) if len(part) else 0.0
    largest = np.abs(part).max(initial=0.0)
    if largest == 0 or len(part) < 2:
        return None, ""
    part /= largest
    if min(part.shape) > _WIDE:
        return part, "randomized"
    return part, "covariance_eigh" if part.shape[1] <= _WIDE < part.shape[0] else "full"


def _scaled_distances(rows: Rows, items: Ints, rng: np.random.Generator) -> Floats:
    """Classical scaling of some items, and the others placed by their distances to these (landmarks)."""
    if len(items) < 2:
        return np.zeros((len(items), 2))
    marks = np.sort(rng.choice(items, min(_LANDMARKS, len(items)), replace=False))
    among = rows.dense(marks)[:, marks]
    squares = ((among + among.T) / 2) ** 2
    mean = squares.mean(axis=0)
    centred = -0.5 * (squares - mean - mean[:, None] + squares.mean())
    value, vector = np.linalg.eigh(centred)
    top = np.argsort(value)[::-1][:2]
    scale = np.sqrt(np.maximum(value[top], 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        back = np.where(scale > 1e-9 * max(scale.max(), 1e-300), vector[:, top] / scale, 0.0)
    xy = np.zeros((len(items), 2))
    xy[:, : len(top)] = -0.5 * (rows.values[np.ix_(items, marks)].astype(np.float64) ** 2 - mean) @ back
    return xy


def _pulled_in(xy: Floats) -> tuple[Floats, int]:
    """Bring a few far points to the edge of where nearly all others are."""
    if len(xy) < 50:
        return xy, 0
    low, high = np.quantile(xy, _TAILS, axis=0, method="nearest")
    margin = 0.15 * (high - low)
    low, high = low - margin, high + margin
    width = np.ptp(xy, axis=0)
    # where nearly all points are in one place there is nothing to see but the others
    far = (width > _MUCH_WIDER * (high - low)) & (high > low)
    inside = np.where(far, np.clip(xy, low, high), xy)
    return inside, int((inside != xy).any(axis=1).sum())


def _to_unit(xy: Floats) -> tuple[Floats, float]:
    """Scale to the unit square; and the ratio of height to width that keeps distances, within limits."""
    if not len(xy):
        return xy, 0.5
    low, width = xy.min(axis=0), np.ptp(xy, axis=0)
    ratio = float(np.clip(width[1] / width[0], 0.42, 0.66)) if width[0] > 0 else 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        placed = np.where(width > 0, (xy - low) / width, 0.5)
    return np.nan_to_num(placed, nan=0.5), ratio
