"""Soft balancing, slowly: the chapter's step (8.18) as printed, and EM around it."""

import numpy as np
from scipy.special import logsumexp
from scipy.stats import vonmises_fisher


def shares(A, log_beta, T):
    """Equation (8.17)."""
    potential = (A + log_beta) / T
    return np.exp(potential - logsumexp(potential, axis=1, keepdims=True))


def sinkhorn(A, target, T, tol=1e-13, most=200_000):
    """Log beta by (8.18), again and again until sizes are the targets."""
    log_beta = np.zeros(A.shape[1])
    for _ in range(most):
        r = logsumexp((A + log_beta) / T, axis=1)
        log_beta = T * np.log(target) - T * logsumexp(A / T - r[:, None], axis=0)
        log_beta -= log_beta.mean()
        if np.abs(shares(A, log_beta, T).sum(axis=0) / target - 1).max() < tol:
            return log_beta
    raise AssertionError("Sinkhorn did not settle")


def free_energy(A, P, T=1.0):
    """F of section 3.5, for all items together."""
    logs = np.log(np.where(P > 0, P, 1.0))
    return (P * A).sum() - T * (P * logs).sum()


def directions_em(X, means, kappa, target, steps):
    """Balanced EM of von Mises-Fisher components: F before each M-step and after the last, shares, means."""
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    history = []
    for step in range(steps + 1):
        A = np.column_stack([vonmises_fisher(mean, kappa).logpdf(U) for mean in means])
        P = shares(A, sinkhorn(A, target, 1.0), 1.0)
        history.append(free_energy(A, P))
        if step < steps:
            means = P.T @ U
            means = means / np.linalg.norm(means, axis=1, keepdims=True)
    return np.array(history), P, means
