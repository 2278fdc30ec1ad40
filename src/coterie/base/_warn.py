"""Warnings that point at the line of the user."""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coterie._arrays import Labels

__all__ = ["warn_of_empty_clusters", "warn_user"]

_NOT_THE_USERS = ("coterie", "sklearn", "joblib")


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line that belongs neither to us nor to scikit-learn.

    `fit` may be called by `fit_predict`, a pipeline or a search, so that no fixed `stacklevel` is right.
    """
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _NOT_THE_USERS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_of_empty_clusters(labels: Labels, n_clusters: int) -> None:
    """Warn if some clusters hold nothing; -1 is no cluster."""
    found = int(np.count_nonzero(np.bincount(labels[labels >= 0], minlength=n_clusters)))
    if found < n_clusters:
        warn_user(
            f"Number of distinct clusters ({found}) found smaller than n_clusters ({n_clusters}). Possibly "
            "due to rows that are equal, or to constraints that join what would fill them.",
            ConvergenceWarning,
        )
