"""What `ConstrainedLinkage` refuses, and in which words."""

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from coterie import Constraints
from coterie.exceptions import DeadEndWarning, InfeasibleConstraintsError
from coterie.hierarchy import ConstrainedLinkage
from tests.constraints.strategies import says
from tests.hierarchy.linkage_problems import LINKAGES
from tests.oracles import linkage as oracle

X = np.array([[0.0, 1.0], [0.3, 0.1], [1.0, 2.0], [1.2, 5.0], [5.0, 0.2], [5.1, 0.9]])
every_linkage = pytest.mark.parametrize("linkage", LINKAGES)


def refusal(words, data=X, kind=ValueError, known=None, fit=None, **arguments) -> BaseException:
    with pytest.raises(kind, match=words) as error:
        ConstrainedLinkage(**arguments).fit(data, constraints=known, **(fit or {}))
    return error.value


def changed(i: int, j: int, value: float, both: bool = True) -> np.ndarray:
    """Distances of X with one of them changed."""
    D = oracle.gaps(X)
    D[i, j] = value
    if both:
        D[j, i] = value
    return D


# ---- parameters -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 2.5}, "n_clusters"),
        ({"n_clusters": 7}, says("n_clusters", "7", "6")),
        ({"n_clusters": None}, says("n_clusters", "distance_threshold")),
        ({"n_clusters": 2, "distance_threshold": 1.0}, says("n_clusters", "distance_threshold")),
        ({"n_clusters": None, "distance_threshold": -1.0}, "distance_threshold"),
        ({"n_clusters": None, "distance_threshold": float("nan")}, "distance_threshold"),
        ({"linkage": "median"}, says("linkage", "median")),
        ({"metric": "no such metric"}, says("metric", "no such metric")),
        ({"linkage": "ward", "metric": "cosine"}, says("ward|Ward", "cosine")),
        ({"linkage": "ward", "metric": "manhattan"}, says("ward|Ward", "manhattan")),
        ({"linkage": "ward", "propagate": True}, says("propagate", "ward|Ward")),
        ({"on_dead_end": "ignore"}, says("on_dead_end", "ignore")),
        ({"size_max": [3, 3]}, "size_max"),
        ({"size_max": 0}, "size_max"),
        ({"size_max": -1}, "size_max"),
        ({"size_max": float("nan")}, "size_max"),
        ({"size_max": 2.5}, says("size_max", "2.5")),
        ({"size_max": "3"}, "size_max"),
        ({"budget": -1}, "budget"),
    ],
)
def test_wrong_parameters(arguments, words):
    refusal(words, **arguments)


def test_parameters_are_wrong_at_fit_only():
    """As in scikit-learn, so that a search can set them one by one."""
    model = ConstrainedLinkage(None, size_max=[1, 2])
    assert model.get_params()["n_clusters"] is None


# ---- data -----------------------------------------------------------------------------------------------


@every_linkage
def test_numbers_that_are_none(linkage):
    for value in (np.nan, np.inf):
        refusal("NaN|infinity|inf|finite", changed(1, 2, value), linkage=linkage, metric="precomputed")


@every_linkage
def test_distances_that_are_none(linkage):
    asked = {"linkage": linkage, "metric": "precomputed"}
    refusal(says("6", "2"), X, **asked)
    refusal(says("1", "4", "symmetric|both ways"), changed(1, 4, 9.0, both=False), **asked)
    refusal(says("1", "4", "negative|least 0|-3"), changed(1, 4, -3.0), **asked)


@pytest.mark.parametrize("linkage", ["single", "complete", "average"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
@pytest.mark.parametrize("graph", [None, np.array([(i, i + 1) for i in range(5)])])
def test_a_function_that_gives_no_distance(linkage, value, graph):
    """What is refused in a matrix is refused from a function."""

    def metric(x, y):
        return value

    refusal("metric|distance", linkage=linkage, metric=metric, connectivity=graph)


@every_linkage
@pytest.mark.parametrize("scale", [1e-150, 1e150, 1e200])
def test_scales_whose_squares_hardly_fit_a_number(linkage, scale):
    """The same tree; or a refusal, since a merge at infinity would read as one that is not legal."""
    plain = ConstrainedLinkage(2, linkage=linkage).fit(X)
    try:
        model = ConstrainedLinkage(2, linkage=linkage).fit(scale * X)
    except ValueError as error:
        told = str(error)
        assert "large" in told or "scale" in told
        assert scale > 1e150
    else:
        np.testing.assert_allclose(model.distances_, scale * plain.distances_, rtol=1e-6)
        assert model.labels_.tolist() == plain.labels_.tolist()


@every_linkage
def test_rounding_in_distances_is_no_asymmetry(linkage):
    D = oracle.gaps(X)
    D[1, 4] *= 1 + 1e-14
    model = ConstrainedLinkage(2, linkage=linkage, metric="precomputed").fit(D)
    assert model.labels_.tolist() == ConstrainedLinkage(2, linkage=linkage).fit(X).labels_.tolist()


@every_linkage
def test_the_input_is_left_as_it_is(linkage):
    D, known = oracle.gaps(X), Constraints([(0, 5)], [(1, 2)], n_items=6)
    before = D.copy(), X.copy()
    for more in ({}, {"propagate": True}):
        if not (more and linkage == "ward"):
            ConstrainedLinkage(2, linkage=linkage, metric="precomputed", **more).fit(D, constraints=known)
            ConstrainedLinkage(2, linkage=linkage, **more).fit(X, constraints=known)
    assert np.array_equal(D, before[0])
    assert np.array_equal(X, before[1])
    D.flags.writeable = False
    ConstrainedLinkage(2, linkage=linkage, metric="precomputed").fit(D, constraints=known)


# ---- constraints -----------------------------------------------------------------------------------------


@every_linkage
@pytest.mark.parametrize("mode", ["repair", "warn", "raise"])
@pytest.mark.parametrize(
    "known",
    [
        Constraints([(0, 1), (1, 2)], [(0, 2)], n_items=6),
        Constraints([(0, 1)], n_items=6) | Constraints.from_labels([0, 1, -1, -1, -1, -1]),
        Constraints([(0, 1)], n_items=6) | Constraints.distinct([0, 0, -1, -1, -1, -1]),
        Constraints([(0, 1)], n_items=6) | Constraints.across([0, 1, -1, -1, -1, -1]),
        Constraints([(0, 1)], [(0, 1)], n_items=6, weight=[0.01, 5.0]),
    ],
)
def test_a_contradiction_is_an_error_in_every_mode(linkage, mode, known):
    refusal("0", kind=InfeasibleConstraintsError, known=known, linkage=linkage, on_dead_end=mode)
    asked = {"n_clusters": None, "distance_threshold": 1.0}
    refusal("0", kind=InfeasibleConstraintsError, known=known, linkage=linkage, on_dead_end=mode, **asked)


@every_linkage
def test_more_clusters_than_components(linkage):
    """Four clusters of three components would break a must-link; with a threshold nothing is asked."""
    known = Constraints([(0, 1), (1, 2), (3, 4)], n_items=6)
    refusal(says("3", "4"), kind=InfeasibleConstraintsError, known=known, linkage=linkage, n_clusters=4)
    model = ConstrainedLinkage(3, linkage=linkage).fit(X, constraints=known)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 2]


# ---- sizes ----------------------------------------------------------------------------------------------


@every_linkage
@pytest.mark.parametrize("mode", ["repair", "warn", "raise"])
def test_a_component_above_the_cap_cannot_be(linkage, mode):
    known = Constraints([(0, 1), (1, 2), (2, 4)], n_items=6)
    told = refusal(
        says("4", "3", "size_max"),
        kind=InfeasibleConstraintsError,
        known=known,
        linkage=linkage,
        size_max=3,
        on_dead_end=mode,
    )
    assert "0" in str(told)  # an item of the component
    heavy = {"size_weight": [1.0, 1, 1, 9, 1, 1]}
    refusal(says("3", "9", "8"), kind=InfeasibleConstraintsError, fit=heavy, size_max=8, on_dead_end=mode)


@pytest.mark.parametrize(
    ("loads", "words"),
    [
        ([1.0, 1, 1, 1, 1], says("size_weight", "6")),
        ([1.0, -2, 1, 1, 1, 1], says("size_weight", "1", "-2")),
        ([1.0, 1, np.nan, 1, 1, 1], says("size_weight", "2")),
        ([1.0, 1, np.inf, 1, 1, 1], says("size_weight", "2")),
        (["a"] * 6, "size_weight"),
        (np.ones((6, 2)), "size_weight"),
    ],
)
def test_wrong_loads(loads, words):
    refusal(words, fit={"size_weight": loads}, size_max=5)
    refusal(words, fit={"size_weight": loads}, size_max=5, n_clusters=None, distance_threshold=1.0)


@every_linkage
def test_a_share_is_one_of_the_mean_size(linkage):
    model = ConstrainedLinkage(2, linkage=linkage, size_max=1.0).fit(X)
    assert np.bincount(model.labels_).tolist() == [3, 3]
    alone = ConstrainedLinkage(None, linkage=linkage, distance_threshold=1e9, size_max=1).fit(X)
    assert alone.labels_.tolist() == [0, 1, 2, 3, 4, 5]  # the number 1 is one item
    loads = {"size_weight": np.array([2.0, 2, 2, 2, 2, 2])}
    model = ConstrainedLinkage(3, linkage=linkage, size_max=1.0).fit(X, **loads)
    assert np.bincount(model.labels_).tolist() == [2, 2, 2]


@every_linkage
def test_a_share_below_one_ends_in_more_clusters(linkage):
    model = ConstrainedLinkage(2, linkage=linkage, size_max=0.5)  # two items, rounded up
    with pytest.raises(InfeasibleConstraintsError):
        model.fit(X)
    with pytest.warns(DeadEndWarning, match="2"):
        model.set_params(on_dead_end="warn").fit(X)
    assert np.bincount(model.labels_).max() == 2


def test_a_share_without_a_number_of_clusters_has_no_meaning():
    refusal(says("size_max", "n_clusters|share"), n_clusters=None, distance_threshold=1.0, size_max=0.5)


@every_linkage
def test_loads_that_add_up_to_the_cap_fit(linkage):
    """1.1 + 2.2 is more than 3.3 by rounding only."""
    data = np.array([[0.0], [1.0], [9.0]])
    model = ConstrainedLinkage(2, linkage=linkage, size_max="100%")
    assert model.fit(data, size_weight=[1.1, 2.2, 3.3]).labels_.tolist() == [0, 0, 1]


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
@pytest.mark.parametrize("linkage", ["single", "complete", "average"])
def test_metrics_that_measure_all_rows(metric, linkage):
    """Deviations are those of all rows, in blocks and along edges, too."""
    rows = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 10.0, 100.0]
    D = pairwise_distances(rows, metric=metric)
    edges = np.array([(i, i + 1) for i in range(39)])
    for graph in (None, edges):
        by_rows = ConstrainedLinkage(3, linkage=linkage, metric=metric, connectivity=graph).fit(rows)
        given = ConstrainedLinkage(3, linkage=linkage, metric="precomputed", connectivity=graph).fit(D)
        np.testing.assert_allclose(by_rows.distances_, given.distances_)
        assert by_rows.labels_.tolist() == given.labels_.tolist()
    with pytest.raises(ValueError, match="none follows from the others"):
        ConstrainedLinkage(3, linkage="average", metric="mahalanobis").fit(np.column_stack([rows, rows]))
