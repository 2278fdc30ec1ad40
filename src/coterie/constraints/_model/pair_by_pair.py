"""Constraints expanded to pairs, for methods whose penalty depends on the pair, and for distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie._arrays import Floats, Index
from coterie.constraints import Constraints, Group
from coterie.exceptions import UnsupportedConstraintError

# Pairs that soft groups may stand for, all together.
MOST_GROUP_PAIRS = 2_000_000


@dataclass(frozen=True)
class StatedPairs:
    """Pairs: their items, which are cannot-links, and their strength."""

    ij: Index
    cannot: Any
    strength: Floats

    def take(self, which: Any) -> StatedPairs:
        """Some of them."""
        return StatedPairs(self.ij[which], self.cannot[which], self.strength[which])

    def structure(self, known: Constraints) -> Constraints:
        """What is hard in `known`, and these pairs without their strengths."""
        soft = Constraints(
            must_link=self.ij[~self.cannot], cannot_link=self.ij[self.cannot], n_items=known.n_items
        )
        return known.only_hard() | soft


def stated_pairs(
    known: Constraints, limit: int = MOST_GROUP_PAIRS, *, hard: bool = False, margin: bool = False
) -> StatedPairs:
    """The soft pairs of `known`, sorted; soft groups are written out, and what is said twice adds up.

    With `hard` also what is hard, a group with the strength 1. With `margin` a stated confidence c counts
    2c - 1, the share of true pairs less that of wrong ones, in place of its log-odds.
    """
    pairs, cannot, strength = [np.empty((0, 2), dtype=np.int64)], [np.empty(0, dtype=bool)], [np.empty(0)]

    def add(found: Index, apart: bool, weight: Floats) -> None:
        pairs.append(found)
        cannot.append(np.full(len(found), apart))
        strength.append(weight)

    for table, apart in ((known.must_table, False), (known.cannot_table, True)):
        rows = table.active & (hard | ~table.hard)
        sure = np.where(np.isnan(table.confidence), 1.0, 2.0 * table.confidence - 1.0)
        add(table.ij[rows], apart, (table.weight * sure if margin else table.strength)[rows])
    groups = [group for group in known.groups if group.active and (hard or group.weight is not None)]
    total = sum(group.n_pairs() for group in groups)
    if total > limit:
        largest = max(groups, key=lambda group: group.n_pairs())
        ways_out = (
            "State fewer, or use RCA or CannotLinkMetric, which keep groups as groups."
            if hard
            else "Make the groups hard (without a weight), or use PCKMeans, which keeps groups as groups."
        )
        raise UnsupportedConstraintError(
            f"{'' if hard else 'soft '}groups are written out as pairs here, and they stand for {total:,} "
            f"pairs, more than {limit:,} (a {largest.kind} group of {len(largest.items):,} items for "
            f"{largest.n_pairs():,}). {ways_out}"
        )
    for group in groups:
        weight = 1.0 if group.weight is None else group.weight
        within, across = _pairs_of(group)
        if group.kind != "across":
            add(within, group.kind == "distinct", np.full(len(within), weight))
        if group.kind != "distinct":
            add(across, True, np.full(len(across), weight))
    i, j = np.concatenate(pairs).T
    # one number a pair: rows of three take far longer to sort
    key, place = np.unique((i * known.n_items + j) * 2 + np.concatenate(cannot), return_inverse=True)
    total_strength = np.bincount(place, np.concatenate(strength), len(key)).astype(np.float64)
    return StatedPairs(np.column_stack(np.divmod(key // 2, known.n_items)), key % 2 > 0, total_strength)


def _pairs_of(group: Group) -> tuple[Index, Index]:
    """The pairs of equal codes, and those of different ones; only the kinds that the group speaks of."""
    none = [np.empty((0, 2), dtype=np.int64)]
    order = np.argsort(group.codes, kind="stable")
    items, sizes = group.items[order], group.counts()
    starts = np.cumsum(sizes) - sizes
    within, across = none[:], none[:]
    if group.kind != "across":
        for size in np.unique(sizes).tolist():
            a, b = np.triu_indices(size, 1)
            first = starts[sizes == size][:, None]
            within.append(np.column_stack([items[first + a].ravel(), items[first + b].ravel()]))
    if group.kind != "distinct":
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
            mine, later = items[start : start + size], items[start + size :]
            across.append(np.column_stack([np.repeat(mine, len(later)), np.tile(later, len(mine))]))
    found = [np.sort(np.concatenate(parts), axis=1) for parts in (within, across)]
    return found[0], found[1]
