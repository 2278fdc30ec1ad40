"""`EitherOr`: triples (i, j, g) that say: i is with j or with g, and j and g are apart.

Source: Demiriz, Bennett and Bradley, problem (9.8) of the book's chapter 9. The inequality printed there
would force all three together; meant is T_ih <= T_jh + T_gh and T_jh + T_gh <= 1 for every cluster h.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._words import count_of
from coterie.constraints._model.algebra import row_numbers
from coterie.constraints._model.frozen_items import FrozenItems
from coterie.constraints._model.statements import IntArray, frozen
from coterie.constraints._model.violations import labels_of
from coterie.constraints._reading.inputs import Ids, check_range, infer_n_items, read_pairs


class EitherOr(FrozenItems):
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

    _fields = ("_triples", "_n_items", "_ids")
    _triples: IntArray

    def __init__(self, triples: Any = None, n_items: int | None = None, *, ids: Any = None) -> None:
        names = None if ids is None else Ids(ids)
        read = read_pairs(triples, "triples", names, width=3)
        n = infer_n_items(n_items, names, read)
        check_range(read, n, "triples row {}".format)
        i, j, g = read.T
        twice = np.flatnonzero((i == j) | (i == g) | (j == g))
        if len(twice):
            items = read[twice[0]].tolist()
            named = tuple(items if names is None else names.values[items].tolist())
            raise ValueError(
                f"triples row {twice[0]} is {named!r}: an item stands in it twice; name three items."
            )
        self._set(read, n, names)

    def _set(self, triples: IntArray, n_items: int, ids: Ids | None) -> None:
        # the second and third item in order: which of them is first says nothing
        ordered = np.column_stack([triples[:, :1], np.sort(triples[:, 1:], axis=1)])
        super()._set(frozen(np.unique(ordered, axis=0).reshape(-1, 3)), n_items, ids)

    @property
    def triples(self) -> IntArray:
        """The triples (i, j, g), shape (m, 3), j < g, sorted."""
        return self._triples

    @property
    def n_triples(self) -> int:
        """Number of triples."""
        return len(self._triples)

    def must_apart(self) -> IntArray:
        """The pairs (j, g) that must be apart, shape (m', 2), each once."""
        return np.unique(self._triples[:, 1:], axis=0).reshape(-1, 2)

    def violations(self, labels: Any) -> IntArray:
        """The triples that a labelling breaks; one of whose items is in no cluster (-1) is broken."""
        found = labels_of(self, labels)[self._triples]
        i, j, g = found.T
        met = (found >= 0).all(axis=1) & (j != g) & ((i == j) | (i == g))
        return self._triples[~met]

    def __getitem__(self, rows: Any) -> EitherOr:
        """The triples among the given rows (numbers, mask or slice), renumbered."""
        chosen = row_numbers(rows, self._n_items)
        number = np.full(self._n_items, -1, dtype=np.int64)
        number[chosen] = np.arange(len(chosen))
        renumbered = number[self._triples]
        ids = None if self._ids is None else self._ids.take(chosen)
        return self._from_parts(renumbered[(renumbered >= 0).all(axis=1)], len(chosen), ids)

    def __bool__(self) -> bool:
        """Whether anything is stated."""
        return self.n_triples > 0

    def __repr__(self) -> str:
        phrases = count_of(self.n_triples, "triple") if self else "nothing known"
        return f"EitherOr({count_of(self._n_items, 'item')}: {phrases})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EitherOr):
            return NotImplemented
        return self._n_items == other._n_items and np.array_equal(self._triples, other._triples)

    def __hash__(self) -> int:
        return hash((self._n_items, self._triples.tobytes()))
