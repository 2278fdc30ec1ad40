"""`EitherOr`: triples (i, j, g) that say: i is with j or with g, and j and g are apart.

Source: Demiriz, Bennett and Bradley, problem (9.8) of the book's chapter 9. The inequality printed there
would force all three together; meant is T_ih <= T_jh + T_gh and T_jh + T_gh <= 1 for every cluster h.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._words import count_of
from coterie.constraints._model.algebra import row_numbers
from coterie.constraints._model.statements import IntArray, frozen
from coterie.constraints._model.violations import check_labels
from coterie.constraints._reading.inputs import Ids, _whole, infer_n_items, item_name

_FORM = "must be a list of triples such as [(0, 1, 2), (5, 3, 4)]"


class EitherOr:
    """Items that are with one of two others, which are apart; immutable.

    Parameters
    ----------
    triples : sequence of triples or array of shape (m, 3)
        (i, j, g): i is with j or with g, and j and g are apart. Row numbers from 0, or ids where `ids` is
        given.
    n_items : int, optional
        Number of items. By default the number of ids, else one more than the largest item named.
    ids : sequence, optional
        Your own name for each item, in row order; messages use them.

    Notes
    -----
    (i, j, g) and (i, g, j) say the same. Triples are kept with j < g, sorted, each once. Ids are remarks:
    `==` and `hash` look at the triples alone.

    Examples
    --------
    >>> from coterie.constraints import EitherOr
    >>> e = EitherOr([(0, 1, 2)], n_items=4)
    >>> e
    EitherOr(4 items: 1 triple)
    >>> e.violations([0, 0, 1, 0]), e.violations([0, 0, 0, 0])
    (array([], shape=(0, 3), dtype=int64), array([[0, 1, 2]]))
    """

    # scikit-learn splits what has a shape and can be indexed; a loop over items would mean nothing
    __iter__ = None

    _triples: IntArray
    _n_items: int
    _ids: Ids | None

    def __init__(self, triples: Any = None, n_items: int | None = None, *, ids: Any = None) -> None:
        names = None if ids is None else Ids(ids)
        read = _read_triples(triples, names)
        n = infer_n_items(n_items, names, read)
        _refuse(
            ((read < 0) | (read >= n)).any(axis=1),
            read,
            f"items are numbered 0 to {n - 1} (n_items={n}). Check the number of items, or whether these are "
            "ids (`ids=`).",
        )
        i, j, g = read.T
        told = [tuple(item_name(names, item) for item in row) for row in read.tolist()] if names else read
        _refuse((i == j) | (i == g) | (j == g), told, "an item stands in it twice; name three items.")
        self._set(read, n, names)

    def _set(self, triples: IntArray, n_items: int, ids: Ids | None) -> None:
        # the second and third item in order: which of them is first says nothing
        ordered = np.column_stack([triples[:, :1], np.sort(triples[:, 1:], axis=1)])
        self.__dict__["_triples"] = frozen(np.unique(ordered, axis=0).reshape(-1, 3))
        self.__dict__["_n_items"] = n_items
        self.__dict__["_ids"] = ids

    @property
    def triples(self) -> IntArray:
        """The triples (i, j, g), shape (m, 3), j < g, sorted."""
        return self._triples

    @property
    def n_triples(self) -> int:
        """Number of triples."""
        return len(self._triples)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self._n_items

    @property
    def shape(self) -> tuple[int]:
        """(n_items,), so that scikit-learn hands each fold its own triples."""
        return (self._n_items,)

    @property
    def ids(self) -> Any:
        """Your name of each item, or None."""
        return None if self._ids is None else self._ids.values

    def item_name(self, item: int) -> str:
        """How messages name an item: its id, else its row number."""
        return item_name(self._ids, item)

    def must_apart(self) -> IntArray:
        """The pairs (j, g) that must be apart, shape (m', 2), each once."""
        return np.unique(self._triples[:, 1:], axis=0).reshape(-1, 2)

    def violations(self, labels: Any) -> IntArray:
        """The triples that a labelling breaks; one of whose items is in no cluster (-1) is broken."""
        found = check_labels(labels, self._n_items)[self._triples]
        i, j, g = found.T
        met = (found >= 0).all(axis=1) & (j != g) & ((i == j) | (i == g))
        return self._triples[~met]

    def __getitem__(self, rows: Any) -> EitherOr:
        """The triples among the given rows (numbers, mask or slice), renumbered."""
        chosen = row_numbers(rows, self._n_items)
        number = np.full(self._n_items, -1, dtype=np.int64)
        number[chosen] = np.arange(len(chosen))
        renumbered = number[self._triples]
        ids = None if self._ids is None else Ids(self._ids.values[chosen])
        return _restore(renumbered[(renumbered >= 0).all(axis=1)], len(chosen), ids)

    def __bool__(self) -> bool:
        """Whether anything is stated."""
        return self.n_triples > 0

    def __repr__(self) -> str:
        said = count_of(self.n_triples, "triple") if self else "nothing known"
        return f"EitherOr({count_of(self._n_items, 'item')}: {said})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EitherOr):
            return NotImplemented
        return self._n_items == other._n_items and np.array_equal(self._triples, other._triples)

    def __hash__(self) -> int:
        return hash((self._n_items, self._triples.tobytes()))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"EitherOr cannot be changed; build a new one (tried to set {name!r}).")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"EitherOr cannot be changed (tried to delete {name!r}).")

    def __copy__(self) -> EitherOr:
        return self

    def __deepcopy__(self, memo: Any) -> EitherOr:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._triples, self._n_items, self._ids)


def _restore(triples: IntArray, n_items: int, ids: Ids | None) -> EitherOr:
    made = EitherOr.__new__(EitherOr)
    made._set(triples, n_items, ids)
    return made


def _read_triples(value: Any, ids: Ids | None) -> IntArray:
    """Turn a list or array of triples into an (m, 3) array of row numbers, not yet checked for range."""
    if value is None:
        return np.empty((0, 3), dtype=np.int64)
    if isinstance(value, str) or hasattr(value, "columns") or not hasattr(value, "__iter__"):
        raise TypeError(f"triples {_FORM}; got {value!r}.")
    rows: Any = value if isinstance(value, np.ndarray) else list(value)
    if not len(rows):
        return np.empty((0, 3), dtype=np.int64)
    for number, row in enumerate(rows):
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 3:
            raise ValueError(f"triples {_FORM}; row {number} is {row!r}.")
    # of a list, objects: what is no number stays as it was and can be named
    array = rows if isinstance(rows, np.ndarray) else np.array([tuple(row) for row in rows], dtype=object)
    if array.ndim != 2:
        raise ValueError(f"triples {_FORM}; got shape {array.shape}.")
    if ids is not None:
        cells = enumerate(array.tolist())
        found = [[ids.row(end, f"triples row {number}") for end in row] for number, row in cells]
        return np.array(found, dtype=np.int64)
    _refuse(
        ~_whole(array).all(axis=1),
        array,
        "items are named by whole row numbers. If these are your own ids, pass `ids=` with the id of every "
        "row.",
    )
    return array.astype(np.int64)


def _refuse(wrong: Any, rows: Any, why: str) -> None:
    """Raise if a triple is wrong, with its row and what it says."""
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        row = rows[at].tolist() if isinstance(rows, np.ndarray) else rows[at]
        raise ValueError(f"triples row {at} is {tuple(row)!r}: {why}")
