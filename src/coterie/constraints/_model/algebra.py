"""Constraints out of constraints: unions, rows, folds of pairs. Linear in what was stated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from coterie.constraints._model.statements import BoolArray, IntArray, canonical, merge_groups, stack
from coterie.constraints._reading.inputs import whole_number
from coterie.constraints._reading.sample import as_generator

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints


def combine(a: Constraints, b: Constraints, merge: Literal["sum", "max"]) -> Constraints:
    """The constraints of both; `merge` says what duplicates mean."""
    check_same_items(a, b)
    named = [c._ids for c in (a, b) if c._ids is not None]
    # ids that came in a series know what its frame calls the rows too
    ids = next((ids for ids in named if ids.index is not None), named[0] if named else None)
    return type(a)._from_parts(
        a.n_items,
        canonical(stack(a.must_table, b.must_table), merge),
        canonical(stack(a.cannot_table, b.cannot_table), merge),
        merge_groups([*a.groups, *b.groups], merge),
        ids,
    )


def check_same_items(a: Constraints, b: Constraints) -> None:
    """Raise unless both speak of the same items."""
    if a.n_items != b.n_items:
        raise ValueError(f"cannot combine constraints on {a.n_items} and on {b.n_items} items.")
    if a._ids is not None and b._ids is not None and not a._ids.same_rows(b._ids):
        raise ValueError("cannot combine constraints whose items have different ids.")


def row_numbers(rows: Any, n_items: int) -> IntArray:
    """Rows as whole numbers: from a mask, a slice, or numbers (negative ones count from the end)."""
    if isinstance(rows, tuple):
        if len(rows) != 2 or rows[1] is not Ellipsis:
            raise TypeError(f"constraints have one dimension; index them with a list of rows, got {rows!r}.")
        rows = rows[0]  # scikit-learn indexes arrays of any dimension as x[rows, ...]
    if isinstance(rows, slice):
        return np.arange(n_items, dtype=np.int64)[rows]
    array = np.asarray(rows)
    if array.ndim != 1:
        raise TypeError(f"index constraints with a list of rows, a mask or a slice; got {rows!r}.")
    if array.dtype == np.bool_:
        if len(array) != n_items:
            raise IndexError(f"the mask has length {len(array)}, but there are {n_items} items.")
        return np.flatnonzero(array)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"rows must be whole numbers, a mask or a slice; got {array.dtype} values.")
    array = array.astype(np.int64)
    outside = np.flatnonzero((array < -n_items) | (array >= n_items))
    if len(outside):
        raise IndexError(f"row {array[outside[0]]} is out of range for {n_items} items.")
    array = np.where(array < 0, array + n_items, array)
    unique, counts = np.unique(array, return_counts=True)
    if len(unique) < len(array):
        raise ValueError(
            f"row {unique[counts > 1][0]} is taken more than once; an item cannot be repeated, since its "
            "copies would not be linked (sampling with replacement does this)."
        )
    return array


def take_rows(c: Constraints, rows: Any) -> Constraints:
    """The constraints among some rows, renumbered."""
    chosen = row_numbers(rows, c.n_items)
    number = np.full(c.n_items, -1, dtype=np.int64)
    number[chosen] = np.arange(len(chosen))
    inside = number >= 0
    tables = []
    for table in (c.must_table, c.cannot_table):
        kept = table.take(inside[table.ij].all(axis=1))
        tables.append(canonical(replace(kept, ij=number[kept.ij]), "sum"))
    groups = [part for group in c.groups if (part := group.take(inside, number)) is not None]
    ids = None if c._ids is None else c._ids.take(chosen)
    return type(c)._from_parts(len(chosen), tables[0], tables[1], merge_groups(groups, "sum"), ids)


def split(c: Constraints, n_folds: int, random_state: Any) -> Iterator[tuple[Constraints, Constraints]]:
    """See `Constraints.split`."""
    if whole_number(n_folds, "n_folds", 2) > c.n_pairs:
        raise ValueError(
            f"n_folds={n_folds}, but there are {c.n_pairs} pairs to hold out (groups are not split)."
        )
    fold = as_generator(random_state).permutation(np.arange(c.n_pairs) % n_folds)
    return (_hold_out(c, fold == number) for number in range(n_folds))


def _hold_out(c: Constraints, here: BoolArray) -> tuple[Constraints, Constraints]:
    of_must, of_cannot = here[: c.must_table.n], here[c.must_table.n :]
    kept = (c.must_table.take(~of_must), c.cannot_table.take(~of_cannot))
    train = type(c)._from_parts(c.n_items, *kept, c.groups, c._ids)
    held = c.must_table.take(of_must), c.cannot_table.take(of_cannot)
    known_must, known_cannot = entailed(train, held[0].ij, held[1].ij)
    unknown = (held[0].take(~known_must), held[1].take(~known_cannot))
    return train, type(c)._from_parts(c.n_items, *unknown, (), c._ids)


def entailed(c: Constraints, must: IntArray, cannot: IntArray) -> tuple[BoolArray, BoolArray]:
    """Which of the given pairs follow from the constraints."""
    component, graph = c.components, c.contracted
    joined = component[must[:, 0]] == component[must[:, 1]]
    u, v = component[cannot[:, 0]], component[cannot[:, 1]]
    width = graph.n_components
    stated = np.repeat(np.arange(width), np.diff(graph.indptr)) * width + graph.indices
    apart = np.isin(u * width + v, stated)
    for group in c.groups:
        if not group.active:
            continue
        node = component[group.items]
        if group.kind == "distinct":
            # the codes of u, one row each; is the same code in v?
            held = np.unique(node * group.n_codes + group.codes)
            owner = held // group.n_codes
            first, last = np.searchsorted(owner, u), np.searchsorted(owner, u, side="right")
            row = np.repeat(np.arange(len(u)), last - first)
            at = np.arange(len(row)) - np.repeat(np.cumsum(last - first) - last, last - first)
            shared = np.isin(v[row] * group.n_codes + held[at] % group.n_codes, held)
            apart[row[shared]] = True
        else:
            code_of = np.full(width, -1, dtype=np.int64)
            code_of[node] = group.codes
            apart |= (code_of[u] >= 0) & (code_of[v] >= 0) & (code_of[u] != code_of[v])
    return joined, apart
