"""Pairs of items that are known to differ: stated one by one, or by groups that are never written out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from coterie._arrays import Floats, Index
from coterie.constraints import Constraints

# Distances of a chunk of items to all others: (first row, table), of the items from there on only.
Chunks = Callable[[], Iterator[tuple[int, Any]]]
# Numbers in a chunk.
CHUNK = 1 << 22


class GroupRule(NamedTuple):
    """A group: items of the same code, or of different codes, differ; -1 is not spoken of."""

    codes: Index
    same: bool
    strength: float

    def holds(self, i: Index, j: Index) -> Any:
        a, b = self.codes[i], self.codes[j]
        return (a >= 0) & (b >= 0) & ((a == b) == self.same)


class Seen(NamedTuple):
    """What a look at all pairs found: the nearest (nearest first), and sums over all of them."""

    i: Index
    j: Index
    squares: Floats
    least: float  # the least squared distance
    n_below: int  # pairs below the limit
    lack: float  # strength times what they lack to the limit, summed


@dataclass(frozen=True, eq=False)
class KnownApart:
    """Items that are spoken of (rows of X), and what is said; pairs go by their positions in `items`."""

    items: Index
    i: Index
    j: Index
    strength: Floats
    rules: tuple[GroupRule, ...]
    skipped: Index = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @classmethod
    def read(cls, known: Constraints) -> KnownApart:
        """Cannot-links, different labels, `across` and `distinct`; a hard group has the strength 1."""
        table = known.cannot_table
        table = table.take(table.active & (table.strength > 0))
        groups = [group for group in known.groups if group.active and _says(group)]
        items = np.unique(np.concatenate([table.ij.ravel(), *(group.items for group in groups)]))
        rules = []
        for group in groups:
            codes = np.full(len(items), -1, dtype=np.int64)
            codes[np.searchsorted(items, group.items)] = group.codes
            rules.append(
                GroupRule(codes, group.kind == "distinct", 1.0 if group.weight is None else group.weight)
            )
        i, j = np.searchsorted(items, table.ij).T
        return cls(items, i, j, np.array(table.strength), tuple(rules))

    def keys(self, i: Index, j: Index) -> Index:
        """One number for each pair (i < j)."""
        return i * len(self.items) + j

    def without(self, i: Index, j: Index) -> KnownApart:
        """The same, but that some pairs are passed over."""
        gone = np.isin(self.keys(self.i, self.j), self.keys(i, j))
        kept = {name: getattr(self, name)[~gone] for name in ("i", "j", "strength")}
        return replace(self, **kept, skipped=self.keys(i, j))

    def strength_of(self, i: Index, j: Index) -> Floats:
        """The strength of pairs (i < j), all that is said of them added up; 0 where nothing is."""
        keys, wanted = self.keys(self.i, self.j), self.keys(i, j)
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        found = np.where(keys[at] == wanted, self.strength[at], 0.0) if len(keys) else np.zeros(len(i))
        for rule in self.rules:
            found = found + rule.strength * rule.holds(i, j)
        return found

    def with_later(self, i: int) -> Index:
        """The items after i that differ from it."""
        if not self.rules:
            return self.j[slice(*np.searchsorted(self.i, [i, i + 1]))]
        later = np.arange(i + 1, len(self.items))
        return later[self.strength_of(np.full(len(later), i), later) > 0]

    def look(
        self, squares: Callable[[Index, Index], Floats], chunks: Chunks, limit: float, most: int
    ) -> Seen:
        """Go through all pairs, and keep those below the limit: at most so many, the nearest.

        `squares` gives squared distances of pairs, `chunks` those of all items. Without a limit (infinity)
        nothing is summed.
        """
        found = _Nearest(self.strength_of, limit, most)
        for start in range(0, len(self.i), CHUNK):
            i, j = self.i[start : start + CHUNK], self.j[start : start + CHUNK]
            found.add(i, j, squares(i, j))
        if self.rules:
            passed_over = np.append(self.keys(self.i, self.j), self.skipped)
            for start, table in chunks():
                # the distance is looked at first: few pairs are near, and only those are asked what they are
                i, j = np.nonzero(table < found.bar)
                i, j = i[j > i], j[j > i]
                said = self._said(i + start, j + start, passed_over)
                i, j = i[said], j[said]
                found.add(i + start, j + start, table[i, j])
        return found.seen()

    def _said(self, i: Index, j: Index, passed_over: Index) -> Any:
        """Of which pairs a group speaks; they are asked once, so that those stated as pairs are left out."""
        found = np.zeros(len(i), dtype=bool)
        for rule in self.rules:
            found |= rule.holds(i, j)
        return found & ~np.isin(self.keys(i, j), passed_over) if len(passed_over) else found


class _Nearest:
    """The nearest pairs below a limit, as they come, and sums over all of those."""

    def __init__(self, strength_of: Callable[[Index, Index], Floats], limit: float, most: int) -> None:
        self.bar = limit  # what is farther need not be added
        self._strength_of, self._limit, self._most = strength_of, limit, most
        self._n_below, self._lack, self._least = 0, 0.0, np.inf
        self._columns: tuple[Any, ...] = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)

    def add(self, i: Index, j: Index, squares: Floats) -> None:
        near = squares < self.bar
        i, j, squares = i[near], j[near], squares[near]
        self._least = min(self._least, float(squares.min(initial=np.inf)))
        self._n_below += len(i)
        if np.isfinite(self._limit):
            self._lack += float(self._strength_of(i, j) @ (self._limit - squares))
        new = zip(self._columns, (i, j, squares), strict=True)
        self._columns = tuple(np.concatenate(halves) for halves in new)
        if len(self._columns[0]) > 2 * self._most:
            self._cut()
            if not np.isfinite(self._limit):
                self.bar = float(self._columns[2].max())

    def _cut(self) -> None:
        if len(self._columns[0]) > self._most:
            nearest = np.argpartition(self._columns[2], self._most)[: self._most]
            self._columns = tuple(column[nearest] for column in self._columns)

    def seen(self) -> Seen:
        self._cut()
        i, j, squares = self._columns
        order = np.lexsort((j, i, squares))
        return Seen(i[order], j[order], squares[order], self._least, self._n_below, self._lack)


def _says(group: Any) -> bool:
    """Whether some pair of a group is known to differ."""
    return bool(group.n_codes > 1 if group.kind != "distinct" else group.n_pairs())
