"""Blocks of rows that share a key, the user's or one that suits a comparator, and the pairs within blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.neighbors import kneighbors_graph

from coterie._arrays import Index
from coterie._words import count_of
from coterie.base import warn_user
from coterie.constraints._reading import is_missing
from coterie.exceptions import CoterieWarning, ParameterError
from coterie.relational._records.columns import ComparedColumn, Records
from coterie.relational._records.pairs import distinct_pairs, numbered, with_following

_WINDOW = 10  # within blocks that are too large, and of nearest rows
_RARE_WORDS = 3  # of a text
_MOST_REPEATED = 10  # rows of a value, on average, in a column whose keys make blocks

Blocks = Mapping[Any, Sequence[int] | Index]  # the rows of each key


def user_keys(records: Records, key: Any) -> list[Any]:
    """The user's key of each row; None: no key."""
    cells = {
        column.name: [None if at < 0 else column.values[at] for at in column.code.tolist()]
        for column in records.columns
    }
    if not callable(key) and key not in cells:
        raise ParameterError(
            f"the key {key!r} is no column that is compared; these are {', '.join(map(repr, cells))}. "
            "Name one of them, or give a function of the row's values.",
            "blocking",
        )
    keys = [key(*row) for row in zip(*cells.values(), strict=True)] if callable(key) else cells[key]
    blank = records.blank.tolist()
    return [None if blank[at] or is_missing(one) or one == "" else one for at, one in enumerate(keys)]


def user_blocks(records: Records, key: Any) -> tuple[str, Blocks]:
    """Blocks of rows with equal keys, and what they are for messages."""
    keys = user_keys(records, key)
    return "the block of key", _blocks((row, key) for row, key in enumerate(keys) if key is not None)


def usual_blocks(records: Records) -> Iterator[tuple[str, Blocks]]:
    """Blocks by the keys that suit the comparator of each column, one kind of key after another."""
    texts = [column for column in records.columns if column.comparator != "number"]
    # a value that many rows repeat, such as a city, says little about who is who
    telling = [c for c in texts if _MOST_REPEATED * len(c.values) >= np.count_nonzero(c.code >= 0)]
    for column in telling or texts or records.columns:
        code = column.code.tolist()
        for keys in _usual_keys(column):
            entries = ((row, key) for row, at in enumerate(code) if at >= 0 for key in keys[at])
            yield f"column {column.name!r}: the block of key", _blocks(entries)


def _blocks(entries: Iterable[tuple[int, Any]]) -> Blocks:
    blocks: dict[Any, list[int]] = {}
    for row, key in entries:
        try:
            blocks.setdefault(key, []).append(row)
        except TypeError:
            raise TypeError(f"the key {key!r} of row {row} cannot be hashed; return a tuple.") from None
    return blocks


def _usual_keys(column: ComparedColumn) -> list[list[list[Any]]]:
    """Kinds of keys: for each, the keys of every value."""
    if column.comparator == "person-name":
        # first initial with the start of the surname, and with its end; a lone surname meets every initial
        every = sorted({name.given[0][0] if name.given else "" for name in column.names})
        initials = [[name.given[0][0]] if name.given else every for name in column.names]
        surnames = [name.surname.replace(" ", "") for name in column.names]
        named = list(zip(surnames, initials, strict=True))
        return [
            [[(initial, surname[:3]) for initial in own] for surname, own in named],
            [[(initial, surname[-3:]) for initial in own] for surname, own in named],
        ]
    if column.comparator in ("soft-tfidf", "tokens"):
        # the starts of the rarest words that others share
        starts = [{word[:5] for word in text.split()} for text in column.plain]
        count = Counter(word for words in starts for word in words)
        shared = [sorted((count[word], word) for word in words if count[word] > 1) for words in starts]
        return [[[word for _, word in words[:_RARE_WORDS]] for words in shared]]
    if column.comparator == "jaro-winkler":
        letters = [text.replace(" ", "") for text in column.plain]
        return [[[text[:4]] for text in letters], [[text[-4:]] for text in letters]]
    return [[[value] for value in column.values]]


def pairs_in_blocks(
    records: Records, kinds: Iterable[tuple[str, Blocks]], most: int, *, warn: bool = True
) -> Index:
    """Pairs of rows that share a block; only near ones in sorted order where it has more than `most` rows."""
    place = row_places(records)

    def found() -> Iterator[tuple[Index, Index]]:
        for what, blocks in kinds:
            sizes = np.array([len(rows) for rows in blocks.values()], dtype=np.int64)
            if warn and sizes.max(initial=0) > most:
                worst, n_more = int(sizes.argmax()), int((sizes > most).sum()) - 1
                others = f", and {count_of(n_more, 'other block')} are too large" if n_more else ""
                warn_user(
                    f"{what} {list(blocks)[worst]!r} holds {sizes[worst]:,} distinct records{others} "
                    f"(max_block={most:,}): there, records are compared with their neighbours in sorted "
                    "order only. Take keys that tell more apart, or raise max_block.",
                    CoterieWarning,
                )
            rows = np.concatenate([np.empty(0, dtype=np.int64), *map(np.asarray, blocks.values())])
            block = np.repeat(np.arange(len(sizes)), sizes)
            rows = rows[np.lexsort((place[rows], block))]
            furthest = np.where(sizes > most, _WINDOW - 1, most)
            n_after = np.cumsum(sizes)[block] - 1 - np.arange(len(rows))
            yield from with_following(rows, np.minimum(n_after, furthest[block]))

    return distinct_pairs(found(), len(records.first))


def row_places(records: Records) -> Index:
    """The place of each row in the sorted table: surnames first, numbers by size, missing values last."""
    ranks = []
    for column in records.columns:
        by: list[Any] = column.standard_numbers.tolist() if column.comparator == "number" else column.plain
        rank, distinct = numbered(by)
        ranks.append(np.append(rank, len(distinct))[column.code])
    place = np.empty(len(records.first), dtype=np.int64)
    place[np.lexsort(ranks[::-1])] = np.arange(len(place))
    return place


def nearest_rows(records: Records, rows: Index) -> Index:
    """Each row with its nearest ones, all columns being numbers; a missing number stands at the mean."""
    numbers = [
        np.sqrt(column.weight) * np.append(column.standard_numbers, 0.0)[column.code[rows]]
        for column in records.columns
    ]
    one, other = kneighbors_graph(np.column_stack(numbers), _WINDOW - 1).nonzero()
    return distinct_pairs([(rows[one], rows[other])], len(records.first))
