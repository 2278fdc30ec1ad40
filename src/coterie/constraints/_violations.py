"""Which constraints a labelling breaks: counted pair by pair for pairs, by counting for groups. Linear.

A label of -1 means "in no cluster": such an item meets every cannot-link and breaks every must-link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.constraints._frames import build_frame
from coterie.constraints._inputs import Ids, item_name
from coterie.constraints._statements import CANNOT_LINK, MUST_LINK, Group, IntArray, Pairs

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints

_SHOWN = 10


@dataclass(frozen=True)
class BrokenGroup:
    """One way in which a labelling breaks a group.

    Attributes
    ----------
    kind : {"label", "distinct", "across"}
        The kind of group.
    name : object
        The code that is split, or that a cluster holds too often; for clusters that mix codes, their names.
    clusters : tuple of int
        The clusters concerned (-1: in no cluster).
    n_items : int
        Number of items concerned.
    n_pairs : int
        Number of pairs broken.
    weight : float or None
        Strength of each of these pairs; None if hard.
    source : str or None
        Who or what said it.
    """

    kind: str
    name: object
    clusters: tuple[int, ...]
    n_items: int
    n_pairs: int
    weight: float | None
    source: str | None


@dataclass(frozen=True, eq=False)
class Violations:
    """What a labelling breaks; false if nothing. Prints as a table, `to_frame` for the rest.

    Attributes
    ----------
    must_link, cannot_link : Pairs
        The broken pairs with weight, confidence, hardness and source.
    groups : tuple of BrokenGroup
        The broken groups.
    n_broken : int
        Broken pairs, groups counted as the pairs that they stand for.
    n_stated : int
        All stated pairs that have an effect, counted in the same way.
    """

    must_link: Pairs
    cannot_link: Pairs
    groups: tuple[BrokenGroup, ...]
    n_stated: int
    ids: Ids | None = None

    @property
    def n_broken(self) -> int:
        """Number of broken pairs, groups counted as the pairs that they stand for."""
        return self.must_link.n + self.cannot_link.n + sum(group.n_pairs for group in self.groups)

    @property
    def n_hard(self) -> int:
        """How many of the broken pairs were hard."""
        pairs = int(self.must_link.hard.sum() + self.cannot_link.hard.sum())
        return pairs + sum(group.n_pairs for group in self.groups if group.weight is None)

    @property
    def cost(self) -> float:
        """Summed weight of the broken pairs; a hard group counts 1 a pair."""
        pairs = float(self.must_link.weight.sum() + self.cannot_link.weight.sum())
        return pairs + sum(g.n_pairs * (1.0 if g.weight is None else g.weight) for g in self.groups)

    def __bool__(self) -> bool:
        return self.n_broken > 0

    def __repr__(self) -> str:
        return f"<Violations: {self.n_broken:,} of {self.n_stated:,} pairs broken>"

    def __str__(self) -> str:
        if not self:
            return f"All {self.n_stated:,} constraints are met."
        lines = [f"{self.n_broken:,} of {self.n_stated:,} constraints are broken (cost {self.cost:g})."]
        rows = [("kind", "items", "weight", "source")]
        for kind, table in ((MUST_LINK, self.must_link), (CANNOT_LINK, self.cannot_link)):
            shown = table.take(slice(0, _SHOWN))
            for (i, j), weight, hard, source in zip(
                shown.ij.tolist(),
                shown.weight.tolist(),
                shown.hard.tolist(),
                shown.source_names(),
                strict=True,
            ):
                items = f"{item_name(self.ids, i)} - {item_name(self.ids, j)}"
                rows.append((kind, items, "hard" if hard else f"{weight:g}", source or ""))
        for group in self.groups[:_SHOWN]:
            where = "clusters " + ", ".join(map(str, group.clusters[:5]))
            items = f"{group.name}: {group.n_items:,} items in {where}"
            rows.append(
                (
                    group.kind,
                    items,
                    "hard" if group.weight is None else f"{group.weight:g}",
                    group.source or "",
                )
            )
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        for row in rows:
            lines.append(
                "  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
            )
        left_out = self.must_link.n + self.cannot_link.n + len(self.groups) - (len(rows) - 1)
        if left_out:
            lines.append(f"  ... and {left_out:,} more rows; see to_frame().")
        return "\n".join(lines)

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame with one row a broken pair or broken group.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            Which library's frame; by default the first one that is installed.
        """
        rows: list[tuple[Any, ...]] = []
        for kind, table in ((MUST_LINK, self.must_link), (CANNOT_LINK, self.cannot_link)):
            items = table.ij if self.ids is None else self.ids.values[table.ij]
            for (i, j), weight, hard, source in zip(
                items.tolist(), table.weight.tolist(), table.hard.tolist(), table.source_names(), strict=True
            ):
                rows.append((kind, i, j, None, 1, weight, hard, source))
        for g in self.groups:
            weight = 1.0 if g.weight is None else g.weight
            rows.append((g.kind, None, None, str(g.name), g.n_pairs, weight, g.weight is None, g.source))
        names = ("kind", "i", "j", "group", "n_pairs", "weight", "hard", "source")
        return build_frame({name: [row[at] for row in rows] for at, name in enumerate(names)}, library)


def find_violations(c: Constraints, labels: Any) -> Violations:
    """See `Constraints.violations`."""
    found = check_labels(labels, c.n_items)
    must, cannot = c.must_table, c.cannot_table
    a, b = (found[must.ij[:, end]] for end in (0, 1))
    split = must.active & ((a != b) | (a < 0))
    a, b = (found[cannot.ij[:, end]] for end in (0, 1))
    joined = cannot.active & (a == b) & (a >= 0)
    groups = [group for group in c.groups if group.active]
    broken = [entry for group in groups for entry in _broken(group, found[group.items])]
    n_stated = int(must.active.sum() + cannot.active.sum()) + sum(group.n_pairs() for group in groups)
    return Violations(must.take(split), cannot.take(joined), tuple(broken), n_stated, c._ids)


def check_labels(labels: Any, n_items: int) -> IntArray:
    """One whole number an item."""
    array = np.asarray(labels)
    if array.shape != (n_items,):
        raise ValueError(f"labels has shape {array.shape}, but the constraints speak of {n_items} items.")
    if array.dtype.kind not in "iub":
        values = array.tolist()
        odd = [i for i, x in enumerate(values) if not isinstance(x, int | float) or x != x or x % 1 != 0]
        if odd:
            raise TypeError(
                f"labels[{odd[0]}] is {values[odd[0]]!r}; labels are whole numbers, one per item "
                "(-1: in no cluster)."
            )
    return array.astype(np.int64)


def _broken(group: Group, labels: IntArray) -> list[BrokenGroup]:
    """Count the cells of codes against clusters; items in no cluster are cells of their own."""
    found = []
    clusters, at = np.unique(labels, return_inverse=True)
    key, counts = np.unique(group.codes * len(clusters) + at, return_counts=True)
    code, cluster = np.divmod(key, len(clusters))
    outside = clusters[cluster] < 0
    about: dict[str, Any] = {"kind": group.kind, "weight": group.weight, "source": group.source}
    if group.kind == "distinct":
        for row in np.flatnonzero((counts > 1) & ~outside).tolist():
            n = int(counts[row])
            where = (int(clusters[cluster[row]]),)
            found.append(
                BrokenGroup(name=group.names[code[row]], clusters=where, n_items=n, n_pairs=_two(n), **about)
            )
        return found
    if group.kind == "label":
        # an item in no cluster is apart from all others of its label
        together = np.where(outside, 0, counts * (counts - 1) // 2)
        kept = np.bincount(code, together, group.n_codes)
        for lost in np.flatnonzero(kept < [_two(n) for n in group.counts().tolist()]).tolist():
            rows = np.flatnonzero(code == lost)
            n = int(counts[rows].sum())
            where = tuple(clusters[cluster[rows]].tolist())
            n_pairs = _two(n) - int(kept[lost])
            found.append(
                BrokenGroup(name=group.names[lost], clusters=where, n_items=n, n_pairs=n_pairs, **about)
            )
    order = np.argsort(cluster, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1):
        if len(rows) > 1 and not outside[rows[0]]:
            n = int(counts[rows].sum())
            n_pairs = _two(n) - sum(_two(m) for m in counts[rows].tolist())
            mixed = " + ".join(str(group.names[c]) for c in code[rows][:4].tolist())
            name = mixed if len(rows) <= 4 else f"{mixed} + {len(rows) - 4} more"
            where = (int(clusters[cluster[rows[0]]]),)
            found.append(BrokenGroup(name=name, clusters=where, n_items=n, n_pairs=n_pairs, **about))
    return found


def _two(n: int) -> int:
    return n * (n - 1) // 2
