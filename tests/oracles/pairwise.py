"""Slow, obvious pairwise clustering: the cost pair by pair, the field of the book, all labellings."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from tests.oracles.kmeans import Said, obeys_hard, price


def cost(D: np.ndarray, labels: Sequence[int]) -> float:
    """Half the dissimilarities of all ordered pairs of a cluster, by its size."""
    total = 0.0
    for h in set(labels):
        inside = [i for i in range(len(labels)) if labels[i] == h]
        total += 0.5 * math.fsum(D[i, j] for i in inside for j in inside) / len(inside)
    return total


def objective(D: np.ndarray, labels: Sequence[int], said: Sequence[Said] = (), weight: float = 0.0) -> float:
    return cost(D, labels) + weight * price(labels, said)


def best(D: np.ndarray, k: int, said: Sequence[Said] = (), weight: float = 0.0) -> float:
    """Least objective of any labelling that keeps to what is hard; clusters may be empty."""
    every = itertools.product(range(k), repeat=len(D))
    return min(objective(D, labels, said, weight) for labels in every if obeys_hard(labels, said))


def energies(D: np.ndarray, q: np.ndarray, i: int, h: int, *, factor=True, without_i=True) -> float:
    """What item i adds in cluster h, expected; the book leaves a factor out and counts i in the last sum."""
    others = [j for j in range(len(D)) if j != i]
    n = math.fsum(q[j, h] for j in others)
    if n == 0:
        return 0.0
    pairs = others if without_i else range(len(D))
    to_all = math.fsum(q[j, h] * D[i, j] for j in others) / (n + 1)
    within = math.fsum(q[j, h] * q[m, h] * D[j, m] for j in pairs for m in pairs) / (2 * n)
    return to_all - (within / (n + 1) if factor else within)


def sweep(D, q: np.ndarray, beta: float, said: Sequence[Said], weight: float, order) -> np.ndarray:
    """One sweep of the mean field; a pair together wins, a pair apart pays, for each neighbour once."""
    q = q.copy()
    for i in order:
        energy = np.array([energies(D, q, i, h) for h in range(q.shape[1])])
        for s in said:
            if i in (s.i, s.j):
                other = s.j if i == s.i else s.i
                energy += weight * s.strength * q[other] * (-1.0 if s.together else 1.0)
        p = np.exp(-beta * (energy - energy.min()))
        q[i] = p / p.sum()
    return q
