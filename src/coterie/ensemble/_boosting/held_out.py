"""Do rounds help? Pairs that were held out say it.

Items are held out, with all their pairs: of an item that is still named somewhere the rest says too much.
Items that pairs tie together stay together as far as folds of one size allow, so that few pairs are lost to
both sides.

Few pairs say it by chance, too: what one pair says decides nothing. (To ask for a standard error was tried:
it spares little more harm, and costs gains where some pairs are wrong.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie._arrays import Labels
from coterie.constraints._model import StatedPairs
from coterie.ensemble._boosting.pair_loss import PairLoss

# How many pairs rounds must mend at least; a little more, so that rounding does not count.
_MORE = 1.0 + 1e-9


def rounds_help(
    pairs: StatedPairs, n_folds: int, alone: Labels, boosted: Callable[[PairLoss], Any], seed: int
) -> bool:
    """Whether labels boosted without a fold break less of it, over all folds, by more than one pair."""
    folds = list(folds_of(pairs, n_folds, seed))
    once = replace(pairs, strength=pairs.strength / np.sum(folds, axis=0))  # a pair may be in two folds
    missing, less = PairLoss(pairs).missing, 0.0
    for held in folds:
        loss, judge = PairLoss(pairs.take(~held)), PairLoss(once.take(held))
        found = boosted(loss) if loss.n_pairs else None
        if found is not None:
            less += judge.strength_broken(alone, missing) - judge.strength_broken(found, missing)
    return less > _MORE * float(pairs.strength.max())


def folds_of(pairs: StatedPairs, n_folds: int, seed: int) -> Iterator[Any]:
    """Which pairs are held out: all but those between items that are kept."""
    rng = np.random.default_rng(seed)
    items, ends = np.unique(pairs.ij, return_inverse=True)
    i, j = ends.reshape(pairs.ij.shape).T
    m = len(items)
    n_folds = min(n_folds, m)
    component = connected_components(sparse.coo_matrix((np.ones(len(i)), (i, j)), (m, m)), directed=False)[1]
    place = rng.permutation(m)[component]  # components in random order, and items in each of them
    fold = np.empty(m, dtype=np.int64)
    fold[np.lexsort((rng.permutation(m), place))] = np.arange(m) * n_folds // m
    for number in range(n_folds):
        yield (fold[i] == number) | (fold[j] == number)
