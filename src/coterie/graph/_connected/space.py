"""How far items are from items and from centres, whatever the metric; for the compiled loops, too.

Dense rows with a Euclidean or cosine distance are measured where a loop needs them, so that no table of items
and centres is made; other metrics, sparse rows and given distances take that table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index
from coterie._compiled import kernel
from coterie.base import Distances, distances_between, unit_rows

_KINDS = {"euclidean": 1, "l2": 1, "sqeuclidean": 2, "cosine": 3}
# Looks at a pair of items each; then the best centre so far is taken. Few clusters need more than ten.
_MOST_LOOKS = 500


class Keys(NamedTuple):
    """Distances of items to centres: a table, or what they are made of."""

    kind: int  # 0: in the table; 1, 2, 3: Euclidean, its square, one less the cosine (of rows of length 1)
    rows: Any
    centres: Any
    table: Any


@kernel(inline=True)
def key_of(x: int, j: int, keys: Any) -> float:
    """The distance of item x to centre j."""
    total = 0.0
    if keys.kind == 0:
        total = keys.table[x, j]
    elif keys.kind == 3:
        for f in range(keys.rows.shape[1]):
            total += keys.rows[x, f] * keys.centres[j, f]
        total = max(0.0, 1.0 - total)
    else:
        for f in range(keys.rows.shape[1]):
            gap = keys.rows[x, f] - keys.centres[j, f]
            total += gap * gap
        if keys.kind == 1:
            total = np.sqrt(total)
    return total


class ItemSpace(Distances):
    """Items and the distances between them; a centre is a row, or with given distances an item."""

    def __init__(self, X: Any, metric: Any) -> None:
        super().__init__(unit_rows(X) if isinstance(metric, str) and metric == "cosine" else X, metric)
        known = isinstance(metric, str) and not self.given and not sparse.issparse(X)
        self._kind = _KINDS.get(metric, 0) if known else 0
        self._rows = np.ascontiguousarray(self.X, dtype=np.float64) if self._kind else np.empty((0, 0))

    def between(self, rows: Index | None, columns: Index) -> Floats:
        """Distances from some items (all: None) to others; an item is at 0 from itself, zeros as well."""
        found = self._finite(super().between(rows, columns))
        if isinstance(self.metric, str) and self.metric == "cosine":
            found[(np.arange(self.n) if rows is None else rows)[:, None] == columns] = 0.0
        return found

    def _finite(self, found: Floats) -> Floats:
        """The same, or an error where a metric gave what is no distance."""
        if self.given:
            return found
        wrong = ~np.isfinite(found) | ((found < 0) & callable(self.metric))  # others round to -1e-16
        if wrong.any():
            raise ValueError(
                f"metric={self.metric!r} gives the distance {found[wrong][0]} between two items."
            )
        return found

    def centres_at(self, nodes: Index) -> Any:
        """Items as centres."""
        if self.given:
            return np.asarray(nodes, dtype=np.int64)
        rows = self.X[nodes]
        return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)

    def to_centres(self, rows: Index | slice, centres: Any) -> Floats:
        """Distances of some items to some centres."""
        if self.given:
            return np.asarray(self.X[rows][:, centres], dtype=np.float64)
        found = distances_between(self.X[rows], centres, self.metric, self.kwargs)
        return self._finite(np.asarray(found, dtype=np.float64))

    def between_centres(self, centres: Any) -> Floats:
        """Distances between centres."""
        if self.given:
            return self.between(centres, centres)
        found = distances_between(centres, centres, self.metric, self.kwargs)
        return np.array(found, dtype=np.float64)

    def keys(self, centres: Any) -> Keys:
        """Distances of all items to some centres, for the loops."""
        if not self._kind:
            table = np.ascontiguousarray(self.to_centres(slice(None), centres))
            return Keys(0, self._rows, np.empty((0, 0)), table)
        if self._kind == 3:
            centres = unit_rows(centres)
        return Keys(self._kind, self._rows, np.ascontiguousarray(centres, dtype=np.float64), np.empty((0, 0)))

    def move_centre(self, keys: Keys, j: int, node: int) -> None:
        """Put centre j of the keys at an item; in place."""
        if keys.kind:
            keys.centres[j] = self._rows[node]
        else:
            keys.table[:, j] = self.between(None, np.array([node]))[:, 0]

    def middle(self, members: Index) -> Any:
        """The mean of some items; with given distances the item of least squared distances to them."""
        if not self.given:
            return np.asarray(self.X[members].mean(axis=0, dtype=np.float64)).reshape(1, -1)
        step = len(members) // 1000 + 1  # of a large cluster a sample
        squares = self.X[np.ix_(members[::step], members)].astype(np.float64) ** 2
        return members[::step][[int(squares.sum(axis=1).argmin())]]

    def minimax(self, members: Index, first: int) -> tuple[int, float]:
        """The member whose farthest member is nearest, and how far that is; `first` is looked at first.

        The distances to a few far members bound the radius of every candidate from below; the most promising
        one is looked at next. Exact for symmetric distances, unless that takes very many looks.
        """
        best, radius = first, np.inf
        least = np.zeros(len(members))
        for _ in range(_MOST_LOOKS):
            away = self.between(members, np.array([first]))[:, 0]
            far = int(away.argmax())
            if away[far] < radius:
                best, radius = first, float(away[far])
            np.maximum(least, self.between(members, members[[far]])[:, 0], out=least)
            at = int(least.argmin())
            if least[at] >= radius:
                break
            first = int(members[at])
        return best, radius


def members_of(labels: Any, k: int) -> Iterator[Index]:
    """The items of each cluster in turn; those below 0 are in none."""
    order = np.argsort(labels, kind="stable")
    cuts = np.searchsorted(labels[order], np.arange(k + 1))
    for start, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        yield order[start:end]
