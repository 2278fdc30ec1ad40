"""Which columns become features, and how: the rules, in the order in which they are asked.

1. A column that the run uses otherwise (id, weight, ...), one that was dropped, and one that is not among the
   chosen ones is left out. A column named by `numeric`, `category` or `text` is taken as that.
2. Numbers are numeric; true and false are 1 and 0; dates and times are days since 1970. A column that counts
   the rows is left out, and so is one of whole numbers that are all different, under a name such as `id`,
   `nr` or `customer_id`; unless `columns` or `numeric` names it.
3. Text in which at least half of the values are numbers and some are not is an error: somebody has to decide.
4. Text with at most 50 different values, on average at least two rows a value, is a category.
5. Text of on average at least three words is text.
6. Other text (names, codes), lists and binary data are left out.
7. A column with a single value, or with none, is left out, whatever it was taken for.

Missing values are refused with their places, or filled if asked: numbers with the median, categories with a
value "(missing)", text with nothing. Infinite numbers are always refused. Nothing is left out unsaid: each
column has its `ColumnUse` with the reason.

Numeric columns are standardised (mean 0, deviation 1). A category becomes one column of 0 and 1 for each
value, as they are: two rows of different values are then at squared distance 2, which is also the mean
squared distance of two standardised numbers. Text becomes TF-IDF weights of words, each row of length 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from coterie._words import count_of
from coterie.tables._columns.looks import counts_rows, dressed_number, how_to_mend, is_identifier
from coterie.tables._columns.notes import left_out
from coterie.tables._columns.summary import (
    NumberSummary,
    TextSummary,
    first_row,
    n_words,
    summarise_numbers,
    summarise_text,
)
from coterie.tables._columns.values import can_be_number, can_be_text, is_text, number
from coterie.tables._columns.values import text as as_text
from coterie.tables._columns.words import MOST_LEVELS_FORCED
from coterie.tables._errors import TableError, in_row, no_column, quoted, shown, typed
from coterie.tables._feature import ColumnUse
from coterie.tables._feature_plan import FeaturePlan
from coterie.tables._table import Table

_MOST_LEVELS = 50
_ROWS_A_LEVEL = 2
_WORDS = 3
_ONE_VALUE = "only one value"


def plan_features(
    table: Table,
    *,
    leave_out: Mapping[str, str] | Iterable[str] = (),
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    numeric: Sequence[str] = (),
    category: Sequence[str] = (),
    text: Sequence[str] = (),
    scale: bool = True,
    impute: bool = False,
    may_be_none: bool = False,
) -> FeaturePlan:
    """Decide what becomes of each column; the rules stand at the top of this module.

    `leave_out` are columns that the run uses otherwise, and for what ("used as id"); `columns`: only these,
    and those that `numeric`, `category` and `text` name, whatever they look like; `drop`: not these.
    Raises `TableError` if a name is wrong, values are missing or infinite, or no column is left, unless there
    `may_be_none`.
    """
    forced = {"numeric": numeric, "category": category, "text": text}
    wishes = _Wishes.of(table, leave_out, columns, drop, forced)
    if table.is_sparse:
        return _plan_sparse(table, wishes)
    decided = _Decision(table, wishes, scale, impute)
    uses = decided.uses()
    if not may_be_none and all(use.use == "left out" for use in uses):
        why = "; ".join(f"{names} ({reason})" for _, names, reason in left_out(uses))
        raise table.error(f"no column is left to cluster by: {why}.")
    return FeaturePlan(
        tuple(uses),
        dates=sorted(decided.dates),
        in_days=sorted(decided.in_days),
        scale=scale,
        impute=impute,
        is_matrix=table.frame is None,
    )


@dataclass(frozen=True)
class _Wishes:
    """What the user said about columns."""

    left_out: dict[str, str]  # name -> reason
    forced: dict[str, str]  # name -> use
    named: frozenset[str]  # asked for by name

    @classmethod
    def of(
        cls,
        table: Table,
        leave_out: Mapping[str, str] | Iterable[str],
        columns: Sequence[str] | None,
        drop: Sequence[str],
        forced: Mapping[str, Sequence[str]],
    ) -> _Wishes:
        uses: dict[str, str] = {}
        for use, names in forced.items():
            for name in names:
                if uses.setdefault(name, use) != use:
                    raise TableError(
                        f"column {quoted(name)} is asked for as {uses[name]} and as {use}; choose one."
                    )
        left_out: dict[str, str] = {}
        if columns is not None:
            left_out = dict.fromkeys(table.names, "not among the chosen columns")
            for name in columns:
                left_out.pop(name, None)
        if not isinstance(leave_out, Mapping):
            leave_out = dict.fromkeys(leave_out, "used otherwise")
        left_out |= leave_out
        for name in uses:
            left_out.pop(name, None)
            if name in drop:
                raise TableError(
                    f"column {quoted(name)} is dropped and asked for as {uses[name]}; choose one."
                )
        left_out |= dict.fromkeys(drop, "dropped")
        for name in (*left_out, *uses, *(columns or ())):
            if name not in table.places:
                raise TableError(f"{table.path.name}: {no_column(name, table.names)}")
        return cls(left_out, uses, frozenset((*uses, *(columns or ()))))


@dataclass
class _Decision:
    """The decision on all columns of a table or of a dense matrix."""

    table: Table
    wishes: _Wishes
    scale: bool
    impute: bool
    dates: set[str] = field(default_factory=set)  # ISO dates, written as text
    in_days: set[str] = field(default_factory=set)  # these, and dates and times by type

    def uses(self) -> list[ColumnUse]:
        """What becomes of each column, in the order of the table."""
        forced, left_out = self.wishes.forced, self.wishes.left_out
        types = self._types()
        free = [name for name in self.table.names if name not in left_out]
        as_words = {name for name in free if forced.get(name) in ("category", "text")}
        can = {name: can_be_text(types[name]) if name in as_words else is_text(types[name]) for name in free}
        worded = [name for name in free if can[name]]
        texts = summarise_text(self.table, worded)
        uses = {name: ColumnUse(name, "left out", reason) for name, reason in left_out.items()}
        numeric: list[str] = []
        for name in free:
            if name in texts:
                use = self._text_use(name, texts[name])
            elif can_be_number(types[name]) and name not in as_words:
                use = None
            elif types[name] == pl.Null:
                use = _left_out(name, "it has no values", "no values", self.table.n_rows)
            elif name in forced:
                held = f"holds {types[name]}, no {forced[name]} values"
                raise self.table.error(f"column {quoted(name)} {held}.")
            else:
                why = "neither numbers nor text"
                use = _left_out(name, f"it holds {types[name]}, {why}", why)
            if use is None:
                numeric.append(name)
            else:
                uses[name] = use
        numbers = summarise_numbers(self.table, numeric, self.dates)
        uses |= {name: self._number_use(name, types[name], numbers[name]) for name in numeric}
        in_order = [uses[name] for name in self.table.names]
        self._check_missing([use for use in in_order if use.use != "left out" and use.n_missing])
        return in_order

    def _types(self) -> Mapping[str, pl.DataType]:
        if self.table.frame is None:
            return dict.fromkeys(self.table.names, pl.Float64())
        return self.table.frame.schema

    def _number_use(self, name: str, dtype: pl.DataType, found: NumberSummary) -> ColumnUse:
        if found.low is None or found.high is None:
            return _left_out(name, "it has no values", "no values", found.n_missing)
        if max(found.high, -found.low) == float("inf"):
            value = number(name, dtype)
            row = first_row(self.table, name, value.is_infinite().fill_null(False))
            raise self.table.error(
                f"column {quoted(name)} is infinite in {in_row(row)}; mend the value, or --drop the column."
            )
        if name not in self.wishes.named:
            keep = f"; --numeric {typed(name)} keeps it", "; --numeric NAME keeps one"
            if is_identifier(self.table, name, dtype):
                looks = "like an identifier, different in every row"
                return _left_out(name, f"it looks {looks}{keep[0]}", f"each looks {looks}{keep[1]}")
            if counts_rows(self.table, name, dtype):
                return _left_out(name, f"it counts the rows{keep[0]}", f"they count the rows{keep[1]}")
        if found.low == found.high:
            where = "wherever it has a value" if found.n_missing else "in every row"
            why = f"it is {found.low:g} {where}"
            if dtype.is_integer() and self.table.column(name).drop_nulls().n_unique() > 1:
                why = "its numbers are too long to be told apart as floats"
            return _left_out(name, why, _ONE_VALUE, found.n_missing)
        how = "standardised" if self.scale else "as it is"
        if dtype == pl.Boolean:
            how = f"true is 1 and false 0, {how}"
        elif dtype.is_temporal() or name in self.dates:
            self.in_days.add(name)
            if dtype in (pl.Date, pl.Datetime):
                self.dates.add(name)  # new rows, and those of a written CSV, have them as text
            how = f"in days, {how}" if dtype in (pl.Duration, pl.Time) else f"days since 1970, {how}"
        return self._with_missing(ColumnUse(name, "numeric", how, found.n_missing), "the median")

    def _text_use(self, name: str, found: TextSummary) -> ColumnUse | None:
        """What becomes of a column of text; None: it is to be taken as numbers."""
        forced = self.wishes.forced.get(name)
        if not found.n_values:
            return _left_out(name, "it has no values", "no values", found.n_missing)
        if found.n_levels == 1 and not found.n_missing:
            return _left_out(name, "it is the same in every row", _ONE_VALUE)
        if found.is_date and forced in (None, "numeric"):
            self.dates.add(name)
            return None
        if forced == "numeric":
            if found.n_numbers < found.n_values:
                raise self._not_a_number(name, "it is asked for as numeric")
            return None
        if forced == "category" and found.n_levels > MOST_LEVELS_FORCED:
            raise self.table.error(
                f"column {quoted(name)} has {found.n_levels:,} different values; a category has at most "
                f"{MOST_LEVELS_FORCED:,}."
            )
        if forced is None and found.is_mixed:
            share = f"{found.n_numbers:,} of its {found.n_values:,} values"
            raise self._not_a_number(name, f"{share} are numbers")
        few = found.n_levels <= _MOST_LEVELS and found.n_values >= _ROWS_A_LEVEL * found.n_levels
        if forced == "category" or (forced is None and few):
            n = found.n_levels + (found.n_missing > 0)
            use = ColumnUse(
                name, "category", f"a column of 0 and 1 for each of its {n} values", found.n_missing
            )
            return self._with_missing(use, "a value of their own")
        dressed = dressed_number(self.table, name) if found.is_dressed and not forced else None
        are_words = found.n_numbers < found.n_values and not dressed
        if forced == "text" or (are_words and n_words(self.table, name) >= _WORDS):
            use = ColumnUse(name, "text", "weights of words (TF-IDF)", found.n_missing)
            return self._with_missing(use, "no words")
        return self._short_text_use(name, found, dressed)

    def _short_text_use(self, name: str, found: TextSummary, dressed: str | None) -> ColumnUse:
        """Names, codes, and numbers that are not written as such."""
        how = f"--category {typed(name)} or --text {typed(name)} takes it"
        how_one = "--category NAME or --text NAME takes one"
        values = f"{found.n_levels:,} different values in {count_of(found.n_values, 'row')}"
        if found.n_numbers == found.n_values:
            why = f"numbers written as text or codes, {values}; --numeric {typed(name)}, {how}"
            common = f"numbers written as text or codes; --numeric NAME, {how_one}"
        elif dressed:
            looks = "most values look like numbers with a sign or separators"
            why = f"text, but {looks}, such as {quoted(dressed)}; write plain numbers, or {how}"
            common = f"text, but {looks}; write plain numbers, or {how_one}"
        else:
            why = f"short text, {values}; {how}"
            common = f"short text, most values different; {how_one}"
        return _left_out(name, why, common, found.n_missing)

    def _with_missing(self, use: ColumnUse, filled: str) -> ColumnUse:
        if not use.n_missing or not self.impute:
            return use
        missing = count_of(use.n_missing, "missing value")
        return replace(use, reason=f"{use.reason}; {missing} filled with {filled}")

    def _not_a_number(self, name: str, why: str) -> TableError:
        column = self.table.column(name)
        is_odd = as_text(name, column.dtype).is_not_null() & number(name, column.dtype).is_null()
        row = first_row(self.table, name, is_odd)
        return self.table.error(
            f"column {quoted(name)} is not all numbers: {why}, but there is {quoted(column[row])} in "
            f"{in_row(row)}. {how_to_mend(name, column[row])}"
        )

    def _check_missing(self, missing: list[ColumnUse]) -> None:
        """Raise if values are missing and must not be filled."""
        if not missing or self.impute:
            return
        places = []
        for use in missing[:5]:
            dtype = self.table.column(use.name).dtype
            is_missing = (
                number(use.name, dtype, is_date=use.name in self.dates)
                if use.use == "numeric"
                else as_text(use.name, dtype)
            ).is_null()
            row = first_row(self.table, use.name, is_missing)
            places.append(f"{shown(use.name)} ({use.n_missing:,}, first in row {row})")
        more = f" and {len(missing) - 5:,} more columns" if len(missing) > 5 else ""
        n = count_of(sum(use.n_missing for use in missing), "missing value")
        raise self.table.error(
            f"{n} (rows are counted from 0): {', '.join(places)}{more}. Pass --impute to fill them (median, "
            "own category, empty text), or --drop the columns."
        )


def _left_out(name: str, reason: str, common: str, n_missing: int = 0) -> ColumnUse:
    return ColumnUse(name, "left out", reason, n_missing, common)


def _plan_sparse(table: Table, wishes: _Wishes) -> FeaturePlan:
    """A sparse matrix is taken whole."""
    if wishes.forced or wishes.left_out:
        raise table.error("a sparse matrix is taken as a whole; no column of it can be chosen or left out.")
    n = table.matrix.shape[1]
    use = ColumnUse("matrix", "matrix", f"{count_of(n, 'column')} of a sparse matrix, as they are")
    return FeaturePlan((use,), is_matrix=True, is_sparse=True)
