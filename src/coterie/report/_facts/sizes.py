"""Sizes against bounds: what was asked of each cluster, whether it holds, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.assign._sizes import SizeBounds, are_shares, read_bounds, shortfalls
from coterie.base import Account, Bounds
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
    note: str | None = None  # what could not be shown
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


def read_sizes(
    account: Account, missed: tuple[Shortfall, ...], labels: Ints, counts: Ints, size_weight: Any, groups: Any
) -> SizeFacts:
    """Sizes against bounds, with what the bounds cost.

    `size_weight` and `groups` are what `fit` was given. Without them the loads of the clusters are taken from
    the model, shares are shares of their sum, and groups cannot be counted; `missed` is what the fit counted.
    """
    k, n_outliers, given = len(counts), int((labels < 0).sum()), account.bounds
    sizes = counts.astype(np.float64)
    if account.sizes is not None and len(account.sizes) == k:
        sizes = account.sizes
    loads = size_weight is not None or not np.array_equal(sizes, counts)
    unit = "load" if loads else "items"
    if given is None:
        rows = [SizeRow(h, float(size), None, None, True, None) for h, size in enumerate(sizes.tolist())]
        return SizeFacts(tuple(rows), (), unit, False, (), n_outliers)

    if given.cap is not None:
        total = float(sizes.sum())
        rows = _rows(sizes, np.zeros(k), np.full(k, given.cap), total, None, None, 1e-9 * total)
        return SizeFacts(tuple(rows), (), unit, True, missed, n_outliers, priced=False)
    note = None
    if groups is None and (given.group_min is not None or given.group_max is not None):
        note = "Groups have bounds of their own; they cannot be counted here without `groups`."
    prices = np.zeros(k) if given.prices is None else given.prices
    if loads and size_weight is None:
        total = float(sizes.sum())
        low = _as_numbers(given.size_min, 0.0, total, k)
        high = _as_numbers(given.size_max, np.inf, total, k)
        tolerance = 1e-9 * total
        rows = _rows(sizes, low, high, total, prices, None, tolerance)
        pinned = not n_outliers and _at_minimum(sizes, low, tolerance)
        return SizeFacts(tuple(rows), (), unit, True, missed, n_outliers, pinned, note=note)
    bounds = _read_again(given, len(labels), k, size_weight, groups)
    tolerance = 1e-9 * bounds.total if len(bounds.load) else 0.0
    rows = _rows(sizes, bounds.low, bounds.high, bounds.total, prices, None, tolerance)
    tables: list[SizeRow] = []
    if bounds.groups is not None:
        held = bounds.held(labels)[1]
        for g, name in enumerate(bounds.groups.names):
            price = None if given.group_prices is None else given.group_prices[:, g]
            low, high = bounds.groups.low[g], bounds.groups.high[g]
            whole = float(held[g].sum())  # a cluster cannot hold more of the group: above, it is no bound
            tables += _rows(held[g, :k], low, high, whole, price, str(name), tolerance)
    pinned = not n_outliers and _at_minimum(sizes, bounds.low[:k], tolerance)
    group_of = None if bounds.groups is None else bounds.groups.code.astype(np.int64)
    missed = shortfalls(bounds, labels)
    return SizeFacts(tuple(rows), tuple(tables), unit, True, missed, n_outliers, pinned, group_of, note)


def _at_minimum(sizes: Floats, low: Floats, tolerance: float) -> bool:
    return bool((np.abs(sizes - low) <= tolerance).all())


def _read_again(given: Bounds, n: int, k: int, size_weight: Any, groups: Any) -> SizeBounds:
    """The bounds in numbers, as the fit read them."""
    by_group = {} if groups is None else {"group_min": given.group_min, "group_max": given.group_max}
    # one cluster more for what is left out, which is not shown
    spare = np.inf if given.spare else None
    words = {"size_weight": size_weight, "groups": groups, "spare": spare, **by_group}
    return read_bounds(given.size_min, given.size_max, n, k, **words)


def _as_numbers(value: Any, none: float, total: float, k: int) -> Floats:
    """A bound for each cluster, where the loads of the items are not known: shares are not rounded."""
    given = [value] * k if value is None or np.ndim(value) == 0 else list(value)
    numbers = [one for one in given if one is not None]
    unit = total / k if numbers and are_shares(numbers) else 1.0
    return np.array([none if one is None else float(one) * unit for one in given])


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
