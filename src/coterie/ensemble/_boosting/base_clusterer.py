"""The clusterer that is run inside: any, or one by name; made anew, with a new seed, for each run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from coterie._arrays import Labels
from coterie._compiled import few_threads
from coterie.exceptions import ParameterError

# Starts of k-means, as a round and at the end.
N_INIT = 4


def _spectral(n_clusters: int = 8) -> Any:
    from coterie.ensemble._spectral_learning import SpectralLearning  # which runs another clusterer, too

    return SpectralLearning(n_clusters, normalization="symmetric")


def _linkage(linkage: str) -> Callable[..., Any]:
    return lambda n_clusters=8: AgglomerativeClustering(n_clusters, linkage=linkage)


NAMED: Mapping[str, Callable[..., Any]] = {
    "k-means": lambda n_clusters=8: KMeans(n_clusters, n_init=N_INIT),
    "ward": _linkage("ward"),
    "single": _linkage("single"),
    "spectral": _spectral,
}


class BaseClusterer:
    """A clusterer under the number of clusters that is asked for; of a pipeline the last step is meant."""

    def __init__(self, estimator: Any, n_clusters: int | None, rng: Any) -> None:
        if estimator is None or isinstance(estimator, str):
            self._model = NAMED[estimator or "k-means"]()
        else:
            self._model = clone(estimator)
        _check_takes_rows(self._model)
        self._rng = rng
        self.params = own = self._model.get_params()
        self._seeds = [name for name in own if name.rpartition("__")[2] == "random_state"]
        prefix, last = "", self._model
        while isinstance(last, Pipeline):
            prefix, last = f"{prefix}{last.steps[-1][0]}__", last.steps[-1][1]
        names = (f"{prefix}n_clusters", f"{prefix}n_components")
        name = next((name for name in names if name in own), None)
        self.takes_number = name is not None
        if n_clusters is not None and name is not None:
            self._model.set_params(**{name: n_clusters})
        found = n_clusters if n_clusters is not None or name is None else own[name]
        # None: the base finds it, and so does the end
        self.n_clusters = int(found) if isinstance(found, int | np.integer) else None

    def seed(self) -> int:
        """A number for what needs chance."""
        return int(self._rng.randint(np.iinfo(np.int32).max))

    def made(self, own_seed: bool = False, **params: Any) -> Any:
        """A new copy, with a seed drawn for it, unless it shall keep one of its own."""
        drawn = [name for name in self._seeds if not (own_seed and self.params[name] is not None)]
        return clone(self._model).set_params(**params, **{name: self.seed() for name in drawn})

    def labels(self, model: Any, rows: Any, what: str) -> Labels:
        """Fit a copy to rows; an error says what they were."""
        try:
            with few_threads(rows.shape[0] * rows.shape[1]):
                found = np.asarray(model.fit_predict(rows))
        except Exception as error:
            error.add_note(
                f"{type(model).__name__} raised this on {what} ({rows.shape[0]:,} x {rows.shape[1]:,})."
            )
            raise
        if found.shape != (rows.shape[0],) or found.dtype.kind not in "iu":
            raise ValueError(
                f"{type(model).__name__} gave labels of shape {found.shape} and type {found.dtype} for "
                f"{rows.shape[0]:,} rows; a clusterer gives each row a whole number, -1 for none."
            )
        # numbers of any size, from 0 on; what is in no cluster stays below
        some = found >= 0
        numbers = np.full(len(found), -1, dtype=np.int32)
        if some.any() and int(found.max()) >= max(2 * len(found), 1000):
            numbers[some] = np.unique(found[some], return_inverse=True)[1]
        else:
            numbers[some] = found[some]
        return numbers


def _check_takes_rows(model: Any) -> None:
    kind = type(model).__name__
    if not hasattr(model, "fit_predict"):
        raise ParameterError(f"estimator must be a clusterer, and {kind} has no fit_predict.", "estimator")
    if get_tags(model).input_tags.pairwise:
        raise ParameterError(
            f"estimator is a {kind} of similarities or distances that are given, but it is run on rows: set "
            "its affinity, metric or kernel to one that it works out itself.",
            "estimator",
        )
