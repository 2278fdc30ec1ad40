"""Values about n items that cannot be changed: what `Constraints` and `EitherOr` have in common.

The fields are written into `__dict__` once. A copy is the value itself, and a pickle holds the fields, not
what was worked out from them. It has a shape and takes rows, so that scikit-learn hands each fold its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from coterie.constraints._reading.inputs import item_name, row_names

if TYPE_CHECKING:
    from coterie.constraints._reading.inputs import Ids


class FrozenItems(ABC):
    """A frozen value about items, with the user's names of them where there are any."""

    # a loop over items would mean nothing
    __iter__ = None

    _fields: ClassVar[tuple[str, ...]]
    _n_items: int
    _ids: Ids | None

    def _set(self, *values: Any, **_: Any) -> None:
        self.__dict__.update(zip(self._fields, values, strict=True))

    @classmethod
    def _from_parts(cls, *values: Any) -> Self:
        """Build from fields in their final form, unchecked."""
        new = cls.__new__(cls)
        new._set(*values)
        return new

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self._n_items

    @property
    def shape(self) -> tuple[int]:
        """(n_items,), so that scikit-learn hands each fold its own."""
        return (self._n_items,)

    @property
    def ids(self) -> Any:
        """Your name of each item, or None."""
        return None if self._ids is None else self._ids.values

    def item_name(self, item: int) -> str:
        """How messages name an item: its id, else its row number."""
        return item_name(self._ids, item)

    def align(self, names: Any) -> Self:
        """What is known among the items of these names, in their order.

        A `fit` does so by itself where X is a frame whose index names the same items. A search splits by
        position, so that it needs them in the order of X beforehand: ``constraints.align(X.index)``.
        """
        if self._ids is None:
            raise ValueError("these constraints have no ids to find names by; build them with ids=.")
        return self._reordered(self._ids.places(names, "the list of names"))

    def in_order_of(self, X: Any, what: str = "X") -> Self:
        """The same in the order of the rows of X, where both have names; they must be the same names."""
        places = self._places(X, what)
        return self if places is None else self._reordered(places)

    def _places(self, X: Any, what: str) -> Any:
        """The item that each row is, by name; None where one of the two has no names."""
        index = None if self._ids is None else row_names(X)
        if index is None or self._ids is None:
            return None
        places = self._ids.places(index, what)
        if len(places) < self._n_items:
            lost = np.setdiff1d(np.arange(self._n_items), places)[0]
            raise ValueError(
                f"the constraints speak of {self.item_name(lost)}, which is no row of {what}. If it was left "
                "out on purpose, pass constraints.align(X.index)."
            )
        return places

    def _reordered(self, places: Any) -> Self:
        same = len(places) == self._n_items and (places == np.arange(len(places))).all()
        return self if same else self[places]

    @abstractmethod
    def __getitem__(self, rows: Any) -> Self:
        """What holds among some rows."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"{type(self).__name__} cannot be changed; build a new one (tried to set {name!r})."
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed (tried to delete {name!r}).")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self._fields}
