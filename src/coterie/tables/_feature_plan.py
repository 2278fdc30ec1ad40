"""From a plan to the matrix: `FeaturePlan.fit` builds it, `transform` does the same for new rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from coterie._words import count_of, listed
from coterie.tables._columns.notes import notes_on
from coterie.tables._columns.numbers import Numbers
from coterie.tables._columns.words import Category, Text, unseen
from coterie.tables._errors import TableError, no_column, shown
from coterie.tables._feature import ColumnUse, Feature
from coterie.tables._table import Table

__all__ = ["FeaturePlan"]

# A matrix is sparse from so many columns on, if more than half of it would be zeros.
_WIDE = 200


class FeaturePlan:
    """What becomes of each column, and the matrix that follows from it. Made by `plan_features`.

    Attributes
    ----------
    columns : tuple of ColumnUse
        What becomes of each column, and why.
    metric : {"sqeuclidean", "cosine"}
        The distance that suits: cosine for text alone and for sparse matrices of counts, unless some row is
        empty. Settled by `fit`.
    notes : tuple of str
        Sentences that a run should print; `fit` adds to them.
    features : tuple of Feature
        What each column of the matrix means; set by `fit`.
    notes_of_last : tuple of str
        What the last `transform` has to say.
    """

    def __init__(
        self,
        columns: tuple[ColumnUse, ...],
        *,
        dates: frozenset[str] = frozenset(),
        in_days: frozenset[str] = frozenset(),
        scale: bool = True,
        impute: bool = False,
        is_matrix: bool = False,
        is_sparse: bool = False,
    ) -> None:
        self.columns = columns
        self.is_matrix = is_matrix
        self.is_sparse = is_sparse
        self.features: tuple[Feature, ...] = ()
        self.notes_of_last: tuple[str, ...] = ()
        self._in_days = in_days
        self._numbers = Numbers(self._used("numeric"), dates, scale, impute)
        self._categories = [Category(name, impute) for name in self._used("category")]
        self._texts = [Text(name, impute) for name in self._used("text")]
        self.metric = self._planned_metric()
        self._n_columns = len(columns)
        self.notes = self._planned_notes()

    def __repr__(self) -> str:
        used = sum(use.use != "left out" for use in self.columns)
        return f"<FeaturePlan: {used:,} of {count_of(len(self.columns), 'column')} used, {self.metric}>"

    @property
    def _parts(self) -> Sequence[Any]:
        return (self._numbers, *self._categories, *self._texts)

    def _used(self, use: str) -> list[str]:
        return [column.name for column in self.columns if column.use == use]

    def fit(self, table: Table) -> Any:
        """Build the matrix, and keep what new rows need.

        Parameters
        ----------
        table : Table
            The table for which the plan was made.

        Returns
        -------
        ndarray or CSR matrix of float
            One row a row, one column a feature.
        """
        self.notes, self.metric = self._planned_notes(), self._planned_metric()
        if self.is_sparse:
            return self._fit_sparse(table)
        self._check_columns(table)
        if self.is_matrix:
            self._n_columns = len(table.names)
        codes = [category.learn(table) for category in self._categories]
        weights = [text.learn(table) for text in self._texts]
        X = self._assemble(table, codes, weights, self._numbers.learn)
        self.features = tuple(feature for part in self._parts for feature in part.features())
        self._settle_metric(X)
        if self._texts:
            n_words = sum(len(text.features()) for text in self._texts)
            self.notes += (f"The text has {count_of(n_words, 'word')} that count.",)
        return X

    def transform(self, table: Table, *, impute: bool = False) -> Any:
        """The same columns for new rows.

        Parameters
        ----------
        table : Table
            New rows; columns go by name, in any order, those of a matrix by number.
        impute : bool
            Fill missing values, even if the plan was made to refuse them.

        Returns
        -------
        ndarray or CSR matrix of float
            One row a row, with the columns that `fit` gave.
        """
        if not self.features:
            raise ValueError("this plan has not been fitted; call fit first.")
        notes: list[str] = []
        if self.is_sparse:
            X = self._sparse_matrix(table, len(self.features))
        else:
            self._check_columns(table)
            known = {use.name for use in self.columns}
            extra = [name for name in table.names if name not in known]
            if extra:
                are = "column is" if len(extra) == 1 else "columns are"
                notes.append(f"{len(extra):,} {are} new and not used: {listed(map(shown, extra))}.")
            codes = [category.encode(table, impute) for category in self._categories]
            sentences = (unseen(*pair) for pair in zip(self._categories, codes, strict=True))
            notes += [note for note in sentences if note]
            weights = [text.encode(table, impute) for text in self._texts]
            X = self._assemble(table, codes, weights, partial(self._numbers.encode, impute=impute))
            n_filled = sum(part.n_filled for part in self._parts)
            if n_filled:
                notes.append(f"{count_of(n_filled, 'missing value')} filled as in the rows learned from.")
        self.notes_of_last = tuple(notes)
        return X

    def _check_columns(self, table: Table) -> None:
        """Raise if a column that is used is not there."""
        if table.is_sparse:
            raise table.error("this is a sparse matrix, but the plan was made for a table or a dense matrix.")
        if self.is_matrix and table.frame is None and self.features and len(table.names) != self._n_columns:
            raise table.error(
                f"the matrix has {count_of(len(table.names), 'column')}, the one learned from had "
                f"{self._n_columns:,}."
            )
        for use in self.columns:
            if use.use != "left out" and use.name not in table.places:
                raise TableError(f"{table.path.name}: {no_column(use.name, table.names)}")

    def _assemble(
        self, table: Table, codes: list[Any], weights: list[Any], fill: Callable[[Table, Any], None]
    ) -> Any:
        """Put the parts side by side; `fill` writes the numbers."""
        n_numbers = len(self._numbers.names)
        width = n_numbers + sum(len(category.levels) for category in self._categories)
        is_sparse = bool(weights) or (width > _WIDE and 2 * (n_numbers + len(codes)) < width)
        out = np.zeros((table.n_rows, n_numbers if is_sparse else width))
        if n_numbers:
            fill(table, out[:, :n_numbers])
        if is_sparse:
            return self._stacked(out, codes, weights)
        at = n_numbers
        for category, code in zip(self._categories, codes, strict=True):
            rows = np.flatnonzero(code >= 0)
            out[rows, at + code[rows]] = 1.0
            at += len(category.levels)
        return out

    def _stacked(self, numbers: Any, codes: list[Any], weights: list[Any]) -> Any:
        """All parts as one sparse matrix."""
        from scipy.sparse import csr_matrix, hstack

        parts = [csr_matrix(numbers)] if numbers.shape[1] else []
        for category, code in zip(self._categories, codes, strict=True):
            rows = np.flatnonzero(code >= 0)
            shape = (len(code), len(category.levels))
            parts.append(csr_matrix((np.ones(len(rows)), (rows, code[rows])), shape=shape))
        return hstack([*parts, *weights], format="csr", dtype=np.float64)

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
        names = table.names
        self.features = tuple(Feature(name, name, "matrix") for name in names)
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
