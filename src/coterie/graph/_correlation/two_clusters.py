"""Correlation clustering by vectors: semidefinite relaxations, and the best of two clusters.

Agreement is relaxed to unit vectors that are never at an obtuse angle, and clusters are sides of random
hyperplanes: 0.7664 of the best agreement (Charikar, Guruswami and Wirth 2005). Correlation with two clusters
is a quadratic form in signs, relaxed to unit vectors as well (Charikar and Wirth 2004). Neither can honour
vetoes by itself: vetoed units repel in the relaxation, and clusters that still hold some are split.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._arrays import Floats, Index
from coterie._compiled import one_blas_thread
from coterie.graph._correlation.roundings import split_conflicts
from coterie.graph._correlation.signed_graph import SignedGraph

# Units that the relaxations take: a table of eigenvectors in each step; a table of weights.
_MOST_VECTORS = 500
_MOST_TWO = 5_000
# Steps that they make at most, and the changes that end them.
_MOST_STEPS = 500
_SETTLED = 1e-5


def sdp_vectors(g: SignedGraph) -> Floats:
    """Unit vectors, a row for each unit, whose products are as if together or apart; by ADMM."""
    _refuse(g.n, _MOST_VECTORS, "sdp")
    table = g.weights()
    apart = np.isneginf(table)
    price = np.where(apart, 0.0, table)
    # a step and an over-relaxation that settle soonest, as measured
    price /= 4 * np.abs(price).max() or 1.0
    Z, U = np.eye(g.n), np.zeros((g.n, g.n))
    with one_blas_thread():
        for _ in range(_MOST_STEPS):
            values, vectors = np.linalg.eigh(Z - U + price)
            factor = vectors * np.sqrt(np.maximum(values, 0.0))
            X, before = factor @ factor.T, Z
            ahead = 1.6 * X - 0.6 * Z + U
            Z = np.where(apart, 0.0, np.clip(ahead, 0.0, 1.0))
            np.fill_diagonal(Z, 1.0)
            U = ahead - Z
            if max(np.abs(X - Z).max(), np.abs(Z - before).max()) < _SETTLED:
                break
    length = np.linalg.norm(factor, axis=1, keepdims=True)
    return factor / np.where(length > 0, length, 1.0)


def sdp_rounding(g: SignedGraph, vectors: Floats, rng: Any, n_draws: int) -> Index:
    """The best of so many draws with two hyperplanes, and as many with three."""
    draws = [split_conflicts(g, hyperplane_sides(vectors, h, rng)) for h in (2, 3) for _ in range(n_draws)]
    return min(draws, key=g.cost)


def hyperplane_sides(vectors: Floats, h: int, rng: Any) -> Index:
    """On which sides of h random hyperplanes each vector is, as one number."""
    sides = vectors @ rng.normal(size=(vectors.shape[1], h)) > 0
    return sides @ (1 << np.arange(h))


def two(g: SignedGraph, rng: Any, n_draws: int = 50) -> Index:
    """The largest correlation found with two clusters, or with one, or with all single."""
    _refuse(g.n, _MOST_TWO, "two")
    table = g.weights()
    apart = np.isneginf(table)
    table[apart] = -(np.abs(table[~apart]).max() or 1.0)
    with one_blas_thread():
        sides = rounded_signs(table, ascend(table, rng), rng, n_draws)
    draws = [np.zeros(g.n, dtype=np.int64), np.arange(g.n), *(sides.T > 0).astype(np.int64)]
    return min((split_conflicts(g, label) for label in draws), key=g.cost)


def ascend(table: Floats, rng: Any) -> Floats:
    """Unit vectors of a large quadratic form `sum a_ij v_i v_j`: each in turn goes where it is best."""
    n = len(table)
    vectors = rng.normal(size=(n, int(np.ceil(np.sqrt(2 * n))) + 1))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for _ in range(_MOST_STEPS):
        gained = total = 0.0
        for i in range(n):
            pull = table[i] @ vectors
            length = float(np.linalg.norm(pull))
            if length > 0:
                gained += length - float(pull @ vectors[i])
                total += length
                vectors[i] = pull / length
        if gained <= _SETTLED * total:
            break
    return vectors


def rounded_signs(table: Floats, vectors: Floats, rng: Any, n_draws: int) -> Floats:
    """Signs, a column for each draw: clipped projections, then each sign in turn where the form is larger."""
    n = len(table)
    z = vectors @ rng.normal(size=(vectors.shape[1], n_draws))
    z = np.clip(z / np.sqrt(4 * np.log(max(n, 2))), -1.0, 1.0)
    for _ in range(_MOST_STEPS):
        before = z.copy()
        for i in range(n):
            z[i] = np.where(table[i] @ z >= 0, 1.0, -1.0)
        if (z == before).all():
            break
    return z


def _refuse(n: int, most: int, name: str) -> None:
    if n > most:
        raise ValueError(
            f'algorithm="{name}" takes at most {most:,} units, but there are {n:,}: it needs a table of all '
            'pairs in each step. algorithm="local" takes millions.'
        )
