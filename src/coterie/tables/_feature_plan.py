"""From a plan to the matrix: `FeaturePlan.fit` builds it, `transform` does the same for new rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from coterie._words import count_of, listed
from coterie.tables._columns.notes import notes_on
from coterie.tables._columns.numbers import Numbers
from coterie.tables._columns.words import Category, Text
from coterie.tables._errors import TableError, no_column, shown
from coterie.tables._feature import ColumnUse, Feature
from coterie.tables._table import Table

__all__ = ["FeaturePlan"]

# A matrix is sparse from so many columns on, if more than half of it would be zeros.
_WIDE = 200


class FeaturePlan:
    """What becomes of each column, and the matrix that follows from it. Made by `plan_features`.

    `metric` is the distance that suits, settled by `fit`: cosine for text alone and for sparse matrices of
    counts, unless some row is empty. `notes` are sentences that a run should print, to which `fit` adds;
    `notes_of_last` are those of the last `transform`.
    """

    def __init__(
        self,
        columns: tuple[ColumnUse, ...],
        *,
        dates: Sequence[str] = (),
        in_days: Sequence[str] = (),
        scale: bool = True,
        impute: bool = False,
        is_matrix: bool = False,
        is_sparse: bool = False,
    ) -> None:
        self.columns = columns
        self.is_matrix = is_matrix
        self.is_sparse = is_sparse
        self.notes_of_last: tuple[str, ...] = ()
        self._in_days = list(in_days)
        self._numbers = Numbers(self._used("numeric"), list(dates), scale, impute)
        self._categories = [Category(name, impute) for name in self._used("category")]
        self._texts = [Text(name, impute) for name in self._used("text")]
        self.metric = self._planned_metric()
        self._n_columns = len(columns)
        self._is_fitted = False
        self.notes = self._planned_notes()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "features"}

    def __repr__(self) -> str:
        used = sum(use.use != "left out" for use in self.columns)
        return f"<FeaturePlan: {used:,} of {count_of(len(self.columns), 'column')} used, {self.metric}>"

    @property
    def _words(self) -> list[Any]:
        return [*self._categories, *self._texts]

    @property
    def _parts(self) -> Sequence[Any]:
        return (self._numbers, *self._words)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """What each column of the matrix means."""
        if not self._is_fitted:
            raise ValueError("this plan has not been fitted; call fit first.")
        if self.is_sparse:
            names = (f"column {at}" for at in range(self._n_columns))
            return tuple(Feature(name, name, "matrix") for name in names)
        return tuple(feature for part in self._parts for feature in part.features())

    def _used(self, use: str) -> list[str]:
        return [column.name for column in self.columns if column.use == use]

    def fit(self, table: Table) -> Any:
        """The matrix, dense or CSR, of the table for which the plan was made; keeps what new rows need."""
        self.notes, self.metric = self._planned_notes(), self._planned_metric()
        self._is_fitted = False
        vars(self).pop("features", None)
        X = self._fit_sparse(table) if self.is_sparse else self._fit_columns(table)
        self._is_fitted = True
        return X

    def _fit_columns(self, table: Table) -> Any:
        self._check_columns(table)
        if self.is_matrix:
            self._n_columns = len(table.names)
        blocks = [words.learn(table) for words in self._words]
        X = self._assemble(table, blocks)
        self._settle_metric(X)
        if self._texts:
            n_words = sum(len(text.levels) for text in self._texts)
            self.notes += (f"The text has {count_of(n_words, 'word')} that count.",)
        return X

    def transform(self, table: Table, *, impute: bool = False) -> Any:
        """The same columns for new rows: by name, in any order, those of a matrix by number.

        With `impute` missing values are filled, even if the plan was made to refuse them.
        """
        if not self._is_fitted:
            raise ValueError("this plan has not been fitted; call fit first.")
        notes: list[str] = []
        if self.is_sparse:
            X = self._sparse_matrix(table, self._n_columns)
        else:
            self._check_columns(table)
            known = {use.name for use in self.columns}
            extra = [name for name in table.names if name not in known]
            if extra:
                are = "column is" if len(extra) == 1 else "columns are"
                notes.append(f"{len(extra):,} {are} new and not used: {listed(map(shown, extra))}.")
            blocks = [words.encode(table, impute) for words in self._words]
            sentences = (one.unseen(block) for one, block in zip(self._categories, blocks, strict=False))
            notes += [note for note in sentences if note]
            X = self._assemble(table, blocks, impute)
            n_filled = sum(part.n_filled for part in self._parts)
            if n_filled:
                notes.append(f"{count_of(n_filled, 'missing value')} filled as in the rows learned from.")
        self.notes_of_last = tuple(notes)
        return X

    def _check_columns(self, table: Table) -> None:
        """Raise if a column that is used is not there."""
        if table.is_sparse:
            raise table.error("this is a sparse matrix, but the plan was made for a table or a dense matrix.")
        if self.is_matrix and table.frame is None and self._is_fitted and len(table.names) != self._n_columns:
            raise table.error(
                f"the matrix has {count_of(len(table.names), 'column')}, the one learned from had "
                f"{self._n_columns:,}."
            )
        for use in self.columns:
            if use.use != "left out" and use.name not in table.places:
                raise TableError(f"{table.path.name}: {no_column(use.name, table.names)}")

    def _assemble(self, table: Table, blocks: list[Any], impute: bool = False) -> Any:
        """Numbers, categories and texts side by side; a category has one entry a row at most."""
        from scipy.sparse import csr_matrix, hstack

        n_numbers, n_categories = len(self._numbers.names), len(self._categories)
        width = n_numbers + sum(block.shape[1] for block in blocks)
        is_sparse = bool(self._texts) or (width > _WIDE and 2 * (n_numbers + n_categories) < width)
        out = np.zeros((table.n_rows, n_numbers if is_sparse else width))
        if self._is_fitted:
            self._numbers.encode(table, out, impute=impute)
        else:
            self._numbers.learn(table, out)
        if is_sparse:
            parts = [csr_matrix(out), *blocks] if n_numbers else blocks
            return hstack(parts, format="csr", dtype=np.float64)
        at = n_numbers
        for block in blocks:
            rows = block.tocoo()
            out[rows.row, at + rows.col] = rows.data
            at += block.shape[1]
        return out

    def _settle_metric(self, X: Any) -> None:
        """Cosine has no place for rows of zeros."""
        if self.metric == "cosine" and (n := _n_empty(X)):
            self.metric = "sqeuclidean"
            have = "has" if n == 1 else "have"
            self.notes += (f"{count_of(n, 'row')} {have} no word that counts, so the distance is Euclidean.",)

    def _fit_sparse(self, table: Table) -> Any:
        X = self._sparse_matrix(table, None)
        if (X.data < 0).any():
            self.metric = "sqeuclidean"
        elif n := _n_empty(X):
            self.metric = "sqeuclidean"
            are = "is" if n == 1 else "are"
            self.notes += (f"{count_of(n, 'row')} {are} empty, so the distance is Euclidean.",)
        self._n_columns = X.shape[1]
        return X

    def _sparse_matrix(self, table: Table, width: int | None) -> Any:
        """The matrix itself, checked."""
        if not table.is_sparse:
            raise table.error("the plan was made for a sparse matrix.")
        X = table.matrix
        if width is not None and X.shape[1] != width:
            raise table.error(
                f"the matrix has {count_of(X.shape[1], 'column')}, the one learned from had {width:,}."
            )
        bad = ~np.isfinite(X.data)
        if bad.any():
            row = int(np.searchsorted(X.indptr, int(np.flatnonzero(bad)[0]), side="right")) - 1
            raise table.error(f"row {row} holds a value that is no finite number (rows are counted from 0).")
        return X

    def _planned_metric(self) -> str:
        only_text = bool(self._texts) and not self._numbers.names and not self._categories
        return "cosine" if only_text or self.is_sparse else "sqeuclidean"

    def _planned_notes(self) -> tuple[str, ...]:
        """What is done with which columns."""
        return tuple(notes_on(self.columns, in_days=self._in_days, scale=self._numbers.scale))


def _n_empty(X: Any) -> int:
    """Rows of a sparse matrix without an entry that is not zero."""
    from scipy.sparse import csr_matrix

    rows = csr_matrix(X, copy=True)
    rows.eliminate_zeros()
    return int((np.diff(rows.indptr) == 0).sum())
