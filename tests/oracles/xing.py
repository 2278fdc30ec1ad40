"""Xing's objective, written out, and its least value by a search that knows nothing of its form."""

import numpy as np
from scipy.optimize import minimize


def objective(A, near, far, ridge=0.0):
    """<S, A> - log sum of distances, with `ridge` times the mean of the diagonal of S on it."""
    S = sum(np.outer(d, d) for d in near)
    S = S + ridge * np.trace(S) / len(S) * np.eye(len(S))
    return float((S * A).sum() - np.log(sum(np.sqrt(max(d @ A @ d, 0.0)) for d in far)))


def best_diagonal(near, far, ridge=0.0):
    """Least value over diagonal A, searched over the logarithms of its entries."""
    d = len(near[0])

    def cost(u):
        return objective(np.diag(np.exp(u)), near, far, ridge)

    starts = [np.zeros(d), *(-3.0 * (1 - np.eye(d)))]
    return min(minimize(cost, u, method="Nelder-Mead", options=_LONG).fun for u in starts)


def best_full(near, far, ridge=0.0):
    """Least value over A = R' R, searched over R without derivatives given."""
    d = len(near[0])

    def cost(r):
        R = r.reshape(d, d)
        return objective(R.T @ R, near, far, ridge)

    starts = [np.eye(d).ravel(), np.random.default_rng(0).normal(size=d * d)]
    return min(minimize(cost, r, method="BFGS", options={"gtol": 1e-9}).fun for r in starts)


_LONG = {"maxiter": 100_000, "maxfev": 100_000, "xatol": 1e-12, "fatol": 1e-14}
