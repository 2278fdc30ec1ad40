"""The bootstrap: merges before the queue, of pairs that are certain, so that relations have something to say.

A pair is accepted if the similarity of its attributes reaches a threshold and, for "relational", enough
records beside the one match records beside the other. Accepted pairs are merged by decreasing similarity,
then by their later and their earlier record; one that would break a rule is passed over.

At threshold 1 with one match, nothing is written out pair by pair: records with the same attributes and a
neighbour of the same attributes stand in one bin, and all pairs of a bin are accepted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from coterie._arrays import Index
from coterie._compiled import kernel
from coterie.hierarchy._linkage import Rules, Vetoes, apart, find, merge_edges, room_for_merges, unite
from coterie.relational._records import Similar

ROUNDING = 1e-9  # similarities are rounded


def bootstrap(
    similar: Similar, rules: Rules, beside: Any, *, threshold: float, n_matches: int
) -> tuple[Index, int]:
    """Merge what is certain; the cluster of each unit, numbered by first record, and how many there are.

    `beside` (n x n, CSR) tells which records share a context; `n_matches` 0 asks for none of them.
    """
    v = rules.arrays()
    links = _links(similar, threshold)
    if threshold >= 1.0 and n_matches <= 1:
        bins = _bins(similar, links, beside if n_matches else None)
        unite_bins(bins.indptr.astype(np.int64), bins.indices.astype(np.int64), rules.unit, bins.shape[1], v)
    else:
        _unite_pairs(similar, links, rules, v, beside, n_matches)
    root = np.array([find(v.parent, u) for u in range(rules.n_units)])
    _, first = np.unique(rules.unit, return_index=True)
    least = np.full(rules.n_units, len(rules.unit))
    np.minimum.at(least, root, first)
    _, cluster = np.unique(least[root], return_inverse=True)
    return cluster, int(cluster.max()) + 1


def _links(similar: Similar, threshold: float) -> Any:
    """Groups that are alike enough, as a symmetric CSR matrix of similarities; the diagonal belongs to it."""
    kept = similar.similarity >= threshold - ROUNDING
    own = np.flatnonzero(similar.alike)
    left, right = similar.left[kept], similar.right[kept]
    values = np.concatenate([similar.similarity[kept]] * 2 + [np.ones(len(own))])
    cells = np.concatenate([left, right, own]), np.concatenate([right, left, own])
    return sparse.csr_matrix((values, cells), shape=(similar.n_groups,) * 2)


# ---- bins: nothing pair by pair -----------------------------------------------------------------------


def _bins(similar: Similar, links: Any, beside: Any) -> Any:
    """Which records (rows) stand in which bins (columns) of two and more."""
    upper = sparse.triu(links).tocoo()  # a class of records for each linked pair of groups
    many = np.arange(upper.nnz)
    cells = np.concatenate([upper.row, upper.col]), np.concatenate([many, many])
    in_class = sparse.csr_matrix((np.ones(2 * upper.nnz), cells), shape=(similar.n_groups, upper.nnz))
    own = in_class[similar.group]
    if beside is not None:
        near = (beside @ own).tocsr()
        counts = np.diff(near.indptr)[np.repeat(np.arange(own.shape[0]), np.diff(own.indptr))]
        record = np.repeat(np.repeat(np.arange(own.shape[0]), np.diff(own.indptr)), counts)
        first = near.indptr[:-1][record]
        start = np.repeat(np.cumsum(counts) - counts, counts)
        at = first + np.arange(len(record)) - start
        keys = np.repeat(own.indices, counts).astype(np.int64) * upper.nnz + near.indices[at]
        _, code = np.unique(keys, return_inverse=True)
        own = sparse.csr_matrix(
            (np.ones(len(code)), (record, code)), shape=(own.shape[0], code.max(initial=-1) + 1)
        )
    held = np.bincount(own.indices, minlength=own.shape[1])
    found = own.tocsc()[:, held > 1].tocsr()
    found.sort_indices()
    return found


@kernel
def unite_bins(begin: Index, bin_of: Index, unit: Index, n_bins: int, v: Vetoes) -> None:
    """Merge each record with those before it that share a bin, where the rules allow; `v` is written.

    A bin keeps one record of each cluster that stands in it, in order, so that equal records cost no pairs.
    """
    n = begin.shape[0] - 1
    head = np.full(n_bins, -1)
    tail = np.full(n_bins, -1)
    following = np.full(bin_of.shape[0], -1)
    member = np.empty(bin_of.shape[0], dtype=np.int64)
    before = np.empty(bin_of.shape[0], dtype=np.int64)
    n_kept = 0
    for j in range(n):
        n_before = 0
        for e in range(begin[j], begin[j + 1]):
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
        for e in range(begin[j], begin[j + 1]):
            h = bin_of[e]
            t = head[h]
            while t >= 0 and find(v.parent, unit[member[t]]) != mine:
                t = following[t]
            if t < 0:
                member[n_kept] = j
                if head[h] < 0:
                    head[h] = n_kept
                else:
                    following[tail[h]] = n_kept
                tail[h] = n_kept
                n_kept += 1


# ---- pairs: lower thresholds, more matches ------------------------------------------------------------


def _unite_pairs(similar: Similar, links: Any, rules: Rules, v: Vetoes, beside: Any, n_matches: int) -> None:
    place = sparse.csr_matrix(
        (np.ones(len(similar.group)), (np.arange(len(similar.group)), similar.group)),
        shape=(len(similar.group), similar.n_groups),
    )
    pairs = sparse.triu(place @ links @ place.T, k=1).tocoo()
    i, j, value = pairs.row.astype(np.int64), pairs.col.astype(np.int64), pairs.data
    if n_matches:
        kept = _matched(i, j, beside, place, links, n_matches)
        i, j, value = i[kept], j[kept], value[kept]
    order = np.lexsort((i, j, -value))
    merges = room_for_merges(rules.n_units)
    head, tail = rules.unit[i[order]], rules.unit[j[order]]
    merge_edges(0, len(order), head, tail, value[order], v, merges)


def _matched(i: Index, j: Index, beside: Any, place: Any, links: Any, n_matches: int) -> Any:
    """Whether enough records beside i match different records beside j."""
    near = (beside @ place).tocsr()  # how many records of each group stand beside
    reach = (near @ (links > 0)).tocsr()
    found = np.asarray(reach[i].multiply(near[j]).sum(axis=1)).ravel() >= n_matches
    if n_matches > 1:
        for t in np.flatnonzero(found).tolist():
            mine, yours = (_beside(beside, row) for row in (i[t], j[t]))
            table = (place[mine] @ links @ place[yours].T).tocsr()
            found[t] = (maximum_bipartite_matching(table, perm_type="column") >= 0).sum() >= n_matches
    return found


def _beside(beside: Any, row: int) -> Index:
    """The records beside one."""
    return beside.indices[beside.indptr[row] : beside.indptr[row + 1]]
