"""BoostCluster as the paper writes it: n x n matrices, sums over ordered pairs, no shortcut."""

import numpy as np


def similar(must, n):
    """S of the paper from pairs and their strengths."""
    S = np.zeros((n, n))
    for (i, j), strength in must:
        S[i, j] += strength
        S[j, i] += strength
    return S


def loss(K, must, cannot):
    """(1), by its double sum; over ordered pairs, so four times that of each pair once."""
    return sum(
        must[i, j] * cannot[a, b] * np.exp(K[a, b] - K[i, j])
        for i, j in np.argwhere(must)
        for a, b in np.argwhere(cannot)
    )


def together(labels):
    """Delta: a label of -1 is with nobody."""
    labels = np.asarray(labels)
    return ((labels[:, None] == labels) & (labels >= 0)[:, None]).astype(float)


def weights(K, must, cannot):
    """(5) and (6), normalised."""
    p, q = must * np.exp(-K), cannot * np.exp(K)
    return p / p.sum(), q / q.sum()


def shares(p, q, delta):
    """A, B, C, D."""
    return (p * (1 - delta)).sum(), (p * delta).sum(), (q * (1 - delta)).sum(), (q * delta).sum()


def scatter(X, T, difference=False):
    """X'TX with rows as items."""
    if not difference:
        return X.T @ T @ X
    d = X.shape[1]
    M = np.zeros((d, d))
    for i, j in np.argwhere(T):
        away = X[i] - X[j]
        M -= 0.5 * T[i, j] * np.outer(away, away)
    return M


def directions(M, n):
    """(11): positive ones only."""
    values, vectors = np.linalg.eigh(M)
    order = np.argsort(-values)[:n]
    order = order[values[order] > 1e-12 * np.abs(values).max()]
    return vectors[:, order] * np.sqrt(values[order])


def boost(X, must, cannot, base, *, n_components, n_rounds, smoothing=None, center=True, difference=False):
    """Rounds: (partition, weight, log of the loss of each pair once)."""
    X = X - X.mean(axis=0) if center else X
    K, rounds = np.zeros((len(X), len(X))), []
    floor = 1.0 / ((must > 0).sum() / 2 * (cannot > 0).sum() / 2)
    for _ in range(n_rounds):
        p, q = weights(K, must, cannot)
        P = directions(scatter(X, p - q, difference), n_components)
        labels = base(X @ P)
        delta = together(labels)
        A, B, C, D = shares(p, q, delta)
        if B - D <= 1e-6:
            break
        epsilon = floor if smoothing is None or (smoothing == 0 and A * D == 0) else smoothing
        alpha = 0.5 * np.log((B * C + epsilon) / (A * D + epsilon))
        K = K + alpha * delta
        rounds.append((labels, alpha, np.log(loss(K, must, cannot) / 4)))
        if A < 1e-15 and D < 1e-15:
            break
    return rounds, K
