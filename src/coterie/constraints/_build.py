"""Constraints out of labels, groups, matrices and tables: the parts that `Constraints` is made of.

A table has one row a statement: `i`, `j`, `kind` (must-link or cannot-link), and where known `weight`,
`confidence`, `hard`, `source`. Groups take one row an item: `i`, `kind` (label, distinct or across) and
`group`; statements of the same kind are told apart by `set`. The same table is read from frames and files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from coterie.constraints._inputs import (
    Ids,
    check_range,
    drop_self_pairs,
    infer_n_items,
    read_confidence,
    read_weight,
)
from coterie.constraints._statements import (
    CANNOT_LINK,
    GROUP_KINDS,
    MUST_LINK,
    Group,
    GroupKind,
    IntArray,
    Pairs,
    canonical,
    encode_sources,
    make_group,
    plain_pairs,
)

Parts = tuple[int, Pairs, Pairs, tuple[Group, ...], Ids | None]

_SPELLINGS = {"must-link": MUST_LINK, "ml": MUST_LINK, "cannot-link": CANNOT_LINK, "cl": CANNOT_LINK}
_SPELLINGS |= {kind: kind for kind in GROUP_KINDS}
_TRUE, _FALSE = {"true", "1", "yes"}, {"false", "0", "no", ""}


def group_statement(
    kind: GroupKind, values: Any, weight: float | None, source: str | None, name: str
) -> tuple[int, Group]:
    """Read one value an item; -1, None and NaN mean that nothing is said about it."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one value per item; got shape {array.shape}.")
    if weight is not None and not (isinstance(weight, int | float | np.number) and 0 <= weight < math.inf):
        raise ValueError(f"weight must be a finite number, not negative, or None for hard; got {weight!r}.")
    if array.dtype.kind == "f":
        odd = ~np.isnan(array) & (array != np.floor(array))
        if odd.any():
            row = int(np.flatnonzero(odd)[0])
            raise ValueError(f"{name}[{row}] is {array[row]}; use whole numbers or strings (-1: unknown).")
    names = array.tolist()
    known = [i for i, value in enumerate(names) if not _unknown(value)]
    group = make_group(kind, known, [names[i] for i in known], weight, source)
    return len(names), group


def _unknown(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, int | float) and value == -1)


def from_matrix(matrix: Any) -> tuple[int, Pairs, Pairs]:
    """Read a square matrix, sparse or dense: the sign is the kind, the size the weight."""
    if hasattr(matrix, "tocoo"):
        coo = matrix.tocoo()
        shape, i, j, value = coo.shape, *(np.asarray(part) for part in (coo.row, coo.col, coo.data))
        # entries given twice add up, as everywhere in sparse matrices
        key, at = np.unique(i.astype(np.int64) * max(shape[1], 1) + j, return_inverse=True)
        i, j = np.divmod(key, max(shape[1], 1))
        value = np.bincount(at, value.astype(np.float64), len(key))
    else:
        dense = np.asarray(matrix, dtype=np.float64)
        shape = dense.shape
        if dense.ndim == 2:
            i, j = np.nonzero(dense)
            value = dense[i, j]
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"the matrix must be square, items by items; got shape {shape}.")
    bad = np.flatnonzero(~np.isfinite(value))
    if len(bad):
        raise ValueError(
            f"entry ({i[bad[0]]}, {j[bad[0]]}) of the matrix is {value[bad[0]]}; entries are finite."
        )
    stated = value != 0
    i, j, value = i[stated].astype(np.int64), j[stated].astype(np.int64), value[stated]
    i, j, value = _one_triangle(i, j, value)
    n = int(shape[0])
    tables = []
    for kind, rows in ((MUST_LINK, value > 0), (CANNOT_LINK, value < 0)):
        ij = np.column_stack([i[rows], j[rows]])
        pairs = plain_pairs(ij, np.abs(value[rows]))
        tables.append(canonical(drop_self_pairs(pairs, kind, None), "sum"))
    return n, tables[0], tables[1]


def _one_triangle(i: IntArray, j: IntArray, value: Any) -> tuple[IntArray, IntArray, Any]:
    """Accept a symmetric matrix or one triangle; a pair must not be given two values."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    order = np.lexsort((j, high, low))
    low, high, value = low[order], high[order], value[order]
    twice = np.flatnonzero((np.diff(low) == 0) & (np.diff(high) == 0))
    differs = twice[value[twice] != value[twice + 1]]
    if len(differs):
        at = differs[0]
        raise ValueError(
            f"the matrix says {value[at]:g} for ({low[at]}, {high[at]}) and {value[at + 1]:g} for "
            f"({high[at]}, {low[at]}); make it symmetric, or fill one triangle only."
        )
    keep = np.ones(len(low), dtype=bool)
    keep[twice + 1] = False
    return low[keep], high[keep], value[keep]


def from_columns(
    columns: dict[str, list[Any]],
    ids: Ids | None,
    n_items: int | None,
    *,
    place: str,
    numbers: Sequence[int],
    text: bool,
) -> Parts:
    """Read the table described above; a complaint names a row by `place` and `numbers`."""
    lacking = {"i", "kind"} - set(columns)
    if lacking:
        raise ValueError(
            f"the table lacks the column {' and '.join(sorted(lacking))}; it has "
            f"{', '.join(columns) or 'none'}. A row says i, j, kind (must-link or cannot-link)."
        )
    reader = _TableReader(columns, ids, place, numbers, text)
    pair_rows: dict[str, list[int]] = {MUST_LINK: [], CANNOT_LINK: []}
    group_rows: dict[tuple[str, str], list[int]] = {}
    for row, kind in enumerate(columns["kind"]):
        known = _SPELLINGS.get(str(kind).strip().lower().replace("_", "-"))
        if known is None:
            raise reader.complaint(
                row, f"kind is {kind!r}; write one of {', '.join(sorted(set(_SPELLINGS)))}"
            )
        if known in pair_rows:
            pair_rows[known].append(row)
        else:
            group_rows.setdefault((known, str(reader.cell("set", row) or "")), []).append(row)

    drawn = {kind: reader.pairs(rows) for kind, rows in pair_rows.items()}
    items = [
        np.array([reader.item("i", row) for row in rows], dtype=np.int64) for rows in group_rows.values()
    ]
    n = infer_n_items(n_items, ids, *(pairs.ij for pairs in drawn.values()), *items)
    tables = []
    for kind, pairs in drawn.items():
        check_range(pairs.ij, n, f"{kind} at {place}", [numbers[row] for row in pair_rows[kind]])
        tables.append(canonical(drop_self_pairs(pairs, kind, ids), "sum"))
    groups = []
    for ((kind, _), rows), who in zip(group_rows.items(), items, strict=True):
        outside = np.flatnonzero((who < 0) | (who >= n))
        if len(outside):
            raise reader.complaint(rows[outside[0]], f"item {who[outside[0]]} is not within 0 to {n - 1}")
        unique, counts = np.unique(who, return_counts=True)
        if (counts > 1).any():
            item = int(unique[counts > 1][0])
            row = rows[int(np.flatnonzero(who == item)[1])]
            raise reader.complaint(
                row, f"item {item} stands twice in one {kind} statement; number statements in `set`"
            )
        weight, source = reader.same("weight", rows), reader.same("source", rows)
        names = [reader.required("group", row) for row in rows]
        said = None if source is None else str(source)
        groups.append(
            make_group(cast(GroupKind, kind), who, names, reader.number(weight, rows[0], "weight"), said)
        )
    return n, tables[0], tables[1], tuple(groups), ids


class _TableReader:
    """Cells of a table by column and row, with complaints that say where."""

    def __init__(
        self, columns: dict[str, list[Any]], ids: Ids | None, place: str, numbers: Sequence[int], text: bool
    ) -> None:
        self.columns, self.ids, self.place, self.numbers, self.text = columns, ids, place, numbers, text

    def complaint(self, row: int, what: str) -> ValueError:
        return ValueError(f"{self.place} {self.numbers[row]}: {what}.")

    def cell(self, column: str, row: int) -> Any:
        cells = self.columns.get(column)
        value = None if cells is None else cells[row]
        return None if value is None or (self.text and value == "") else value

    def required(self, column: str, row: int) -> Any:
        value = self.cell(column, row)
        if value is None:
            raise self.complaint(row, f"column {column} is empty")
        return value

    def item(self, column: str, row: int) -> int:
        value = self.required(column, row)
        if self.ids is not None:
            return self.ids.row(value, f"{self.place} {self.numbers[row]}", text=self.text)
        try:
            number = int(value)
            whole = not isinstance(value, float) or number == value
        except (TypeError, ValueError):
            whole = False
        if not whole:
            raise self.complaint(
                row, f"{column} is {value!r}, not a row number; if these are your own ids, pass `ids=`"
            )
        return number

    def number(self, value: Any, row: int, column: str) -> float | None:
        try:
            return None if value is None else float(value)
        except (TypeError, ValueError):
            raise self.complaint(row, f"{column} is {value!r}, not a number") from None

    def flag(self, row: int) -> bool:
        value = self.cell("hard", row)
        word = str(value if value is not None else "").strip().lower()
        if word not in _TRUE | _FALSE:
            raise self.complaint(row, f"hard is {value!r}; write true or false")
        return word in _TRUE

    def same(self, column: str, rows: Sequence[int]) -> Any:
        first = self.cell(column, rows[0])
        for row in rows:
            if self.cell(column, row) != first:
                raise self.complaint(
                    row, f"{column} differs within one group statement; number statements in `set`"
                )
        return first

    def pairs(self, rows: Sequence[int]) -> Pairs:
        ij = np.array([[self.item("i", r), self.item("j", r)] for r in rows], dtype=np.int64).reshape(-1, 2)
        weight = [self.number(self.cell("weight", r), r, "weight") for r in rows]
        confidence = [self.number(self.cell("confidence", r), r, "confidence") for r in rows]
        source, sources = encode_sources(
            [None if (s := self.cell("source", r)) is None else str(s) for r in rows]
        )
        return Pairs(
            ij,
            read_weight([1.0 if w is None else w for w in weight], len(rows)),
            read_confidence([math.nan if c is None else c for c in confidence], len(rows)),
            np.array([self.flag(r) for r in rows], dtype=bool),
            source,
            sources,
        )


def to_columns(must: Pairs, cannot: Pairs, groups: Sequence[Group], ids: Ids | None) -> dict[str, list[Any]]:
    """Write the table: pairs first, then one row an item of each group."""
    rows: list[tuple[Any, ...]] = []

    def named(items: IntArray) -> list[Any]:
        return (items if ids is None else ids.values[items]).tolist()

    for kind, table in ((MUST_LINK, must), (CANNOT_LINK, cannot)):
        confidence = [None if math.isnan(value) else value for value in table.confidence.tolist()]
        cells = (named(table.ij[:, 0]), named(table.ij[:, 1]), table.weight.tolist(), confidence)
        for i, j, weight, sure, hard, source in zip(
            *cells, table.hard.tolist(), table.source_names(), strict=True
        ):
            rows.append((i, j, kind, weight, sure, hard, source, None, None))
    for number, group in enumerate(groups):
        for item, code in zip(named(group.items), group.codes.tolist(), strict=True):
            name = str(group.names[code])
            rows.append(
                (item, None, group.kind, group.weight, None, group.weight is None, group.source, name, number)
            )
    names = ("i", "j", "kind", "weight", "confidence", "hard", "source", "group", "set")
    columns = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    if not groups:
        del columns["group"], columns["set"]
    return columns
