"""Links from continuity: neighbours on a grid are likely alike; and how likely, estimated from labels.

The soft must-links of experiment 3 of the book's chapter 4. Time and memory are linear in the links.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.constraints import Constraints, as_constraints
from coterie.constraints._model import SOURCE_SEPARATOR
from coterie.constraints._reading import known_labels, whole_number

# Steps (down, right) to the neighbours that come later in reading order.
_STEPS = {4: ((0, 1), (1, 0)), 8: ((0, 1), (1, -1), (1, 0), (1, 1))}


def grid_neighbors(
    shape: Any,
    *,
    connectivity: int = 4,
    weight: float | None = None,
    confidence: float | None = None,
    hard: bool = False,
) -> Constraints:
    """Must-links between neighbours of an image, or along a chain.

    Items are numbered row by row, as ``image.reshape(-1, n_features)`` does. For a part of an image take
    ``grid_neighbors(mask.shape)[mask.ravel()]``.

    Parameters
    ----------
    shape : int or tuple
        ``(height, width)`` of the image, or the length of a chain.
    connectivity : {4, 8}, default=4
        Neighbours of a pixel: those at its sides, or at its corners too.
    weight, confidence, hard : optional
        Of every link, as in `Constraints`.

    Returns
    -------
    Constraints
        Every pair of neighbours once.

    See Also
    --------
    estimate_confidence : The confidence that such links deserve.

    Examples
    --------
    >>> from coterie.datasets import grid_neighbors
    >>> grid_neighbors((2, 3)).must_link.tolist()
    [[0, 1], [0, 3], [1, 2], [1, 4], [2, 5], [3, 4], [4, 5]]
    >>> grid_neighbors(1000, confidence=0.9)
    Constraints(1,000 items: 999 must-links (0-1, 1-2, 2-3, ...))
    """
    if connectivity not in _STEPS:
        raise ValueError(f"connectivity must be 4 or 8; got {connectivity!r}.")
    sides = tuple(shape) if isinstance(shape, tuple | list | np.ndarray) else (shape,)
    if not 1 <= len(sides) <= 2:
        raise ValueError(f"shape must be a length, or (height, width); got {shape!r}.")
    sides = tuple(whole_number(side, "every side of shape", 1) for side in sides)
    number = np.arange(int(np.prod(sides))).reshape(sides if len(sides) == 2 else (1, -1))
    height, width = number.shape
    links = []
    for down, right in _STEPS[connectivity]:
        here = number[: height - down, max(-right, 0) : width - max(right, 0)]
        there = number[down:, max(right, 0) : width - max(-right, 0)]
        links.append(np.column_stack([here.ravel(), there.ravel()]))
    pairs = np.concatenate(links)
    return Constraints(pairs, n_items=number.size, weight=weight, confidence=confidence, hard=hard)


def estimate_confidence(constraints: Constraints, labels: Any, *, by_source: bool = False) -> Any:
    """Share of the constraints that some known labels confirm: one minus the flip rate.

    To be stated as the `confidence` of constraints that come from the same source.

    Parameters
    ----------
    constraints : Constraints
        The constraints; a group counts as the pairs it stands for.
    labels : array of shape (n_items,)
        The classes; -1, None or NaN: unknown. Only constraints among known items count.
    by_source : bool, default False
        For each `source` of the constraints, such as an annotator: (right + 1) / (all + 2), so that few pairs
        are no proof. What two sources said counts for both.

    Returns
    -------
    float, or dict of float
        Above 0.5 and at most 1. By source (None: not stated) between 0 and 1; 0.5 where no label tells. Who
        is at 0.5 or below is better left out (``constraints.drop(source=...)``), since no confidence says so.

    Examples
    --------
    >>> from coterie import Constraints
    >>> from coterie.datasets import estimate_confidence, grid_neighbors
    >>> stripes = [0, 0, 0, 1, 1, 1, 1, 0, -1]
    >>> estimate_confidence(grid_neighbors(9), stripes)
    0.714...
    >>> pairs, who = [(0, 1), (1, 2), (3, 4), (6, 7)], ["Ada", "Ada", "Bo", "Bo"]
    >>> sure = estimate_confidence(Constraints(pairs, n_items=9, source=who), stripes, by_source=True)
    >>> sure
    {'Ada': 0.75, 'Bo': 0.5}
    >>> Constraints(pairs[:2], n_items=9, source="Ada", confidence=sure["Ada"])
    Constraints(9 items: 2 must-links (0-1, 1-2))
    """
    items, codes, n_items = known_labels(labels, "labels")
    known = as_constraints(constraints, n_items, counted="labels has {} values")
    if by_source:
        return {name: _smoothed(part[items], codes) for name, part in _by_source(known).items()}
    account = known[items].violations(codes)
    if not account.n_pairs:
        raise ValueError("no constraint is about items whose labels are known: there is nothing to count.")
    share = 1.0 - account.n_broken_pairs / account.n_pairs
    if share <= 0.5:
        raise ValueError(
            f"{account.n_broken_pairs:,} of {account.n_pairs:,} stated pairs are false by these labels: no "
            "confidence above 0.5 describes them."
        )
    return float(share)


def _smoothed(known: Constraints, codes: Any) -> float:
    """The share of right pairs, with one right and one wrong more."""
    account = known.violations(codes)
    return (account.n_pairs - account.n_broken_pairs + 1) / (account.n_pairs + 2)


def _by_source(known: Constraints) -> dict[str | None, Constraints]:
    """What each source said; None: whoever is not named."""
    tables = known.must_table, known.cannot_table
    said = [[_names(name) for name in table.source_names()] for table in tables]
    said.append([_names(group.source) for group in known.groups])
    names = {name for where in said for both in where for name in both}
    found = {}
    for name in sorted(names, key=lambda name: (name is None, name or "")):
        kept = [np.array([name in both for both in where], dtype=bool) for where in said]
        own = (table.take(rows) for table, rows in zip(tables, kept, strict=False))
        groups = [known.groups[at] for at in np.flatnonzero(kept[-1])]
        found[name] = Constraints._from_parts(known.n_items, *own, groups, None)
    return found


def _names(source: str | None) -> tuple[str | None, ...]:
    return (None,) if source is None else tuple(source.split(SOURCE_SEPARATOR))
