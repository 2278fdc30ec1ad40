"""Classifiers of labels and pairs the slow way: losses from their definitions, EM, coordinate descent.

All work in f = K beta on all rows of a kernel table, one column at a time, and share nothing with the
package. `pairs` are (i, j, c, weight) with c = 1 for must-links and -1 for cannot-links; `labels` are (i, y)
with y = 1 or -1. In a column of one class against all, "apart" pairs say: not both of this class.
"""

import numpy as np
from scipy.optimize import minimize


def softplus(z):
    return np.logaddexp(0.0, z)


def sigma(z):
    return 1.0 / (1.0 + np.exp(-z))


def pair_loss(kind, a, b):
    """`a` and `b` are f_i and f_j for "apart" forms, f_i and c f_j for "same"."""
    if kind == "convex-same":
        return softplus(a - b) + softplus(b - a)
    if kind == "nonconvex-same":
        return softplus(a) + softplus(b) - softplus(a + b)
    if kind == "convex-apart":
        return softplus(a + b)
    if kind == "not-both":
        return softplus(a) + softplus(b) - np.logaddexp(0.0, np.logaddexp(a, b))
    if kind == "printed":
        return softplus(a) + softplus(b) - 0.5 * (softplus(a - b) + softplus(b - a))
    if kind == "hinge-same":
        return abs(a - b)
    assert kind == "hinge-apart"
    return np.maximum(0.0, 1.0 + a + b)


def objective(f, norm2, labels, pairs, same, apart, mu, lam, binary):
    """Losses of one column, term by term."""
    hinge = same.startswith("hinge")
    total = lam * norm2
    for i, y in labels:
        total += max(0.0, 1.0 - y * f[i]) if hinge else softplus(-y * f[i])
    for i, j, c, weight in pairs:
        if binary or c > 0:
            total += mu * weight * pair_loss(same, f[i], c * f[j])
        else:
            total += mu * weight * pair_loss(apart, f[i], f[j])
    return total


def in_kernel(K, beta, *args):
    f = K @ beta
    return objective(f, beta @ f, *args)


def least(K, labels, pairs, same, apart, mu, lam, binary, begin=None):
    """Minimise over f in the span of K, by BFGS with numeric slopes; small problems only."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-10 * values[-1]
    Z = vectors[:, kept] * np.sqrt(values[kept])

    def cost(w):
        return objective(Z @ w, w @ w, labels, pairs, same, apart, mu, lam, binary)

    begin = np.zeros(Z.shape[1]) if begin is None else np.linalg.lstsq(Z, begin, rcond=None)[0]
    found = minimize(cost, begin, method="BFGS", options={"gtol": 1e-9})
    return Z @ found.x, found.fun


def em(K, labels, pairs, mu, lam, n_steps=500):
    """NPKLR of two classes by EM, (17.19) with its E-step put right, from the labels alone: f, objectives."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-10 * values[-1]
    Z = vectors[:, kept] * np.sqrt(values[kept])

    def logistic(w, soft):
        """Newton steps of a regression on (i, target, weight)."""
        for _ in range(100):
            f, slope, curve = Z @ w, np.zeros(len(Z)), np.zeros(len(Z))
            for i, target, weight in soft:
                slope[i] += weight * (sigma(f[i]) - target)
                curve[i] += weight * sigma(f[i]) * sigma(-f[i])
            gradient = Z.T @ slope + 2 * lam * w
            hessian = Z.T @ (curve[:, None] * Z) + 2 * lam * np.eye(len(w))
            w = w - np.linalg.solve(hessian, gradient)
            if abs(gradient).max() < 1e-13:
                break
        return w

    known = [(i, (y + 1) / 2, 1.0) for i, y in labels]
    w, history = logistic(np.zeros(Z.shape[1]), known), []
    for _ in range(n_steps):
        f = Z @ w
        history.append(objective(f, w @ w, labels, pairs, "nonconvex-same", None, mu, lam, True))
        if len(history) > 1 and history[-2] - history[-1] < 1e-14:
            break
        soft = list(known)
        for i, j, c, weight in pairs:
            tau = sigma(f[i] + c * f[j])
            soft += [(i, tau, mu * weight), (j, tau if c > 0 else 1 - tau, mu * weight)]
        w = logistic(w, soft)
    return Z @ w, history


def dual_descent(K, labels, pairs, mu, lam, binary, n_sweeps=20_000, tol=1e-11):
    """CPSVM of one column by coordinate descent: f, primal, dual, and whether the dual ever fell."""
    F = np.zeros(len(K))
    alpha, gamma = np.zeros(len(labels)), np.zeros(len(pairs))
    last, fell = -np.inf, False
    for _ in range(n_sweeps):
        for t, (i, y) in enumerate(labels):
            if K[i, i] > 0:
                new = np.clip(alpha[t] + 2 * lam * (1 - y * F[i]) / K[i, i], 0, 1)
                F += (new - alpha[t]) * y / (2 * lam) * K[:, i]
                alpha[t] = new
        for t, (i, j, c, weight) in enumerate(pairs):
            column, length = K[:, i] - c * K[:, j], K[i, i] + K[j, j] - 2 * c * K[i, j]
            if length < 1e-14:
                continue
            if binary or c > 0:
                new = np.clip(gamma[t] + 2 * lam * (F[i] - c * F[j]) / length, -mu * weight, mu * weight)
            else:
                new = np.clip(gamma[t] + 2 * lam * (1 + F[i] + F[j]) / length, 0, mu * weight)
            F -= (new - gamma[t]) / (2 * lam) * column
            gamma[t] = new
        net = np.zeros(len(K))
        for (i, y), a in zip(labels, alpha, strict=True):
            net[i] += a * y
        for (i, j, c, _), g in zip(pairs, gamma, strict=True):
            net[i] -= g
            net[j] += c * g
        norm2 = net @ K @ net / (4 * lam * lam)
        hinges = [not binary and c < 0 for _, _, c, _ in pairs]
        bent = alpha.sum() + gamma[hinges].sum()
        dual = bent - lam * norm2
        primal = objective(F, norm2, labels, pairs, "hinge-same", "hinge-apart", mu, lam, binary)
        fell |= dual < last - 1e-10
        last = dual
        if primal - dual < tol:
            break
    return F, primal, dual, fell
