"""Lists of cheap clusters give what the whole table of costs gives: labels, cost and prices."""

import numpy as np
import pytest
from scipy import sparse

from coterie import SizeConstrainedKMeans
from coterie.assign import size_constrained_assignment
from coterie.assign._sizes import read_bounds
from coterie.assign._transport import Shortlists, Transport
from coterie.distortion import distortion_named
from coterie.kmeans._engine import sized_loop
from tests.marks import unsettled


def problem(seed, n=600, k=40, metric="sqeuclidean", dtype=np.float64, weighted=False):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, 3)) + 3 * rng.normal(size=(k // 4, 3))[rng.integers(k // 4, size=n)]).astype(
        dtype
    )
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    distortion = distortion_named(metric)(X, weight)
    table = np.empty((n, k), dtype=dtype)
    centres = distortion.validated_centres(X[rng.choice(n, k, replace=False)].astype(np.float64))
    distortion.fill_costs(centres, table)
    return distortion, centres, table


def both(distortion, centres, table, size_min, size_max, before=None):
    bounds = read_bounds(size_min, size_max, *table.shape)
    by_lists = Transport(bounds.limits).solve(Shortlists(distortion, centres), before)
    return by_lists, size_constrained_assignment(table, size_min, size_max), bounds


@pytest.mark.parametrize("listed", [2, 5, 40])
@pytest.mark.parametrize("bound", [(1.0, None), (0.5, 1.1), (None, 1.0), (0.9, None)])
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_the_outcome_is_that_of_the_table(listed, bound, metric, monkeypatch):
    """Also with lists so short that they lead nowhere at first."""
    monkeypatch.setattr(Shortlists.__init__, "__defaults__", (listed,))
    for seed in range(3):
        distortion, centres, table = problem(seed, metric=metric, weighted=seed == 2)
        found, wanted, bounds = both(distortion, centres, table, *bound)
        assert bounds.missed(found.labels) == 0
        cost = table[np.arange(len(table)), found.labels].sum()
        np.testing.assert_allclose(cost, wanted.cost, rtol=1e-12)


def test_the_prices_prove_it(monkeypatch):
    """The dual bound at the prices found is the cost: nothing can be cheaper."""
    monkeypatch.setattr(Shortlists.__init__, "__defaults__", (3,))
    distortion, centres, table = problem(5)
    found, _, bounds = both(distortion, centres, table, 0.7, 1.2)
    price = found.potentials[: table.shape[1]]
    dual = (table - price).min(axis=1).sum() + np.where(price > 0, bounds.low, bounds.high) @ price
    np.testing.assert_allclose(dual, table[np.arange(len(table)), found.labels].sum(), rtol=1e-12)


def test_bad_prices_to_start_from_change_nothing():
    distortion, centres, table = problem(6)
    rng = np.random.default_rng(0)
    before = np.append(rng.normal(scale=1e3, size=table.shape[1]), 0.0)
    found, wanted, _ = both(distortion, centres, table, 0.9, 1.1, before)
    np.testing.assert_allclose(table[np.arange(len(table)), found.labels].sum(), wanted.cost, rtol=1e-12)


@pytest.mark.parametrize("listed", [2, 4])
def test_centres_that_coincide(listed, monkeypatch):
    """More clusters cost the same than a list holds."""
    monkeypatch.setattr(Shortlists.__init__, "__defaults__", (listed,))
    distortion, centres, table = problem(8)
    centres[5:25] = centres[4]
    distortion.fill_costs(centres, table)
    for bound in ((1.0, 1.0), (0.3, 1.5)):
        found, wanted, bounds = both(distortion, centres, table, *bound)
        assert bounds.missed(found.labels) == 0
        cost = table[np.arange(len(table)), found.labels].sum()
        np.testing.assert_allclose(cost, wanted.cost, rtol=1e-12)


def test_a_list_holds_the_cheapest_and_its_floor():
    distortion, centres, table = problem(7)
    prices = np.random.default_rng(0).normal(size=table.shape[1])
    lists = Shortlists(distortion, centres, n_listed=6)
    cost, column = lists.build(prices)
    np.testing.assert_array_equal(np.take_along_axis(table, column, axis=1), cost)
    least = np.sort(table - prices, axis=1)[:, :6]
    np.testing.assert_array_equal(np.sort(cost - prices[column], axis=1), least)
    np.testing.assert_array_equal(lists.floor, least[:, -1])


def test_where_all_cost_the_same_every_cluster_is_on_as_many_lists():
    distortion, centres, table = problem(7)
    lists = Shortlists(distortion, np.ones_like(centres), n_listed=6)
    count = np.bincount(lists.build(np.zeros(len(centres))).column.ravel(), minlength=len(centres))
    np.testing.assert_array_equal(count, table.size // len(centres) * 6 // len(centres))


def test_of_many_equals_beyond_the_list_one_is_taken_that_is_then_on_it():
    distortion, centres, table = problem(7)
    centres[20:], n = centres[0], len(table)
    lists = Shortlists(distortion, centres, n_listed=4)
    lists.build(np.where(np.arange(40) < 4, 1e3, 0.0))  # all list the first four
    prices = np.where(np.arange(40) < 20, 0.0, 1e3)
    labels = np.arange(n, dtype=np.int32) % 4
    rows, better = lists.missing(labels, prices)
    assert len(rows) == n
    assert (better >= 20).all()
    assert (lists.cells.column == better[:, None]).any(axis=1).all()


@pytest.mark.parametrize("case", ["most items must go far", "equal centres", "equal rows", "one place"])
def test_lists_that_lead_nowhere_for_long(case):
    """Prices must not run away on the way, nor may a list lose the cluster that its item is in."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        n, k = 1500, 80
        blobs = 100 * rng.normal(size=(3, 2))
        X = blobs[rng.choice(3, n, p=[0.8, 0.15, 0.05])] + rng.normal(size=(n, 2))
        centres = blobs[np.repeat([0, 1, 2], [8, 24, 48])] + rng.normal(size=(k, 2))
        if case == "equal centres":
            centres = centres[rng.integers(0, 3, k)]
        elif case == "equal rows":
            X = X[rng.integers(0, 5, n)]
        elif case == "one place":
            X, centres = np.ones_like(X), np.ones_like(centres)
        distortion = distortion_named("sqeuclidean")(X, None)
        table = np.empty((n, k))
        distortion.fill_costs(centres, table)
        found, wanted, bounds = both(distortion, centres, table, 0.9, 1.1)
        assert bounds.missed(found.labels) == 0
        cost = table[np.arange(n), found.labels].sum()
        np.testing.assert_allclose(cost, wanted.cost, rtol=1e-12, atol=1e-12)


def test_the_floor_does_not_follow_the_prices_of_the_caller():
    distortion, centres, table = problem(8)
    prices = np.zeros(table.shape[1])
    lists = Shortlists(distortion, centres, n_listed=4)
    lists.build(prices)
    prices[:] = 5.0 * np.random.default_rng(0).normal(size=len(prices))  # as a solver changes its own
    labels = lists.cells.column[:, 0].copy()
    rows, better = lists.missing(labels, prices)
    labels[rows] = better
    own = (table - prices)[np.arange(len(table)), labels]
    listed = (lists.cells.cost - prices[lists.cells.column]).min(axis=1)
    np.testing.assert_allclose(np.minimum(own, listed), (table - prices).min(axis=1), atol=1e-9)


@unsettled
@pytest.mark.parametrize("form", ["dense", "float32", "sparse", "weighted", "cosine"])
def test_a_fit_is_the_same_either_way(form, monkeypatch):
    """Labels, objective and prices of a whole fit; rounding of float32 may choose among equals."""
    rng = np.random.default_rng(1)
    k = 70
    X = rng.normal(size=(1500, 4)) + 3 * rng.normal(size=(20, 4))[rng.integers(20, size=1500)]
    weight = rng.uniform(0.5, 2.0, len(X)) if form == "weighted" else None
    given = {"float32": X.astype(np.float32), "sparse": sparse.csr_matrix(X)}.get(form, X)
    settings = {"size_min": 0.6, "size_max": 1.1, "n_init": 1, "max_iter": 3, "init": X[:k]}
    model = SizeConstrainedKMeans(k, metric="cosine" if form == "cosine" else "sqeuclidean", **settings)
    fits = []
    for cells in (10**12, 1):
        monkeypatch.setattr(sized_loop, "_MANY_CELLS", cells)
        model.fit(given, sample_weight=weight)
        fits.append((model.labels_, model.objective_, model.prices_))
        assert model.sizes_.min() >= int(0.6 * 1500 / k)
    (labels, objective, prices), (labels_2, objective_2, prices_2) = fits
    np.testing.assert_allclose(objective, objective_2, rtol=1e-6 if form == "float32" else 1e-12)
    if form != "float32":
        np.testing.assert_array_equal(labels, labels_2)
        np.testing.assert_allclose(prices, prices_2, atol=1e-10)


@unsettled
def test_no_table_is_written(monkeypatch):
    """The lists are all that a fit keeps of the costs."""
    monkeypatch.setattr(sized_loop, "_MANY_CELLS", 1)
    seen = []
    built = Shortlists.build
    monkeypatch.setattr(
        Shortlists, "build", lambda self, prices: seen.append(self.shape) or built(self, prices)
    )
    before, fill = [], sized_loop.BoundedLoop._fill_costs
    monkeypatch.setattr(
        sized_loop.BoundedLoop, "_fill_costs", lambda loop, c: before.append(loop.costs) or fill(loop, c)
    )
    X = np.random.default_rng(0).normal(size=(900, 3))
    SizeConstrainedKMeans(70, size_min=1.0, n_init=1, max_iter=2, random_state=0).fit(X)
    assert set(seen) == {(900, 70)}
    assert len(before[0]) == 0  # nor was room asked for
