"""Warnings that point at the line of the user."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn_user"]

_NOT_THE_USERS = ("coterie", "sklearn", "joblib")


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line that belongs neither to us nor to scikit-learn.

    `fit` may be called by `fit_predict`, a pipeline or a search, so that no fixed `stacklevel` is right.
    """
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _NOT_THE_USERS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
