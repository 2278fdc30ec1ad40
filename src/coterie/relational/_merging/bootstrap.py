"""The bootstrap: merges before the queue, of pairs that are certain, so that relations have something to say.

A pair is accepted if the similarity of its attributes reaches a threshold and, for "relational", enough
records beside the one match records beside the other. Accepted pairs are merged by decreasing similarity,
then by their later and their earlier record; one that would break a rule is passed over.

With one match nothing is written out pair by pair: records of two similar groups with a neighbour in one of
two similar groups stand in one bin. All pairs of a bin are accepted, and those of one group before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from coterie._arrays import Floats, Index
from coterie._compiled import in_slices, kernel
from coterie.hierarchy._linkage import Rules, Vetoes, apart, find, merge_edges, room_for_merges, unite
from coterie.relational._merging.naive import check_pairs
from coterie.relational._records import Similar

ROUNDING = 1e-9  # similarities are rounded


def bootstrap(
    similar: Similar, rules: Rules, beside: Any, *, threshold: float, n_matches: int
) -> tuple[Index, int]:
    """Merge what is certain; the cluster of each unit, numbered by first record, and how many there are.

    `beside` (n x n, CSR) tells which records share a context; `n_matches` 0 asks for none of them.
    """
    v = rules.arrays()
    links = similar.table(threshold - ROUNDING)
    if n_matches <= 1:
        _unite_bins(*_bins(similar, links, beside if n_matches else None), rules.unit, v)
    else:
        _unite_pairs(similar, links, rules, v, beside, n_matches)
    root = np.array([find(v.parent, u) for u in range(rules.n_units)])
    _, first = np.unique(rules.unit, return_index=True)
    least = np.full(rules.n_units, len(rules.unit))
    np.minimum.at(least, root, first)
    _, cluster = np.unique(least[root], return_inverse=True)
    return cluster, int(cluster.max()) + 1


# ---- bins: nothing pair by pair -----------------------------------------------------------------------


def _bins(similar: Similar, links: Any, beside: Any) -> tuple[Index, Index, Floats]:
    """Which records stand in which bins, and the similarity of the groups of each bin."""
    upper = sparse.triu(links).tocoo()  # a class of records for each linked pair of groups
    many = np.arange(upper.nnz)
    cells = np.concatenate([upper.row, upper.col]), np.concatenate([many, many])
    in_class = sparse.csr_matrix((np.ones(2 * upper.nnz), cells), shape=(similar.n_groups, upper.nnz))
    own = in_class[similar.group]
    record = np.repeat(np.arange(own.shape[0]), np.diff(own.indptr))
    bins, value = own.indices.astype(np.int64), upper.data[own.indices]
    if beside is not None:
        near = (beside @ own).tocsr()
        counts = np.diff(near.indptr)[record]
        start = np.repeat(np.cumsum(counts) - counts, counts)
        record, value = np.repeat(record, counts), np.repeat(value, counts)
        at = near.indptr[:-1][record] + np.arange(len(record)) - start
        bins = np.repeat(bins, counts) * upper.nnz + near.indices[at]
        _, bins = np.unique(bins, return_inverse=True)
    shared = np.bincount(bins)[bins] > 1 if len(bins) else np.empty(0, dtype=bool)
    return record[shared], bins[shared], value[shared]


def _unite_bins(record: Index, bins: Index, value: Floats, unit: Index, v: Vetoes) -> None:
    """Merge within bins, the most similar first, then by record: a visit for each similarity and record."""
    order = np.lexsort((bins, record, -value))
    record, bins, value = record[order], bins[order], value[order]
    new = np.ones(len(record), dtype=bool)
    new[1:] = (record[1:] != record[:-1]) | (value[1:] != value[:-1])
    begin = np.append(np.flatnonzero(new), len(record))
    n, n_bins = len(record), int(bins.max(initial=-1)) + 1
    head, tail = np.full((2, n_bins), -1)
    following, member, before = np.full((3, n), -1)
    used = np.zeros(1, dtype=np.int64)
    for first, last in in_slices(len(begin) - 1, 1_000):
        unite_bins(first, last, begin, bins, record, unit, v, head, tail, following, member, before, used)


@kernel
def unite_bins(
    first: int,
    last: int,
    begin: Index,
    bin_of: Index,
    record: Index,
    unit: Index,
    v: Vetoes,
    head: Index,
    tail: Index,
    following: Index,
    member: Index,
    before: Index,
    used: Index,
) -> None:
    """Merge the record of each visit with those before it that share a bin, where the rules allow.

    A bin keeps one record of each cluster that stands in it, in order, so that equal records cost no pairs:
    lists from `head` to `tail` by `following`, with `used` places. All from `v` on is written.
    """
    for visit in range(first, last):
        j, n_before = record[begin[visit]], 0
        for e in range(begin[visit], begin[visit + 1]):
            t = head[bin_of[e]]
            while t >= 0:  # each bin is in order already
                at = n_before
                while at > 0 and before[at - 1] > member[t]:
                    before[at] = before[at - 1]
                    at -= 1
                before[at] = member[t]
                n_before += 1
                t = following[t]
        for s in range(n_before):
            a = find(v.parent, unit[before[s]])
            b = find(v.parent, unit[j])
            if a != b and not apart(a, b, v):
                unite(a, b, v)
        mine = find(v.parent, unit[j])
        for e in range(begin[visit], begin[visit + 1]):
            h = bin_of[e]
            t = head[h]
            while t >= 0 and find(v.parent, unit[member[t]]) != mine:
                t = following[t]
            if t < 0:
                at = used[0]
                used[0] += 1
                member[at] = j
                if head[h] < 0:
                    head[h] = at
                else:
                    following[tail[h]] = at
                tail[h] = at


# ---- pairs: where several records have to match -------------------------------------------------------


def _unite_pairs(similar: Similar, links: Any, rules: Rules, v: Vetoes, beside: Any, n_matches: int) -> None:
    check_pairs(similar, links, f"bootstrap_k={n_matches}")
    place = similar.places()
    pairs = sparse.triu(place @ links @ place.T, k=1).tocoo()
    i, j, value = pairs.row.astype(np.int64), pairs.col.astype(np.int64), pairs.data
    kept = _matched(i, j, beside, place, links, n_matches)
    i, j, value = i[kept], j[kept], value[kept]
    order = np.lexsort((i, j, -value))
    head, tail = rules.unit[i[order]], rules.unit[j[order]]
    merge_edges(0, len(order), head, tail, value[order], v, room_for_merges(rules.n_units))


def _matched(i: Index, j: Index, beside: Any, place: Any, links: Any, n_matches: int) -> Any:
    """Whether so many records beside i match different records beside j."""
    near = (beside @ place).tocsr()  # how many records of each group stand beside
    reach = (near @ (links > 0)).tocsr()
    known = near @ sparse.diags((links.diagonal() > 0).astype(np.float64))
    found = np.zeros(len(i), dtype=bool)
    for first, last in in_slices(len(i), 20_000):
        a, b = i[first:last], j[first:last]
        few = np.asarray(reach[a].multiply(near[b]).sum(axis=1)).ravel() < n_matches
        # records of equal groups match each other; only where these do not suffice all ways are tried
        sure = np.asarray(known[a].minimum(known[b]).sum(axis=1)).ravel() >= n_matches
        for t in np.flatnonzero(~few & ~sure).tolist():
            mine, yours = (_beside(beside, row[t]) for row in (a, b))
            table = (place[mine] @ links @ place[yours].T).tocsr()
            sure[t] = (maximum_bipartite_matching(table, perm_type="column") >= 0).sum() >= n_matches
        found[first:last] = sure
    return found


def _beside(beside: Any, row: int) -> Index:
    """The records beside one."""
    return beside.indices[beside.indptr[row] : beside.indptr[row + 1]]
