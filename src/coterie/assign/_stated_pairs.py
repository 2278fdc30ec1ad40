"""Soft statements as pairs, one by one: for methods whose price of a pair depends on the pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.assign._points import Floats, Index
from coterie.constraints import Constraints, Group
from coterie.exceptions import UnsupportedConstraintError

# Pairs that groups with a weight may stand for together.
_MOST = 2_000_000


@dataclass(frozen=True)
class StatedPairs:
    """Soft pairs: their items, whether they are cannot-links, and their strength."""

    ij: Index
    cannot: Any
    strength: Floats

    def structure(self, known: Constraints) -> Constraints:
        """What is hard in `known`, and these pairs without their strengths."""
        soft = Constraints(
            must_link=self.ij[~self.cannot], cannot_link=self.ij[self.cannot], n_items=known.n_items
        )
        return known.only_hard() | soft


def stated_pairs(known: Constraints) -> StatedPairs:
    """The soft pairs of `known`; groups with a weight are written out, up to a limit."""
    parts: list[tuple[Any, Any, Any]] = []
    for table, is_cannot in ((known.must_table, False), (known.cannot_table, True)):
        rows = table.active & ~table.hard
        parts.append((table.ij[rows], np.full(int(rows.sum()), is_cannot), table.strength[rows]))
    groups = [group for group in known.groups if group.weight is not None and group.active]
    n_pairs = sum(len(group.items) * (len(group.items) - 1) // 2 for group in groups)
    if n_pairs > _MOST:
        raise UnsupportedConstraintError(
            f"groups with a weight stand for up to {n_pairs:,} pairs here, each with a price of its own, and "
            f"{_MOST:,} is the most; state them as hard (weight=None), or use PCKMeans, which counts them."
        )
    parts += [_written_out(group) for group in groups]
    ij, cannot, strength = (np.concatenate(part) for part in zip(*parts, strict=True))
    if not groups:
        return StatedPairs(ij, cannot, strength)
    # several groups may name a pair: their strengths add up
    said = np.column_stack([ij, cannot])
    said, place = np.unique(said, axis=0, return_inverse=True)
    return StatedPairs(
        said[:, :2], said[:, 2] > 0, np.bincount(place.ravel(), strength, len(said)).astype(float)
    )


def _written_out(group: Group) -> tuple[Any, Any, Any]:
    a, b = np.triu_indices(len(group.items), 1)
    same = group.codes[a] == group.codes[b]
    said = {"label": np.ones(len(a), dtype=bool), "distinct": same, "across": ~same}[group.kind]
    cannot = same if group.kind == "distinct" else ~same
    assert group.weight is not None
    ij = np.column_stack([group.items[a], group.items[b]])[said]
    return ij, cannot[said], np.full(len(ij), group.weight)
