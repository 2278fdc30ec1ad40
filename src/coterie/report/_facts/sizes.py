"""Sizes against bounds: what was asked of each cluster, whether it holds, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.assign._sizes import shortfalls
from coterie.base import Account
from coterie.constraints import Shortfall
from coterie.report._facts.rows import Floats, Ints


@dataclass(frozen=True)
class SizeRow:
    """The size of a cluster, or of a group in it, and its bounds; None where there is no bound."""

    cluster: int
    size: float
    low: float | None
    high: float | None
    met: bool
    price: float | None
    group: str | None = None


@dataclass(frozen=True)
class SizeFacts:
    """All sizes."""

    rows: tuple[SizeRow, ...]  # one a cluster
    groups: tuple[SizeRow, ...]  # one a group and cluster, where groups have bounds
    unit: str  # what is counted: "items" or "load"
    bounded: bool  # whether bounds on sizes or groups are given
    missed: tuple[Shortfall, ...]
    n_outliers: int  # items in no cluster
    # every cluster has the only size that the minima leave, so that only differences of prices mean something
    pinned: bool = False
    group_of: Ints | None = None  # the group of each item, by its place in `groups`; -1: none
    priced: bool = True  # whether the bounds have prices

    def holding(self, item: int, here: int, there: int) -> str | None:
        """The bounds that keep an item out of another cluster: at their prices, that one is dearer."""
        if not self.bounded:
            return None
        of_sizes = _rise(self.rows, there, here)
        of_group = 0.0
        group = -1 if self.group_of is None else int(self.group_of[item])
        if group >= 0:
            first = group * len(self.rows)
            of_group = _rise(self.groups, first + there, first + here)
        if of_sizes + of_group <= 0:
            return None
        return "the bounds on its group" if of_group > of_sizes else "the bounds on sizes"


def _rise(rows: tuple[SizeRow, ...], start: int, stop: int) -> float:
    return (rows[stop].price or 0.0) - (rows[start].price or 0.0)


def read_sizes(account: Account, labels: Ints, counts: Ints, size_weight: Any) -> SizeFacts:
    """Sizes against bounds, with what the bounds cost."""
    k, n_outliers, given = len(counts), int((labels < 0).sum()), account.bounds
    if given is None:
        sizes = counts.astype(np.float64)
        if account.sizes is not None and len(account.sizes) == k:
            sizes = account.sizes
        unit = "load" if size_weight is not None or not np.array_equal(sizes, counts) else "items"
        rows = [SizeRow(h, float(size), None, None, True, None) for h, size in enumerate(sizes.tolist())]
        return SizeFacts(tuple(rows), (), unit, False, (), n_outliers)
    bounds, prices = given.read, given.prices
    unit, tolerance = ("load", 1e-9 * bounds.total) if len(bounds.load) else ("items", 0.0)
    sizes, held = bounds.held(labels)
    rows = _rows(sizes[:k], bounds.low, bounds.high, bounds.total, prices, None, tolerance)
    tables: list[SizeRow] = []
    if bounds.groups is not None:
        for g, name in enumerate(bounds.groups.names):
            price = None if given.group_prices is None else given.group_prices[:, g]
            low, high = bounds.groups.low[g], bounds.groups.high[g]
            whole = float(held[g].sum())  # a cluster cannot hold more of the group: above, it is no bound
            tables += _rows(held[g, :k], low, high, whole, price, str(name), tolerance)
    pinned = not n_outliers and bool((np.abs(sizes[:k] - bounds.low[:k]) <= tolerance).all())
    group_of = None if bounds.groups is None else bounds.groups.code.astype(np.int64)
    found = tuple(rows), tuple(tables), unit, True, shortfalls(bounds, labels), n_outliers, pinned, group_of
    return SizeFacts(*found, priced=prices is not None)


def _rows(
    size: Floats, low: Floats, high: Floats, total: float, price: Any, group: str | None, tolerance: float
) -> list[SizeRow]:
    found = []
    for h in range(len(size)):
        least = None if low[h] <= 0 else float(low[h])
        most = None if high[h] >= total else float(high[h])
        met = low[h] - tolerance <= size[h] <= high[h] + tolerance
        cost = None if price is None or not np.isfinite(price[h]) else float(price[h])
        found.append(SizeRow(h, float(size[h]), least, most, bool(met), cost, group))
    return found
