"""Contexts: which records stand together, on one paper or in one household; and what that forbids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import Index
from coterie.base import warn_user
from coterie.constraints import Constraints
from coterie.constraints._reading import is_unknown
from coterie.exceptions import ParameterError
from coterie.hierarchy._linkage import Rules, find_rules

# Pairs of neighbouring records that are written out: 16 bytes each.
_MOST_NEIGHBOURS = 200_000_000
# Tags of a context above which its kinds of records are codes; and codes in all, 8 bytes each.
_MOST_TAGS, _MOST_CODES = 20_000, 100_000_000


@dataclass(frozen=True, eq=False)
class Contexts:
    """Records by context: those of context h are `record[begin[h] : begin[h + 1]]`, each once."""

    begin: Index
    record: Index
    names: Sequence[Any]
    n_records: int

    @property
    def of(self) -> Index:
        """The context of each entry of `record`."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))

    def among(self, rows: Index) -> Contexts:
        """The same for some records, renumbered by their places in `rows`."""
        place = np.full(self.n_records, -1)
        place[rows] = np.arange(len(rows))
        kept = place[self.record] >= 0
        return _by_context(self.of[kept], place[self.record[kept]], self.names, len(rows))

    def up_to(self, most: int) -> Contexts:
        """The contexts of at most so many records."""
        small = np.diff(self.begin) <= most
        kept = small[self.of]
        return replace(
            self, begin=np.append(0, np.cumsum(np.diff(self.begin) * small)), record=self.record[kept]
        )

    def neighbours(self) -> Any:
        """Who shares a context with whom: a boolean CSR matrix."""
        sizes = np.diff(self.begin).astype(np.float64)
        n_pairs = int((sizes**2).sum())
        if n_pairs > _MOST_NEIGHBOURS:
            raise ParameterError(
                f"contexts of up to {int(sizes.max()):,} records make {n_pairs:,} pairs of neighbours, about "
                f"{n_pairs * 16 / 1e9:.0f} GB. Lower max_context: larger contexts then give no evidence.",
                "max_context",
            )
        shape = (len(sizes), self.n_records)
        table = sparse.csr_matrix(
            (np.ones(len(self.record), dtype=bool), self.record, self.begin), shape=shape
        )
        beside = (table.T @ table).tocoo()
        off = beside.row != beside.col
        cells = (np.ones(off.sum(), dtype=bool), (beside.row[off], beside.col[off]))
        return sparse.csr_matrix(cells, shape=beside.shape)


def read_contexts(contexts: Any, n: int) -> Contexts:
    """Read one group id a record, lists of rows, or an incidence matrix; None: no contexts."""
    if contexts is None:
        return _by_context(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), (), n)
    two = not isinstance(contexts, list) and len(getattr(contexts, "shape", ())) == 2
    if two and not sparse.issparse(contexts) and contexts.shape[1] == 1:
        contexts, two = np.asarray(contexts).ravel(), False  # a column of ids
    if two:
        table = contexts if sparse.issparse(contexts) else np.asarray(contexts)
        if table.dtype.kind not in "biuf":
            raise ValueError(
                "contexts in two dimensions are an incidence matrix of numbers, but this one holds "
                f"{table.dtype}; for ids give one column."
            )
        table = sparse.coo_matrix(table)
        if np.isnan(table.data).any():
            raise ValueError(
                "contexts, an incidence matrix, hold NaN; write 0 where a record is not in a context."
            )
        if table.shape[0] != n:
            raise ValueError(
                f"contexts have {table.shape[0]:,} rows, but X has {n:,}: an incidence matrix has "
                "one row a record."
            )
        there = table.data != 0
        return _by_context(table.col[there], table.row[there], range(table.shape[1]), n)
    if not hasattr(contexts, "__iter__") or isinstance(contexts, str):
        raise TypeError(f"contexts must be an array, a list or a matrix; got {contexts!r}.")
    values = contexts.tolist() if hasattr(contexts, "tolist") else list(contexts)
    if not len(values) or all(isinstance(one, list | tuple | set | frozenset | np.ndarray) for one in values):
        return _read_lists([list(one) for one in values], n)
    if len(values) != n:
        raise ValueError(
            f"contexts name {len(values):,} groups, but X has {n:,} records: give one id a record (None: no "
            "context), lists of row numbers, or an incidence matrix."
        )
    codes: dict[Any, int] = {}
    blank = (is_unknown(one) or (isinstance(one, str) and not one.strip()) for one in values)
    found = [-1 if no else codes.setdefault(one, len(codes)) for no, one in zip(blank, values, strict=True)]
    of = np.array(found, dtype=np.int64)
    there = np.flatnonzero(of >= 0)
    return _by_context(of[there], there, list(codes), n)


def _read_lists(lists: list[list[Any]], n: int) -> Contexts:
    of = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
    rows = [row for one in lists for row in one]
    for h, row in zip(of.tolist(), rows, strict=True):
        if isinstance(row, bool | np.bool_) or not isinstance(row, int | np.integer):
            raise ValueError(f"contexts as lists hold row numbers; got {row!r} in context {h}.")
    record = np.array(rows, dtype=np.int64)
    outside = np.flatnonzero((record < 0) | (record >= n))
    if len(outside):
        at = int(outside[0])
        raise ValueError(f"context {of[at]} holds row {record[at]}, but X has rows 0 to {n - 1}.")
    return _by_context(of, record, range(len(lists)), n)


def _by_context(of: Index, record: Index, names: Sequence[Any], n: int) -> Contexts:
    """Sort entries by context; a record that stands twice in one counts once, with a warning."""
    order = np.lexsort((record, of))
    of, record = of[order].astype(np.int64), record[order].astype(np.int64)
    again = np.zeros(len(of), dtype=bool)
    again[1:] = (of[1:] == of[:-1]) & (record[1:] == record[:-1])
    if again.any():
        at = int(np.argmax(again))
        warn_user(
            f"record {record[at]} stands more than once in context {names[of[at]]!r}; it counts once.",
            UserWarning,
        )
        of, record = of[~again], record[~again]
    begin = np.searchsorted(of, np.arange(len(names) + 1))
    return Contexts(begin, record, names, n)


def rules_with_contexts(known: Constraints, contexts: Contexts | None, same: Index) -> Rules:
    """What keeps records apart: constraints, and shared contexts (None: these keep nobody apart).

    Records of one context are apart unless they are `same`: one record listed twice. A must-link wins over a
    context, with a warning.
    """
    rules = find_rules(known, np.empty(0), np.inf)
    if contexts is None or not len(contexts.record):
        return rules
    of, unit, what = contexts.of, rules.unit[contexts.record], same[contexts.record]
    _warn_of_joined(known, contexts, unit, what)
    # one tag for each context, which the first record of each kind carries
    order = np.lexsort((contexts.record, what, of))
    of, unit, what = of[order], unit[order], what[order]
    first = np.ones(len(of), dtype=bool)
    first[1:] = (of[1:] != of[:-1]) | (what[1:] != what[:-1])
    n_tags = len(contexts.names)
    n_first, n_all = np.bincount(of[first], minlength=n_tags), np.bincount(of, minlength=n_tags)
    # a context of many records that stand there again would need many more tags: a code for each kind
    coded = np.flatnonzero((n_all - n_first) * n_all > _MOST_TAGS)
    if len(coded) * rules.n_units > _MOST_CODES:
        raise ParameterError(
            f"{len(coded):,} contexts hold many equal records, e.g. {contexts.names[coded[0]]!r} with "
            f"{n_all[coded[0]]:,} records of {n_first[coded[0]]:,} kinds: to keep those of each apart takes "
            f"{len(coded) * rules.n_units * 8 / 1e9:.0f} GB. Such contexts may hold one entity often: take "
            "contexts_apart=False.",
            "contexts_apart",
        )
    codes = [_codes_of(unit[of == h], what[of == h], rules.n_units) for h in coded.tolist()]
    some = ~np.isin(of, coded)
    of, unit, what, first = of[some], unit[some], what[some], first[some]
    tags, owners = [of[first]], [unit[first]]
    # a further record of a kind: a tag with the first of each other kind, and one with each further record
    for at in np.flatnonzero(~first).tolist():
        lo, hi = np.searchsorted(of, [of[at], of[at] + 1])
        others = np.flatnonzero(first[lo:hi] & (what[lo:hi] != what[at])) + lo
        later = np.flatnonzero(~first[at:hi] & (what[at:hi] != what[at])) + at
        tags += [np.full(1 + len(others), n_tags), np.repeat(n_tags + 1 + np.arange(len(later)), 2)]
        owners += [np.append(unit[others], unit[at])]
        owners += [np.stack([np.full(len(later), unit[at]), unit[later]], axis=1).ravel()]
        n_tags += 1 + len(later)
    pairs = np.unique(np.stack([np.concatenate(tags), np.concatenate(owners)], axis=1), axis=0)
    counts = np.bincount(pairs[:, 0], minlength=n_tags)
    pairs = pairs[counts[pairs[:, 0]] > 1]
    kept, tag = np.unique(pairs[:, 0], return_inverse=True)
    n_before = len(rules.tag_row)
    return replace(
        rules,
        tag=np.concatenate([rules.tag, n_before + tag]),
        owner=np.concatenate([rules.owner, pairs[:, 1]]),
        tag_row=np.concatenate([rules.tag_row, np.full(len(kept), -1)]),
        codes=np.concatenate([rules.codes, *(one[None] for one in codes)]),
    )


def _codes_of(unit: Index, what: Index, n_units: int) -> Index:
    """The kind of each unit in one context, -1 elsewhere; a unit of two kinds is a kind of its own."""
    _, kind = np.unique(what, return_inverse=True)
    code = np.full(n_units, -1, dtype=np.int64)
    code[unit] = kind
    mixed = np.unique(unit[code[unit] != kind])
    code[mixed] = kind.max() + 1 + np.arange(len(mixed))
    return code


def _warn_of_joined(known: Constraints, contexts: Contexts, unit: Index, what: Index) -> None:
    order = np.lexsort((what, unit, contexts.of))
    of, unit, what, record = (one[order] for one in (contexts.of, unit, what, contexts.record))
    joined = np.flatnonzero((of[1:] == of[:-1]) & (unit[1:] == unit[:-1]) & (what[1:] != what[:-1]))
    if len(joined):
        at = int(joined[0])
        i, j = sorted((int(record[at]), int(record[at + 1])))
        more = f" ({len(joined) - 1:,} more like it)" if len(joined) > 1 else ""
        warn_user(
            f"must-links join {known.item_name(i)} and {known.item_name(j)}, which both stand in context "
            f"{contexts.names[of[at]]!r}; the must-links win{more}.",
            UserWarning,
        )


def contracted_rules(rules: Rules, cluster: Index, n_clusters: int) -> Rules:
    """The same rules over clusters of units; `cluster` is that of each unit."""
    pairs = np.unique(np.stack([rules.tag, cluster[rules.owner]], axis=1), axis=0)
    codes = np.full((len(rules.codes), n_clusters), -1, dtype=np.int64)
    for row, given in zip(codes, rules.codes, strict=True):
        np.maximum.at(row, cluster, given)
    return replace(
        rules,
        unit=cluster[rules.unit],
        size=np.bincount(cluster, rules.size, n_clusters).astype(np.int64),
        tag=pairs[:, 0],
        owner=pairs[:, 1],
        codes=codes,
        load=np.bincount(cluster, rules.load, n_clusters).astype(np.float64),
    )
