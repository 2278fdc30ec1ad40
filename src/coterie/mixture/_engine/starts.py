"""Where a mixture starts: clusters of k-means that knows the constraints, rows of the data, or chance."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning

from coterie._arrays import Floats, Index
from coterie.base import new_numbers
from coterie.constraints import Constraints
from coterie.exceptions import ParameterError, ViolatedConstraintsWarning
from coterie.kmeans import COPKMeans, PCKMeans
from coterie.mixture._emissions.emission import Emission, Statistics
from coterie.mixture._emissions.gaussian import Gaussian
from coterie.mixture._engine.em import Model, Sample, summed
from coterie.mixture._engine.weights import log_shares
from coterie.mixture._inference.network import Network

STARTS = ("kmeans", "k-means++", "random", "random_from_data")
# Iterations of the k-means that a mixture starts from: the mixture goes on from there.
_KMEANS_STEPS = 30
# Starts of that k-means where the mixture has one: likelihoods of few items are no guide to classes, and the
# best of several k-means was nearer to them than the best of several mixtures. Found where covariance types
# were, beside 1 and 4.
_KMEANS_STARTS = 10


def start_maker(
    estimator: Any, data: Sample, known: Constraints, emission: Emission, rng: np.random.RandomState
) -> Callable[[], Model]:
    """Makes the model of the next start, as the parameters of a mixture say."""
    k, d = estimator.n_components, data.d
    weights = None if estimator.weights_init is None else given_weights(estimator.weights_init, k)
    means = None if estimator.means_init is None else _given_means(estimator.means_init, k, d)
    precisions = None
    if estimator.precisions_init is not None:
        if not isinstance(emission, Gaussian):
            raise ValueError("precisions_init needs Gaussian components; leave it out.")
        precisions = _given_precisions(estimator.precisions_init, emission.covariance_type, k, d)
    wide = False

    def begin() -> Model:
        nonlocal wide
        if means is None:
            how = "k-means++" if wide else estimator.init_params
            n_kmeans = _KMEANS_STARTS if estimator.n_init == "auto" else 1
            model = _start_model(how, data, known, emission, estimator.obeys, rng, n_kmeans)
            model.wide = wide
            wide = estimator.n_init == "auto" and estimator.init_params == "kmeans"  # all but the first
        else:
            model = _around(means, emission)
        if precisions is not None:
            assert isinstance(model.emission, Gaussian)
            model.emission.set_precisions(precisions)
        if weights is not None:
            with np.errstate(divide="ignore"):
                model.log_weights = np.log(weights)
        return model

    return begin


def _around(means: Floats, emission: Emission) -> Model:
    emission = emission.copy()
    emission.set_means(means)
    return Model(emission, np.full(emission.k, -np.log(emission.k)))


def _start_model(
    how: str,
    data: Sample,
    known: Constraints,
    emission: Emission,
    obeys: str,
    rng: np.random.RandomState,
    n_kmeans: int,
) -> Model:
    """A model to start from: by one of `STARTS`; `obeys` says which constraints k-means obeys."""
    k, X = emission.k, data.X
    labelled, label = data.network.labelled()
    if how in ("k-means++", "random_from_data"):
        plus_plus = how == "k-means++"
        rows = kmeans_plusplus(X, k, random_state=rng)[1] if plus_plus else rng.permutation(X.shape[0])[:k]
        means = X[rows].toarray() if hasattr(X, "toarray") else np.array(X[rows], dtype=np.float64)
        for h in np.unique(label):
            means[h] = np.asarray(X[labelled[label == h]].mean(axis=0)).ravel()
        return _around(means, emission)
    if how == "random":
        shares = rng.uniform(size=(X.shape[0], k))
        shares /= shares.sum(axis=1, keepdims=True)
        shares[labelled] = np.eye(k)[label]
    else:
        kind: Any = COPKMeans if obeys == "all" or not known else PCKMeans
        model = kind(k, n_init=n_kmeans, max_iter=_KMEANS_STEPS, metric=emission.metric)
        found = _kmeans_labels(model, X, known, data.network, rng)
        if data.target is not None:
            found = _by_target(found, data.target, label)
        shares = np.eye(k)[found]
    return _from_shares(data, emission, shares)


def _from_shares(data: Sample, emission: Emission, shares: Floats) -> Model:
    """The model that fits shares of the components in all rows best."""
    emission = emission.copy()

    def one_chunk(start: int, stop: int) -> Statistics:
        return emission.statistics(data.X[start:stop], shares[start:stop])

    statistics = summed(one_chunk, data.n, data.d, emission)
    emission.update(statistics)
    return Model(emission, log_shares(statistics[0]))


def _kmeans_labels(
    model: Any, X: Any, known: Constraints, network: Network, rng: np.random.RandomState
) -> Index:
    model.random_state = int(rng.randint(np.iinfo(np.int32).max))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ViolatedConstraintsWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = model.fit(X, constraints=known).labels_
    return new_numbers(found, *network.labelled(), network.k)[found]


def _by_target(labels: Index, target: Floats, known: Index) -> Index:
    """Labels with new numbers: the larger a cluster, the larger its target; known numbers stay."""
    number = np.arange(len(target))
    loose = np.setdiff1d(number, known)
    sizes = np.bincount(labels, minlength=len(target))[loose]
    number[loose[np.argsort(sizes, kind="stable")]] = loose[np.argsort(target[loose], kind="stable")]
    return number[labels]


def numbers(values: Any, name: str) -> Floats:
    """An array that the user gave."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be an array of numbers; got {values!r}.", name) from None


def given_weights(values: Any, k: int) -> Floats:
    """Weights that the user gave, checked."""
    weights = numbers(values, "weights_init")
    if weights.shape != (k,):
        raise ValueError(f"weights_init has shape {weights.shape}, but n_components={k} weights are needed.")
    if not np.isfinite(weights).all() or (weights < 0).any() or not np.isclose(weights.sum(), 1.0, atol=1e-6):
        raise ValueError(f"weights_init must be shares that sum to 1; got {weights.tolist()}.")
    return weights


def _given_means(values: Any, k: int, d: int) -> Floats:
    """Means that the user gave, checked."""
    means = numbers(values, "means_init")
    if means.shape != (k, d):
        raise ValueError(
            f"means_init has shape {means.shape}, but n_components={k} means of {d} features are needed."
        )
    if not np.isfinite(means).all():
        raise ValueError("means_init must be finite.")
    return means


def _shapes(k: int, d: int) -> dict[str, tuple[int, ...]]:
    return {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}


def type_of_precisions(values: Any, k: int, d: int) -> str:
    """The covariance type of precisions that the user gave, by their shape."""
    shape = numbers(values, "precisions_init").shape
    kinds = [kind for kind, its in _shapes(k, d).items() if its == shape]
    if len(kinds) != 1:
        raise ValueError(
            f"precisions_init has shape {shape}, that of {' and of '.join(kinds) or 'no'} covariance type "
            f"(the shapes are {_shapes(k, d)}); set covariance_type."
        )
    return kinds[0]


def _given_precisions(values: Any, covariance_type: str, k: int, d: int) -> Floats:
    """Precisions that the user gave, checked."""
    precisions = numbers(values, "precisions_init")
    shape = _shapes(k, d)[covariance_type]
    if precisions.shape != shape:
        raise ValueError(
            f"precisions_init has shape {precisions.shape}, but covariance_type={covariance_type!r} needs "
            f"{shape}."
        )
    if covariance_type in ("diag", "spherical"):
        good = bool(np.isfinite(precisions).all() and (precisions > 0).all())
    else:
        matrices = precisions if precisions.ndim == 3 else precisions[None]
        good = bool(np.isfinite(matrices).all()) and np.allclose(matrices, matrices.transpose(0, 2, 1))
        good = good and bool((np.linalg.eigvalsh(matrices) > 0).all())
    if not good:
        raise ValueError("precisions_init must be symmetric and positive definite.")
    return precisions
