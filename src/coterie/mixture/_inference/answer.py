"""Posterior marginals and log Z of the labels: what every inference returns.

A `PieceSolver` answers for some units of a network, numbered from 0. Its `infer` takes log potentials of
shape (n, k), prior included and possibly minus infinity, and a factor for the finite couplings.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from coterie._arrays import Floats


class Answer(NamedTuple):
    """What inference found.

    Attributes
    ----------
    marginals : array of shape (n, k)
        Probability of each label of each unit.
    log_z : float
        Log of the sum over all labellings; a bound or an estimate where the part says so.
    agreement : array of shape (m,)
        Probability that the two ends of each edge have the same label.
    by_root : array of shape (n,) or None
        Where the part is exact: log Z of each connected piece at one of its units, zero at the others.
    """

    marginals: Floats
    log_z: float
    agreement: Floats
    by_root: Floats | None = None


class PieceSolver(Protocol):
    """Infers labels of units from potentials and couplings.

    It is made from the numbers n of units and k of labels, the couplings `ends` of shape (m, 2), each pair of
    units once, and `beta` of shape (m,): what it is worth that the ends have the same label; minus infinity
    forbids it. `infer` takes potentials and a factor of the finite couplings.
    """

    def infer(self, potential: Floats, scale: float = 1.0) -> Answer: ...


def normalise(potential: Floats) -> tuple[Floats, Floats]:
    """Probabilities of rows of independent log potentials, and the log of each row's sum."""
    top = potential.max(axis=1, keepdims=True)
    shares = np.exp(potential - np.where(np.isfinite(top), top, 0.0))
    total = shares.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        log_sum = (np.log(total) + top)[:, 0]
    return np.divide(shares, total, out=shares, where=total > 0), log_sum


def scaled(beta: Floats, scale: float) -> Floats:
    """Couplings times a factor; what is forbidden stays so."""
    finite = np.isfinite(beta)
    return np.where(finite, np.where(finite, beta, 0.0) * scale, beta)
