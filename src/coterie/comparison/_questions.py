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
    settled = n_clusters == 2
    if known.n_pairs:
        return _about_pairs(known, settled)
    labels = [group for group in known.groups if group.kind == "label" and group.active]
    if labels:
        return _about_labels(known, max(labels, key=lambda group: len(group.items)), settled)
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


def _chains(kept: Constraints, settled: bool) -> IntArray:
    """The chain of constraints that each item is in, where two clusters settle how its ends stand.

    Wrong constraints may settle a pair both ways. It is not asked either: else only those that contradict the
    rest would be.
    """
    if not settled:
        return np.arange(kept.n_items, dtype=np.int64)
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


def _about_pairs(known: Constraints, settled: bool) -> Questions:
    must, cannot = known.must_table, known.cannot_table
    n = known.n_pairs

    def folds(n_folds: int, seed: Any) -> Iterator[Fold]:
        for kept, held in known.split(n_folds, random_state=seed):
            chain = _chains(kept, settled)
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


def _about_labels(known: Constraints, group: Group, settled: bool) -> Questions:
    """Is an item with its class, and apart from others? Its label is hidden in all sets of labels at once."""
    n, everything = len(group.items), np.arange(known.n_items)

    def folds(n_folds: int, seed: Any) -> Iterator[Fold]:
        shuffled = as_generator(seed).permutation(n)
        by_class = shuffled[np.argsort(group.codes[shuffled], kind="stable")]
        fold = np.full(known.n_items, -1)
        fold[group.items[by_class]] = np.arange(n) % n_folds  # a class is dealt out evenly
        for number in range(n_folds):
            hidden = fold == number
            left = [one.take(~hidden, everything) if one.kind == "label" else one for one in known.groups]
            tables = known.must_table, known.cannot_table, [one for one in left if one is not None]
            kept = type(known)._from_parts(known.n_items, *tables, known._ids)
            chain = _chains(kept, settled)
            open_ones = hidden & ~np.isin(chain, chain[(fold >= 0) & ~hidden])
            asked = _LabelAnswers(group, np.flatnonzero(open_ones[group.items]))
            yield Fold(kept, np.concatenate([asked.alike, n + asked.others]), asked)

    return Questions(np.arange(2 * n) < n, np.tile(group.items, 2), "labels", folds)


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
