"""Bounds on what a cluster holds, in numbers: whether they can be met, and what some labels miss.

A bound that cannot be met is found before any work, and named with the sum that fails and by how much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie._arrays import NOTHING, Floats
from coterie._words import format_number as format_number
from coterie.assign._transport import NO_KINDS, Limits, spread_missed
from coterie.base import warn_user
from coterie.constraints import Shortfall
from coterie.exceptions import InfeasibleConstraintsError, UndecidedError, ViolatedConstraintsWarning

# No maximum, as a multiple of all there is: a cluster that holds everything is not at its maximum.
NO_MAXIMUM = 2.0
# Units x clusters that the integer program of an assignment under bounds may have.
MAX_CELLS = 20_000


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
    names : tuple of str
        What the first clusters are called, where labels name them.
    """

    low: Floats
    high: Floats
    load: Floats
    groups: Groups | None
    n: int
    names: tuple[str, ...] = ()

    def called(self, h: int) -> str:
        """A cluster by its number, and by its name where it has one."""
        return f"cluster {h} ({self.names[h]})" if h < len(self.names) else f"cluster {h}"

    def by_cluster(self, k: int) -> bool:
        """Whether it matters which of the first k clusters is which."""
        tables = [self.low[None], self.high[None]]
        if self.groups is not None:
            tables += [self.groups.low, self.groups.high]
        return any((table[:, :k] != table[:, :1]).any() for table in tables)

    @property
    def total(self) -> float:
        """The load of all items."""
        return float(self.load.sum()) if len(self.load) else float(self.n)

    @property
    def bind(self) -> bool:
        """Whether any bound can make a difference."""
        free = not (self.low > 0).any() and not (self.high < self.total).any()
        return not (free and self.groups is None)

    @cached_property
    def limits(self) -> Limits:
        """The same by kind of item, as the transport takes it; items in no group are the last kind."""
        low, high = np.zeros((1, len(self.low))), np.full((1, len(self.low)), NO_MAXIMUM * self.total)
        kind, groups = NO_KINDS, self.groups
        if groups is not None:
            kind = np.where(groups.code < 0, len(groups.names), groups.code).astype(np.int32)
            low, high = np.concatenate([groups.low, low]), np.concatenate([groups.high, high])
        return Limits(self.low, self.high, kind, low, high, self.n, self.load)

    def missed(self, labels: Any) -> float:
        """By how much some labels miss the bounds; 0 if by no more than rounding."""
        return float(sum(one.amount for one in shortfalls(self, labels)))

    def held(self, labels: Any) -> tuple[Floats, Floats]:
        """Load of each cluster, and of each kind in it, under some labels (-1: nowhere)."""
        by_kind = self.limits.held(labels)
        return by_kind.sum(axis=0), by_kind


# ---- can they be met? ---------------------------------------------------------------------------------


_FEWER = " Lower size_min, or ask for fewer clusters."
_MORE = " Raise size_max, or ask for more clusters."


def _refuse(
    subject: str, found: float, way: str, what: str, limit: float, tolerance: float, remedy: str = ""
) -> None:
    """Raise where a number is "more" or "less" than it may be; `remedy` says what to do."""
    gap = found - limit if way == "more" else limit - found
    if gap > tolerance:
        raise InfeasibleConstraintsError(
            f"{subject} {format_number(found)}, which is {format_number(gap)} {way} than {what}, "
            f"{format_number(limit)}.{remedy}"
        )


def check_sums(bounds: SizeBounds) -> None:
    """Raise where sums already show that the bounds cannot be met."""
    low, high, total = bounds.low, bounds.high, bounds.total
    tolerance = 1e-12 * total if len(bounds.load) else 0.0
    what = "the load of all items" if len(bounds.load) else "the number of items"
    for h in np.flatnonzero(high <= total).tolist():
        _refuse(f"{bounds.called(h)}: size_min is", low[h], "more", "its size_max", high[h], tolerance)
    _refuse("the minimum sizes add up to", low.sum(), "more", what, total, tolerance, _FEWER)
    _refuse("the maximum sizes add up to", high.sum(), "less", what, total, tolerance, _MORE)
    if len(bounds.load):
        item, most = int(np.argmax(bounds.load)), "the largest size_max"
        _refuse(f"item {item} has a load of", bounds.load[item], "more", most, high.max(), tolerance)
    if bounds.groups is not None:
        _check_groups(bounds, bounds.groups, tolerance)


def _check_groups(bounds: SizeBounds, groups: Groups, tolerance: float) -> None:
    inside = groups.code >= 0
    load = bounds.load[inside] if len(bounds.load) else None
    total = np.bincount(groups.code[inside], load, len(groups.names)).astype(np.float64)
    for g, name in enumerate(groups.names):
        low, high = groups.low[g], groups.high[g]
        for h in np.flatnonzero(high <= total[g]).tolist():
            where = f"group {name!r} in {bounds.called(h)}: its minimum is"
            _refuse(where, low[h], "more", "its maximum", high[h], tolerance)
        _refuse(f"group {name!r}: its minima add up to", low.sum(), "more", "it has", total[g], tolerance)
        _refuse(f"group {name!r}: its maxima add up to", high.sum(), "less", "it has", total[g], tolerance)
    minima = groups.low.sum(axis=0)
    most = np.minimum(groups.high, total[:, None]).sum(axis=0) + (bounds.total - float(total.sum()))
    for h, (low, high) in enumerate(zip(bounds.low, bounds.high, strict=True)):
        where = f"{bounds.called(h)}: the minima of its groups add up to"
        _refuse(where, minima[h], "more", "its size_max", high, tolerance)
        where = f"{bounds.called(h)}: the maxima of its groups and the items in no group add up to"
        _refuse(where, most[h], "less", "its size_min", low, tolerance)
    room, need = np.minimum(bounds.high, most).sum(), np.maximum(bounds.low, minima).sum()
    where = "the maximum sizes, or where they are smaller what group_max leaves, add up to"
    _refuse(where, room, "less", "there is", bounds.total, tolerance)
    where = "the minimum sizes, or where they are larger the sums of the groups' minima, add up to"
    _refuse(where, need, "more", "there is", bounds.total, tolerance)
    if not len(bounds.load):
        _check_together(bounds)


def _check_together(bounds: SizeBounds) -> None:
    """Raise where bounds of groups and clusters can be met each, but not all at once, by a linear program."""
    missed = spread_missed(bounds.limits)
    if missed.sum() > 0.5:
        h = int(np.argmax(missed))
        raise InfeasibleConstraintsError(
            f"the bounds of groups and sizes cannot be met together, though each could: at best "
            f"{format_number(float(np.round(missed.sum())))} items are out of bounds in all, for example "
            f"{format_number(float(np.round(missed[h])))} in {bounds.called(h)}."
        )


def in_units(bounds: SizeBounds, prove: bool) -> tuple[SizeBounds, float]:
    """Equal loads are loads of 1, with bounds that are smaller by as much; and that load.

    Where whole items cannot meet them it raises, unless nothing is to be proven: then loads stay loads.
    """
    load = bounds.load
    if not len(load) or load[0] <= 0 or (load != load[0]).any():
        return bounds, 1.0
    one = float(load[0])
    groups = bounds.groups
    if groups is not None:
        groups = replace(groups, low=_up(groups.low / one), high=_down(groups.high / one))
    low, high = _up(bounds.low / one), _down(bounds.high / one)
    whole = replace(bounds, low=low, high=high, load=NOTHING, groups=groups)
    try:
        check_sums(whole)
    except InfeasibleConstraintsError as error:
        if not prove:
            return bounds, 1.0
        raise InfeasibleConstraintsError(
            f"every item has a load of {format_number(one)}; counted in whole items, {error}"
        ) from None
    return whole, one


def _up(low: Floats) -> Floats:
    return np.ceil(low - 1e-9 * (1 + low))


def _down(high: Floats) -> Floats:
    return np.floor(high + 1e-9 * (1 + high))


# ---- what was missed ----------------------------------------------------------------------------------


def shortfalls(bounds: SizeBounds, labels: Any) -> tuple[Shortfall, ...]:
    """The bounds that some labels miss."""
    size, by_kind = bounds.held(labels)
    rounding = 1e-9 if len(bounds.load) else 0.0
    found = _missed_in(size, bounds.low, bounds.high, None, rounding)
    if bounds.groups is not None:
        for g, name in enumerate(bounds.groups.names):
            found += _missed_in(by_kind[g], bounds.groups.low[g], bounds.groups.high[g], name, rounding)
    return tuple(found)


def _missed_in(size: Floats, low: Floats, high: Floats, group: Any, rounding: float) -> list[Shortfall]:
    wrong = np.flatnonzero((size < low * (1 - rounding)) | (size > high * (1 + rounding)))
    return [Shortfall(int(h), float(size[h]), float(low[h]), float(high[h]), group) for h in wrong]


_WAYS = f"raise the budget (up to {MAX_CELLS:,} cells, items times clusters, are solved exactly)"


def tell_shortfall(missed: tuple[Shortfall, ...], how: str, ways: str = _WAYS) -> None:
    """Raise, or warn, that no assignment within the bounds was found; `ways` out are named."""
    some = "; ".join(str(one) for one in missed[:3]) + ("; ..." if len(missed) > 3 else "")
    message = (
        f"no assignment within all bounds was found, nor proven that there is none; the best misses: {some}."
    )
    if how == "raise":
        raise UndecidedError(
            f"{message} Widen the bounds, {ways}, or take the best with on_shortfall='warn'."
        )
    warn_user(message, ViolatedConstraintsWarning)
