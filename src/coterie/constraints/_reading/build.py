"""Constraints out of labels, groups, matrices and tables: the parts that `Constraints` is made of.

A table has one row a constraint: `i`, `j`, `kind` (must-link or cannot-link), and where known `weight`,
`confidence`, `hard`, `source`. Groups take one row an item: `i`, `kind` (label, distinct or across) and
`group`; constraints of the same kind are told apart by `set`. The same table is read from frames and files.
"""

from __future__ import annotations

import difflib
import math
import numbers
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from coterie.constraints._model.statements import (
    CANNOT_LINK,
    GROUP_KINDS,
    MUST_LINK,
    Group,
    GroupKind,
    IntArray,
    Pairs,
    canonical,
    make_group,
    merge_groups,
    plain_pairs,
)
from coterie.constraints._reading.inputs import (
    Ids,
    RowName,
    as_vector,
    check_range,
    drop_self_pairs,
    infer_n_items,
    is_unknown,
    item_name,
    names_of,
    read_confidence,
    read_hard,
    read_source,
    read_weight,
)

Parts = tuple[int, Pairs, Pairs, tuple[Group, ...], Ids | None]
Names = Mapping[str, str] | None  # their names of columns -> ours

# without blanks, hyphens and underscores
_SPELLINGS = dict.fromkeys(["mustlink", "ml", "same", "1", "+1", "1.0"], MUST_LINK)
_SPELLINGS |= dict.fromkeys(["cannotlink", "cl", "different", "-1", "-1.0"], CANNOT_LINK)
_SPELLINGS |= {kind: kind for kind in GROUP_KINDS}
_KINDS = "must-link, same or 1; cannot-link, different or -1; label, distinct or across"
_COLUMNS = {"i", "j", "kind", "weight", "confidence", "hard", "source", "group", "set"}
_WHOLE = re.compile(r"[+-]?[0-9]+(\.0*)?")  # 3.0 is what a column with gaps makes of 3
_TRUE, _FALSE = {"true", "1", "yes"}, {"false", "0", "no", ""}


def group_statement(
    kind: GroupKind, values: Any, weight: float | None, source: str | None, name: str
) -> tuple[int, Group]:
    """Read one value an item; -1, None and NaN mean that nothing is said about it."""
    array = as_vector(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one value per item; got shape {array.shape}.")
    if array.dtype.kind in "cV":
        raise TypeError(f"{name} must hold whole numbers or strings (-1: unknown); got {array.dtype} values.")
    if array.dtype.kind == "U" and isinstance(values, np.ndarray):
        unclear = [row for row, value in enumerate(array.tolist()) if value in ("-1", "nan", "None")]
        if unclear:
            raise ValueError(
                f"{name}[{unclear[0]}] is the text {str(array[unclear[0]])!r}, which may stand for unknown: "
                "NumPy turned it into text. Pass a list, or an array of dtype object with None for unknown."
            )
    if array.dtype.kind == "f":
        odd = ~np.isnan(array) & ~(np.isfinite(array) & (array == np.floor(array)))
        if odd.any():
            row = int(np.flatnonzero(odd)[0])
            raise ValueError(f"{name}[{row}] is {array[row]}; use whole numbers or strings (-1: unknown).")
    names = array.tolist()
    known = [i for i, value in enumerate(names) if not is_unknown(value)]
    strength = check_group_weight(weight)
    return len(names), make_group(kind, known, [names[i] for i in known], strength, source)


def check_group_weight(weight: Any) -> float | None:
    """None, or a strength that is finite and not negative."""
    number = isinstance(weight, int | float | np.number) and not isinstance(weight, bool)
    if weight is not None and not (number and 0 <= weight < math.inf):
        raise ValueError(f"weight must be a finite number, not negative, or None for hard; got {weight!r}.")
    return weight


def from_matrix(matrix: Any) -> tuple[int, Pairs, Pairs]:
    """Read a square matrix, sparse or dense: the sign is the kind, the size the weight."""
    if hasattr(matrix, "tocoo"):
        coo = matrix.tocoo()
        shape, i, j, value = coo.shape, *(np.asarray(part) for part in (coo.row, coo.col, coo.data))
        # entries given twice add up, as everywhere in sparse matrices
        key, at = np.unique(i.astype(np.int64) * max(shape[1], 1) + j, return_inverse=True)
        i, j = np.divmod(key, max(shape[1], 1))
        size = np.bincount(at, np.abs(value.astype(np.float64)), len(key))
        value = np.bincount(at, value.astype(np.float64), len(key))
        undone = np.flatnonzero((value == 0) & (size > 0))
        if len(undone):
            where = f"({i[undone[0]]}, {j[undone[0]]})"
            raise ValueError(
                f"the values given for entry {where} of the matrix add up to 0; keep one of them."
            )
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
        where = f"({i[bad[0]]}, {j[bad[0]]})"
        raise ValueError(f"entry {where} of the matrix is {value[bad[0]]}; entries are finite.")
    stated = value != 0
    i, j, value = i[stated].astype(np.int64), j[stated].astype(np.int64), value[stated]
    below = np.flatnonzero((i == j) & (value < 0))
    if len(below):
        where = f"({i[below[0]]}, {i[below[0]]})"
        raise ValueError(f"entry {where} of the matrix is negative: an item cannot be apart from itself.")
    i, j, value = _one_triangle(i, j, value)
    n = int(shape[0])
    tables = []
    for kind, rows in ((MUST_LINK, value > 0), (CANNOT_LINK, value < 0)):
        ij = np.column_stack([i[rows], j[rows]])
        pairs = plain_pairs(ij, np.abs(value[rows]))
        tables.append(canonical(drop_self_pairs(pairs, kind, None, str), "sum"))
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
            f"the matrix says {value[at + 1]:g} for ({low[at]}, {high[at]}) and {value[at]:g} for "
            f"({high[at]}, {low[at]}); make it symmetric, or fill one triangle only."
        )
    keep = np.ones(len(low), dtype=bool)
    keep[twice + 1] = False
    return low[keep], high[keep], value[keep]


def from_columns(
    columns: dict[str, list[Any]], ids: Ids | None, n_items: int | None, lines: Sequence[int] | None = None
) -> Parts:
    """Read the table described above; with `lines`, the line of each row in a file, all cells are text."""
    _check_names(columns)
    n, text = len(columns["kind"]), lines is not None

    def read(start: int, size: int) -> Parts:
        rows = {name: cells[start : start + size] for name, cells in columns.items()}
        numbers = (range(n) if lines is None else lines)[start : start + size]
        try:
            return _from_rows(_TableReader(rows, ids, numbers, text), ids, n_items)
        except ValueError:  # kind by kind, so that what failed need not be the first: look closer
            for closer in range(start, min(start + size, n), size // 1000 or 1) if size > 1 else ():
                read(closer, size // 1000 or 1)
            raise

    return read(0, n)


def renamed(columns: dict[str, list[Any]], names: Names) -> dict[str, list[Any]]:
    """The columns by our names, where `names` says which of theirs is which."""
    names = names or {}
    for name, ours in names.items():
        if ours not in _COLUMNS:
            raise ValueError(f"columns: {ours!r} is none of {', '.join(sorted(_COLUMNS))}.")
        if name not in columns:
            raise ValueError(f"columns: there is no column {name!r}; there are {', '.join(columns)}.")
    taken = {*names, *names.values()}
    if len(set(names.values())) < len(names):
        raise ValueError(f"columns: {', '.join(names)} cannot be two of one kind; got {dict(names)}.")
    return {
        names.get(name, name): cells for name, cells in columns.items() if name in names or name not in taken
    }


def _check_names(columns: dict[str, list[Any]]) -> None:
    lacking = [name for name in ("i", "j", "kind") if name not in columns]
    if lacking not in ([], ["j"]):  # groups need no j
        them = ", ".join(name for name in lacking if name != "j" or "group" not in columns)
        raise ValueError(
            f"the table lacks the column{'s' * (' ' in them)} {them}; it has {', '.join(columns) or 'none'}. "
            'Rows say i, j, kind (must-link or cannot-link); other names go into columns={"left": "i", ...}.'
        )
    for name in set(columns) - _COLUMNS:
        meant = difflib.get_close_matches(name.lower(), _COLUMNS - set(columns), n=1, cutoff=0.8)
        if meant:
            raise ValueError(f"there is a column {name!r}; did you mean {meant[0]!r}? Rename or remove it.")


def _from_rows(reader: _TableReader, ids: Ids | None, n_items: int | None) -> Parts:
    pair_rows: dict[str, list[int]] = {MUST_LINK: [], CANNOT_LINK: []}
    group_rows: dict[tuple[str, str], list[int]] = {}
    spelled: dict[str, str | None] = {}
    for row, kind in enumerate(reader.columns["kind"]):
        written = str(kind)
        if written not in spelled:
            word = written.strip().lower()
            spelled[written] = _SPELLINGS.get(word, _SPELLINGS.get(re.sub(r"[\s_-]", "", word)))
        known = spelled[written]
        if known is None:
            raise reader.complaint(row, f"kind is {kind!r}; write one of {_KINDS}")
        if known in pair_rows:
            pair_rows[known].append(row)
        else:
            group_rows.setdefault((known, str(reader.cell("set", row) or "")), []).append(row)

    drawn = {kind: reader.pairs(rows) for kind, rows in pair_rows.items()}
    items = [reader.items("i", rows) for rows in group_rows.values()]
    n = infer_n_items(n_items, ids, *(pairs.ij for pairs in drawn.values()), *items)
    tables = []
    for kind, pairs in drawn.items():
        row_name = reader.namer(pair_rows[kind])
        check_range(pairs.ij, n, row_name)
        tables.append(canonical(drop_self_pairs(pairs, kind, ids, row_name), "sum"))
    groups = []
    for ((kind, _), rows), who in zip(group_rows.items(), items, strict=True):
        outside = np.flatnonzero((who < 0) | (who >= n))
        if len(outside):
            raise reader.complaint(rows[outside[0]], f"item {who[outside[0]]} is not within 0 to {n - 1}")
        first = np.unique(who, return_index=True)[1]
        if len(first) < len(who):
            again = int(np.setdiff1d(np.arange(len(who)), first)[0])
            message = f"item {item_name(ids, int(who[again]))} stands twice in one set of {kind} constraints"
            raise reader.complaint(rows[again], f"{message}; number the sets in `set`")
        groups.append(reader.group(cast(GroupKind, kind), who, rows))
    return n, tables[0], tables[1], merge_groups(groups, "sum"), ids


@dataclass(frozen=True)
class _TableReader:
    """Cells of a table by column and row, with complaints that say where."""

    columns: dict[str, list[Any]]
    ids: Ids | None
    numbers: Sequence[int]
    text: bool

    def place(self, row: int) -> str:
        return f"{'line' if self.text else 'row'} {self.numbers[row]}"

    def complaint(self, row: int, what: str) -> ValueError:
        return ValueError(f"{self.place(row)}: {what}.")

    def namer(self, rows: Sequence[int]) -> RowName:
        return lambda at: self.place(rows[at])

    def cell(self, column: str, row: int) -> Any:
        cells = self.columns.get(column)
        value = None if cells is None else cells[row]
        if self.text and value is not None:
            value = value.strip() or None
        return value

    def required(self, column: str, row: int) -> Any:
        value = self.cell(column, row)
        if value is None:
            raise self.complaint(row, f"column {column} is empty")
        return value

    def item(self, column: str, row: int) -> int:
        value = self.required(column, row)
        if self.ids is not None:
            value = self.columns[column][row]  # as written: blanks may belong to an id
            return self.ids.row(value, self.place(row), text=self.text)
        if not (_WHOLE.fullmatch(value) if isinstance(value, str) else _is_whole(value)):
            message = "not a row number; if these are your own ids, pass `ids=`"
            raise self.complaint(row, f"{column} is {value!r}, {message}")
        number = int(value.partition(".")[0] if isinstance(value, str) else value)
        if abs(number) > 2**62:
            raise self.complaint(row, f"{column} is {value!r}, too large for a row number")
        return number

    def items(self, column: str, rows: Sequence[int]) -> IntArray:
        """Row numbers of a column: plain whole numbers at once, anything else cell by cell."""
        cells = self.columns.get(column)
        if cells is not None and self.ids is None:
            chosen = [cells[row] for row in rows]
            if set(map(type, chosen)) <= {int} or (self.text and all(map(_WHOLE.fullmatch, chosen))):
                try:
                    return np.array(list(map(int, chosen)), dtype=np.int64)
                except (OverflowError, ValueError):  # told below, with its row
                    pass
        return np.array([self.item(column, row) for row in rows], dtype=np.int64)

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
                raise self.complaint(row, f"{column} differs within one group; number the sets in `set`")
        return first

    def pairs(self, rows: Sequence[int]) -> Pairs:
        def column(name: str, read: Callable[[int], Any], missing: Any) -> Any:
            """One value a row, or None where there is no such column."""
            if name not in self.columns:
                return None
            return [missing if (value := read(row)) is None else value for row in rows]

        def number(name: str, missing: float) -> Any:
            return column(name, lambda row: self.number(self.cell(name, row), row, name), missing)

        named = self.namer(rows)
        return Pairs(
            np.column_stack([self.items("i", rows), self.items("j", rows)]),
            read_weight(number("weight", 1.0), len(rows), named),
            read_confidence(number("confidence", math.nan), len(rows), named),
            read_hard(np.array(column("hard", self.flag, False) or False, dtype=bool), len(rows)),
            *read_source(column("source", self.source_at, None), len(rows)),
        )

    def source_at(self, row: int) -> str | None:
        source = self.cell("source", row)
        return None if source is None else str(source)

    def group(self, kind: GroupKind, items: IntArray, rows: Sequence[int]) -> Group:
        self.same("source", rows)
        weight = self.number(self.same("weight", rows), rows[0], "weight")
        try:
            check_group_weight(weight)
        except ValueError as error:
            raise self.complaint(rows[0], str(error).rstrip(".")) from None
        for row in rows:
            if self.cell("hard", row) is not None and self.flag(row) != (weight is None):
                hard = f"hard is {self.cell('hard', row)!r}, but this set of {kind} constraints has"
                why = "no weight, so it is hard" if weight is None else "a weight, so it is not hard"
                raise self.complaint(row, f"{hard} {why}")
        names = [self.required("group", row) for row in rows]
        return make_group(kind, items, names, weight, self.source_at(rows[0]))


def _is_whole(value: Any) -> bool:
    is_number = isinstance(value, numbers.Number) and not isinstance(value, bool | complex)
    return is_number and math.isfinite(cast(Any, value)) and value == int(cast(Any, value))


def to_columns(must: Pairs, cannot: Pairs, groups: Sequence[Group], ids: Ids | None) -> dict[str, list[Any]]:
    """Write the table: pairs first, then one row an item of each group."""
    rows: list[tuple[Any, ...]] = []
    for kind, table in ((MUST_LINK, must), (CANNOT_LINK, cannot)):
        confidence = [None if math.isnan(value) else value for value in table.confidence.tolist()]
        said = table.weight.tolist(), confidence, table.hard.tolist(), table.source_names()
        for (i, j), *cells in zip(names_of(ids, table.ij), *said, strict=True):
            rows.append((i, j, kind, *cells, None, None))
    for number, group in enumerate(groups):
        written = _written_names(group.names)
        of_all = group.kind, group.weight, None, group.weight is None, group.source
        for item, code in zip(names_of(ids, group.items), group.codes.tolist(), strict=True):
            rows.append((item, None, *of_all, written[code], number))
    names = ("i", "j", "kind", "weight", "confidence", "hard", "source", "group", "set")
    columns = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    if not groups:
        del columns["group"], columns["set"]
    return columns


def _written_names(names: Sequence[Any]) -> list[str]:
    """Names as text, none empty and no two alike: 1 and "1" are two codes in a group, and in its file."""
    written: dict[str, None] = {}
    for code, name in enumerate(names):
        text = str(name).strip() or "(empty)"
        while text in written:
            text = f"{text} ({code})"
        written[text] = None
    return list(written)
