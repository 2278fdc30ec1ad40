"""Bounds on what a cluster holds, as a person states them: numbers, shares, one per cluster, by group.

A bound that cannot be met is found here, before any work, and named with the sum that fails and by how much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.assign._points import NOTHING, Floats
from coterie.assign._transport import NO_KINDS, Limits
from coterie.base import warn_user
from coterie.constraints import Shortfall
from coterie.constraints._violations import said
from coterie.exceptions import InfeasibleConstraintsError, UndecidedError, ViolatedConstraintsWarning

# No maximum, as a multiple of all there is: a cluster that holds everything is not at its maximum.
_NO_MAXIMUM = 2.0


@dataclass(frozen=True, eq=False)
class Groups:
    """To which group each item belongs (-1: none), and the bounds of each group in each cluster."""

    names: tuple[Any, ...]
    code: NDArray[np.int32]
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class SizeBounds:
    """Everything that was said about sizes, in numbers.

    Attributes
    ----------
    low, high : array of shape (k,)
        Least and largest load of each cluster.
    load : array of shape (n,), or (0,)
        What each item counts; empty: 1.
    groups : Groups or None
        Bounds by group.
    n : int
        Number of items.
    """

    low: Floats
    high: Floats
    load: Floats
    groups: Groups | None
    n: int

    @property
    def total(self) -> float:
        """The load of all items."""
        return float(self.load.sum()) if len(self.load) else float(self.n)

    @property
    def bind(self) -> bool:
        """Whether any bound can make a difference."""
        free = not (self.low > 0).any() and not (self.high < self.total).any()
        return not (free and self.groups is None)

    @property
    def n_kinds(self) -> int:
        return 1 if self.groups is None else len(self.groups.names) + 1

    def kind_bounds(self) -> tuple[Floats, Floats]:
        """Bounds by kind of item: a row a group, and a last one for items in none."""
        k = len(self.low)
        if self.groups is None:
            return np.zeros((1, k)), np.full((1, k), _NO_MAXIMUM * self.total)
        rest_low, rest_high = np.zeros((1, k)), np.full((1, k), _NO_MAXIMUM * self.total)
        return np.concatenate([self.groups.low, rest_low]), np.concatenate([self.groups.high, rest_high])

    def kinds(self) -> NDArray[np.int32]:
        """The kind of each item; empty where there is one only."""
        if self.groups is None:
            return NO_KINDS
        code = self.groups.code
        return np.where(code < 0, len(self.groups.names), code).astype(np.int32)

    def limits(self) -> Limits:
        """The same as the transport takes it."""
        return Limits(self.low, self.high, self.kinds(), *self.kind_bounds(), self.n)

    def held(self, labels: Any) -> tuple[Floats, Floats]:
        """Load of each cluster, and of each kind in it, under some labels (-1: nowhere)."""
        k = len(self.low)
        inside = labels >= 0
        load = self.load[inside] if len(self.load) else None
        size = np.bincount(labels[inside], load, k).astype(np.float64)
        if self.groups is None:
            return size, size[None]
        node = self.kinds()[inside] * np.int64(k) + labels[inside]
        return size, np.bincount(node, load, self.n_kinds * k).astype(np.float64).reshape(-1, k)


# ---- reading ----------------------------------------------------------------------------------------------


def read_bounds(
    size_min: Any,
    size_max: Any,
    n: int,
    k: int,
    *,
    size_weight: Any = None,
    groups: Any = None,
    group_min: Any = None,
    group_max: Any = None,
    spare: float | None = None,
) -> SizeBounds:
    """Read and check all bounds; raises where they cannot be met.

    With `spare` there is one cluster more, the last, which holds up to so much of what is left out.
    """
    load = read_loads(size_weight, n)
    total = float(load.sum()) if len(load) else float(n)
    whole = size_weight is None
    low = _one_per_cluster(size_min, "size_min", total, k, whole=whole, lower=True)
    high = _one_per_cluster(size_max, "size_max", total, k, whole=whole, lower=False)
    read = _read_groups(groups, group_min, group_max, load, n, k, whole)
    if not whole and not len(load):  # the loads are all 1: only whole numbers can be reached
        low, high = np.ceil(low - 1e-9), np.floor(high + 1e-9)
        if read is not None:
            read = replace(read, low=np.ceil(read.low - 1e-9), high=np.floor(read.high + 1e-9))
    bounds = SizeBounds(low, high, load, read, n)
    if spare is not None:
        bounds = _with_spare(bounds, min(float(spare), _NO_MAXIMUM * total))
    check_sums(bounds)
    return bounds


def _with_spare(bounds: SizeBounds, most: float) -> SizeBounds:
    """The same bounds with one cluster more, for what is left out."""
    groups = bounds.groups
    if groups is not None:
        shape = len(groups.low), 1
        low = np.concatenate([groups.low, np.zeros(shape)], axis=1)
        high = np.concatenate([groups.high, np.full(shape, _NO_MAXIMUM * bounds.total)], axis=1)
        groups = replace(groups, low=low, high=high)
    return replace(bounds, low=np.append(bounds.low, 0.0), high=np.append(bounds.high, most), groups=groups)


def read_loads(size_weight: Any, n: int) -> Floats:
    """Loads: finite, not negative; empty if all are 1."""
    if size_weight is None:
        return NOTHING
    try:
        load = np.asarray(size_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"size_weight must be {n} numbers, one per item.") from None
    if load.shape != (n,):
        raise ValueError(f"size_weight has shape {load.shape}, but one load per item is needed: ({n},).")
    wrong = np.flatnonzero(~np.isfinite(load) | (load < 0))
    if len(wrong):
        raise ValueError(
            f"size_weight of item {wrong[0]} is {said(load[wrong[0]])}; loads are finite, at least 0."
        )
    if not load.any():
        raise ValueError("size_weight is zero for every item: there is nothing to bound.")
    return NOTHING if (load == 1.0).all() else load


def _one_per_cluster(value: Any, name: str, total: float, k: int, *, whole: bool, lower: bool) -> Floats:
    """A bound for each cluster; shares of the mean size are turned into numbers."""
    if value is None:
        return np.zeros(k) if lower else np.full(k, _NO_MAXIMUM * total)
    if isinstance(value, (bool, np.bool_, str)):
        raise ValueError(f"{name} must be a number, a share or one of them per cluster; got {value!r}.")
    if isinstance(value, Real):
        share = not isinstance(value, (int, np.integer)) and 0 < float(value) <= 1
        found = np.full(k, float(value))
    else:
        if isinstance(value, (list, tuple)) and any(one is None for one in value):
            value = [(0.0 if lower else total) if one is None else one for one in value]
        given = np.asarray(value)
        if given.dtype.kind not in "iuf" or given.shape != (k,):
            raise ValueError(
                f"{name} must be a number or {k} numbers, one per cluster; got "
                + (f"shape {given.shape}." if given.dtype.kind in "iuf" else f"{value!r}.")
            )
        found = given.astype(np.float64)
        share = given.dtype.kind == "f" and bool((found <= 1).all() and (found > 0).any())
    wrong = np.flatnonzero(np.isnan(found) | (found < 0) | (np.isinf(found) & lower))
    if len(wrong):
        raise ValueError(f"{name} of cluster {wrong[0]} is {said(found[wrong[0]])}; it must be at least 0.")
    if share:
        found = found * total / k
        if whole:
            # a share of 1 of 12 items in 3 clusters is 4, whatever rounding did to 12 / 3
            found = np.floor(found + 1e-9) if lower else np.ceil(found - 1e-9)
    if whole:
        wrong = np.flatnonzero(np.isfinite(found) & (found != np.round(found)))
        if len(wrong):
            raise ValueError(
                f"{name} of cluster {wrong[0]} is {said(found[wrong[0]])}, but items are counted whole. "
                "Give a whole number, or a share of the mean size between 0 and 1."
            )
    return found if lower else np.where(found >= total, _NO_MAXIMUM * total, found)


def _read_groups(
    groups: Any, group_min: Any, group_max: Any, load: Floats, n: int, k: int, whole: bool
) -> Groups | None:
    if groups is None:
        for name, value in (("group_min", group_min), ("group_max", group_max)):
            if value is not None:
                raise ValueError(f"{name} is given, but no groups: say with groups= which item is in which.")
        return None
    if group_min is None and group_max is None:  # a search may try this beside quotas
        return None
    names, code = _codes(groups, n)
    total = np.bincount(code[code >= 0], load[code >= 0] if len(load) else None, len(names)).astype(float)
    low, high = np.zeros((len(names), k)), np.repeat(_NO_MAXIMUM * total[:, None], k, axis=1)
    for label, value, table in (("group_min", group_min, low), ("group_max", group_max, high)):
        if value is None:
            continue
        lower = label == "group_min"
        if isinstance(value, Mapping):
            for group, bound in value.items():
                if group not in names:
                    raise ValueError(
                        f"{label} speaks of group {group!r}, which no item is in; there are "
                        + ", ".join(repr(name) for name in names[:8])
                        + (", ..." if len(names) > 8 else ".")
                    )
                g = names.index(group)
                table[g] = _one_per_cluster(
                    bound, f"{label}[{group!r}]", total[g], k, whole=whole, lower=lower
                )
            continue
        rows = [value] * len(names) if isinstance(value, Real) else list(np.asarray(value))
        if len(rows) != len(names):
            raise ValueError(
                f"{label} has {len(rows)} rows, but there are {len(names)} groups; give a number, a "
                "dictionary by group, or one row per group in sorted order."
            )
        for g, bound in enumerate(rows):
            table[g] = _one_per_cluster(
                bound, f"{label} of group {names[g]!r}", total[g], k, whole=whole, lower=lower
            )
    return Groups(names, code, low, high)


def _codes(groups: Any, n: int) -> tuple[tuple[Any, ...], NDArray[np.int32]]:
    """Names of the groups, sorted, and the group of each item; -1, None and NaN mean none."""
    if isinstance(groups, np.ndarray) and groups.dtype.kind in "iu" and groups.shape == (n,):
        kept = groups != -1
        values, compact = np.unique(groups[kept], return_inverse=True)
        if len(values):
            of_item = np.full(n, -1, dtype=np.int32)
            of_item[kept] = compact
            return tuple(values.tolist()), of_item
    given = groups.tolist() if hasattr(groups, "tolist") else list(groups)
    if len(given) != n:
        raise ValueError(f"groups has {len(given)} entries, but there are {n} items.")
    # NaN is the one thing that differs from itself
    nobody = [one is None or one != one or (isinstance(one, Real) and one == -1) for one in given]
    found = {one for one, none in zip(given, nobody, strict=True) if not none}
    if not found:
        raise ValueError("groups puts every item into no group (-1, None or NaN).")
    try:
        names = sorted(found)
    except TypeError:
        names = sorted(found, key=lambda one: (type(one).__name__, str(one)))
    number = {name: position for position, name in enumerate(names)}
    code = np.array(
        [-1 if none else number[one] for one, none in zip(given, nobody, strict=True)], dtype=np.int32
    )
    return tuple(names), code


# ---- can they be met? ---------------------------------------------------------------------------------


def check_sums(bounds: SizeBounds) -> None:
    """Raise where sums already show that the bounds cannot be met."""
    low, high, total = bounds.low, bounds.high, bounds.total
    crumb = 1e-12 * total if len(bounds.load) else 0.0
    what = "the load of all items" if len(bounds.load) else "the number of items"
    over = np.flatnonzero(low > high + crumb)
    if len(over):
        h = int(over[0])
        raise InfeasibleConstraintsError(
            f"cluster {h}: size_min is {said(low[h])}, which is {said(low[h] - high[h])} more than its "
            f"size_max of {said(high[h])}."
        )
    if low.sum() > total + crumb:
        raise InfeasibleConstraintsError(
            f"the minimum sizes add up to {said(low.sum())}, which is {said(low.sum() - total)} more than "
            f"{what}, {said(total)}."
        )
    if high.sum() < total - crumb:
        raise InfeasibleConstraintsError(
            f"the maximum sizes add up to {said(high.sum())}, which is {said(total - high.sum())} less "
            f"than {what}, {said(total)}."
        )
    if len(bounds.load):
        item = int(np.argmax(bounds.load))
        if bounds.load[item] > high.max() + crumb:
            raise InfeasibleConstraintsError(
                f"item {item} has a load of {said(bounds.load[item])}, which is "
                f"{said(bounds.load[item] - high.max())} more than the largest size_max, {said(high.max())}."
            )
    if bounds.groups is not None:
        _check_groups(bounds, bounds.groups, crumb)


def _check_groups(bounds: SizeBounds, groups: Groups, crumb: float) -> None:
    inside = groups.code >= 0
    load = bounds.load[inside] if len(bounds.load) else None
    total = np.bincount(groups.code[inside], load, len(groups.names)).astype(np.float64)
    for g, name in enumerate(groups.names):
        over = np.flatnonzero(groups.low[g] > groups.high[g] + crumb)
        if len(over):
            h = int(over[0])
            raise InfeasibleConstraintsError(
                f"group {name!r} in cluster {h}: at least {said(groups.low[g, h])} and at most "
                f"{said(groups.high[g, h])} cannot both hold."
            )
        need, room = groups.low[g].sum(), groups.high[g].sum()
        if need > total[g] + crumb:
            raise InfeasibleConstraintsError(
                f"group {name!r}: its minima add up to {said(need)}, which is {said(need - total[g])} more "
                f"than it has, {said(total[g])}."
            )
        if room < total[g] - crumb:
            raise InfeasibleConstraintsError(
                f"group {name!r}: its maxima add up to {said(room)}, which is {said(total[g] - room)} less "
                f"than it has, {said(total[g])}."
            )
    minima = groups.low.sum(axis=0)
    over = np.flatnonzero(minima > bounds.high + crumb)
    if len(over):
        h = int(over[0])
        raise InfeasibleConstraintsError(
            f"cluster {h}: the minima of its groups add up to {said(minima[h])}, which is "
            f"{said(minima[h] - bounds.high[h])} more than its size_max, {said(bounds.high[h])}."
        )
    rest = bounds.total - float(total.sum())
    most = np.minimum(groups.high, total[:, None]).sum(axis=0) + rest
    short = np.flatnonzero(most < bounds.low - crumb)
    if len(short):
        h = int(short[0])
        raise InfeasibleConstraintsError(
            f"cluster {h}: the maxima of its groups and the items in no group add up to {said(most[h])}, "
            f"which is {said(bounds.low[h] - most[h])} less than its size_min, {said(bounds.low[h])}."
        )
    room = float(np.minimum(bounds.high, most).sum())
    if room < bounds.total - crumb:
        raise InfeasibleConstraintsError(
            f"the maximum sizes, or where they are smaller what group_max leaves, add up to {said(room)}: "
            f"{said(bounds.total - room)} less than there is, {said(bounds.total)}."
        )
    need = float(np.maximum(bounds.low, minima).sum())
    if need > bounds.total + crumb:
        raise InfeasibleConstraintsError(
            "the minimum sizes, or where they are larger the sums of the groups' minima, add up to "
            f"{said(need)}: {said(need - bounds.total)} more than there is, {said(bounds.total)}."
        )


# ---- what was missed ----------------------------------------------------------------------------------


def shortfalls(bounds: SizeBounds, labels: Any) -> tuple[Shortfall, ...]:
    """The bounds that some labels miss."""
    size, by_kind = bounds.held(labels)
    crumb = 1e-9 * bounds.total if len(bounds.load) else 0.0
    found = _missed_in(size, bounds.low, bounds.high, None, crumb)
    if bounds.groups is not None:
        for g, name in enumerate(bounds.groups.names):
            found += _missed_in(by_kind[g], bounds.groups.low[g], bounds.groups.high[g], name, crumb)
    return tuple(found)


def _missed_in(size: Floats, low: Floats, high: Floats, group: Any, crumb: float) -> list[Shortfall]:
    wrong = np.flatnonzero((size < low - crumb) | (size > high + crumb))
    return [Shortfall(int(h), float(size[h]), float(low[h]), float(high[h]), group) for h in wrong]


def tell_shortfall(missed: tuple[Shortfall, ...], how: str) -> None:
    """Raise, or warn, that no assignment within the bounds was found."""
    some = "; ".join(str(one) for one in missed[:3]) + ("; ..." if len(missed) > 3 else "")
    message = (
        f"no assignment within all bounds was found, nor proven that there is none; the best misses: {some}."
    )
    if how == "raise":
        raise UndecidedError(
            f"{message} Widen the bounds, raise the budget, or take the best with on_shortfall='warn'."
        )
    warn_user(message, ViolatedConstraintsWarning)
