"""Do rounds help? Pairs that were held out say it.

Items are held out, with all their pairs: of an item that is still named somewhere the rest says too much.
Items that pairs tie together stay together as far as folds of one size allow, so that few pairs are lost to
both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie._arrays import Labels
from coterie.constraints._model import StatedPairs
from coterie.ensemble._boosting.pair_loss import PairLoss


def rounds_help(
    pairs: StatedPairs, n_folds: int, alone: Labels, boosted: Callable[[PairLoss], Any], seed: int
) -> bool:
    """Whether labels boosted without a fold break less of it, over all folds, than the base alone."""
    missing = PairLoss(pairs).missing
    broken_alone = broken_boosted = 0.0
    for kept, held in folds_of(pairs, n_folds, seed):
        loss, judge = PairLoss(kept), PairLoss(held)
        found = boosted(loss) if loss.n_pairs else None
        broken_alone += judge.strength_broken(alone, missing)
        broken_boosted += judge.strength_broken(alone if found is None else found, missing)
    return broken_boosted < broken_alone


def folds_of(pairs: StatedPairs, n_folds: int, seed: int) -> Iterator[tuple[StatedPairs, StatedPairs]]:
    """Pairs between items that are kept, and the others."""
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
        kept = (fold[i] != number) & (fold[j] != number)
        yield pairs.take(kept), pairs.take(~kept)
