"""Traps of learned metrics, each named after what once went wrong."""

import warnings

import numpy as np
import pytest

from coterie import Constraints, MPCKMeans

VARIANTS = [{"learn": learn, "per_cluster": own} for learn in ("diagonal", "full") for own in (False, True)]
every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=lambda one: "-".join(map(str, one.values())))
pytestmark = pytest.mark.filterwarnings("ignore::coterie.exceptions.ViolatedConstraintsWarning")


def two_blobs(seed):
    rng = np.random.default_rng(seed)
    return np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 8])


@every_variant
@pytest.mark.parametrize("unit", [1e-100, 1e-6, 1e6, 1e100])
def test_an_empty_cluster_is_filled_in_any_unit(variant, unit, seed):
    X = two_blobs(seed)
    far = np.array([[0.0, 0.0], [8.0, 8.0], [1e3, 1e3]])
    sizes = [
        np.bincount(MPCKMeans(3, init=far * u, **variant).fit(X * u).labels_, minlength=3).tolist()
        for u in (1.0, unit)
    ]
    assert min(sizes[0]) > 0
    assert sizes[0] == sizes[1]


def test_the_weight_of_a_feature_may_leave_the_range_of_float32(seed):
    X = np.column_stack([two_blobs(seed), np.repeat([0.0, 1.0], 20)])
    tiny = (X * 1e-15).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MPCKMeans(2, random_state=0).fit(tiny)
        assert np.isfinite(model.metric_).all()
        assert model.predict(tiny).tolist() == model.labels_.tolist()
    with pytest.raises(ValueError, match="its weight would leave the range of float64"):
        MPCKMeans(2).fit(X * 1e-151)


@every_variant
def test_a_cannot_link_inside_a_unit_is_paid_by_the_price_there(variant, seed):
    """Hard must-links join what soft cannot-links keep apart: labels must see what that costs."""
    rng = np.random.default_rng(seed)
    pairs = [(0, 9), (1, 17), (10, 20)]
    known = Constraints(pairs, n_items=24, hard=True)
    known = known | Constraints(cannot_link=pairs, n_items=24, weight=20.0)
    for number in range(10):
        X = rng.normal(size=(24, 2))
        history = MPCKMeans(3, n_init=1, random_state=number, **variant).fit(X, constraints=known).history_
        assert (np.diff(history) <= 1e-9 * np.abs(history).max()).all()
