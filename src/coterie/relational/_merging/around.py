"""The neighbourhood of some records: who is similar to them, who stands beside these, and so on.

Only pairs that touch the neighbourhood are compared, so a question about few records costs little; blocking
reads all records, but compares none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index, Labels
from coterie.relational._merging.contexts import Contexts
from coterie.relational._records import (
    ENOUGH,
    Records,
    Similar,
    compare_rows,
    propose_pairs,
    read_candidates,
)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """What `EntityResolver.resolve_around` found.

    Attributes
    ----------
    rows : array
        The records that were asked about and those similar to them, in order.
    labels : array
        The entity of each, numbered by first occurrence.
    n_records : int
        How many records were looked at: compared, or beside such a record.
    n_compared : int
        How many pairs of values were compared.
    """

    rows: Index
    labels: Labels
    n_records: int
    n_compared: int


class Proposed:
    """Pairs of groups that may be similar; each is compared when it is first asked for."""

    def __init__(self, records: Records, blocking: Any, candidates: Any) -> None:
        n = len(records.row)
        self.records, self.n_compared, self.given = records, 0, candidates is not None
        if self.given:
            self.group, self.n_groups = np.arange(n), n
            self.left, self.right = read_candidates(candidates, n)
        else:
            self.group, self.n_groups = records.row, len(records.first)
            chunks = list(propose_pairs(records, blocking))
            self.left = np.concatenate([np.empty(0, np.int64), *(left for left, _ in chunks)])
            self.right = np.concatenate([np.empty(0, np.int64), *(right for _, right in chunks)])
        self.similarity: Floats = np.full(len(self.left), np.nan)
        self.looked = np.zeros(self.n_groups, dtype=bool)

    @property
    def close(self) -> Any:
        """Which pairs are known to be similar."""
        with np.errstate(invalid="ignore"):  # those that were not compared are NaN
            return self.similarity > (0.0 if self.given else ENOUGH)

    def compare(self, which: Any) -> None:
        """Compare those of the proposed pairs that have not been."""
        new = np.isnan(self.similarity) & which
        one, other = self.left[new], self.right[new]
        self.looked[one] = self.looked[other] = True
        if self.given:
            one, other = self.records.row[one], self.records.row[other]
        self.similarity[new], n_compared = compare_rows(self.records, one, other)
        self.n_compared += n_compared

    def similar_to(self, groups: Any) -> Any:
        """Those groups (a mask), and all that are similar to one of them."""
        self.looked[groups] = True
        self.compare(groups[self.left] | groups[self.right])
        found, close = groups.copy(), self.close
        found[self.right[close & groups[self.left]]] = True
        found[self.left[close & groups[self.right]]] = True
        return found

    def among(self, rows: Index) -> Similar:
        """Which of some records are similar; pairs of these that were not compared are now."""
        held, group = np.unique(self.group[rows], return_inverse=True)
        place = np.full(self.n_groups, -1)
        place[held] = np.arange(len(held))
        both = (place[self.left] >= 0) & (place[self.right] >= 0)
        self.compare(both)
        close = both & self.close
        left, right = np.sort(np.stack([place[self.left[close]], place[self.right[close]]]), axis=0)
        alike = np.zeros(len(held), dtype=bool) if self.given else ~self.records.blank[held]
        return Similar(group, len(held), left, right, self.similarity[close], alike, self.n_compared)


def neighbourhood(
    proposed: Proposed, contexts: Contexts, component: Index, rows: Index, level: int
) -> tuple[Index, Index]:
    """The records asked about or similar to these, and the neighbourhood; with must-linked ones, both."""
    n = len(component)
    blank = proposed.records.blank[proposed.records.row] & (not proposed.given)
    table = sparse.csr_matrix(
        (np.ones(len(contexts.record)), contexts.record, contexts.begin), shape=(len(contexts.names), n)
    )

    def with_linked(some: Any) -> Any:
        linked = np.zeros(component.max() + 1, dtype=bool)
        linked[component[some]] = True
        return linked[component]

    def with_similar(some: Any) -> Any:
        some = with_linked(some)
        groups = np.zeros(proposed.n_groups, dtype=bool)
        groups[proposed.group[some]] = True
        return with_linked(some | (proposed.similar_to(groups)[proposed.group] & ~blank))

    found = np.zeros(n, dtype=bool)
    found[rows] = True
    first = around = with_similar(found)
    for _ in range(level):
        beside = table.T @ (table @ around.astype(np.float64)) > 0
        around = around | with_similar(beside)
    return np.flatnonzero(first), np.flatnonzero(around)
