"""One-hot columns of categories and TF-IDF weights of text, the same for new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from coterie._words import count_of
from coterie.tables._columns.values import can_be_text, text
from coterie.tables._errors import no_value, quoted
from coterie.tables._feature import Feature
from coterie.tables._table import Table

MISSING_LEVEL = "(missing)"
MOST_LEVELS_FORCED = 1_000
_MOST_WORDS = 20_000
# With fewer rows a word that stands in only one of them counts too.
_MANY_ROWS = 50


@dataclass
class _Words:
    """A column taken as text; what is missing is refused, or filled."""

    name: str
    impute: bool
    levels: Any = ()  # what each column of the matrix stands for
    n_filled: int = 0
    _filler = ""

    def values(self, table: Table, impute: bool) -> pl.Series:
        """The column as text, without gaps."""
        column = table.column(self.name)
        if not can_be_text(column.dtype) and column.dtype != pl.Null:
            raise table.error(f"column {quoted(self.name)} must hold text, but it holds {column.dtype}.")
        values = column.to_frame().select(text(self.name, column.dtype)).to_series()
        self.n_filled = values.null_count()
        if self.n_filled and not (impute or self.impute):
            raise table.error(no_value(self.name, values.is_null().arg_max()))
        return values.fill_null(self._filler)


class Category(_Words):
    """A column of 0 and 1 for each value."""

    _filler = MISSING_LEVEL

    def learn(self, table: Table) -> Any:
        """Keep the values, and return the matrix of 0 and 1."""
        levels = self.values(table, False).unique().to_list()
        self.levels = sorted(levels, key=lambda level: (level == MISSING_LEVEL, level))
        if len(self.levels) > MOST_LEVELS_FORCED:
            most = f"{MOST_LEVELS_FORCED:,} different values"
            raise table.error(f"column {quoted(self.name)} has more than {most}.")
        return self.encode(table, False)

    def encode(self, table: Table, impute: bool) -> Any:
        """The matrix of 0 and 1; a row whose value was not learned is empty."""
        from scipy.sparse import csr_matrix

        values, places = self.values(table, impute), list(range(len(self.levels)))
        codes = values.replace_strict(self.levels, places, default=None, return_dtype=pl.Int64)
        rows = np.flatnonzero(codes.is_not_null().to_numpy())
        shape = (len(codes), len(self.levels))
        return csr_matrix((np.ones(len(rows)), (rows, codes.drop_nulls().to_numpy())), shape=shape)

    def features(self) -> list[Feature]:
        """One a value."""
        return [Feature(f"{self.name} = {one}", self.name, "category", level=one) for one in self.levels]

    def unseen(self, matrix: Any) -> str | None:
        """A sentence on values that were not learned, if there are any."""
        n = matrix.shape[0] - matrix.nnz
        rows = f"{count_of(n, 'row')} of {self.name}"
        return f"{rows} with a value that is new count as none of the known ones." if n else None


@dataclass
class Text(_Words):
    """TF-IDF weights of the words of a column; each row has length 1, or 0 without a known word."""

    rarity: Any = None  # a weight a word: the logarithm of how rare it is

    def learn(self, table: Table) -> Any:
        """Keep the words and how rare they are, and return the weights."""
        fewest = 2 if table.n_rows >= _MANY_ROWS else 1
        vectorizer = self._vectorizer(min_df=fewest, max_features=_MOST_WORDS)
        texts = self.values(table, False).to_list()
        try:
            weights = vectorizer.fit_transform(texts).tocsr()
        except ValueError:  # no word is left
            rows = "in any row" if fewest == 1 else f"in {fewest} rows or more"
            what = f"no word of two letters or more {rows}"
            raise table.error(
                f"column {quoted(self.name)} has {what}; --drop it, or take it as --category."
            ) from None
        self.levels = vectorizer.get_feature_names_out().astype(str)
        self.rarity = vectorizer.idf_
        return weights

    def encode(self, table: Table, impute: bool) -> Any:
        """The weights of new rows; new words do not count."""
        vectorizer = self._vectorizer(vocabulary=self.levels)
        vectorizer.idf_ = self.rarity
        return vectorizer.transform(self.values(table, impute).to_list()).tocsr()

    def features(self) -> list[Feature]:
        """One a word."""
        words = self.levels.tolist()
        return [Feature(f"{self.name}: {word}", self.name, "text", level=word) for word in words]

    def _vectorizer(self, **learned: Any) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        return TfidfVectorizer(strip_accents="unicode", sublinear_tf=True, **learned)
