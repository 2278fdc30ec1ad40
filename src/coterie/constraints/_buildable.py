"""The ways to build `Constraints`: from pairs, labels, groups, tables, matrices, files, and by sampling.

`Buildable` is the parent of `Constraints` and holds what every way ends in: five fields, set once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from coterie.constraints import _build, _sample
from coterie.constraints._files import read_file
from coterie.constraints._frames import frame_columns
from coterie.constraints._inputs import (
    Ids,
    check_range,
    drop_self_pairs,
    infer_n_items,
    item_name,
    read_confidence,
    read_hard,
    read_pairs,
    read_source,
    read_weight,
)
from coterie.constraints._statements import (
    CANNOT_LINK,
    MUST_LINK,
    NO_PAIRS,
    Group,
    Pairs,
    canonical,
    merge_groups,
)


class Buildable:
    """The fields of `Constraints`, and the ways to fill them."""

    _n_items: int
    _must: Pairs
    _cannot: Pairs
    _groups: tuple[Group, ...]
    _ids: Ids | None

    def __init__(
        self,
        must_link: Any = None,
        cannot_link: Any = None,
        *,
        n_items: int | None = None,
        weight: Any = None,
        confidence: Any = None,
        hard: Any = None,
        source: Any = None,
        ids: Any = None,
    ) -> None:
        names = None if ids is None else Ids(ids)
        must, cannot = (
            read_pairs(must_link, "must_link", names),
            read_pairs(cannot_link, "cannot_link", names),
        )
        n = infer_n_items(n_items, names, must, cannot)
        check_range(must, n, lambda row: f"must_link row {row}")
        check_range(cannot, n, lambda row: f"cannot_link row {row}")
        m, total = len(must), len(must) + len(cannot)

        def pair_name(row: int) -> str:
            kind, (i, j) = (MUST_LINK, must[row]) if row < m else (CANNOT_LINK, cannot[row - m])
            return f"{kind} ({item_name(names, i)}, {item_name(names, j)})"

        every = Pairs(
            np.concatenate([must, cannot]),
            read_weight(weight, total, pair_name),
            read_confidence(confidence, total, pair_name),
            read_hard(hard, total),
            *read_source(source, total),
        )
        tables = []
        for kind, name, part in (
            (MUST_LINK, "must_link", slice(0, m)),
            (CANNOT_LINK, "cannot_link", slice(m, None)),
        ):
            pairs = drop_self_pairs(every.take(part), kind, names, f"{name} row {{}}".format)
            tables.append(canonical(pairs, "sum"))
        self._set(n, tables[0], tables[1], (), names)

    def _set(
        self, n_items: int, must: Pairs, cannot: Pairs, groups: Sequence[Group], ids: Ids | None
    ) -> None:
        for name, value in (
            ("_n_items", n_items),
            ("_must", must),
            ("_cannot", cannot),
            ("_groups", tuple(groups)),
            ("_ids", ids),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def _from_parts(
        cls, n_items: int, must: Pairs, cannot: Pairs, groups: Sequence[Group], ids: Ids | None
    ) -> Self:
        """Build from canonical parts, unchecked."""
        new = cls.__new__(cls)
        new._set(n_items, must, cannot, groups, ids)
        return new

    @classmethod
    def from_labels(
        cls, y: Any, *, weight: float | None = None, source: str | None = None, ids: Any = None
    ) -> Self:
        """Partial labels: equal labels together, different labels apart; -1 (or None, NaN) is unknown.

        Kept as one group, never as pairs. Hard unless a weight is given. The names of two label statements
        have nothing to do with each other: one person's "a" need not be another's.

        Examples
        --------
        >>> from coterie import Constraints
        >>> Constraints.from_labels([0, 0, 1, -1, -1])
        Constraints(5 items: 3 labelled in 2 classes)
        """
        return cls._from_group("label", y, weight, source, ids, "y")

    @classmethod
    def distinct(
        cls, groups: Any, *, weight: float | None = None, source: str | None = None, ids: Any = None
    ) -> Self:
        """At most one item of each group in a cluster, such as one record per source or one face per frame.

        `groups` has one value per item; -1, None or NaN: in no group. Hard unless a weight is given.

        Examples
        --------
        >>> from coterie import Constraints
        >>> Constraints.distinct(["a", "a", "b", "b", None]).check(n_clusters=2).status
        'feasible'
        """
        return cls._from_group("distinct", groups, weight, source, ids, "groups")

    @classmethod
    def across(
        cls, groups: Any, *, weight: float | None = None, source: str | None = None, ids: Any = None
    ) -> Self:
        """Items of different groups never share a cluster. `groups` as in `distinct`.

        Examples
        --------
        >>> from coterie import Constraints
        >>> Constraints.across(["north", "north", "south"]).check(n_clusters=1).status
        'infeasible'
        """
        return cls._from_group("across", groups, weight, source, ids, "groups")

    @classmethod
    def _from_group(
        cls, kind: Any, values: Any, weight: float | None, source: str | None, ids: Any, name: str
    ) -> Self:
        n_items, group = _build.group_statement(kind, values, weight, source, name)
        names = None if ids is None else Ids(ids)
        infer_n_items(n_items, names)
        return cls._from_parts(n_items, NO_PAIRS, NO_PAIRS, (group,) if len(group.items) else (), names)

    @classmethod
    def from_frame(cls, frame: Any, *, ids: Any = None, n_items: int | None = None) -> Self:
        """Read a data frame of any library with the columns `i`, `j` and `kind`.

        `kind` is must-link (or ml) or cannot-link (or cl); `weight`, `confidence`, `hard` and `source` may
        follow. A group takes one row per item: `i`, `kind` (label, distinct or across) and `group`; a
        column `set` tells several groups of one kind apart.
        """
        columns = frame_columns(frame)
        numbers = range(len(next(iter(columns.values()), [])))
        names = None if ids is None else Ids(ids)
        parts = _build.from_columns(columns, names, n_items, place="row", row_numbers=numbers, text=False)
        return cls._from_parts(*parts[:3], merge_groups(parts[3], "sum"), parts[4])

    @classmethod
    def from_matrix(cls, matrix: Any, *, ids: Any = None) -> Self:
        """Read a square matrix, sparse or dense: positive entries are must-links, negative ones cannot-links.

        The size of an entry is its weight. Symmetric, or one triangle only.
        """
        n_items, must, cannot = _build.from_matrix(matrix)
        names = None if ids is None else Ids(ids)
        infer_n_items(n_items, names)
        return cls._from_parts(n_items, must, cannot, (), names)

    @classmethod
    def read(cls, path: Any, *, ids: Any = None, n_items: int | None = None) -> Self:
        """Read a file (.csv, .json, .parquet) with the columns of `from_frame`.

        Items are named by row number, or by your own ids if `ids` holds the id of each row.
        """
        parts = read_file(path, None if ids is None else Ids(ids), n_items)
        return cls._from_parts(*parts[:3], merge_groups(parts[3], "sum"), parts[4])

    @classmethod
    def sample(
        cls,
        y: Any,
        n_pairs: int,
        *,
        how: _sample.How = "random",
        noise: float = 0.0,
        n_clusters: int | None = None,
        random_state: Any = None,
    ) -> Self:
        """Draw pairs from a known labelling (-1: unknown), as experiments do.

        Parameters
        ----------
        y : array of shape (n_items,)
            The labels.
        n_pairs : int
            How many different pairs to draw.
        how : {"random", "balanced", "easy"}
            Any pairs; as many must-links as cannot-links; or only pairs with which greedy clustering into
            `n_clusters` (by default the number of classes) cannot get stuck.
        noise : float
            Share of the pairs that is turned into its opposite.
        n_clusters : int, optional
            For "easy".
        random_state : int or generator, optional
            Seed.
        """
        n_items, (pairs, must) = _sample.sample_pairs(y, n_pairs, how, noise, n_clusters, random_state)
        return cls(pairs[must], pairs[~must], n_items=n_items)

    @classmethod
    def sample_chunklets(cls, y: Any, n_chunklets: int, size: int = 2, *, random_state: Any = None) -> Self:
        """Draw disjoint sets of `size` items of one class, each tied together by must-links."""
        n_items, pairs = _sample.sample_chunklets(y, n_chunklets, size, random_state)
        return cls(pairs, n_items=n_items)

    @classmethod
    def sample_teachers(cls, y: Any, n_teachers: int, n_seen: int = 5, *, random_state: Any = None) -> Self:
        """Let teachers each sort a random subset of `n_seen` items by class, and state all pairs of it."""
        n_items, (pairs, must), who = _sample.sample_teachers(y, n_teachers, n_seen, random_state)
        order = np.concatenate([np.flatnonzero(must), np.flatnonzero(~must)])
        return cls(pairs[must], pairs[~must], n_items=n_items, source=[who[row] for row in order.tolist()])
