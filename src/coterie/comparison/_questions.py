"""What is held out: pairs, or labels where nothing else is known, turned into questions with one answer each.

A question is a held-out pair ("are these two together?"), or a hidden label: how many of its class is the
item with, and how many of the other classes is it apart from? A fold keeps some constraints and asks about
the others; over all folds of a repeat each is asked at most once, and not where it follows from what is kept:
joined by must-links, or a cannot-link between joined items. With two clusters every chain of constraints
settles how its ends stand (apart from the same item is together), so that only items that no chain joins are
asked about: hard methods would know the rest by heart. The cost is linear in what was stated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.constraints import Constraints, Group
from coterie.constraints._model import BoolArray, FloatArray, IntArray, find_rows, join, label_chains
from coterie.constraints._reading import as_generator

Labels = NDArray[Any]


@dataclass(frozen=True)
class Fold:
    """What is kept, the numbers of the questions asked, and how a labelling answers them (1: as stated)."""

    kept: Constraints
    asked: IntArray
    answers: Callable[[Labels], FloatArray]


@dataclass(frozen=True)
class Questions:
    """All questions of a comparison."""

    must: BoolArray  # whether the constraint behind a question puts items together
    owner: IntArray  # questions of one owner (a pair, or a hidden label's item) stand and fall together
    what: str  # what is held out, in the plural
    folds: Callable[[int, Any], Iterator[Fold]]  # those of one repeat, by their number and a seed

    @property
    def n_owners(self) -> int:
        """How many pairs or labels there are to hold out."""
        return len(np.unique(self.owner))


def find_questions(known: Constraints, n_clusters: int) -> Questions:
    """Questions about the pairs; about the labels if labels are all there is to hold out."""
    settles = _chained if n_clusters == 2 else _unchained
    if known.n_pairs:
        return _about_pairs(known, settles)
    labels = [group for group in known.groups if group.kind == "label" and group.active]
    if labels:
        return _about_labels(known, labels, settles)
    stated = f"; {' and '.join(sorted(known.kinds))} constraints are never held out" if known.kinds else ""
    raise ValueError(
        f"compare holds out pairs or labels and has the methods predict them, but none are given{stated}. "
        "Give some must-links and cannot-links, or labels."
    )


def ask_everything(known: Constraints) -> tuple[Constraints, Callable[[Labels], FloatArray], BoolArray]:
    """Hold out all pairs and labels: what is kept, the answers of a labelling, which are of must-links."""
    together, apart = (table.ij[table.active] for table in (known.must_table, known.cannot_table))
    groups = [group for group in known.groups if group.kind == "label" and group.active]
    parts = [_LabelAnswers(group, np.arange(len(group.items))) for group in groups]
    none = [table.take(np.zeros(table.n, dtype=bool)) for table in (known.must_table, known.cannot_table)]
    rest = [group for group in known.groups if group.kind != "label"]
    kept = type(known)._from_parts(known.n_items, *none, rest, known._ids)
    n_of_kinds = [len(together), len(apart)] + [n for one in parts for n in (len(one.alike), len(one.others))]

    def answers(labels: Labels) -> FloatArray:
        return np.concatenate([_pair_answers(together, apart, labels), *(part(labels) for part in parts)])

    return kept, answers, np.repeat(np.arange(len(n_of_kinds)) % 2 == 0, n_of_kinds)


def _unchained(kept: Constraints) -> IntArray:
    """Every item on its own."""
    return np.arange(kept.n_items, dtype=np.int64)


def _chained(kept: Constraints) -> IntArray:
    """Number of the chain of constraints that each item is in; two clusters leave no choice inside one.

    Wrong constraints may settle a pair both ways. It is not asked either: else only those that contradict the
    rest would be.
    """
    active = [table.ij[table.active] for table in (kept.must_table, kept.cannot_table)]
    left, right = [ij[:, 0] for ij in active], [ij[:, 1] for ij in active]
    for group in kept.groups:
        if not group.active or (group.kind == "across" and group.n_codes < 2):
            continue
        # of two codes that are apart, each holds the other together
        whole = group.items[:-1], group.items[1:]
        first, second = label_chains(group) if group.kind == "distinct" else whole
        left.append(first)
        right.append(second)
    return join(kept.n_items, np.concatenate(left), np.concatenate(right))


# ---- pairs --------------------------------------------------------------------------------------------


def _about_pairs(known: Constraints, settles: Callable[[Constraints], IntArray]) -> Questions:
    must, cannot = known.must_table, known.cannot_table
    n = known.n_pairs

    def folds(n_folds: int, seed: Any) -> Iterator[Fold]:
        for kept, held in known.split(n_folds, random_state=seed):
            chain = settles(kept)
            active = (table.ij[table.active] for table in (held.must_table, held.cannot_table))
            together, apart = (ij[chain[ij[:, 0]] != chain[ij[:, 1]]] for ij in active)
            rows = [find_rows(must, together), find_rows(cannot, apart) + must.n]
            yield Fold(kept, np.concatenate(rows), partial(_pair_answers, together, apart))

    return Questions(np.arange(n) < must.n, np.arange(n), "pairs", folds)


def _pair_answers(together: IntArray, apart: IntArray, labels: Labels) -> FloatArray:
    """1 where a pair came out as stated, else 0; an item in no cluster (-1) is apart from all others."""
    first, second = labels[np.concatenate([together, apart])].T
    joined = (first == second) & (first >= 0)
    return np.where(np.arange(len(joined)) < len(together), joined, ~joined).astype(float)


# ---- labels -------------------------------------------------------------------------------------------


def _about_labels(
    known: Constraints, labels: list[Group], settles: Callable[[Constraints], IntArray]
) -> Questions:
    """Two questions a label: is the item with its class, is it apart from the others?

    An item is hidden from all sets of labels at once, so that no other one gives it away.
    """
    entries = [len(group.items) for group in labels]
    item = np.concatenate([group.items for group in labels])
    n = len(item)
    first = np.concatenate([[0], np.cumsum(entries)])

    def folds(n_folds: int, seed: Any) -> Iterator[Fold]:
        fold = _fold_of_items(known.n_items, labels, n_folds, as_generator(seed))
        everything = np.arange(known.n_items)
        for number in range(n_folds):
            hidden = fold == number
            groups = [
                left
                for group in known.groups
                if (left := group if group.kind != "label" else group.take(~hidden, everything)) is not None
            ]
            tables = known.must_table, known.cannot_table
            kept = type(known)._from_parts(known.n_items, *tables, groups, known._ids)
            chain = settles(kept)
            open_ones = hidden & ~np.isin(chain, chain[(fold >= 0) & ~hidden])
            asked = [_LabelAnswers(group, np.flatnonzero(open_ones[group.items])) for group in labels]
            places = [
                np.concatenate([start + one.alike, n + start + one.others])
                for start, one in zip(first[:-1].tolist(), asked, strict=True)
            ]
            yield Fold(kept, np.concatenate(places), partial(_joint_answers, asked))

    return Questions(np.arange(2 * n) < n, np.concatenate([item, item]), "labels", folds)


def _fold_of_items(
    n_items: int, labels: list[Group], n_folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The fold of each labelled item, -1 for the others; the items of a class are dealt out evenly."""
    fold = np.full(n_items, -1, dtype=np.int64)
    dealt = int(rng.integers(n_folds))
    for group in labels:
        shuffled = rng.permutation(len(group.items))
        by_class = shuffled[np.argsort(group.codes[shuffled], kind="stable")]
        new = by_class[fold[group.items[by_class]] < 0]
        fold[group.items[new]] = (dealt + np.arange(len(new))) % n_folds
        dealt += len(new)
    return fold


class _LabelAnswers:
    """Shares of the other labelled items that a hidden one is rightly with, and rightly apart from."""

    def __init__(self, group: Group, hidden: IntArray) -> None:
        self.group = group
        counts = group.counts()[group.codes[hidden]]
        self.alike: IntArray = hidden[counts > 1]  # an item alone in its class has nobody to be with
        self.others: IntArray = hidden[counts < len(group.items)]

    def __call__(self, labels: Labels) -> FloatArray:
        group = self.group
        cluster, at = np.unique(labels[group.items], return_inverse=True)
        table = np.zeros((group.n_codes, len(cluster)))
        np.add.at(table, (group.codes, at), 1.0)
        table[:, cluster < 0] = 0.0
        inside = (cluster >= 0)[at]
        own, alike = table[group.codes, at], group.counts()[group.codes]
        mates = (own - inside)[self.alike] / (alike - 1)[self.alike]
        strangers = (table.sum(axis=0)[at] - own)[self.others] / (len(alike) - alike)[self.others]
        return np.concatenate([mates, 1.0 - strangers])


def _joint_answers(parts: list[_LabelAnswers], labels: Labels) -> FloatArray:
    return np.concatenate([part(labels) for part in parts])
