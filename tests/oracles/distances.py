"""Learned distances, slowly: each formula as it is written."""

import numpy as np


def within_covariance(X, chunklets):
    """Each item against the mean of its chunklet, one by one."""
    total, n = np.zeros((X.shape[1], X.shape[1])), 0
    for items in chunklets:
        for item in items:
            away = X[item] - np.mean([X[other] for other in items], axis=0)
            total += np.outer(away, away)
            n += 1
    return total / n


def rca(X, chunklets, shrinkage=0.0):
    """The matrix A: covariance in columns of deviation 1, shrunk, inverted, back in the units of X."""
    to_units = np.diag(1 / X.std(axis=0))
    covariance = within_covariance(X @ to_units, chunklets)
    shrunk = (1 - shrinkage) * covariance + shrinkage * np.eye(X.shape[1])
    return to_units @ np.linalg.inv(shrunk) @ to_units


def constrained_lda(X, A, n_components):
    """Of rank n_components: v with T v = lambda A^-1 v and v' A^-1 v = 1, those of largest lambda."""
    total, inverse = np.cov(X.T, bias=True), np.linalg.inv(A)
    values, vectors = np.linalg.eig(A @ total)
    best = vectors.T[np.argsort(-values.real)[:n_components]].real
    return sum(np.outer(v, v) / (v @ inverse @ v) for v in best)


def distances(X, A, pairs):
    return np.array([np.sqrt((X[i] - X[j]) @ A @ (X[i] - X[j])) for i, j in pairs])
