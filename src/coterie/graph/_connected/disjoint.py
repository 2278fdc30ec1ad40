"""Disjoint connected clusters from sets that overlap, and moves of items that lower the largest radius.

Algorithm 2 of the chapter, repaired: centres are labelled first, and who is left over goes to the cluster
that touches it and whose centre is nearest. For sets of radius r the radius around the given centres is at
most (2 k - 1) r, not 3 r as Lemma 12.1 has it, and k clusters are connected and not empty.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from coterie._arrays import Labels
from coterie._compiled import kernel
from coterie.base import Step
from coterie.graph._connected.growth import CLOSED, FREE, Grown, Growth
from coterie.graph._connected.leaving import Adjacency, SearchRoom, stays_connected
from coterie.graph._connected.netscan import KCenterCriterion, Scan, Update
from coterie.graph._connected.reach import OverlappingSets
from coterie.graph._connected.space import key_of

_MOST_ROUNDS, _AT_ONCE = 1000, 256  # the latter: items, so that the compiled loop comes back soon


def disjoint(growth: Growth, found: OverlappingSets, order: Any) -> Labels:
    """Labels in which each cluster is connected and holds its centre; sets take items in this order."""
    n, centers = growth.space.n, found.centers
    labels = np.full(n, CLOSED, dtype=np.int32)
    labels[centers] = np.arange(len(centers))
    keys = growth.space.keys(growth.space.centres_at(centers))
    grown = Grown.of(labels)
    for i in order:
        members = found.members(i)
        free = members[labels[members] == CLOSED]
        labels[free] = FREE
        growth.go_on(centers[[i]], keys, grown)
        if (labels[free] == FREE).any():
            growth.go_on(members[labels[members] >= 0], keys, grown)
    return labels


def best_disjoint(growth: Growth, found: OverlappingSets) -> Scan:
    """The best of the conversion in two orders, and of a growth from the same centres."""
    tries = [growth(found.centers, growth.space.centres_at(found.centers))[0]]
    k = len(found.centers)
    if growth.graph is not None:
        sizes = np.diff(found.sets.indptr)
        tries += [disjoint(growth, found, order) for order in (range(k), np.argsort(-sizes, kind="stable"))]
    radius_of = KCenterCriterion(growth.space, minimax=True)
    updates = [radius_of(labels, k) for labels in tries]
    best = int(np.argmin([update.objective for update in updates]))
    history = np.array([updates[best].objective])
    return Scan(tries[best], updates[best], updates[best].objective, history, 1, True)


@kernel
def peel(
    order: Any, center: int, floor: float, labels: Any, keys: Any, adjacency: Any, room: SearchRoom
) -> int:
    """Give the farthest items of a cluster, first to last, to touching ones whose centres are nearer.

    It ends at the first that cannot go without tearing the cluster, or that is not farther than `floor`; how
    many went. `labels` and `room` are written.
    """
    for t in range(len(order)):
        v = order[t]
        own = labels[v]
        least = key_of(v, own, keys)
        best = -1
        if v == center or least <= floor:
            return t
        for e in range(adjacency.indptr[v], adjacency.indptr[v + 1]):
            j = labels[adjacency.indices[e]]
            if j != own and j >= 0:
                key = key_of(v, j, keys)
                if key < least or (key == least and best >= 0 and j < best):
                    best, least = j, key
        if best < 0 or not stays_connected(v, labels, adjacency, room):
            return t
        labels[v] = best
    return len(order)


def refined(growth: Growth, scan: Scan, step: Step) -> Scan:
    """Move items at the rim of the largest cluster to others as long as that lowers the largest radius.

    Each move lowers it, or leaves fewer items at that distance; then the clusters that changed take the best
    of their members as their centres.
    """
    space, labels = growth.space, scan.labels.copy()
    seeds, radii, history = scan.update.seeds.copy(), scan.update.radii.copy(), scan.history.tolist()
    k = len(seeds)
    adjacency = Adjacency.of(growth.graph)
    keys, room = space.keys(space.centres_at(seeds)), SearchRoom.of(adjacency)
    while k > 1 and len(history) < _MOST_ROUNDS:
        worst = int(radii.argmax())
        floor = float(np.delete(radii, worst).max())
        members = np.flatnonzero(labels == worst)
        away = space.between(members, seeds[[worst]])[:, 0]
        # of a tie for the largest radius those at the rim alone
        n_far = min(_AT_ONCE, max(1, int((away > floor).sum())))
        order = members[np.argsort(-away, kind="stable")[:n_far]]
        below = min(floor, float(np.nextafter(radii[worst], 0.0)))
        moved = peel(order, int(seeds[worst]), below, labels, keys, adjacency, room)
        if not moved:
            break
        for j in {worst, *labels[order[:moved]].tolist()}:
            seeds[j], radii[j] = space.minimax(np.flatnonzero(labels == j), int(seeds[j]))
            space.move_centre(keys, j, int(seeds[j]))
        history.append(float(radii.max()))
        if step(history[-1]):
            break
    update = Update(seeds, space.centres_at(seeds), radii, float(radii.max()))
    return replace(scan, labels=labels, update=update, objective=update.objective, history=np.array(history))
