"""Slow, obvious kernel k-means with pairs: the objective pair by pair, cuts by definition, all partitions."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from tests.oracles import constraints as pairs_oracle
from tests.oracles.kmeans import Said, obeys_hard


def kernel_of(
    X: np.ndarray, name: str, gamma: float = 1.0, degree: int = 3, coef0: float = 1.0
) -> np.ndarray:
    """A kernel entry by entry."""
    X = np.asarray(X, dtype=float)
    n = len(X)
    K = np.empty((n, n))
    for i, j in itertools.product(range(n), repeat=2):
        x, y = X[i], X[j]
        if name == "linear":
            K[i, j] = x @ y
        elif name == "cosine":
            size = math.sqrt(x @ x) * math.sqrt(y @ y)
            K[i, j] = x @ y / size if size > 0 else 0.0
        elif name == "rbf":
            K[i, j] = math.exp(-gamma * float(((x - y) ** 2).sum()))
        elif name == "laplacian":
            K[i, j] = math.exp(-gamma * float(np.abs(x - y).sum()))
        else:
            K[i, j] = (gamma * float(x @ y) + coef0) ** degree
    return K


def sizes(labels: Sequence[int], k: int, mass: np.ndarray) -> list[float]:
    return [math.fsum(mass[i] for i in range(len(labels)) if labels[i] == h) for h in range(k)]


def distortion(K: np.ndarray, labels: Sequence[int], k: int, mass=None) -> float:
    """Squared distances to the means, in the space of the kernel."""
    n = len(K)
    mass = np.ones(n) if mass is None else np.asarray(mass, dtype=float)
    size = sizes(labels, k, mass)
    total = 0.0
    for i in range(n):
        if mass[i] == 0:
            continue
        inside = [j for j in range(n) if labels[j] == labels[i]]
        s = size[labels[i]]
        to_mean = math.fsum(mass[j] * K[i, j] for j in inside) / s
        mean = math.fsum(mass[j] * mass[m] * K[j, m] for j in inside for m in inside) / s**2
        total += mass[i] * (K[i, i] - 2 * to_mean + mean)
    return total


def pair_terms(labels: Sequence[int], k: int, said: Sequence[Said], weight: float, mass: np.ndarray) -> float:
    """What soft pairs inside clusters add, by the cluster's size; must-links take it off."""
    size = sizes(labels, k, mass)
    total = 0.0
    for s in said:
        if not s.hard and labels[s.i] == labels[s.j] and size[labels[s.i]] > 0:
            total += (-2.0 if s.together else 2.0) * weight * s.strength / size[labels[s.i]]
    return total


def objective(K, labels, k: int, said: Sequence[Said] = (), weight: float = 0.0, mass=None) -> float:
    mass = np.ones(len(K)) if mass is None else np.asarray(mass, dtype=float)
    return distortion(K, labels, k, mass) + pair_terms(labels, k, said, weight, mass)


def cut(A: np.ndarray, labels: Sequence[int], k: int, graph: str) -> float:
    """Ratio cut, normalised cut, or minus the ratio association, from the edges."""
    n = len(A)
    total = 0.0
    for h in range(k):
        inside = [i for i in range(n) if labels[i] == h]
        outside = [i for i in range(n) if labels[i] != h]
        within = math.fsum(A[i, j] for i in inside for j in inside)
        leaving = math.fsum(A[i, j] for i in inside for j in outside)
        if graph == "ratio_association":
            total -= within / len(inside)
        else:
            total += leaving / (len(inside) if graph == "ratio_cut" else within + leaving)
    return total


def graph_objective(A, labels, k: int, graph: str, said: Sequence[Said] = (), weight: float = 0.0) -> float:
    A = np.asarray(A, dtype=float)
    mass = A.sum(axis=1) if graph == "normalized_cut" else np.ones(len(A))
    return cut(A, labels, k, graph) + pair_terms(labels, k, said, weight, mass)


def full_partitions(n: int, k: int):
    """Every way to sort n items into exactly k clusters."""
    return (labels for labels in pairs_oracle.partitions(n) if max(labels, default=-1) == k - 1)


def best(value, n: int, k: int, said: Sequence[Said] = ()) -> float:
    """Least value of a labelling with k clusters that meets what is hard (inf if there is none)."""
    return min(
        (value(labels) for labels in full_partitions(n, k) if obeys_hard(labels, said)), default=math.inf
    )
