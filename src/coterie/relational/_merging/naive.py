"""Decisions on pairs of records alone: attributes, and how well the records beside them match.

The relational part of a pair is the best match of a context of the one and a context of the other: the mean,
from both sides, of how similar each record beside the one is to its best among those beside the other
(equation 10.1 of the chapter leaves it open). Cost: all pairs of similar records, and their contexts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index, by_first_occurrence
from coterie._compiled import in_slices, kernel
from coterie.base import Step
from coterie.hierarchy._linkage import Rules, Vetoes, apart, find, merge_edges, room_for_merges
from coterie.relational._merging.collective import MOST_BELOW, MOST_NEAR, MergeList
from coterie.relational._merging.contexts import Contexts
from coterie.relational._records import Similar

# Pairs of records that are written out, some 100 bytes each.
MOST_PAIRS = 30_000_000


class Csr(NamedTuple):
    """A sparse matrix by rows, as kernels take it."""

    begin: Index
    column: Index
    value: Floats


def as_csr(matrix: Any) -> Csr:
    """The arrays of a sparse matrix."""
    rows = matrix.tocsr()
    return Csr(rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data.astype(np.float64))


def check_pairs(similar: Similar, which: Any, what: str) -> None:
    """Refuse what looks at too many pairs of records; `which` groups are linked, as a CSR matrix."""
    many = np.bincount(similar.group, minlength=similar.n_groups).astype(np.float64)
    n_pairs = float(many @ (which != 0) @ many) / 2
    if n_pairs > MOST_PAIRS:
        raise ValueError(
            f"{what} looks at {n_pairs:,.0f} pairs of records, more than {MOST_PAIRS:,} (about "
            f"{MOST_PAIRS * 100 / 1e9:.0f} GB): many records are equal or similar."
        )


def pairs_within(labels: Any) -> Index:
    """All pairs of items with the same label, one a row, in order."""
    sizes = np.bincount(labels).astype(np.float64)
    n_pairs, n = (sizes * (sizes - 1) / 2).sum(), len(labels)
    if n_pairs > MOST_PAIRS:
        raise ValueError(
            f"the entities have {n_pairs:,.0f} pairs of records, more than {MOST_PAIRS:,}; labels_ says the "
            "same in less room."
        )
    place = sparse.csr_matrix((np.ones(n), (np.arange(n), labels)))
    pairs = sparse.triu(place @ place.T, k=1).tocoo()
    return np.stack([pairs.row, pairs.col], axis=1).astype(np.int64)[np.lexsort((pairs.col, pairs.row))]


def between_records(similar: Similar, what: str = "pair_scores_") -> Any:
    """Similarities of records as a symmetric CSR matrix without the diagonal; `what` asks for it."""
    table, place = similar.table(), similar.places()
    check_pairs(similar, table, what)
    found = (place @ table @ place.T).tocsr()
    found.setdiag(0.0)
    found.eliminate_zeros()
    return found


@kernel
def relate(
    begin: int,
    end: int,
    i: Index,
    j: Index,
    group: Index,
    alike: Csr,
    of: Csr,
    held: Csr,
    reach: Floats,
    best: Floats,
    found: Floats,
) -> None:
    """How well the contexts of both records match, for pairs begin..end; `found` and scratch are written.

    `of` are the contexts of each record, `held` the records of each context.
    """
    for t in range(begin, end):
        for s in range(of.begin[i[t]], of.begin[i[t] + 1]):
            one = of.column[s]
            n_one = held.begin[one + 1] - held.begin[one] - 1
            for r in range(of.begin[j[t]], of.begin[j[t] + 1]):
                other = of.column[r]
                n_other = held.begin[other + 1] - held.begin[other] - 1
                if n_one == 0 or n_other == 0:
                    continue
                first = held.begin[other]
                best[: n_other + 1] = 0.0
                total = 0.0
                for a in range(held.begin[one], held.begin[one + 1]):
                    x = held.column[a]
                    if x == i[t]:
                        continue
                    for e in range(alike.begin[group[x]], alike.begin[group[x] + 1]):
                        reach[alike.column[e]] = alike.value[e]
                    top = 0.0
                    for b in range(first, held.begin[other + 1]):
                        y = held.column[b]
                        if y != j[t]:
                            value = 1.0 if x == y else reach[group[y]]
                            top = max(top, value)
                            best[b - first] = max(best[b - first], value)
                    total += top / n_one
                    for e in range(alike.begin[group[x]], alike.begin[group[x] + 1]):
                        reach[alike.column[e]] = 0.0
                for b in range(n_other + 1):
                    total += best[b] / n_other
                found[t] = max(found[t], 0.5 * total)


@kernel
def may_join(i: Index, j: Index, unit: Index, v: Vetoes, found: Any) -> None:
    """Which pairs of records nothing keeps apart; `found` is written."""
    for t in range(i.shape[0]):
        a = find(v.parent, unit[i[t]])
        b = find(v.parent, unit[j[t]])
        found[t] = a == b or not apart(a, b, v)


@dataclass(frozen=True, eq=False)
class Decisions:
    """Pairs of similar records i < j with their scores; those that are decided for are merged, best first."""

    i: Index
    j: Index
    score: Floats
    attribute: Floats
    relational: Floats
    rules: Rules

    @property
    def bootstrapped(self) -> Index:
        """The cluster of each record before any decision, numbered by first record."""
        return by_first_occurrence(self.rules.unit)

    def decided(self, threshold: float) -> Index:
        """Pairs that reach the threshold and that nothing keeps apart, one a row."""
        kept = np.flatnonzero(self.score >= threshold)
        allowed = np.zeros(len(kept), dtype=bool)
        may_join(self.i[kept], self.j[kept], self.rules.unit, self.rules.arrays(), allowed)
        return np.stack([self.i[kept], self.j[kept]], axis=1)[allowed]

    def run(self, threshold: float, step: Step) -> tuple[MergeList, MergeList]:
        """Merge until the best pair is below the threshold: the merges, and pairs that nearly merged."""
        order = np.lexsort((self.j, self.i, -self.attribute, -self.score))
        cut = int((self.score >= threshold).sum())
        unit, n_units = self.rules.unit, self.rules.n_units
        made = room_for_merges(n_units)
        v = self.rules.arrays()
        head, tail = unit[self.i[order]], unit[self.j[order]]
        for begin, end in in_slices(cut, 20):
            merge_edges(begin, end, head, tail, np.arange(len(order), dtype=np.float64), v, made)
            step()
        n_made = int(made.made[0])
        least = np.full(n_units, len(unit))
        np.minimum.at(least, unit, np.arange(len(unit)))
        ends = np.empty((2, n_made), dtype=np.int64)
        for t, (a, b) in enumerate(
            zip(made.left[:n_made].tolist(), made.right[:n_made].tolist(), strict=True)
        ):
            ends[:, t] = sorted((least[a], least[b]))
            least[a] = least[b] = ends[0, t]
        merged = np.array([find(v.parent, u) for u in range(n_units)])
        lost = order[:cut][merged[head[:cut]] != merged[tail[:cut]]][:MOST_NEAR]
        near = np.concatenate([lost, order[cut : cut + MOST_BELOW]])
        joined = order[made.height[:n_made].astype(np.int64)]
        return self._told(joined, *ends), self._told(near, self.i[near], self.j[near])

    def _told(self, at: Index, left: Index, right: Index) -> MergeList:
        return MergeList(left, right, self.score[at], self.attribute[at], self.relational[at])


def decide_pairs(
    similar: Similar, evidence: Contexts, beside: Any, rules: Rules, alpha: float, missing_context: str
) -> Decisions:
    """Score all pairs of similar records; `evidence` and `beside` tell who stands with whom."""
    pairs = sparse.triu(between_records(similar, "a decision on each pair")).tocsr().tocoo()
    i, j, attribute = pairs.row.astype(np.int64), pairs.col.astype(np.int64), pairs.data
    relational = np.zeros(len(i))
    if alpha == 0.0:
        return Decisions(i, j, attribute, attribute, relational, rules)
    held = sparse.csr_matrix(
        (np.ones(len(evidence.record)), evidence.record, evidence.begin),
        shape=(len(evidence.names), evidence.n_records),
    )
    of, sizes = as_csr(held.T), np.diff(evidence.begin)
    reach, best = np.zeros(similar.n_groups), np.empty(int(sizes.max(initial=0)) + 1)
    fixed = (similar.group, as_csr(similar.table()), of, as_csr(held), reach, best)
    for begin, end in in_slices(len(i), int(100 * (1 + sizes.mean() ** 2)) if len(sizes) else 1):
        relate.for_work(100 * (end - begin))(begin, end, i, j, *fixed, relational)
    relational = np.round(relational * 2.0**30) / 2.0**30  # ties do not depend on the order of sums
    score = (1.0 - alpha) * attribute + alpha * relational
    if missing_context == "fallback":
        alone = np.diff(beside.indptr) == 0
        score = np.where(alone[i] & alone[j], attribute, score)
    return Decisions(i, j, score, attribute, relational, rules)
