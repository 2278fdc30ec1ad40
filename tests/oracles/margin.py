"""The widest margin the slow and obvious way: all pairs written out, coordinate descent, an SVM."""

import itertools
import math

import numpy as np
from sklearn.svm import SVC, OneClassSVM


def pairs_apart(n, cannot=(), differ=(), same=()):
    """Pairs that differ: listed, of different codes in one of `differ`, of the same code in one of `same`."""
    found = {tuple(sorted(pair)) for pair in cannot}
    for i, j in itertools.combinations(range(n), 2):
        if any(codes[i] != codes[j] and min(codes[i], codes[j]) >= 0 for codes in differ):
            found.add((i, j))
        if any(codes[i] == codes[j] >= 0 for codes in same):
            found.add((i, j))
    return sorted(found)


def gram_of_pairs(G, pairs):
    """K: squared inner products of differences, from inner products of items."""
    i, j = np.array(pairs).T
    return (G[np.ix_(i, i)] - G[np.ix_(i, j)] - G[np.ix_(j, i)] + G[np.ix_(j, j)]) ** 2


def by_descent(K, C=math.inf, sweeps=20_000, tol=1e-13):
    """Multipliers by coordinate descent (4.1), and the dual value after each sweep."""
    alpha, gradient, duals = np.zeros(len(K)), np.ones(len(K)), []
    for _ in range(sweeps):
        largest = 0.0
        for p in range(len(K)):
            if K[p, p] == 0:
                continue
            new = min(max(alpha[p] + gradient[p] / K[p, p], 0.0), C)
            change = new - alpha[p]
            if change:
                gradient -= change * K[p]
                alpha[p] = new
                largest = max(largest, abs(change) * K[p, p])
        duals.append(alpha.sum() - 0.5 * alpha @ K @ alpha)
        if largest < tol:
            break
    return alpha, duals


def by_svc(K, C):
    """Multipliers by a support vector machine on the pairs and their mirror images (4.4)."""
    m = len(K)
    both = np.block([[K, -K], [-K, K]])
    model = SVC(kernel="precomputed", C=C / 2, tol=1e-10).fit(both, np.repeat([1, -1], m))
    coef = np.zeros(2 * m)
    coef[model.support_] = model.dual_coef_[0]
    return coef[:m] - coef[m:]


def by_one_class(K, nu):
    """Multipliers and the C that they belong to, by a one-class machine (4.4)."""
    model = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-12).fit(K)
    coef = np.zeros(len(K))
    coef[model.support_] = model.dual_coef_[0]
    rho = -float(model.intercept_[0])
    return coef / rho, 1.0 / rho


def matrix_of(X, pairs, alpha):
    """A, summed pair by pair."""
    A = np.zeros((X.shape[1],) * 2)
    for (i, j), weight in zip(pairs, alpha, strict=True):
        A += weight * np.outer(X[i] - X[j], X[i] - X[j])
    return A


def online(X, pairs, C=math.inf, passes=1, A=None):
    """The printed rule (15.19), and the losses of its steps."""
    A = np.zeros((X.shape[1],) * 2) if A is None else A.copy()
    losses = []
    for _ in range(passes):
        for i, j in pairs:
            away = X[i] - X[j]
            lacking = 1.0 - away @ A @ away
            losses.append(max(lacking, 0.0))
            if lacking > 0 and away.any():
                A += min(lacking / (away @ away) ** 2, C) * np.outer(away, away)
    return A, losses
