"""Collective merging: the state at first, the loop until the queue falls below a threshold, what came out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index
from coterie._compiled import SLICE
from coterie.base import Step
from coterie.hierarchy._linkage import Rules
from coterie.relational._merging.contexts import contracted_rules
from coterie.relational._merging.heap import drop_stale
from coterie.relational._merging.queue import AVERAGE, LINKAGES, MIN, run
from coterie.relational._merging.related_pairs import meet_some, queue_groups
from coterie.relational._merging.state import (
    AlikeGroups,
    Counters,
    LiveClusters,
    MergeLog,
    MergeQueue,
    RelatedPairs,
)
from coterie.relational._records import Similar

# How many pairs that did not merge are kept, of those that were kept apart and of those below the threshold.
MOST_NEAR, MOST_BELOW = 200, 50
_Arrays = TypeVar("_Arrays", AlikeGroups, RelatedPairs, MergeQueue)


class MergeList(NamedTuple):
    """Merges in their order, or pairs that nearly merged: first records, the similarity and its parts."""

    left: Index
    right: Index
    similarity: Floats
    attribute: Floats
    relational: Floats

    def only(self, some: Any) -> MergeList:
        """Some of them."""
        left, right, *numbers = (one[some] for one in self)
        return MergeList(left, right, *numbers)

    def until(self, threshold: float) -> int:
        """How many come before the first below the threshold."""
        low = np.flatnonzero(self.similarity < threshold)
        return int(low[0]) if len(low) else len(self.similarity)


@dataclass(frozen=True, eq=False)
class Merging:
    """What is to be merged.

    Attributes
    ----------
    similar : Similar
        Groups of records that no attribute tells apart, and which of them are similar.
    rules : Rules
        What keeps units of records apart.
    cluster : array of shape (n_units,)
        The clusters of the bootstrap, numbered by their first records.
    beside : CSR matrix of shape (n, n)
        Which records share a context.
    alpha, linkage, missing_context
        As in `EntityResolver`.
    """

    similar: Similar
    rules: Rules
    cluster: Index
    n_clusters: int
    beside: Any
    alpha: float
    linkage: str
    missing_context: str

    @property
    def bootstrapped(self) -> Index:
        """The cluster of each record before the queue."""
        return self.cluster[self.rules.unit]

    def run(self, threshold: float, step: Step) -> tuple[MergeList, MergeList]:
        """Merge until the best pair is below the threshold: the merges, and pairs that nearly merged."""
        linkage, alone = LINKAGES[self.linkage], self.missing_context == "fallback"
        alpha, n = self.alpha, self.n_clusters
        u = self._clusters()
        g, n_groups, n_entries = _first_groups(self.similar, self.bootstrapped, n, u, linkage, alone)
        p = _no_pairs(max(2 * n, 1_000), n)
        q = MergeQueue(*(np.empty(n_entries + 2 * n + 1_000, t) for t in (float, float, *[np.int64] * 4)))
        # queue, pairs, free, entries, groups, merges, near, mark, need
        numbers = [0, 0, -1, n_entries, n_groups, 0, 0, 0, 0]
        c = Counters(*(np.array([one], dtype=np.int64) for one in numbers))
        log, near = _empty_log(max(n - 1, 0)), _empty_log(MOST_NEAR)
        v = contracted_rules(self.rules, self.cluster, n).arrays()
        queue_groups.for_work(n_entries)(alpha, q, c, g)
        begin = 0 if alpha > 0.0 else n
        while begin < n:
            begin = meet_some.for_work(len(u.to))(begin, SLICE, alpha, q, c, u, g, p)
            q, g, p = _with_room(q, g, p, c)
        work = n_entries + len(u.to)
        while not run.for_work(work)(
            threshold, SLICE, True, linkage, alone, alpha, q, c, u, g, p, v, log, near
        ):
            step()
            q, g, p = _with_room(q, g, p, c)
        kept_apart = int(c.near[0])
        c.near[0] = 0
        below = _empty_log(MOST_BELOW)
        run.for_work(work)(-np.inf, SLICE, False, linkage, alone, alpha, q, c, u, g, p, v, log, below)
        first = np.full(n, len(self.bootstrapped))
        np.minimum.at(first, self.bootstrapped, np.arange(len(self.bootstrapped)))
        made = _told(log, int(c.merges[0]), first)
        blocked, missed = _told(near, kept_apart, first), _told(below, int(c.near[0]), first)
        near_pairs = MergeList(*map(np.concatenate, zip(blocked, missed, strict=True)))  # type: ignore[arg-type]
        _, once = np.unique(np.stack([near_pairs.left, near_pairs.right]), axis=1, return_index=True)
        return made, near_pairs.only(np.sort(once))

    def _clusters(self) -> LiveClusters:
        n, own = self.n_clusters, self.bootstrapped
        place = sparse.csr_matrix(
            (np.ones(len(own), dtype=bool), (own, np.arange(len(own)))), shape=(n, len(own))
        )
        table = (place @ self.beside @ place.T).tocoo() if self.alpha > 0.0 else sparse.coo_matrix((n, n))
        off = table.row != table.col
        table = sparse.csr_matrix((table.data[off], (table.row[off], table.col[off])), shape=(n, n))
        degree = np.diff(table.indptr).astype(np.int64)
        head, onward = _as_lists(table.indptr)
        nobody, counts = np.full(n, -1), np.zeros(n, dtype=np.int64)
        return LiveClusters(
            into=np.arange(n),
            root=np.arange(n),
            size=np.bincount(own, minlength=n),
            to=table.indices.astype(np.int64),
            onward=onward,
            head=head,
            degree=degree,
            group=nobody.copy(),
            later=nobody.copy(),
            earlier=nobody.copy(),
            mark=counts.copy(),
            met=counts.copy(),
            touched=counts.copy(),
        )


def _as_lists(indptr: Any) -> tuple[Index, Index]:
    """The rows of a CSR matrix as linked lists of its entries."""
    begin, end = indptr[:-1].astype(np.int64), indptr[1:].astype(np.int64)
    onward = np.arange(1, int(indptr[-1]) + 1)
    onward[end[end > begin] - 1] = -1
    return np.where(end > begin, begin, -1), onward


def _first_groups(
    similar: Similar, own: Index, n: int, u: LiveClusters, linkage: int, apart_alone: bool
) -> tuple[AlikeGroups, int, int]:
    """Clusters of the same attributes as groups, and which groups are similar; `u` gets its lists."""
    cells, counts = np.unique(np.stack([own, similar.group]), axis=1, return_counts=True)
    kinds = np.bincount(cells[0], minlength=n)
    pure = kinds == 1
    alone = (u.degree == 0).astype(np.int64) if apart_alone else np.zeros(n, dtype=np.int64)
    what = np.where(
        pure, similar.group[np.unique(own, return_index=True)[1]], similar.n_groups + np.arange(n)
    )
    _, first, group = np.unique(2 * what + alone, return_index=True, return_inverse=True)
    n_types = len(first)
    order = np.lexsort((np.arange(n), group))
    same = group[order[1:]] == group[order[:-1]]
    u.group[:] = group
    u.later[order[:-1][same]] = order[1:][same]
    u.earlier[order[1:][same]] = order[:-1][same]
    # what each type holds: its kinds of records and how many, one of a pure type
    held = first[group[cells[0]]] == cells[0]
    times = np.where(pure[cells[0]] | (linkage != AVERAGE), 1, counts)[held].astype(np.float64)
    holds = sparse.csr_matrix(
        (times, (cells[1][held], group[cells[0][held]])), shape=(similar.n_groups, n_types)
    )
    left, right, total = _between_types(similar, holds, linkage)
    kept = (left < right) | ((left == right) & pure[first[left]])
    left, right, total = left[kept], right[kept], total[kept]
    n_entries, n_all = 2 * len(left), n_types + n
    to = np.stack([right, left], axis=1).ravel()
    # the second entry of a type with itself is in no list
    source = np.stack([left, np.where(left == right, n_types, right)], axis=1).ravel()
    by_source = np.argsort(source, kind="stable")
    head, onward = _as_lists(np.searchsorted(source[by_source], np.arange(n_types + 2)))
    entry = np.full(n_entries, -1)
    entry[by_source] = np.where(onward >= 0, by_source[np.minimum(onward, n_entries - 1)], -1)
    groups = AlikeGroups(
        first=np.concatenate([first, np.full(n, -1)]),
        divisor=np.ones(n_all),
        alone=np.concatenate([alone[first], np.zeros(n, dtype=np.int64)]),
        head=np.concatenate(
            [np.where(head[:-1] >= 0, by_source[head[:-1]] if n_entries else -1, -1), np.full(n, -1)]
        ),
        onward=np.append(entry, np.full(1_000, -1)),
        to=np.append(to, np.full(1_000, -1)),
        total=np.append(np.repeat(total, 2), np.zeros(1_000)),
        done=np.zeros(n_entries + 1_000, dtype=np.int64),
        entry=np.full(n_all, -1),
    )
    if linkage == AVERAGE:
        groups.divisor[:n_types] = np.where(pure[first], 1.0, u.size[first])
    return groups, n_types, n_entries


def _between_types(similar: Similar, holds: Any, linkage: int) -> tuple[Index, Index, Floats]:
    """Which types are similar, and the sum, the largest or the least of the similarities between them."""
    cells = similar.table().tocoo()
    one, other, value = cells.row, cells.col, cells.data
    many = np.diff(holds.indptr)
    counts = many[one] * many[other]
    cell = np.repeat(np.arange(len(one)), counts)
    at = np.arange(len(cell)) - np.repeat(np.cumsum(counts) - counts, counts)
    s = holds.indptr[one[cell]] + at // many[other[cell]]
    t = holds.indptr[other[cell]] + at % many[other[cell]]
    left, right = holds.indices[s].astype(np.int64), holds.indices[t].astype(np.int64)
    value = value[cell] * (holds.data[s] * holds.data[t])
    order = np.lexsort((right, left))
    left, right, value = left[order], right[order], value[order]
    starts = np.flatnonzero(np.append(True, (left[1:] != left[:-1]) | (right[1:] != right[:-1])))[: len(left)]
    if not len(left):
        return left, right, value
    total = {AVERAGE: np.add, MIN: np.minimum}.get(linkage, np.maximum).reduceat(value, starts)
    left, right = left[starts], right[starts]
    if linkage == MIN:  # what was not compared counts as 0
        kinds = np.bincount(holds.indices, minlength=holds.shape[1])
        compared = np.diff(np.append(starts, len(value)))
        total = np.where(compared == kinds[left] * kinds[right], total, 0.0)
    return left, right, total


def _no_pairs(room: int, n: int) -> RelatedPairs:
    return RelatedPairs(
        end=np.full(2 * room, -1),
        later=np.full(2 * room, -1),
        earlier=np.full(2 * room, -1),
        head=np.full(n, -1),
        common=np.zeros(room, dtype=np.int64),
        alike=np.zeros(room),
        version=np.zeros(room, dtype=np.int64),
    )


def _empty_log(room: int) -> MergeLog:
    return MergeLog(*(np.empty(room, dtype=t) for t in (np.int64, np.int64, *[np.float64] * 3)))


def _with_room(
    q: MergeQueue, g: AlikeGroups, p: RelatedPairs, c: Counters
) -> tuple[MergeQueue, AlikeGroups, RelatedPairs]:
    """Arrays with `need` free places at least; what is stale leaves the queue first."""
    need = int(c.need[0])
    if not need:
        return q, g, p
    if len(q.key) - c.queue[0] < need:
        drop_stale.for_work(int(c.queue[0]))(q, c, g, p)
        q = _longer(q, len(q.key), 2 * (int(c.queue[0]) + need))
    if len(p.common) - c.pairs[0] < need:
        p = _longer(p, len(p.common), 2 * (int(c.pairs[0]) + need))
    if len(g.to) - c.entries[0] < need:
        g = _longer(g, len(g.to), 2 * (int(c.entries[0]) + need))
    return q, g, p


def _longer(arrays: _Arrays, old: int, new: int) -> _Arrays:
    """The arrays that grow, of `old` places or a multiple of it, with room for `new`."""
    if new <= old:
        return arrays
    fields = {
        name: np.append(one, np.zeros((new - old) * (len(one) // old), dtype=one.dtype))
        for name, one in arrays._asdict().items()
        if name in _GROWING
    }
    return arrays._replace(**fields)


_GROWING = {
    *MergeQueue._fields,
    "end",
    "later",
    "earlier",
    "common",
    "alike",
    "version",
    "onward",
    "to",
    "total",
    "done",
}


def _told(log: MergeLog, count: int, first: Index) -> MergeList:
    found = MergeList(*log).only(slice(count))
    return found._replace(left=first[found.left], right=first[found.right])
