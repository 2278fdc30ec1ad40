"""Scores of what was predicted, and the rule by which a method is chosen.

The score is the share of held-out must-links that came out together and the share of held-out cannot-links
that came out apart, each counted half, so that neither "all together" nor "all apart" looks good. Errors are
those of a sample of pairs (or of labelled items); two methods answer the same questions, so their difference
has an error of its own, most often a smaller one than either score. That constraints do harm is a grave thing
to say, and takes two such errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coterie.constraints._model import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Score:
    """A balanced share and its standard error; NaN where a kind has a single question."""

    value: float
    error: float


def balanced(answers: FloatArray, must: BoolArray, owner: IntArray) -> Score:
    """Mean over must-links and over cannot-links, averaged; for the error an owner's questions are one."""
    kinds = [kind for kind in (must, ~must) if kind.any()]
    value = float(np.mean([answers[kind].mean() for kind in kinds]))
    influence = np.zeros(len(answers))
    for kind in kinds:
        n = int(kind.sum())
        if n == 1:
            return Score(value, float("nan"))
        influence[kind] = (answers[kind] - answers[kind].mean()) / (len(kinds) * np.sqrt(n * (n - 1.0)))
    by_owner = np.bincount(np.unique(owner, return_inverse=True)[1], influence)
    return Score(value, float(np.sqrt((by_owner**2).sum())))


def f_measures(answers: FloatArray, must: BoolArray) -> tuple[FloatArray, FloatArray]:
    """The pairwise F-measure of each row of answers, and the influence of each question on it.

    F = 2 tp / (2 tp + fp + fn) of "these two are together" sees what many cannot-links hide: of k even
    classes, k - 1 clusters lose 1 / (k + 1) of F, and 1 / (k (k - 1)) of the balanced share. The norm of the
    influence is the standard error (delta method), that of a difference the error of the difference.
    """
    hits, wrong = 2.0 * (answers * must), 1.0 - answers
    whole = np.maximum((hits + wrong).sum(axis=1, keepdims=True), 1e-12)
    found: FloatArray = hits.sum(axis=1, keepdims=True) / whole
    return found[:, 0], (hits - found * (hits + wrong)) / whole


def far_better(first: FloatArray, second: FloatArray, must: BoolArray, owner: IntArray) -> bool:
    """Whether better by two standard errors and, since few pairs alike have none, by three pairs in all."""
    difference = balanced(first - second, must, owner)
    inverse = np.unique(owner, return_inverse=True)[1]
    more = (np.bincount(inverse, first - second) / np.bincount(inverse)).sum()
    return bool(difference.value > 2 * difference.error * (1 + 1e-9) + 1e-12 and more >= 3 - 1e-9)


def choose_best(answers: Sequence[FloatArray], plain: int | None, must: BoolArray, owner: IntArray) -> int:
    """The best score, of equal ones the first; plain clustering only if far better than each other one."""
    informed = [number for number in range(len(answers)) if number != plain]
    if plain is not None and all(far_better(answers[plain], answers[one], must, owner) for one in informed):
        return plain
    # rounded, so that the order of a sum does not decide
    return max(informed, key=lambda one: (round(balanced(answers[one], must, owner).value, 9), -one))
