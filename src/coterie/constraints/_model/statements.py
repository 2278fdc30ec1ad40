"""How constraints are stored: a table of pairs for each kind, and groups that stay groups.

`Pairs` holds the must-links or the cannot-links in canonical form (i < j, sorted, each pair once)
with their strength, confidence, hardness and source. `Group` holds one constraint about many items
at once: partial labels, `distinct` or `across`. Both are frozen; memory is linear in what was stated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
GroupKind = Literal["label", "distinct", "across"]

MUST_LINK = "must-link"
CANNOT_LINK = "cannot-link"
GROUP_KINDS: tuple[GroupKind, ...] = ("label", "distinct", "across")
ALL_KINDS = frozenset({MUST_LINK, CANNOT_LINK, *GROUP_KINDS})

SOURCE_SEPARATOR = "; "
# Certainty counts as this confidence where a strength is needed: its log-odds would be infinite.
_MOST_CONFIDENT = 1 - 1e-6


def frozen(array: Any, dtype: Any = None) -> NDArray[Any]:
    """Return a C-ordered array that nobody can write to, or make writeable again."""
    array = np.ascontiguousarray(array, dtype=dtype)
    base = array.base
    if array.flags.writeable or not isinstance(base, np.ndarray) or base.flags.writeable:
        base = array.copy()
        base.flags.writeable = False
        array = base.view()
    return array


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of one kind in canonical form, one row a pair.

    Attributes
    ----------
    ij : array of shape (m, 2)
        The two items, i < j, rows sorted.
    weight : array of shape (m,)
        Strength, finite and not negative. A soft pair of weight 0 is kept but has no effect.
    confidence : array of shape (m,)
        Probability that the constraint is true, in (0.5, 1]; NaN where not stated.
    hard : array of shape (m,)
        Whether a soft method must obey it too.
    source : array of shape (m,)
        Position in `sources`, -1 where not stated.
    sources : tuple of str
        Who or what said it.
    times : array of shape (m,)
        How often the pair was stated; its weight is the sum.
    """

    ij: IntArray
    weight: FloatArray
    confidence: FloatArray
    hard: BoolArray
    source: NDArray[np.int32]
    sources: tuple[str, ...] = ()
    times: IntArray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.times is None:
            object.__setattr__(self, "times", np.ones(len(self.weight)))
        columns = ("ij", np.int64), ("weight", np.float64), ("confidence", np.float64), ("times", np.int64)
        for name, dtype in (*columns, ("hard", np.bool_), ("source", np.int32)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @property
    def n(self) -> int:
        """Number of pairs."""
        return int(self.ij.shape[0])

    @property
    def active(self) -> BoolArray:
        """Which pairs have an effect: all but the soft ones of weight 0."""
        return self.hard | (self.weight > 0)

    @property
    def strength(self) -> FloatArray:
        """What breaking a pair costs in a method without probabilities.

        Its weight, times the log-odds of its confidence where one is stated: a confidence of 0.73 leaves the
        weight as it is, one of 0.5 would leave nothing.
        """
        odds = log_odds(self.confidence)
        return frozen(self.weight * np.where(np.isnan(odds), 1.0, odds))

    def take(self, rows: Any) -> Pairs:
        """The given rows, which must keep the canonical order."""
        columns: list[Any] = [column[rows] for column in self._columns]
        return Pairs(*[*columns, self.sources, self.times[rows]])

    def source_names(self) -> list[str | None]:
        """The source of each pair, None where not stated."""
        return [None if code < 0 else self.sources[code] for code in self.source.tolist()]

    @property
    def _columns(self) -> tuple[Any, ...]:
        return self.ij, self.weight, self.confidence, self.hard, self.source

    def __reduce__(self) -> tuple[Any, ...]:
        return Pairs, (*self._columns, self.sources, self.times)


def log_odds(confidence: FloatArray) -> FloatArray:
    """What a constraint of some confidence is worth, in nats; certainty is as good as one in a million."""
    sure = np.minimum(confidence, _MOST_CONFIDENT)
    return np.log(sure) - np.log1p(-sure)


def plain_pairs(ij: IntArray, weight: Any = 1.0, hard: Any = False, source: str | None = None) -> Pairs:
    """Pairs of no stated confidence; the other columns take one value for all or one per pair."""
    m = len(ij)
    code = np.full(m, -1 if source is None else 0, dtype=np.int32)
    return Pairs(
        np.asarray(ij, dtype=np.int64).reshape(-1, 2),
        np.broadcast_to(np.asarray(weight, dtype=np.float64), m),
        np.full(m, np.nan),
        np.broadcast_to(np.asarray(hard, dtype=np.bool_), m),
        code,
        () if source is None else (source,),
    )


NO_PAIRS = plain_pairs(np.empty((0, 2), dtype=np.int64))


def encode_sources(names: Sequence[str | None]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Turn source names into codes and a table of the names, in order of first appearance."""
    table: dict[str, int] = {}
    codes = [-1 if name is None else table.setdefault(str(name), len(table)) for name in names]
    return np.array(codes, dtype=np.int32), tuple(table)


def stack(first: Pairs, second: Pairs) -> Pairs:
    """The rows of both tables, one after the other: not canonical yet."""
    if not second.n:
        return first
    if not first.n:
        return second
    table = {name: code for code, name in enumerate(dict.fromkeys(first.sources + second.sources))}
    codes = []
    for pairs in (first, second):
        # one entry more, so that code -1 (not stated) maps to -1
        lookup = np.array([*(table[name] for name in pairs.sources), -1], dtype=np.int32)
        codes.append(lookup[pairs.source])
    both = zip(first._columns[:-1], second._columns[:-1], strict=True)
    columns: list[Any] = [np.concatenate(halves) for halves in both]
    times = np.concatenate([first.times, second.times])
    return Pairs(*[*columns, np.concatenate(codes), tuple(table), times])


def canonical(pairs: Pairs, merge: Literal["sum", "max"]) -> Pairs:
    """Order each pair as i < j, sort the rows and merge duplicates.

    "sum" adds the evidence of duplicates: confidences add up in log-odds where they are stated, weights where
    they are not, so that the strength of the whole is the sum of the strengths. "max" keeps the strongest and
    is idempotent. In both, hard wins, a stated confidence wins over none, and the sources are joined.
    """
    if not pairs.n:
        return NO_PAIRS
    low, high = pairs.ij.min(axis=1), pairs.ij.max(axis=1)
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    first = np.empty(len(order), dtype=bool)
    first[0] = True
    np.logical_or(low[1:] != low[:-1], high[1:] != high[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    ordered = replace(pairs.take(order), ij=np.column_stack([low, high]))
    if len(starts) == len(order):
        return ordered

    reduce = np.add.reduceat if merge == "sum" else np.maximum.reduceat
    weight = reduce(ordered.weight, starts)
    if not np.isfinite(weight).all():
        i, j = ordered.ij[starts[np.argmin(np.isfinite(weight))]].tolist()
        raise ValueError(f"the weights stated for the pair ({i}, {j}) add up to infinity; make them smaller.")
    confidence = _merge_confidence(ordered.confidence, starts, merge)
    if merge == "sum":
        # evidence adds up once, in strength: where a confidence took it in, the weight must not do so again
        stated = np.isfinite(confidence)
        total = np.add.reduceat(ordered.strength, starts)
        weight = np.where(stated, total / log_odds(np.where(stated, confidence, 0.75)), weight)
    source, sources = _merge_sources(ordered, starts)
    return Pairs(
        ordered.ij[starts],
        weight,
        confidence,
        np.logical_or.reduceat(ordered.hard, starts),
        source,
        sources,
        reduce(ordered.times, starts),
    )


def find_rows(table: Pairs, pairs: IntArray) -> IntArray:
    """Row of each canonical pair in the table; -1 where it is not there."""
    if not table.n or not len(pairs):
        return np.full(len(pairs), -1, dtype=np.int64)
    width = int(max(table.ij.max(), pairs.max())) + 1
    keys, wanted = table.ij @ [width, 1], pairs @ [width, 1]
    rows = np.minimum(np.searchsorted(keys, wanted), table.n - 1)
    return np.where(keys[rows] == wanted, rows, -1)


def _merge_confidence(confidence: FloatArray, starts: IntArray, merge: str) -> FloatArray:
    if merge == "max":
        return np.fmax.reduceat(confidence, starts)
    stated = ~np.isnan(confidence)
    with np.errstate(divide="ignore"):
        odds = np.where(stated, np.log(confidence) - np.log1p(-confidence), 0.0)
    total = np.add.reduceat(odds, starts)
    counts = np.add.reduceat(stated.astype(np.int64), starts)
    merged = 1.0 / (1.0 + np.exp(-total))
    # a single constraint keeps its number to the last bit
    merged = np.where(counts == 1, np.fmax.reduceat(confidence, starts), merged)
    return np.where(counts == 0, np.nan, merged)


def _merge_sources(ordered: Pairs, starts: IntArray) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    names = list(ordered.sources)
    table = {name: code for code, name in enumerate(names)}
    merged = np.maximum.reduceat(ordered.source, starts).astype(np.int32)
    lowest = np.minimum.reduceat(ordered.source, starts)
    ends = np.append(starts[1:], ordered.n)
    for row in np.flatnonzero(merged != lowest):  # duplicates whose sources differ
        codes = ordered.source[starts[row] : ends[row]]
        sources = (names[code].split(SOURCE_SEPARATOR) for code in codes if code >= 0)
        joined = SOURCE_SEPARATOR.join(dict.fromkeys(part for parts in sources for part in parts))
        if joined not in table:
            table[joined] = len(names)
            names.append(joined)
        merged[row] = table[joined]
    return merged, tuple(names)


@dataclass(frozen=True, eq=False)
class Group:
    """One constraint about many items, never written out as pairs.

    Attributes
    ----------
    kind : {"label", "distinct", "across"}
        "label": same code together, different codes apart. "distinct": same code apart (at most one item
        of a code in a cluster). "across": different codes apart.
    items : array of shape (m,)
        The items spoken of, sorted.
    codes : array of shape (m,)
        The code of each item, numbered from 0 by first appearance.
    names : tuple
        The user's name for each code.
    weight : float or None
        None for a hard constraint; else the strength of each pair that it stands for.
    source : str or None
        Who or what said it.
    """

    kind: GroupKind
    items: IntArray
    codes: IntArray
    names: tuple[Hashable, ...]
    weight: float | None = None
    source: str | None = None
    digest: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", frozen(self.items, np.int64))
        object.__setattr__(self, "codes", frozen(self.codes, np.int64))
        if self.weight is not None:
            object.__setattr__(self, "weight", float(self.weight) + 0.0)
        digest = hashlib.sha256(self.kind.encode())
        digest.update(self.items.tobytes())
        digest.update(self.codes.tobytes())
        object.__setattr__(self, "digest", digest.digest())

    @property
    def n_codes(self) -> int:
        """Number of different codes."""
        return len(self.names)

    @property
    def active(self) -> bool:
        """Whether it has an effect: every group but a soft one of weight 0."""
        return self.weight is None or self.weight > 0

    @property
    def n_stated(self) -> int:
        """What a person would count: labels, one an item; of the other kinds, groups."""
        return len(self.items) if self.kind == "label" else self.n_codes

    def counts(self) -> IntArray:
        """Number of items of each code."""
        return np.bincount(self.codes, minlength=self.n_codes).astype(np.int64)

    def ranks(self) -> IntArray:
        """Position of each code's name among all names, sorted."""
        rank = {name: position for position, name in enumerate(sorted_names(self.names))}
        return np.array([rank[name] for name in self.names], dtype=np.int64)

    def n_pairs(self) -> int:
        """Number of pairs that the constraint stands for."""
        every = choose_two(len(self.items))
        within = int(sum(choose_two(count) for count in self.counts().tolist()))
        return {"label": every, "distinct": within, "across": every - within}[self.kind]

    def take(self, keep: BoolArray, new_number: IntArray) -> Group | None:
        """The constraint among the items of `keep`, renumbered; None where it says nothing."""
        inside = keep[self.items]
        if not inside.any():
            return None
        items, codes = new_number[self.items[inside]], self.codes[inside]
        return make_group(self.kind, items, [self.names[code] for code in codes], self.weight, self.source)

    def __reduce__(self) -> tuple[Any, ...]:
        return Group, (self.kind, self.items, self.codes, self.names, self.weight, self.source)


def sorted_names(names: Iterable[Any]) -> list[Any]:
    """Names in order, also where they are of several kinds."""
    try:
        return sorted(names)
    except TypeError:
        return sorted(names, key=lambda name: (type(name).__name__, str(name)))


def choose_two(count: int) -> int:
    """Number of pairs of so many items."""
    return count * (count - 1) // 2


def make_group(
    kind: GroupKind, items: Any, names: Sequence[Hashable], weight: float | None, source: str | None
) -> Group:
    """Build a group from items and the name of each item's code."""
    items = np.asarray(items, dtype=np.int64)
    order = np.argsort(items, kind="stable")
    table: dict[Hashable, int] = {}
    codes = [table.setdefault(names[row], len(table)) for row in order.tolist()]
    return Group(kind, items[order], np.array(codes, dtype=np.int64), tuple(table), weight, source)


def merge_groups(groups: Sequence[Group], merge: Literal["sum", "max"]) -> tuple[Group, ...]:
    """Order groups by what they say, and merge those that say the same; hard wins."""
    merged: dict[bytes, Group] = {}
    for group in groups:
        same = merged.get(group.digest)
        if same is None:
            merged[group.digest] = group
            continue
        weight: float | None = None
        if same.weight is not None and group.weight is not None:
            combine = float.__add__ if merge == "sum" else max
            weight = combine(same.weight, group.weight)
        sources = [part for g in (same, group) if g.source for part in g.source.split(SOURCE_SEPARATOR)]
        source = SOURCE_SEPARATOR.join(dict.fromkeys(sources)) or None
        merged[group.digest] = replace(same, weight=weight, source=source)
    return tuple(merged[key] for key in sorted(merged))
