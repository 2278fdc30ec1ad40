"""One-hot columns of categories and TF-IDF weights of text, the same for new rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

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


def _texts(table: Table, name: str, impute: bool, filled: str) -> tuple[pl.Series, int]:
    """A column as text, with gaps filled or refused, and how many there were."""
    column = table.column(name)
    if not can_be_text(column.dtype) and column.dtype != pl.Null:
        raise table.error(f"column {quoted(name)} must hold text, but it holds {column.dtype}.")
    values = column.to_frame().select(text(name, column.dtype)).to_series()
    n_missing = values.null_count()
    if n_missing and not impute:
        raise table.error(no_value(name, values.is_null().arg_max()))
    return values.fill_null(filled), n_missing


@dataclass
class Category:
    """A column of 0 and 1 for each value."""

    name: str
    impute: bool
    levels: list[str] = field(default_factory=list)
    n_filled: int = 0

    def learn(self, table: Table) -> NDArray[np.int64]:
        """Keep the values, and return the number of the value of each row."""
        values, self.n_filled = _texts(table, self.name, self.impute, MISSING_LEVEL)
        self.levels = sorted(values.unique().to_list(), key=lambda level: (level == MISSING_LEVEL, level))
        if len(self.levels) > MOST_LEVELS_FORCED:
            raise table.error(
                f"column {quoted(self.name)} has more than {MOST_LEVELS_FORCED:,} different values."
            )
        return self._numbers(values)

    def encode(self, table: Table, impute: bool) -> NDArray[np.int64]:
        """The number of the value of each row; -1 for one that was not learned."""
        values, self.n_filled = _texts(table, self.name, impute or self.impute, MISSING_LEVEL)
        return self._numbers(values)

    def features(self) -> list[Feature]:
        """One a value."""
        return [
            Feature(f"{self.name} = {level}", self.name, "category", level=level) for level in self.levels
        ]

    def _numbers(self, values: pl.Series) -> NDArray[np.int64]:
        places = list(range(len(self.levels)))
        found = values.replace_strict(self.levels, places, default=-1, return_dtype=pl.Int64)
        return np.asarray(found.to_numpy(), dtype=np.int64)


@dataclass
class Text:
    """TF-IDF weights of the words of a column; each row has length 1, or 0 without a known word."""

    name: str
    impute: bool
    vectorizer: Any = None
    n_filled: int = 0

    def learn(self, table: Table) -> Any:
        """Keep the words and how rare they are, and return the weights."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        fewest = 2 if table.n_rows >= _MANY_ROWS else 1
        self.vectorizer = TfidfVectorizer(
            strip_accents="unicode", sublinear_tf=True, min_df=fewest, max_features=_MOST_WORDS
        )
        texts = self._texts(table, self.impute)
        try:
            return self.vectorizer.fit_transform(texts).tocsr()
        except ValueError:  # no word is left
            rows = "in any row" if fewest == 1 else f"in {fewest} rows or more"
            what = f"no word of two letters or more {rows}"
            raise table.error(
                f"column {quoted(self.name)} has {what}; --drop it, or take it as --category."
            ) from None

    def encode(self, table: Table, impute: bool) -> Any:
        """The weights of new rows; new words do not count."""
        return self.vectorizer.transform(self._texts(table, impute or self.impute)).tocsr()

    def features(self) -> list[Feature]:
        """One a word."""
        words = self.vectorizer.get_feature_names_out().tolist()
        return [Feature(f"{self.name}: {word}", self.name, "text", level=word) for word in words]

    def _texts(self, table: Table, impute: bool) -> list[str]:
        values, self.n_filled = _texts(table, self.name, impute, "")
        return values.to_list()


def unseen(category: Category, codes: NDArray[np.int64]) -> str | None:
    """A sentence on values that were not learned, if there are any."""
    n = int((codes < 0).sum())
    if not n:
        return None
    return (
        f"{count_of(n, 'row')} of {category.name} with a value that is new count as none of the known ones."
    )
