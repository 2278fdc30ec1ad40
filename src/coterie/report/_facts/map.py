"""Where each item stands on the map: given coordinates, the only two features, components or distances.

Above 50,000 items a seeded sample is drawn. The ends of the constraints that are drawn are always in it, so
that no line hangs in the air, and up to 5,000 other items that constraints name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coterie._words import count_of
from coterie.base import Account
from coterie.report._facts.rows import Column, Floats, Ints, Rows
from coterie.report._page.numbers import percent, ticks

MOST_POINTS = 50_000
_MOST_NAMED = 5_000
# A sparse table of no more cells than this is written out.
_FEW_CELLS = 2_000_000
_LANDMARKS = 400
# Points outside these quantiles are drawn at the edge, if the view would else be this many times wider.
_TAILS, _MUCH_WIDER = (0.01, 0.99), 4.0
# Items of one place are drawn around it, no farther than this (the width of the map is 1).
_WIDEST_PLACE = 0.04
_GOLDEN_ANGLE = np.pi * (3 - 5**0.5)
# More neighbours than this are not drawn.
_MOST_EDGES = 10_000

Ticks = list[tuple[float, str]]


@dataclass(frozen=True)
class Map:
    """Points to draw."""

    items: Ints  # those shown, sorted
    xy: Floats  # where they stand: x to the right, y upwards, both from 0 to 1
    axes: tuple[str, str]  # what the two directions are
    ratio: float  # height of the drawing by its width
    ticks: tuple[Ticks, Ticks]  # where numbers stand beside the axes; none where they mean nothing
    edges: Ints  # neighbours, by their place among `items`
    notes: tuple[str, ...]


def draw_map(
    fitted: tuple[Rows, Account],
    users: tuple[Rows, Sequence[Column]],
    given: tuple[Floats, tuple[str, str]] | None,
    first: tuple[Ints, Ints],
    seed: int,
    direction: str = "principal component",
) -> Map:
    """The points of the map: by `given` coordinates, what was fitted (its widest directions, and what these
    are called), or the user's columns if few.
    """
    (rows, account), (table, columns), (wanted, named) = fitted, users, first
    rng = np.random.default_rng(seed)
    notes: list[str] = []
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
            "constraints name. All numbers on this page count every item."
        )
    means = True, True  # whether numbers beside the axes mean something
    few = None if given is not None else _own_units(table, columns, items)
    if given is not None:
        xy, axes = given[0][items], given[1]
    elif few is not None and few.shape[1] == 2:
        xy, axes = few, (columns[0].name, columns[1].name)
    elif few is not None:
        xy, means = np.column_stack([few[:, 0], rng.uniform(size=len(items))]), (True, False)
        axes = columns[0].name, "no meaning (spread out to be seen)"
    elif account.metric == "precomputed":
        xy, means = _scaled_distances(rows, items, rng), (False, False)
        axes = "scaled distances, first direction", "second"
    else:
        xy, axes = _components(rows, items, seed, direction)
        means = False, False
    xy, at_edge = _pulled_in(xy)
    if at_edge:
        notes.append(f"{count_of(at_edge, 'item')} far from all others: drawn at the edge.")
    xy, ratio, ends, n_beside = _placed(xy)
    if n_beside:
        notes.append(f"{count_of(n_beside, 'item')} at the place of another: drawn around it.")
    edges = _edges(account.graph, items)
    if len(edges) > _MOST_EDGES:
        notes.append(f"{len(edges):,} pairs of neighbours are too many to draw.")
        edges = edges[:0]
    of_x, of_y = (ticks(*ends[:, at].tolist()) if means[at] else [] for at in (0, 1))
    return Map(items, xy, axes, ratio, (of_x, of_y), edges, tuple(notes))


def point_size(n: int) -> float:
    """Radius of a point in a drawing of width 1,000: smaller, the more there are."""
    return float(np.clip(26.0 / max(n, 1) ** 0.25, 1.6, 8.0))


def read_coordinates(coordinates: Any, given: Any, n: int) -> tuple[Floats, tuple[str, str]]:
    """Two numbers for each item, and what they are."""
    names = [str(name) for name in (getattr(coordinates, "columns", ()) if given is None else given)]
    table = np.asarray(coordinates, dtype=np.float64)
    if table.shape != (n, 2):
        raise ValueError(f"coordinates must be two numbers for each of {n} items; got shape {table.shape}.")
    return table, (names[0], names[1]) if len(names) == 2 else ("first coordinate", "second coordinate")


def _sample(can_show: Ints, wanted: Ints, named: Ints, rng: np.random.Generator) -> Ints:
    if len(can_show) <= MOST_POINTS:
        return can_show
    first = np.intersect1d(wanted, can_show)
    also = np.setdiff1d(np.intersect1d(named, can_show), first)
    room = max(0, _MOST_NAMED - len(first))
    first = np.union1d(first, rng.choice(also, min(room, len(also)), replace=False))
    others = np.setdiff1d(can_show, first)
    return np.union1d(first, rng.choice(others, MOST_POINTS - len(first), replace=False))


def _components(rows: Rows, items: Ints, seed: int, direction: str) -> tuple[Floats, tuple[str, str]]:
    names = f"first {direction}", f"second {direction}"
    part = rows.values[items]
    if rows.sparse and part.shape[0] * part.shape[1] <= _FEW_CELLS:
        part = part.toarray()
    if rows.d == 1:
        part = np.column_stack([rows.dense(items), np.zeros(len(items))])
    part = _ready(part)
    if part is None:
        return np.zeros((len(items), 2)), names
    from sklearn.decomposition import PCA

    found = PCA(2, random_state=seed)
    xy = found.fit_transform(part)
    # the sign of a component is arbitrary: the largest entry is made positive
    turn = np.sign(found.components_[np.arange(2), np.abs(found.components_).argmax(axis=1)])
    xy = xy * np.where(turn == 0, 1.0, turn)
    first, second = np.nan_to_num(found.explained_variance_ratio_).tolist()
    message = " of the variance"
    return xy, (f"{names[0]}, {percent(first)}{message}", f"{names[1]}, {percent(second)}{message}")


def _ready(part: Any) -> Any:
    """The rows in a range in which squares are safe; None if all are alike."""
    part = part.astype(np.float64)
    if sparse.issparse(part):
        largest = np.abs(part.data).max(initial=0.0)
        part = part / largest if largest > 0 else part
        mean = np.asarray(part.mean(axis=0)).ravel()
        return part if part.multiply(part).mean(axis=0).sum() > (1 + 1e-12) * (mean @ mean) else None
    part -= part[:1].mean(axis=0) if len(part) else 0.0
    largest = np.abs(part).max(initial=0.0)
    return None if largest == 0 or len(part) < 2 else part / largest


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


def _placed(xy: Floats) -> tuple[Floats, float, Floats, int]:
    """Positions from 0 to 1; height by width; values at both ends; how many items others would hide."""
    # distances are kept, within limits; items of one place are set in a spiral around it
    if not len(xy):
        return xy, 0.5, np.zeros((2, 2)), 0
    low, width = xy.min(axis=0), np.ptp(xy, axis=0)
    ratio = float(np.clip(width[1] / width[0], 0.42, 0.66)) if 0 < width[0] < np.inf else 0.5
    low, width = np.where(width > 0, low, low - 0.5), np.where(width > 0, width, 1.0)
    with np.errstate(invalid="ignore"):
        xy = np.nan_to_num((xy - low) / width, nan=0.5)
    _, place, count = np.unique(np.round(xy, 4), axis=0, return_inverse=True, return_counts=True)
    rank = np.empty(len(xy), dtype=np.int64)
    rank[np.argsort(place, kind="stable")] = np.arange(len(xy)) - np.repeat(np.cumsum(count) - count, count)
    step = np.minimum(1.2e-3 * point_size(len(xy)), _WIDEST_PLACE / np.sqrt(count))[place]
    turned = np.column_stack([np.cos(_GOLDEN_ANGLE * rank), np.sin(_GOLDEN_ANGLE * rank) / ratio])
    xy = xy + (step * np.sqrt(rank))[:, None] * turned
    ends = np.array([xy.min(axis=0, initial=0.0), xy.max(axis=0, initial=1.0)])
    return (xy - ends[0]) / np.ptp(ends, axis=0), ratio, low + width * ends, int((rank > 0).sum())


def _edges(graph: Any, items: Ints) -> Ints:
    """Which of some items are neighbours, each pair once."""
    if graph is None:
        return np.empty((0, 2), dtype=np.int64)
    among = sparse.csr_matrix(graph)[items][:, items]
    pairs = sparse.triu(among + among.T, k=1).tocoo()
    return np.column_stack([pairs.row, pairs.col]).astype(np.int64)


def _own_units(table: Rows, columns: Sequence[Column], items: Ints) -> Floats | None:
    """The only one or two features in the user's units; None where there are more, or other things."""
    if len(columns) not in (1, 2) or any(one.kind in ("text", "category") for one in columns):
        return None
    found = table.dense(items) * [one.scale for one in columns] + [one.offset for one in columns]
    return found if np.isfinite(found).all() else None
