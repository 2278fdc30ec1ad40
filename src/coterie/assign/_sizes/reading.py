"""Bounds as a person states them: numbers, shares, one per cluster, by group; turned into numbers.

An int is a number of items, or a load. A float is a share of the mean size (1.1, or "110%", is ten percent
above it): minima are rounded down, maxima up, to whole items (to whole loads, if all are equal).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie._arrays import Floats
from coterie._words import format_number, listed
from coterie.assign._sizes.bounds import NO_MAXIMUM, Groups, SizeBounds, check_sums
from coterie.constraints._model import sorted_names
from coterie.constraints._reading import is_unknown, read_loads
from coterie.exceptions import ParameterError

_PERCENT = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{0,15})?)\s*%\s*")


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
    names: tuple[str, ...] = (),
    check: bool = True,
) -> SizeBounds:
    """Read all bounds; raises where they make no sense and, with `check`, where they cannot be met.

    With `spare` there is one cluster more, the last, which holds up to so much of what is left out. `names`
    are those of the first clusters, for bounds that go by name.
    """
    load = read_loads(size_weight, n)
    total = float(load.sum()) if len(load) else float(n)
    reader = _Reader(load, k, names)
    low = reader.one_per_cluster(size_min, "size_min", total, lower=True)
    high = reader.one_per_cluster(size_max, "size_max", total, lower=False)
    read = _read_groups(reader, groups, group_min, group_max, n)
    bounds = SizeBounds(low, high, load, read, n, names)
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


class _Reader:
    """Turns what was said of k clusters into numbers."""

    def __init__(self, load: Floats, k: int, names: tuple[str, ...]) -> None:
        self.load, self.k, self.names = load, k, names
        # shares are rounded to multiples of this, if all loads are the same
        self.step: float | None = None
        if not len(load):
            self.step = 1.0
        elif (load == load[0]).all():
            self.step = float(load[0])

    def one_per_cluster(self, value: Any, name: str, total: float, *, lower: bool) -> Floats:
        """A bound for each cluster; None, alone or in a list, is no bound."""
        given = self._listed(value, name)
        shares = [share_of(one) for one in given]
        none = 0.0 if lower else np.inf
        found = np.array(
            [
                none if one is None else float(one) if share is None else share
                for one, share in zip(given, shares, strict=True)
            ]
        )
        wrong = np.flatnonzero(np.isnan(found) | (found < 0) | (np.isinf(found) & lower))
        if len(wrong):
            raise ParameterError(
                f"{name} of cluster {wrong[0]} is {format_number(found[wrong[0]])}; it must be at least 0"
                + (" and finite." if lower else "."),
                name,
            )
        is_share = np.array([share is not None for share in shares])
        wrong = np.flatnonzero(is_share & (found > max(self.k, 2)))  # 1.05 of all is no mistake
        if len(wrong):
            typed, what = given[wrong[0]], "load" if len(self.load) else "size"
            number = format_number(round(found[wrong[0]] * (100 if isinstance(typed, str) else 1)))
            raise ParameterError(
                f"{name} of cluster {wrong[0]} is {typed!r}, a share of the mean size; above "
                f"{max(self.k, 2)} it is more than there is. Write {number} for a {what} of {number}.",
                name,
            )
        in_numbers = found[is_share] * total / self.k
        if self.step is not None:
            # a share of 1 of 12 items in 3 clusters is 4, whatever rounding did to 12 / 3
            steps = in_numbers / self.step
            in_numbers = self.step * (np.floor(steps + 1e-9) if lower else np.ceil(steps - 1e-9))
        found[is_share] = in_numbers
        return found if lower else np.where(found >= total, NO_MAXIMUM * total, found)

    def _listed(self, value: Any, name: str) -> list[Any]:
        """The value as k numbers, some of them None."""
        if value is None or is_bound(value):
            return [value] * self.k
        wanted = f"{name} must be a number, a share such as '110%', or {self.k} of these, one per cluster"
        if isinstance(value, Mapping):
            return self._by_name(value, name)
        if isinstance(value, (bool, np.bool_, str)) or not hasattr(value, "__len__"):
            raise ParameterError(f"{wanted}; got {value!r}.", name)
        given = value.tolist() if hasattr(value, "tolist") else list(value)
        if len(given) != self.k:
            raise ParameterError(f"{wanted}; got {len(given)} of them: {value!r}.", name)
        for one in given:
            if one is not None and not is_bound(one):
                raise ParameterError(f"{wanted}; got {one!r} among them.", name)
        return given

    def _by_name(self, value: Mapping[Any, Any], name: str) -> list[Any]:
        """One a cluster, from bounds that go by the name of its label."""
        by_name = {str(key): one for key, one in value.items()}
        strange = [key for key in by_name if key not in self.names]
        if strange:
            there = f"there are {listed(self.names)}" if self.names else "no cluster has a label that holds"
            raise ParameterError(f"{name} speaks of cluster {strange[0]!r}, but {there}.", name)
        given = [by_name.get(one) for one in self.names]
        return self._listed(given + [None] * (self.k - len(given)), name)


def is_bound(value: Any) -> bool:
    """Whether it is one bound: a number, or a share as text."""
    return _is_number(value) or share_of(value) is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def share_of(one: Any) -> float | None:
    """A bound as a share of the mean size: a float, or text such as 110%; None: it is none."""
    if isinstance(one, str) and (text := _PERCENT.fullmatch(one)):
        return float(text[1]) / 100
    is_float = _is_number(one) and not isinstance(one, Integral)
    return float(one) if is_float and not np.isinf(float(one)) else None


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
    elif value is None or is_bound(value):
        rows = dict.fromkeys(rows, value)
    else:
        wanted = f"{label} must be a number, a dictionary by group, or one row per group in sorted order"
        if isinstance(value, str) or not hasattr(value, "__len__"):
            raise ValueError(f"{wanted}; got {value!r}.")
        if len(value) != len(names):
            raise ValueError(f"{wanted}; got {len(value)} rows, but there are {len(names)} groups.")
        rows = dict(enumerate(value))
    return np.stack(
        [
            reader.one_per_cluster(rows[g], f"{label} of group {names[g]!r}", float(total[g]), lower=lower)
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
        nobody = [is_unknown(one) for one in given]
        found = {one for one, none in zip(given, nobody, strict=True) if not none}
    except TypeError:
        raise ValueError("groups must hold one name per item, such as a number or a word.") from None
    if not found:
        raise ValueError("groups puts every item into no group (-1, None or NaN).")
    names = sorted_names(found)
    number = {name: position for position, name in enumerate(names)}
    code = [-1 if none else number[one] for one, none in zip(given, nobody, strict=True)]
    return tuple(names), np.array(code, dtype=np.int32)
