"""Which records are worth comparing: blocks by keys, neighbours in a sorted order, and canopies.

What blocking leaves out no later step finds, and what it lets in must be compared. So keys suit the
comparator of a column, and a block that is too large is compared along its sorted order only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from coterie._arrays import Index
from coterie.base import Rule, anything, check_parameters, real, whole
from coterie.exceptions import ParameterError
from coterie.relational._records.blocks import (
    Blocks,
    nearest_rows,
    pairs_in_blocks,
    row_places,
    user_blocks,
    user_keys,
    usual_blocks,
)
from coterie.relational._records.columns import Records, read_records
from coterie.relational._records.pairs import distinct_pairs, with_following

_FEW_ROWS = 300  # all pairs of them are compared
_MOST_IN_BLOCK = 200  # of "auto", which cuts larger ones without a word


class _Blocking(BaseEstimator, ABC):
    """What the blockings share: they take a table and return pairs of distinct rows."""

    parameter_rules: ClassVar[dict[str, Rule]]

    def pairs(self, X: Any) -> Index:
        """Candidate pairs of a table.

        Parameters
        ----------
        X : data frame, array or list
            The records: rows of strings and numbers, or strings alone.

        Returns
        -------
        array of shape (n_pairs, 2)
            Each pair once, sorted, the lesser row first. Equal rows are one row: rows are numbered by the
            first occurrence of their values.
        """
        check_parameters(self)
        return self._pairs(X if isinstance(X, Records) else read_records(X))

    @abstractmethod
    def _pairs(self, records: Records) -> Index:
        """Candidate pairs of distinct rows."""


class KeyBlocking(_Blocking):
    """Compare records that share a key, such as a postcode, or the first letters of a name.

    Parameters
    ----------
    keys : column, callable or list of these, default=None
        A column by its name, or a function of the row's compared values, in the order of the columns (None
        for what is missing), that returns the key: anything hashable. Records are compared if they share one
        of the keys; a key that is None or "" is shared with nobody. None: keys that suit the comparator of
        each column, such as the first initial with the start of the surname.
    max_block : int, default=1000
        Distinct records in a block. In a larger one, records are compared with their nearest neighbours in
        sorted order only, and a warning names the key.

    Examples
    --------
    >>> from coterie.relational import KeyBlocking
    >>> towns = [["Ann", "Leeds"], ["Bob", "York"], ["Anne", "Leeds"], ["Bob", "Leeds"]]
    >>> KeyBlocking(keys=lambda name, town: (name[0], town)).pairs(towns)
    array([[0, 2]])
    """

    parameter_rules: ClassVar = {
        "keys": anything("a column, a function or a list of these"),
        "max_block": whole(2),
    }

    def __init__(self, keys: Any = None, *, max_block: int = 1000) -> None:
        self.keys = keys
        self.max_block = max_block

    def _pairs(self, records: Records) -> Index:
        keys = self.keys if isinstance(self.keys, list | tuple) else [self.keys]
        blocks = usual_blocks(records) if self.keys is None else (user_blocks(records, key) for key in keys)
        return pairs_in_blocks(records, blocks, self.max_block)


class SortedNeighbourhood(_Blocking):
    """Sort the records, and compare each with those near it (Hernandez and Stolfo, 1995).

    Parameters
    ----------
    window : int, default=10
        How many records in a row are compared with each other.
    key : column or callable, default=None
        What to sort by: a column by its name, or a function of the row's compared values. None: all compared
        columns, the first one first; names of persons by surname.

    Examples
    --------
    >>> from coterie.relational import SortedNeighbourhood
    >>> names = ["jon smith", "mary jones", "john smith", "mary johns"]
    >>> SortedNeighbourhood(window=2, key=0).pairs(names)
    array([[0, 2],
           [0, 3],
           [1, 3]])
    """

    parameter_rules: ClassVar = {"window": whole(2), "key": anything("a column or a function")}

    def __init__(self, window: int = 10, key: Any = None) -> None:
        self.window = window
        self.key = key

    def _pairs(self, records: Records) -> Index:
        places = [None if blank else at for at, blank in zip(row_places(records), records.blank, strict=True)]
        keys: list[Any] = places if self.key is None else user_keys(records, self.key)
        rows = [row for row, key in enumerate(keys) if key is not None]
        try:
            order = np.array(sorted(rows, key=keys.__getitem__), dtype=np.int64)
        except TypeError as error:
            raise TypeError(f"keys cannot be sorted ({error}); give strings only, or numbers.") from None
        n_after = np.minimum(np.arange(len(order))[::-1], self.window - 1)
        return distinct_pairs(with_following(order, n_after), len(records.first))


class CanopyBlocking(_Blocking):
    """Overlapping canopies that a cheap similarity holds together (McCallum, Nigam and Ungar, 2000).

    The cheap similarity is the cosine of the TF-IDF of two and three letters in a row, over all compared
    columns. Centres are taken in the order of the table: the canopy of a centre holds the records at least
    `loose` similar to it, and those at least `tight` similar cannot become centres. Records of one canopy are
    compared.

    Parameters
    ----------
    loose : float, default=0.4
        Least similarity to the centre within a canopy.
    tight : float, default=0.8
        From this similarity on, a record is no centre of its own.
    max_block : int, default=200
        Distinct records in a canopy; a larger one is compared along its sorted order only, and a warning
        names its centre.

    Notes
    -----
    Time grows with the square of the number of distinct records, and memory with that of the pairs proposed:
    20,000 names with few surnames gave 30 million pairs in 50 s and 1.7 GB. For large tables take keys.

    Examples
    --------
    >>> from coterie.relational import CanopyBlocking
    >>> CanopyBlocking().pairs(["jon smith", "mary jones", "john smith", "mary johns"])
    array([[0, 2],
           [1, 3]])
    """

    parameter_rules: ClassVar = {
        **dict.fromkeys(["loose", "tight"], real(0, 1, above=True)),
        "max_block": whole(2),
    }

    def __init__(self, loose: float = 0.4, tight: float = 0.8, *, max_block: int = 200) -> None:
        self.loose = loose
        self.tight = tight
        self.max_block = max_block

    def _pairs(self, records: Records) -> Index:
        if self.tight < self.loose:
            words = "both are similarities, and tight is the larger one."
            raise ParameterError(f"tight is {self.tight:g} and loose is {self.loose:g}: {words}", "tight")
        return pairs_in_blocks(records, [("the canopy of", self._canopies(records))], self.max_block)

    def _canopies(self, records: Records) -> Blocks:
        from sklearn.feature_extraction.text import TfidfVectorizer

        columns = [np.array([*column.plain, ""], dtype=object)[column.code] for column in records.columns]
        texts = [" ".join(filter(None, row)) for row in zip(*columns, strict=True)]
        canopies: dict[str, Index] = {}
        if not any(texts):
            return canopies
        vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3)).fit_transform(texts)
        may_be_centre = np.array([bool(text) for text in texts])
        for centre, text in enumerate(texts):
            if may_be_centre[centre]:
                similarity = vectors @ vectors[centre].toarray()[0] + 1e-12
                may_be_centre[similarity >= self.tight] = False
                canopies[text] = np.flatnonzero(similarity >= self.loose)
        return canopies


def blocked_pairs(records: Records, blocking: Any) -> Index | None:
    """The pairs that the parameter `blocking` proposes; None: all pairs."""
    named = {"keys": KeyBlocking, "sorted": SortedNeighbourhood, "canopy": CanopyBlocking}
    if blocking is None:
        return None
    if isinstance(blocking, _Blocking):
        return blocking.pairs(records)
    if isinstance(blocking, str) and blocking in named:
        return named[blocking]().pairs(records)
    if isinstance(blocking, str) and blocking == "auto":
        return _automatic(records)
    raise ParameterError(
        f'blocking is {blocking!r}; give "auto", "keys", "sorted", "canopy", None for all pairs, or a '
        "KeyBlocking, SortedNeighbourhood or CanopyBlocking.",
        "blocking",
    )


def _automatic(records: Records) -> Index | None:
    """All pairs of few rows; nearest rows where all columns are numbers; else the usual keys of texts."""
    rows = np.flatnonzero(~records.blank)
    if len(rows) <= _FEW_ROWS:
        return None
    if all(column.comparator == "number" for column in records.columns):
        return nearest_rows(records, rows)
    return pairs_in_blocks(records, usual_blocks(records), _MOST_IN_BLOCK, warn=False)
