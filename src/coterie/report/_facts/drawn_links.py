"""Which constraints are drawn on the map: all of few; of many, the broken ones and a sample of the met."""

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
    """A constraint on the map: its kind, whether it is broken, and its two items."""

    kind: str
    broken: bool
    i: int
    j: int


@dataclass(frozen=True)
class DrawnLinks:
    """What is drawn of the constraints; `ringed` are items that break a group."""

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
    ij = np.concatenate([judged.table.ij for judged in both])
    kind = np.repeat([judged.kind for judged in both], [judged.table.n for judged in both]).tolist()
    broken, active = (np.concatenate([getattr(one, name) for one in both]) for name in ("broken", "active"))
    n_met, n_broken = int((active & ~broken).sum()), int(broken.sum())
    most_broken = min(n_broken, MOST_LINES)
    most_met = n_met if n_met + n_broken <= MOST_LINES else max(MOST_LINES - most_broken, _MOST_MET_BESIDE)
    chosen = *_some(active & ~broken, most_met, rng), *_some(broken, most_broken, rng)
    lines = [Line(kind[row], bool(broken[row]), *ij[row].tolist()) for row in chosen]
    notes = []
    if len(lines) < n_met + n_broken:
        drawn = sum(line.broken for line in lines)
        notes.append(
            f"Drawn are {drawn:,} of {count_of(n_broken, 'broken pair')} and a random "
            f"{len(lines) - drawn:,} of {n_met:,} that hold."
        )
    named = {item for group in outcomes.violations.groups for item in group.items}
    ringed = np.sort(np.fromiter(named, dtype=np.int64, count=len(named)))
    if len(ringed) > MOST_LINES:
        notes.append(f"{MOST_LINES:,} of {len(ringed):,} items that break a group are ringed.")
        ringed = np.sort(rng.choice(ringed, MOST_LINES, replace=False))
    return DrawnLinks(tuple(lines), ringed, tuple(notes))


def _some(mask: np.ndarray, most: int, rng: np.random.Generator) -> list[int]:
    """Rows where a mask is true, at most so many, in order."""
    rows = np.flatnonzero(mask)
    return (rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))).tolist()
