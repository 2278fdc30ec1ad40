"""What rows are put into blocks by, and sorted by: the user's keys, or those that suit a comparator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie._arrays import Index
from coterie.constraints._reading import is_missing
from coterie.exceptions import ParameterError
from coterie.relational._records.columns import ComparedColumn, Records
from coterie.relational._records.strings import words_of

_RARE_WORDS = 3  # of a text
_MOST_REPEATED = 10  # rows of a value, on average, in a column whose keys make blocks


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rows and the number of a block that each is in; a row may be in several."""

    what: str  # the kind of key, for messages
    rows: Index
    block: Index
    keys: Sequence[Any]  # of each block


# ---- the user's -----------------------------------------------------------------------------------------


def user_blocks(records: Records, key: Any) -> Blocks:
    """Blocks of rows with equal keys."""
    return _blocks_of("the block of key", enumerate(_user_keys(records, key)))


def user_order(records: Records, key: Any) -> Index:
    """Rows sorted by a key; those without one are left out."""
    keys = _user_keys(records, key)
    try:
        order = sorted((row for row, value in enumerate(keys) if value is not None), key=keys.__getitem__)
    except TypeError as error:
        raise TypeError(f"keys cannot be sorted ({error}); return strings only, or numbers only.") from None
    return np.array(order, dtype=np.int64)


def _user_keys(records: Records, key: Any) -> list[Any]:
    """The user's key of each row; None: no key."""
    cells = {
        column.name: [None if at < 0 else column.values[at] for at in column.code.tolist()]
        for column in records.columns
    }
    if callable(key):
        keys = [key(*row) for row in zip(*cells.values(), strict=True)]
    elif key in cells:
        keys = cells[key]
    else:
        raise ParameterError(
            f"the key {key!r} is no column that is compared; these are {', '.join(map(repr, cells))}. "
            "Name one of them, or give a function of the row's values.",
            "blocking",
        )
    none = np.array([is_missing(value) or value == "" for value in keys]) | records.blank
    return [None if missing else value for value, missing in zip(keys, none.tolist(), strict=True)]


def _blocks_of(what: str, entries: Iterable[tuple[int, Any]]) -> Blocks:
    """Blocks from rows and their keys; None is no key."""
    number: dict[Any, int] = {}
    rows, block = [], []
    for row, key in entries:
        if key is not None:
            try:
                block.append(number.setdefault(key, len(number)))
            except TypeError:
                raise TypeError(f"the key {key!r} of row {row} cannot be hashed; return a tuple.") from None
            rows.append(row)
    return Blocks(what, np.array(rows, dtype=np.int64), np.array(block, dtype=np.int64), list(number))


# ---- the usual ------------------------------------------------------------------------------------------


def usual_blocks(records: Records) -> Iterator[Blocks]:
    """Blocks by the keys that suit the comparator of each column, one kind of key after another."""
    texts = [column for column in records.columns if column.comparator != "number"]
    # a value that many rows repeat, such as a city, says little about who is who
    telling = [c for c in texts if _MOST_REPEATED * len(c.values) >= np.count_nonzero(c.code >= 0)]
    for column in telling or texts or records.columns:
        rows_of: list[list[int]] = [[] for _ in column.values]
        for row in np.flatnonzero(column.code >= 0).tolist():
            rows_of[column.code[row]].append(row)
        for entries in _value_keys(column):
            rows = ((row, key) for value, key in entries for row in rows_of[value])
            yield _blocks_of(f"column {column.name!r}: the block of key", rows)


def _value_keys(column: ComparedColumn) -> list[list[tuple[int, Any]]]:
    """Kinds of keys; each is a list of values with their keys."""
    if column.comparator == "person-name":
        return _name_keys(column)
    if column.comparator in ("soft-tfidf", "tokens"):
        return [_word_keys(column)]
    if column.comparator == "jaro-winkler":
        letters = ["".join(words_of(text)) for text in column.texts]
        return [
            [(at, text[:4]) for at, text in enumerate(letters)],
            [(at, text[-4:]) for at, text in enumerate(letters)],
        ]
    return [list(enumerate(column.values))]


def _name_keys(column: ComparedColumn) -> list[list[tuple[int, Any]]]:
    """First initial with the start of the surname, and with its end; a lone surname meets every initial."""
    initials = sorted({name.given[0][0] for name in column.names if name.given})
    start: list[tuple[int, Any]] = []
    end: list[tuple[int, Any]] = []
    for at, name in enumerate(column.names):
        letters = name.surname.replace(" ", "")
        for initial in [name.given[0][0]] if name.given else ["", *initials]:
            start.append((at, (initial, letters[:3])))
            end.append((at, (initial, letters[-3:])))
    return [start, end]


def _word_keys(column: ComparedColumn) -> list[tuple[int, Any]]:
    """The starts of the rarest words of a text that others share."""
    starts = [sorted({word[:5] for word in words_of(text)}) for text in column.texts]
    count: dict[str, int] = {}
    for text in starts:
        for word in text:
            count[word] = count.get(word, 0) + 1
    entries: list[tuple[int, Any]] = []
    for at, text in enumerate(starts):
        shared = sorted((count[word], word) for word in text if count[word] > 1)
        entries += [(at, word) for _, word in shared[:_RARE_WORDS]]
    return entries


# ---- sorted orders, and texts ---------------------------------------------------------------------------


def usual_orders(records: Records) -> Iterator[Index]:
    """Rows sorted by each column, and by each text from its end; the sorted table decides ties."""
    tie = row_places(records)
    for column in records.columns:
        texts = _sort_texts(column)
        backwards = [] if column.comparator == "number" else [[text[::-1] for text in texts]]
        present = np.flatnonzero(column.code >= 0)
        for keys in [texts, *backwards]:
            yield present[np.lexsort((tie[present], _places(column, keys)[present]))]


def row_places(records: Records) -> Index:
    """The place of each row in the sorted table."""
    columns = [_places(column, _sort_texts(column)) for column in records.columns]
    place = np.empty(len(records.first), dtype=np.int64)
    place[np.lexsort(columns[::-1])] = np.arange(len(place))
    return place


def _sort_texts(column: ComparedColumn) -> list[Any]:
    """What the values of a column are sorted by: surnames come first, numbers by size."""
    if column.comparator == "person-name":
        return [" ".join((name.surname, *name.given)) for name in column.names]
    if column.comparator == "number":
        return column.standard_numbers.tolist()
    return [" ".join(words_of(text)) for text in column.texts]


def _places(column: ComparedColumn, keys: Sequence[Any]) -> Index:
    """The place of each row by the keys of its values; what is missing stands last."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    place = np.full(len(keys) + 1, len(keys), dtype=np.int64)
    place[order] = np.arange(len(keys))
    return place[column.code]


def row_texts(records: Records) -> list[str]:
    """The compared values of each row in one text."""
    texts = [""] * len(records.first)
    for column in records.columns:
        values = column.texts
        if column.comparator == "person-name":
            values = [" ".join((*name.given, name.surname)) for name in column.names]
        for row, value in enumerate(column.code.tolist()):
            texts[row] += f" {values[value]}" if value >= 0 else ""
    return texts
