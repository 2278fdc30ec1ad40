"""Bounds as a person states them: numbers, shares, one per cluster, by group; turned into numbers.

An int is a number of items. A float up to 1 is a share of the mean size: minima are rounded down, maxima up,
to whole items (to whole loads, if all are equal). Whether a list is of shares is decided for all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie._arrays import NOTHING, Floats
from coterie._words import format_number as format_number
from coterie.assign._sizes.bounds import NO_MAXIMUM, Groups, SizeBounds, check_sums
from coterie.exceptions import ParameterError


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
    check: bool = True,
) -> SizeBounds:
    """Read all bounds; raises where they make no sense and, with `check`, where they cannot be met.

    With `spare` there is one cluster more, the last, which holds up to so much of what is left out.
    """
    load = read_loads(size_weight, n)
    total = float(load.sum()) if len(load) else float(n)
    reader = _Reader(load, k, strict=size_weight is None)
    low = reader.one_per_cluster(size_min, "size_min", total, lower=True)
    high = reader.one_per_cluster(size_max, "size_max", total, lower=False)
    read = _read_groups(reader, groups, group_min, group_max, n)
    if not reader.strict and not len(load):  # the loads are all 1: only whole numbers can be reached
        low, high = np.ceil(low - 1e-9), np.floor(high + 1e-9)
        if read is not None:
            read = replace(read, low=np.ceil(read.low - 1e-9), high=np.floor(read.high + 1e-9))
    bounds = SizeBounds(low, high, load, read, n)
    if spare is not None:
        bounds = _with_spare(bounds, min(float(spare), NO_MAXIMUM * total))
    if check:
        check_sums(bounds)
    return bounds


def _with_spare(bounds: SizeBounds, most: float) -> SizeBounds:
    """The same bounds with one cluster more, for what is left out."""
    groups = bounds.groups
    if groups is not None:
        shape = len(groups.low), 1
        low = np.concatenate([groups.low, np.zeros(shape)], axis=1)
        high = np.concatenate([groups.high, np.full(shape, NO_MAXIMUM * bounds.total)], axis=1)
        groups = replace(groups, low=low, high=high)
    return replace(bounds, low=np.append(bounds.low, 0.0), high=np.append(bounds.high, most), groups=groups)


def read_loads(size_weight: Any, n: int) -> Floats:
    """Loads: finite, not negative; empty if all are 1."""
    if size_weight is None:
        return NOTHING
    try:
        load = np.asarray(size_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise _wrong_load(f"size_weight must be {n} numbers, one per item.") from None
    if load.shape != (n,):
        raise _wrong_load(f"size_weight has shape {load.shape}, but one load per item is needed: ({n},).")
    wrong = np.flatnonzero(~np.isfinite(load) | (load < 0))
    if len(wrong):
        raise _wrong_load(
            f"size_weight of item {wrong[0]} is {format_number(load[wrong[0]])}; loads are finite, at least "
            "0."
        )
    if not load.any():
        raise _wrong_load("size_weight is zero for every item: there is nothing to bound.")
    return NOTHING if (load == 1.0).all() else load


def _wrong_load(message: str) -> ParameterError:
    return ParameterError(message, "size_weight")


class _Reader:
    """Turns what was said of k clusters into numbers."""

    def __init__(self, load: Floats, k: int, strict: bool) -> None:
        """`strict`: items are counted, so that bounds are whole numbers."""
        self.load, self.k, self.strict = load, k, strict
        # shares are rounded to multiples of this, if all loads are the same
        self.step: float | None = None
        if not len(load):
            self.step = 1.0
        elif (load == load[0]).all():
            self.step = float(load[0])

    def one_per_cluster(
        self, value: Any, name: str, total: float, *, lower: bool, shares: bool | None = None
    ) -> Floats:
        """A bound for each cluster; None, alone or in a list, is no bound."""
        given = self._listed(value, name)
        if shares is None:
            shares = are_shares([one for one in given if one is not None])
        found = np.array([(0.0 if lower else np.inf) if one is None else float(one) for one in given])
        wrong = np.flatnonzero(np.isnan(found) | (found < 0) | (np.isinf(found) & lower))
        if len(wrong):
            raise ParameterError(
                f"{name} of cluster {wrong[0]} is {format_number(found[wrong[0]])}; it must be at least 0"
                + (" and finite." if lower else "."),
                name,
            )
        if shares:
            found = found * total / self.k
            if self.step is not None:
                # a share of 1 of 12 items in 3 clusters is 4, whatever rounding did to 12 / 3
                steps = found / self.step
                found = self.step * (np.floor(steps + 1e-9) if lower else np.ceil(steps - 1e-9))
        elif self.strict:
            wrong = np.flatnonzero(np.isfinite(found) & (found != np.round(found)))
            if len(wrong):
                raise ParameterError(
                    f"{name} of cluster {wrong[0]} is {format_number(found[wrong[0]])}, but items are "
                    "counted whole. "
                    "Give a whole number, or a share of the mean size between 0 and 1.",
                    name,
                )
        return found if lower else np.where(found >= total, NO_MAXIMUM * total, found)

    def _listed(self, value: Any, name: str) -> list[Any]:
        """The value as k numbers, some of them None."""
        if value is None or _is_number(value):
            return [value] * self.k
        wanted = f"{name} must be a number or {self.k} numbers, one per cluster"
        if isinstance(value, (bool, np.bool_, str)) or not hasattr(value, "__len__"):
            raise ParameterError(f"{wanted}; got {value!r}.", name)
        given = value.tolist() if hasattr(value, "tolist") else list(value)
        if len(given) != self.k:
            raise ParameterError(f"{wanted}; got {len(given)} of them: {value!r}.", name)
        for one in given:
            if one is not None and not _is_number(one):
                raise ParameterError(f"{wanted}; got {one!r} among them.", name)
        return given


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def are_shares(given: list[Any]) -> bool:
    """Whether numbers are meant as shares: floats of which none is above 1, and some above 0."""
    finite = [one for one in given if not np.isinf(float(one))]
    if all(isinstance(one, Integral) for one in finite):
        return False
    return all(one <= 1 for one in finite) and any(one > 0 for one in finite)


# ---- groups -------------------------------------------------------------------------------------------


def _read_groups(reader: _Reader, groups: Any, group_min: Any, group_max: Any, n: int) -> Groups | None:
    if groups is None:
        for name, value in (("group_min", group_min), ("group_max", group_max)):
            if value is not None:
                message = f"{name} is given, but no groups: say with groups= which item is in which."
                raise ParameterError(message, name, "groups")
        return None
    if group_min is None and group_max is None:  # a search may try this beside quotas
        return None
    names, code = _codes(groups, n)
    inside, load = code >= 0, reader.load
    total = np.bincount(code[inside], load[inside] if len(load) else None, len(names)).astype(np.float64)
    low = _by_group(reader, group_min, "group_min", names, total, lower=True)
    high = _by_group(reader, group_max, "group_max", names, total, lower=False)
    return Groups(names, code, low, high)


def _by_group(
    reader: _Reader, value: Any, label: str, names: tuple[Any, ...], total: Floats, *, lower: bool
) -> Floats:
    """One row of bounds a group."""
    rows: dict[int, Any] = dict.fromkeys(range(len(names)))
    shares: bool | None = None
    if isinstance(value, Mapping):
        for group, bound in value.items():
            if group not in names:
                raise ParameterError(
                    f"{label} speaks of group {group!r}, which no item is in; there are "
                    + ", ".join(repr(name) for name in names[:8])
                    + (", ..." if len(names) > 8 else "."),
                    label,
                )
            rows[names.index(group)] = bound
    elif value is None or _is_number(value):
        rows = dict.fromkeys(rows, value)
    else:
        wanted = f"{label} must be a number, a dictionary by group, or one row per group in sorted order"
        if isinstance(value, str) or not hasattr(value, "__len__"):
            raise ValueError(f"{wanted}; got {value!r}.")
        if len(value) != len(names):
            raise ValueError(f"{wanted}; got {len(value)} rows, but there are {len(names)} groups.")
        rows = dict(enumerate(value))
        cells = [one for row in rows.values() for one in (row if hasattr(row, "__len__") else [row])]
        numbers = [one for one in cells if _is_number(one)]
        shares = are_shares(numbers)  # of the whole table, not row by row
    return np.stack(
        [
            reader.one_per_cluster(
                rows[g], f"{label} of group {names[g]!r}", float(total[g]), lower=lower, shares=shares
            )
            for g in range(len(names))
        ]
    )


def _codes(groups: Any, n: int) -> tuple[tuple[Any, ...], NDArray[np.int32]]:
    """Names of the groups, sorted, and the group of each item; -1, None and NaN mean none."""
    if isinstance(groups, np.ndarray) and groups.dtype.kind in "iu" and groups.shape == (n,):
        kept = groups != -1
        values, compact = np.unique(groups[kept], return_inverse=True)
        if len(values):
            of_item = np.full(n, -1, dtype=np.int32)
            of_item[kept] = compact
            return tuple(values.tolist()), of_item
    if isinstance(groups, str) or not hasattr(groups, "__len__"):
        raise ValueError(f"groups must be {n} names, one per item; got {groups!r}.")
    given = groups.tolist() if hasattr(groups, "tolist") else list(groups)
    if len(given) != n:
        raise ValueError(f"groups has {len(given)} entries, but there are {n} items.")
    try:
        nobody = [_is_nobody(one) for one in given]
        found = {one for one, none in zip(given, nobody, strict=True) if not none}
    except TypeError:
        raise ValueError("groups must hold one name per item, such as a number or a word.") from None
    if not found:
        raise ValueError("groups puts every item into no group (-1, None or NaN).")
    try:
        names = sorted(found)
    except TypeError:
        names = sorted(found, key=lambda one: (type(one).__name__, str(one)))
    number = {name: position for position, name in enumerate(names)}
    code = [-1 if none else number[one] for one, none in zip(given, nobody, strict=True)]
    return tuple(names), np.array(code, dtype=np.int32)


def _is_nobody(one: Any) -> bool:
    """Whether an entry of `groups` means no group: None, -1, NaN, or the NA of a data frame."""
    if one is None or (isinstance(one, Real) and one == -1):
        return True
    differs = one != one  # NaN alone differs from itself; NA does not say
    return bool(differs) if isinstance(differs, (bool, np.bool_)) else True
