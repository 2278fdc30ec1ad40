"""Labels that keep their promises, chances of pairs to share a component, and constraints left out."""

from __future__ import annotations

import numpy as np

from coterie._arrays import Floats, Labels
from coterie.assign import hard_pairs
from coterie.base import new_numbers
from coterie.constraints import Constraints
from coterie.constraints._model import NO_PAIRS, stated_pairs
from coterie.mixture._engine.em import EMOutcome, Sample
from coterie.mixture._inference.answer import Answer
from coterie.mixture._inference.choose import Inference
from coterie.mixture._inference.network import Network

# A label of no probability costs as much as this many nats.
_IMPOSSIBLE = 700.0


def legal_labels(shares: Floats, network: Network, answer: Answer | None, promised: Constraints) -> Labels:
    """The most probable labels; where they break a promise, others near them that keep it."""
    labels = shares.argmax(axis=1).astype(np.int32)
    if answer is None:
        return labels
    # a unit has one label, also where its probabilities are equal
    best = answer.marginals.argmax(axis=1)[network.unit]
    labels[network.items] = np.where(network.flip, 1 - best, best)
    if promised and promised.violations(labels):
        with np.errstate(divide="ignore"):
            costs = -np.maximum(np.log(shares), -_IMPOSSIBLE)
        held = hard_pairs(costs, promised, random_state=0).labels
        labels = new_numbers(held, *network.labelled(), network.k)[held].astype(np.int32)
    return labels


def agreements(
    known: Constraints, shares: Floats, data: Sample, inference: Inference | None, best: EMOutcome
) -> Floats:
    """Chance of the two items of each stated pair to share a component: must-links, then cannot-links.

    A pair that inference left out counts as independent, and so does one without a coupling (of weight zero,
    or cancelled) where inference is not exact.
    """
    pairs = np.concatenate([known.must_link, known.cannot_link])
    i, j = pairs.T
    chance = (shares[i] * shares[j]).sum(axis=1)
    if inference is None or best.answer is None:
        return chance
    network, answer = data.network, best.answer
    place = np.searchsorted(network.items, pairs)
    inside = place < len(network.items)
    inside &= network.items[np.minimum(place, len(network.items) - 1)] == pairs
    rows = np.flatnonzero(inside.all(axis=1))
    u, v = np.sort(network.unit[place[rows]], axis=1).T
    flipped = network.flip[place[rows, 0]] != network.flip[place[rows, 1]]
    together = np.where(u == v, 1.0, np.nan)
    if len(network.ends):
        key, wanted = network.ends @ [network.n_units, 1], u * network.n_units + v
        at = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        met = (key[at] == wanted) & (u != v)
        together[met] = answer.agreement[at[met]]
    if len(loose := np.flatnonzero(np.isnan(together))):
        potential = data.core_potential(best.model)
        together[loose] = inference.together(potential, answer.marginals, u[loose], v[loose])
    chance[rows] = np.where(flipped, 1.0 - together, together)
    return chance


def left_out(known: Constraints, network: Network, inference: Inference | None) -> Constraints:
    """The pairs that inference left out; of a hard group, one pair of items for each pair of units."""
    gone = network.cut
    if inference is not None:
        gone = np.concatenate([gone, network.ends[inference.dropped]])
    pairs = [np.empty((0, 2), dtype=np.int64)] * 2
    if len(gone):
        soft = [group for group in known.groups if group.weight is not None and group.active]
        written = stated_pairs(Constraints._from_parts(known.n_items, NO_PAIRS, NO_PAIRS, soft, None))
        keys = np.unique(gone @ [network.n_units, 1])
        explained = np.zeros(len(keys), dtype=bool)
        for kind, table in enumerate((known.must_table, known.cannot_table)):
            ij = np.concatenate([table.ij[table.active], written.ij[written.cannot == bool(kind)]])
            u, v = np.sort(network.unit[np.searchsorted(network.items, ij)], axis=1).T
            key = u * network.n_units + v
            pairs[kind] = ij[np.isin(key, keys)]
            explained |= np.isin(keys, key)
        first = np.empty(network.n_units, dtype=np.int64)
        first[network.unit[::-1]] = network.items[::-1]
        of_groups = first[np.column_stack(np.divmod(keys[~explained], network.n_units))]
        pairs[1] = np.concatenate([pairs[1], of_groups])
    found = Constraints(*pairs, n_items=known.n_items)
    return found if known.ids is None else found.with_ids(known.ids)
