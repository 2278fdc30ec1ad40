"""Which statements are drawn on the map: all of few; of many, the broken ones and a sample of the met."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie._words import count_of
from coterie.report._facts.outcomes import Outcomes
from coterie.report._facts.rows import Ints

MOST_LINES = 500
_MOST_MET_BESIDE = 100


@dataclass(frozen=True)
class Line:
    """A statement on the map: its kind, whether it is broken, and its two items."""

    kind: str
    broken: bool
    i: int
    j: int


@dataclass(frozen=True)
class DrawnLinks:
    """What is drawn of the statements; `ringed` are items that break a group."""

    lines: tuple[Line, ...]
    ringed: Ints
    notes: tuple[str, ...]

    @property
    def items(self) -> Ints:
        """All items at an end of a line, or ringed."""
        ends = [item for line in self.lines for item in (line.i, line.j)]
        return np.union1d(np.array(ends, dtype=np.int64), self.ringed)


def choose_lines(outcomes: Outcomes, seed: int) -> DrawnLinks:
    """Choose what to draw; drawn last are the broken ones, so that they lie on top."""
    rng = np.random.default_rng(seed)
    both = outcomes.must, outcomes.cannot
    masks = [judged.active & ~judged.broken for judged in both], [judged.broken for judged in both]
    n_met, n_broken = (sum(int(mask.sum()) for mask in some) for some in masks)
    most_broken = min(n_broken, MOST_LINES)
    most_met = n_met if n_met + n_broken <= MOST_LINES else max(MOST_LINES - most_broken, _MOST_MET_BESIDE)
    chosen = _some(masks[0], most_met, rng), _some(masks[1], most_broken, rng)
    lines = [
        Line(judged.kind, broken, *judged.table.ij[row].tolist())
        for broken, tables in zip((False, True), chosen, strict=True)
        for judged, rows in zip(both, tables, strict=True)
        for row in rows
    ]
    notes = []
    drawn_met, drawn_broken = (sum(map(len, tables)) for tables in chosen)
    if len(lines) < n_met + n_broken:
        notes.append(
            f"Drawn are {drawn_broken:,} of {count_of(n_broken, 'broken statement')} and a random "
            f"{drawn_met:,} of {n_met:,} that hold."
        )
    named = {item for group in outcomes.violations.groups for item in group.items}
    ringed = np.sort(np.fromiter(named, dtype=np.int64, count=len(named)))
    if len(ringed) > MOST_LINES:
        notes.append(f"{MOST_LINES:,} of {len(ringed):,} items that break a group are ringed.")
        ringed = np.sort(rng.choice(ringed, MOST_LINES, replace=False))
    return DrawnLinks(tuple(lines), ringed, tuple(notes))


def _some(masks: list[np.ndarray], most: int, rng: np.random.Generator) -> list[list[int]]:
    """Rows of several tables, at most so many of all of them together, in order."""
    rows = [np.flatnonzero(mask) for mask in masks]
    total = sum(map(len, rows))
    keep = np.arange(total) if total <= most else np.sort(rng.choice(total, most, replace=False))
    ends = np.cumsum([0, *map(len, rows)])
    cuts = np.searchsorted(keep, ends)
    return [part[keep[cuts[at] : cuts[at + 1]] - ends[at]].tolist() for at, part in enumerate(rows)]
