"""The ways to build `Constraints`: from pairs, labels, groups, tables, matrices, files, and by sampling.

`Buildable` is the parent of `Constraints` and holds what every way ends in: five fields, set once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from coterie.constraints._model.frozen_items import FrozenItems
from coterie.constraints._model.statements import CANNOT_LINK, MUST_LINK, NO_PAIRS, Group, Pairs, canonical
from coterie.constraints._reading import build as _build
from coterie.constraints._reading import sample as _sample
from coterie.constraints._reading.files import read_file
from coterie.constraints._reading.frames import frame_columns
from coterie.constraints._reading.inputs import (
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
    row_names,
)

Names = _build.Names


class Buildable(FrozenItems):
    """The fields of `Constraints`, and the ways to fill them."""

    _fields = ("_n_items", "_must", "_cannot", "_groups", "_ids")
    _must: Pairs
    _cannot: Pairs
    _groups: tuple[Group, ...]

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
        must = read_pairs(must_link, "must_link", names)
        cannot = read_pairs(cannot_link, "cannot_link", names)
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
        for kind, part in ((MUST_LINK, slice(0, m)), (CANNOT_LINK, slice(m, None))):
            where = f"{kind.replace('-', '_')} row {{}}".format
            tables.append(canonical(drop_self_pairs(every.take(part), kind, names, where), "sum"))
        self._set(n, tables[0], tables[1], (), names)

    def _set(
        self, n_items: int, must: Pairs, cannot: Pairs, groups: Sequence[Group], ids: Ids | None
    ) -> None:
        super()._set(n_items, must, cannot, tuple(groups), ids)

    @classmethod
    def from_labels(
        cls, y: Any, *, weight: float | None = None, source: str | None = None, ids: Any = None
    ) -> Self:
        """Partial labels: equal labels together, different labels apart; -1 (or None, NaN) is unknown.

        Kept as one group, never as pairs. Hard unless a weight is given. The names of two sets of labels
        have nothing to do with each other: one person's "a" need not be another's.

        Examples
        --------
        >>> from coterie import Constraints
        >>> Constraints.from_labels([0, 0, 1, -1, -1])
        Constraints(5 items: 3 labelled in 2 classes (0: 0, 1: 0, 2: 1))
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
        index = row_names(values) if ids is None else None  # labels of a series carry its names
        ids = index if index is not None and index.is_unique else ids
        names = None if ids is None else Ids(ids)
        infer_n_items(n_items, names)
        return cls._from_parts(n_items, NO_PAIRS, NO_PAIRS, (group,) if len(group.items) else (), names)

    @classmethod
    def from_frame(
        cls, frame: Any, *, ids: Any = None, n_items: int | None = None, columns: Names = None
    ) -> Self:
        """Read a data frame of any library with the columns `i`, `j` and `kind`.

        `kind` is must-link (or ml, same, 1) or cannot-link (or cl, different, -1); `weight`, `confidence`,
        `hard` and `source` may follow. A group takes one row per item: `i`, `kind` (label, distinct or
        across) and `group`; a column `set` tells several groups of one kind apart. Where your columns have
        other names, `columns` says which is which: ``columns={"left": "i", "right": "j"}``.
        """
        cells = _build.renamed(frame_columns(frame), columns)
        return cls._from_parts(*_build.from_columns(cells, None if ids is None else Ids(ids), n_items))

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
    def from_sequence(
        cls,
        track_ids: Any,
        *,
        time: Any = None,
        gap: Any = None,
        weight: float | None = None,
        confidence: float | None = None,
        hard: bool = False,
    ) -> Self:
        """Must-links along tracks: what was seen on one track within a short time belongs together.

        Items of one track, ordered by time, are linked one to the next if at most `gap` lies between them. So
        a face that is followed through a film, or a sensor that is read again and again, gives one
        chunklet a stretch without a break.

        Parameters
        ----------
        track_ids : array of shape (n_items,)
            The track of each item; -1, None or NaN: on none.
        time : array of shape (n_items,), optional
            Numbers or dates (``datetime64``). By default the row number.
        gap : number or timedelta, optional
            The longest time between two items that are linked; with dates a timedelta. None: any, so that a
            track is one chain.
        weight, confidence, hard : optional
            Of every link, as in the constructor.

        Examples
        --------
        >>> from coterie import Constraints
        >>> tracks = ["ann", "bob", "ann", "ann", None, "bob"]
        >>> Constraints.from_sequence(tracks).must_link.tolist()
        [[0, 2], [1, 5], [2, 3]]
        >>> Constraints.from_sequence(tracks, time=[0, 0, 1, 7, 7, 8], gap=2).must_link.tolist()
        [[0, 2]]
        """
        n_items, pairs = _sample.sequence_links(track_ids, time, gap)
        return cls(pairs, n_items=n_items, weight=weight, confidence=confidence, hard=hard)

    @classmethod
    def read(cls, path: Any, *, ids: Any = None, n_items: int | None = None, columns: Names = None) -> Self:
        """Read a file (.csv, .json, .parquet) with the columns of `from_frame`.

        Items are named by row number, or by your own ids if `ids` holds the id of each row. Cells of a CSV
        end at commas, semicolons or tabs; JSON is what `write` makes, or an array of records. `columns` as in
        `from_frame`.
        """
        return cls._from_parts(*read_file(path, None if ids is None else Ids(ids), n_items, columns))

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

    @classmethod
    def sample_disjoint(
        cls,
        y: Any,
        fraction: float = 0.5,
        *,
        flip: float = 0.0,
        state_confidence: bool = False,
        random_state: Any = None,
    ) -> Self:
        """Draw pairs of which no two share an item, some of them wrong (the book, chapter 4, experiment 1).

        Parameters
        ----------
        y : array of shape (n_items,)
            The labels; -1: unknown.
        fraction : float, default 0.5
            Share of the labelled items that are in a pair.
        flip : float, default 0.0
            Probability, for each pair by itself, that it states the opposite. (The `noise` of `sample` is an
            exact share.)
        state_confidence : bool, default False
            State the confidence ``1 - flip`` with every pair; `flip` must then be below 0.5.
        random_state : int or generator, optional
            Seed.

        Examples
        --------
        >>> from coterie import Constraints
        >>> y = [0, 0, 0, 1, 1, 1, 2, 2]
        >>> known = Constraints.sample_disjoint(y, flip=0.15, state_confidence=True, random_state=0)
        >>> known.n_pairs, len(known.constrained_items)
        (2, 4)
        """
        if state_confidence and _sample.is_share(flip) and flip >= 0.5:
            raise ValueError(
                f"with flip={flip} a pair is no more likely to be true than false, so there is no confidence "
                "to state; flip must be below 0.5."
            )
        n_items, (pairs, must) = _sample.sample_disjoint(y, fraction, flip, random_state)
        confidence = 1.0 - flip if state_confidence else None
        return cls(pairs[must], pairs[~must], n_items=n_items, confidence=confidence)

    @classmethod
    def sample_class_sets(
        cls,
        sets: Any,
        fanout: int = 6,
        *,
        n_stars: int | None = None,
        hard: bool = False,
        random_state: Any = None,
    ) -> Self:
        """Draw cannot-links between sets of classes, as stars (the book, chapter 4, experiment 2).

        Known is not the class of an item but a set that its class is in: snow or not, say. An item of the
        smallest set is held apart from `fanout` items of the others; no two stars share an item. (`across`
        states all of it at once.)

        Parameters
        ----------
        sets : array of shape (n_items,)
            The set of each item; -1, None or NaN: unknown.
        fanout : int, default 6
            Cannot-links of a star.
        n_stars : int, optional
            Number of stars. By default as many as there can be.
        hard : bool, default False
            Whether a soft method must obey them too.
        random_state : int or generator, optional
            Seed.

        Examples
        --------
        >>> from coterie import Constraints
        >>> sets = ["snow"] * 12 + ["rock"] * 2
        >>> Constraints.sample_class_sets(sets, random_state=0)
        Constraints(14 items: 12 cannot-links (0-12, 1-12, 2-12, ...))
        """
        n_items, pairs = _sample.sample_class_sets(sets, fanout, n_stars, random_state)
        return cls(None, pairs, n_items=n_items, hard=hard)
