"""Which constraints a labelling breaks: counted pair by pair for pairs, by counting for groups. Linear.

A label of -1 means "in no cluster": such an item meets every cannot-link and breaks every must-link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie._notebook import as_html
from coterie._words import format_number
from coterie.constraints._model.statements import CANNOT_LINK, MUST_LINK, Group, IntArray, Pairs, choose_two
from coterie.constraints._reading.frames import build_frame
from coterie.constraints._reading.inputs import Ids, first_three, item_name, names_of

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints
    from coterie.constraints._model.frozen_items import FrozenItems

_SHOWN = 10
HEAD = ("kind", "items", "weight", "source")


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
    items : tuple of int
        The items to look at: all that share a cluster but should not (distinct), those away from the
        largest part of their label, those that are not of a cluster's main code.
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
    items: tuple[int, ...]
    n_items: int
    n_pairs: int
    weight: float | None
    source: str | None


@dataclass(frozen=True)
class Shortfall:
    """A bound on the size of a cluster that was missed.

    Attributes
    ----------
    cluster : int
        Which.
    size : float
        What it holds: items, or load; of one group if `group` is given.
    size_min, size_max : float
        Between which it should lie.
    group : object, optional
        The group whose bound it is.
    """

    cluster: int
    size: float
    size_min: float
    size_max: float
    group: object = None

    @property
    def amount(self) -> float:
        """By how much the bound is missed."""
        return max(self.size_min - self.size, self.size - self.size_max)

    def __str__(self) -> str:
        of = "" if self.group is None else f" of group {self.group!r}"
        how = "too few" if self.size < self.size_min else "too many"
        return (
            f"cluster {self.cluster} holds {format_number(self.size)}{of}, {format_number(self.amount)} {how}"
        )


@dataclass(frozen=True, eq=False)
class Violations:
    """What a labelling breaks; false if nothing. Prints as a table, `to_frame` for the rest.

    Attributes
    ----------
    must_link, cannot_link : Pairs
        The broken pairs with weight, confidence, hardness and source.
    groups : tuple of BrokenGroup
        The broken groups.
    n_broken, n_stated : int
        Broken constraints, and all that have an effect, counted as they were stated: pairs, labels (one an
        item), groups of a `distinct` or `across`. A label is broken where its item is away from most of its
        label, or among others.
    n_pairs : int
        All stated pairs that have an effect, labels and groups counted as the pairs that they stand for.
    shortfalls : tuple of Shortfall
        Bounds on sizes that were missed, where the estimator has such; not counted in `n_broken`.
    """

    must_link: Pairs
    cannot_link: Pairs
    groups: tuple[BrokenGroup, ...]
    n_broken: int
    n_stated: int
    n_pairs: int
    ids: Ids | None = None
    shortfalls: tuple[Shortfall, ...] = ()

    @property
    def n_broken_pairs(self) -> int:
        """Number of broken pairs, labels and groups counted as the pairs that they stand for."""
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
        return self.n_broken > 0 or bool(self.shortfalls)

    def __repr__(self) -> str:
        missed = f", {len(self.shortfalls):,} bounds missed" if self.shortfalls else ""
        return f"<Violations: {self.n_broken:,} of {self.n_stated:,} constraints broken{missed}>"

    def _repr_html_(self) -> str:
        head, rows, rest = self._told()
        return as_html(head, rows) + as_html("\n".join(rest))

    def __str__(self) -> str:
        head, rows, rest = self._told()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([head, *(f"  {line}" for line in lines), *rest])

    def _told(self) -> tuple[str, list[tuple[str, ...]], list[str]]:
        """A sentence, the first rows of a table with its head, and what comes after it."""
        missed = [f"  {one}" for one in self.shortfalls[:_SHOWN]]
        if len(self.shortfalls) > _SHOWN:
            missed.append(f"  ... and {len(self.shortfalls) - _SHOWN:,} more.")
        if missed:
            are = "bound on sizes is" if len(self.shortfalls) == 1 else "bounds on sizes are"
            missed.insert(0, f"{len(self.shortfalls):,} {are} missed:")
        n = self.n_stated
        if not n and missed:  # bounds alone were given
            return missed[0], [], missed[1:]
        if not self.n_broken:
            all_are = "The one constraint is" if n == 1 else f"All {n:,} constraints are"
            return f"{all_are} met.", [], missed
        head = f"{self.n_broken:,} of {n:,} constraints are broken (cost {self.cost:g})."
        rows = self.first_rows()
        left_out = self.must_link.n + self.cannot_link.n + len(self.groups) - len(rows)
        more = [f"  ... and {left_out:,} more rows; see to_frame()."] if left_out else []
        return head, [HEAD, *rows], more + missed

    def first_rows(self) -> list[tuple[str, ...]]:
        """Kind, items, weight and source of the first broken constraints, in words; `to_frame` has all."""
        rows = pair_rows(MUST_LINK, self.must_link, self.ids)
        rows += pair_rows(CANNOT_LINK, self.cannot_link, self.ids)
        for group in self.groups[:_SHOWN]:
            named = first_three([item_name(self.ids, i) for i in group.items[:4]])
            where = ", ".join(map(str, group.clusters[:5]))
            items = f"{group.name}: {group.n_items:,} items in clusters {where} (see {named})"
            weight = "hard" if group.weight is None else f"{group.weight:g}"
            rows.append((group.kind, items, weight, group.source or ""))
        return rows

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame with one row a broken pair, and one row an item of each broken group.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            Which library's frame; by default the first one that is installed.
        """
        rows: list[tuple[Any, ...]] = []
        for kind, table in ((MUST_LINK, self.must_link), (CANNOT_LINK, self.cannot_link)):
            said = table.weight.tolist(), table.hard.tolist(), table.source_names()
            for (i, j), *rest in zip(names_of(self.ids, table.ij), *said, strict=True):
                rows.append((kind, i, j, None, None, 1, *rest))
        for g in self.groups:
            weight = 1.0 if g.weight is None else g.weight
            where = ", ".join(map(str, g.clusters))
            for number, item in enumerate(names_of(self.ids, g.items)):
                # the pairs are counted once, in the row of the first item
                n_pairs = g.n_pairs if number == 0 else 0
                cells = str(g.name), where, n_pairs, weight, g.weight is None, g.source
                rows.append((g.kind, item, None, *cells))
        names = ("kind", "i", "j", "group", "clusters", "n_pairs", "weight", "hard", "source")
        return build_frame({name: [row[at] for row in rows] for at, name in enumerate(names)}, library)


def pair_rows(kind: str, table: Pairs, ids: Ids | None) -> list[tuple[str, ...]]:
    """The first pairs as rows of a table to print: kind, items, weight, source."""
    shown = table.take(slice(0, _SHOWN))
    said = shown.weight.tolist(), shown.hard.tolist(), shown.source_names()
    rows = zip(shown.ij.tolist(), *said, strict=True)
    named = [(f"{item_name(ids, i)} - {item_name(ids, j)}", *rest) for (i, j), *rest in rows]
    return [(kind, pair, "hard" if hard else f"{w:g}", who or "") for pair, w, hard, who in named]


def find_violations(c: Constraints, labels: Any) -> Violations:
    """See `Constraints.violations`."""
    found = labels_of(c, labels)
    must, cannot = c.must_table, c.cannot_table
    a, b = (found[must.ij[:, end]] for end in (0, 1))
    split = must.active & ((a != b) | (a < 0))
    a, b = (found[cannot.ij[:, end]] for end in (0, 1))
    joined = cannot.active & (a == b) & (a >= 0)
    groups = [group for group in c.groups if group.active]
    broken = [_broken(group, found[group.items]) for group in groups]
    n_active, n_broken = int(must.active.sum() + cannot.active.sum()), int(split.sum() + joined.sum())
    return Violations(
        must.take(split),
        cannot.take(joined),
        tuple(entry for entries in broken for entry in entries),
        n_broken + sum(map(_n_broken, groups, broken)),
        n_active + sum(group.n_stated for group in groups),
        n_active + sum(group.n_pairs() for group in groups),
        c._ids,
    )


def _n_broken(group: Group, entries: list[BrokenGroup]) -> int:
    """How many of its labels or groups are broken, as `Group.n_stated` counts them."""
    items = np.unique([item for entry in entries for item in entry.items])
    if group.kind == "label":
        return len(items)
    return len(np.unique(group.codes[np.searchsorted(group.items, items)]))


def labels_of(c: FrozenItems, labels: Any) -> NDArray[Any]:
    """One whole number an item; a series goes by its names where the constraints have some."""
    places = c._places(labels, "labels")
    found = check_labels(labels, c.n_items)
    return found if places is None else found[np.argsort(places)]


def check_labels(labels: Any, n_items: int) -> NDArray[Any]:
    """One whole number an item."""
    array = np.asarray(labels)
    if array.shape != (n_items,):
        raise ValueError(f"labels has shape {array.shape}, but the constraints speak of {n_items} items.")
    if array.dtype.kind not in "iub":
        values = array.tolist()
        odd = [i for i, x in enumerate(values) if not isinstance(x, int | float) or not _is_label(x)]
        if odd:
            raise TypeError(
                f"labels[{odd[0]}] is {values[odd[0]]!r}; labels are whole numbers, one per item "
                "(-1: in no cluster)."
            )
    return array if array.dtype.kind == "i" else array.astype(np.int64)


def _is_label(value: float) -> bool:
    return abs(value) < 2**62 and value == int(value)


def _broken(group: Group, labels: IntArray) -> list[BrokenGroup]:
    """Count the cells of codes against clusters; an item in no cluster is apart from all others."""
    clusters, at = np.unique(labels, return_inverse=True)
    cell = group.codes * len(clusters) + at
    order = np.argsort(cell, kind="stable")
    key, starts, counts = np.unique(cell[order], return_index=True, return_counts=True)
    code, cluster = np.divmod(key, len(clusters))
    outside = clusters[cluster] < 0

    def entry(name: object, cells: IntArray, named: IntArray, n_pairs: int) -> BrokenGroup:
        """`cells` are concerned; the items of those in `named` are named."""
        parts = [group.items[order[starts[c] : starts[c] + counts[c]]] for c in named.tolist()]
        return BrokenGroup(
            kind=group.kind,
            name=name,
            clusters=tuple(np.unique(clusters[cluster[cells]]).tolist()),
            items=tuple(np.concatenate(parts).tolist()),
            n_items=int(counts[cells].sum()),
            n_pairs=n_pairs,
            weight=group.weight,
            source=group.source,
        )

    found = []
    if group.kind == "distinct":
        for c in np.flatnonzero((counts > 1) & ~outside).tolist():
            crowded = np.array([c])
            found.append(entry(group.names[code[c]], crowded, crowded, choose_two(int(counts[c]))))
        return found
    if group.kind == "label":
        together = np.bincount(code, np.where(outside, 0, counts * (counts - 1) // 2), group.n_codes)
        all_pairs = group.counts() * (group.counts() - 1) // 2
        for lost in np.flatnonzero(together < all_pairs).tolist():
            cells = np.arange(*np.searchsorted(code, [lost, lost + 1]))
            away = cells[cells != cells[np.argmax(np.where(outside[cells], 0, counts[cells]))]]
            named = away if len(away) else cells
            found.append(entry(group.names[lost], cells, named, int(all_pairs[lost] - together[lost])))
    by_cluster = np.argsort(cluster, kind="stable")
    for cells in np.split(by_cluster, np.flatnonzero(np.diff(cluster[by_cluster])) + 1):
        if len(cells) > 1 and not outside[cells[0]]:
            n_pairs = choose_two(int(counts[cells].sum())) - sum(map(choose_two, counts[cells].tolist()))
            mixed = " + ".join(str(group.names[c]) for c in code[cells][:4].tolist())
            name = mixed if len(cells) <= 4 else f"{mixed} + {len(cells) - 4} more"
            found.append(entry(name, cells, cells[cells != cells[np.argmax(counts[cells])]], n_pairs))
    return found
