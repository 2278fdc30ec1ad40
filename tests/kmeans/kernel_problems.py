"""What the tests of `KernelPCKMeans` share: kernels, graphs and what must hold of any outcome."""

import numpy as np

from tests.oracles import kmeans as pairs

KERNELS = ["linear", "cosine", "rbf", "laplacian", "polynomial"]
GRAPHS = ["ratio_association", "ratio_cut", "normalized_cut"]


def indefinite(rng, n):
    K = rng.normal(size=(n, n))
    return K + K.T


def affinities(rng, n):
    """A random graph in which every node has an edge; some nodes like themselves."""
    A = rng.random((n, n)) * (rng.random((n, n)) < 0.5)
    A = A + A.T
    ring = np.arange(n)
    A[ring, (ring + 1) % n] += 0.1
    A[(ring + 1) % n, ring] += 0.1
    return A


def assert_history_falls(model):
    history = np.asarray(model.history_)
    assert (np.diff(history) <= 1e-9 * np.abs(history).max()).all()
    assert history[-1] == model.objective_


def assert_no_move_pays(labels, value, units, k, said, now):
    """No unit alone can be put elsewhere legally, with no cluster left empty, at less cost."""
    for moved in pairs.single_moves(labels, units, k):
        if len(set(moved)) == k and pairs.obeys_hard(moved, said):
            assert value(moved) >= now - 1e-8 * (1 + abs(now))
