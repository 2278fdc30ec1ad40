"""Logistic losses of pairs: what it costs that two items are not alike, or are both of one class.

Each takes f of the one and of the other item, and gives the loss and its slopes in both. In a problem of two
classes a cannot-link is "alike" of f and -f. The losses follow chapter 17, the second kind halved as in its
section 17.4.3, and stay exact where f is large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from coterie._arrays import Floats

Slopes = tuple[Floats, Floats, Floats]
Loss = Callable[[Any, Any], Slopes]

_LOG_2 = float(np.log(2.0))


def convex_same(a: Any, b: Any) -> Slopes:
    """L(a - b) + L(b - a), (17.4): how far the two are apart; a robust form of the square / 4 + 2 log 2."""
    value, slope, other = _convex_above_zero(a, b)
    return value + 2.0 * _LOG_2, slope, other


def _convex_above_zero(a: Any, b: Any) -> Slopes:
    """`convex_same` less 2 log 2, to all digits where f is small."""
    away = a - b
    fall = np.expm1(-np.abs(away))
    slope = np.copysign(-fall / (2.0 + fall), away)  # tanh(away / 2)
    return np.abs(away) + 2.0 * np.log1p(0.5 * fall), slope, -slope


def nonconvex_same(a: Any, b: Any) -> Slopes:
    """-log P(both alike), if the two labels are independent given f: half of (17.3)."""
    value = -np.logaddexp(log_expit(a) + log_expit(b), log_expit(-a) + log_expit(-b))
    both = expit(a + b)
    return value, expit(a) - both, expit(b) - both


def convex_apart(a: Any, b: Any) -> Slopes:
    """L(-a - b), section 17.4.5: not both of this class."""
    slope = expit(a + b)
    return np.logaddexp(0.0, a + b), slope, slope


def not_both(a: Any, b: Any) -> Slopes:
    """-log(1 - P(both of this class)): what (17.24) should be; never below 0."""
    value = -np.logaddexp(log_expit(-a), log_expit(a) + log_expit(-b))
    # which of the three states that are left: neither, the first, the second
    total = np.logaddexp(np.logaddexp(0.0, a), b)
    return value, expit(a) - np.exp(a - total), expit(b) - np.exp(b - total)


def printed_apart(a: Any, b: Any) -> Slopes:
    """(17.24) as it is printed: falls without bound where one of the two does."""
    value, slope, _ = convex_same(a, b)
    first, second = expit(a) - 0.5 * slope, expit(b) + 0.5 * slope
    return np.logaddexp(0.0, a) + np.logaddexp(0.0, b) - 0.5 * value, first, second


SAME_LOSSES = {"convex": convex_same, "nonconvex": nonconvex_same}
# by the loss, and the form of the loss of a cannot-link
APART_LOSSES = {
    ("convex", "not-both"): convex_apart,
    ("convex", "printed"): convex_apart,  # the book has one form of the convex loss
    ("nonconvex", "not-both"): not_both,
    ("nonconvex", "printed"): printed_apart,
}


def above_zero(loss: Loss) -> tuple[float, Loss]:
    """What a pair costs where f is 0, and the loss above that."""
    if loss is convex_same:
        return 2.0 * _LOG_2, _convex_above_zero
    at_zero = float(loss(0.0, 0.0)[0])

    def above(a: Any, b: Any) -> Slopes:
        value, slope, other = loss(a, b)
        return value - at_zero, slope, other

    return at_zero, above
