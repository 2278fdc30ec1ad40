"""What is known, as a classifier trains on it: labels as signs in some columns, pairs as numbers.

Each column is a problem of two sides. Only items with a label or in a pair matter; they are numbered anew, in
the order of their rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from coterie._arrays import Floats, Index
from coterie.constraints import Constraints
from coterie.constraints._model import stated_pairs
from coterie.constraints._reading import is_unknown
from coterie.exceptions import ParameterError

_MOST_STRENGTH = 1e30


def read_partial(y: Any, X: Any) -> tuple[Any, Any]:
    """A value for each row, and of which rows y says nothing (-1, None or NaN)."""
    if isinstance(y, list | tuple):
        y = np.asarray(y, dtype=object)  # -1 and NaN among names stay what they are
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    if y.dtype.kind == "O":
        return y, np.array([is_unknown(value) for value in y.tolist()], dtype=bool)
    if y.dtype.kind in "fiu":
        return y, (y == -1) | (y != y)
    return y, np.zeros(len(y), dtype=bool)


def read_labels_of_rows(y: Any, X: Any) -> tuple[Any, Index]:
    """The classes, sorted, and the class of each row; -1 where y says nothing."""
    y, silent = read_partial(y, X)
    told = y[~silent]
    if not len(told):
        raise ValueError(
            "y has no label (-1, None and NaN are none), so that nothing tells which class is which; pairs "
            "alone are for clustering: see PCKMeans."
        )
    try:
        classes, code = np.unique(told, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            "y holds labels of several types; give all classes numbers, or all names."
        ) from error
    if y.dtype.kind == "O":
        classes = np.asarray(classes.tolist())
    if classes.dtype.kind == "U" and np.isin(["-1", "nan"], classes).any():
        raise ValueError(
            "y holds the text '-1' or 'nan', which would be a class: NumPy makes text of -1 and NaN beside "
            "names. Say with None that a label is not known."
        )
    assert_all_finite(classes, input_name="y")
    check_classification_targets(classes)
    if len(classes) == 1:
        raise ValueError(
            f"y has one class only, {classes[0]} (-1, None and NaN: not known); label an item of another "
            "class too: no pair can tell what is not of that class."
        )
    place = np.full(len(y), -1, dtype=np.int64)
    place[~silent] = code
    return classes, place


@dataclass(frozen=True, eq=False)
class Examples:
    """Labels and pairs; items go by their position in `items`."""

    items: Index  # rows of X
    labelled: Index
    sign: Floats  # of each labelled item in each column: 1 or -1
    i: Index
    j: Index
    apart: Any  # which pairs are cannot-links
    strength: Floats  # of each pair, times the weight of all
    opposites: bool  # whether what differs lies on the two sides of the one column

    @classmethod
    def read(cls, place: Index, code: Floats, known: Constraints, weight: float, opposites: bool) -> Examples:
        """From the class of each row (-1: unknown), a row of signs for each class, and constraints."""
        pairs = stated_pairs(known, hard=True, margin=True)
        strength = weight * pairs.strength
        if len(strength) and not strength.max() < _MOST_STRENGTH:
            raise ParameterError(
                f"a pair counts {strength.max():.1g} times what a label counts, which would not be heard "
                f"beside it; give weights below {_MOST_STRENGTH:g}.",
                "weight",
            )
        kept = strength > 0
        labelled = np.flatnonzero(place >= 0)
        items = np.unique(np.concatenate([labelled, pairs.ij[kept].ravel()]))
        number = np.zeros(len(place), dtype=np.int64)
        number[items] = np.arange(len(items))
        i, j = number[pairs.ij[kept]].T
        return cls(
            items=items,
            labelled=number[labelled],
            sign=code[place[labelled]],
            i=i,
            j=j,
            apart=np.asarray(pairs.cannot[kept], dtype=bool),
            strength=strength[kept],
            opposites=opposites,
        )

    def without_pairs(self) -> Examples:
        """The labels alone, with the same numbers."""
        none = {name: getattr(self, name)[:0] for name in ("i", "j", "apart", "strength")}
        same = {name: getattr(self, name) for name in ("items", "labelled", "sign", "opposites")}
        return Examples(**none, **same)

    @cached_property
    def alike(self) -> Any:
        """Which pairs are alike in a column, or opposite: all but cannot-links of one class against all."""
        return ~self.apart | self.opposites

    @cached_property
    def turn(self) -> Floats:
        """-1 for cannot-links, else 1."""
        return np.where(self.apart, -1.0, 1.0)

    def ends(self, which: Any) -> Any:
        """A sparse matrix that adds up the slopes of some pairs, first those of i, then those of j."""
        ends = np.concatenate([self.i[which], self.j[which]])
        shape = (len(self.items), len(ends))
        return sparse.csr_matrix((np.ones(len(ends)), (ends, np.arange(len(ends)))), shape)

    def rows(self) -> Any:
        """A sparse matrix that takes f of the items to that of the labelled ones, then to f_i - c f_j."""
        n, m = len(self.labelled), len(self.i)
        value = np.concatenate([np.ones(n + m), -self.turn])
        row = np.concatenate([np.arange(n + m), np.arange(n, n + m)])
        column = np.concatenate([self.labelled, self.i, self.j])
        return sparse.csr_matrix((value, (row, column)), (n + m, len(self.items)))
