"""Sizes, bounds and prices: what the page says of them is so."""

import numpy as np
import pytest

from coterie import SizeConstrainedKMeans
from coterie.assign import size_constrained_assignment
from coterie.exceptions import ViolatedConstraintsWarning
from coterie.report import write_report
from coterie.report._facts.gather import gather
from tests.report.data import blobs
from tests.report.pages import Page


def test_bounds_are_those_of_the_fit(seed):
    X, _ = blobs(seed, n=100)
    model = SizeConstrainedKMeans(3, size_min=0.9, size_max=[40, 50, None], random_state=0).fit(X)
    sizes = gather(model, X, plain=None).sizes
    assert sizes.bounded
    assert [row.low for row in sizes.rows] == [30.0] * 3  # 0.9 * 100 / 3 = 30, rounded down
    assert [row.high for row in sizes.rows] == [40.0, 50.0, None]
    assert [row.size for row in sizes.rows] == np.bincount(model.labels_).tolist()
    assert [row.price for row in sizes.rows] == model.prices_.tolist()
    assert all(row.met for row in sizes.rows)
    assert "All bounds on sizes hold." in gather(model, X, plain=None).verdict


def test_loads_are_counted(seed):
    rng = np.random.default_rng(seed)
    X, _ = blobs(seed, n=60)
    load = rng.integers(1, 5, size=60).astype(float) + 0.5
    model = SizeConstrainedKMeans(3, size_max=1.2, random_state=0)
    model.fit(X, size_weight=load)
    held = np.bincount(model.labels_, load)
    for given in ({"size_weight": load}, {}):  # without the loads, those of the clusters are in the model
        sizes = gather(model, X, plain=None, **given).sizes
        assert sizes.unit == "load"
        assert [row.size for row in sizes.rows] == pytest.approx(held.tolist())
        assert all(row.high == pytest.approx(0.4 * load.sum()) for row in sizes.rows)
        assert all(row.met for row in sizes.rows)


def test_bounds_of_groups(seed):
    rng = np.random.default_rng(seed)
    X, _ = blobs(seed, n=90)
    groups = rng.choice(["m", "w"], size=90)
    model = SizeConstrainedKMeans(3, group_min={"w": 8}, random_state=0).fit(X, groups=groups)
    sizes = gather(model, X, groups=groups, plain=None).sizes
    of_w = [row for row in sizes.groups if row.group == "w"]
    assert [row.size for row in of_w] == [
        int(((model.labels_ == h) & (groups == "w")).sum()) for h in range(3)
    ]
    assert [row.low for row in of_w] == [8.0] * 3
    assert [row.price for row in of_w] == pytest.approx(model.group_prices_[:, 1].tolist())
    assert gather(model, X, plain=None).sizes.groups == sizes.groups  # the model knows those of its fit


def test_missed_bounds_are_marked():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    load = np.array([3.0, 3.0, 3.0, 3.0, 3.5])
    model = SizeConstrainedKMeans(
        2, size_min=7, size_max=8.5 / 7.75, on_shortfall="warn", budget=0, random_state=0
    )
    with pytest.warns(ViolatedConstraintsWarning):
        model.fit(X, size_weight=load)
    assert model.violations_.shortfalls
    for given in ({"size_weight": load}, {}):
        facts = gather(model, X, plain=None, **given)
        assert len(facts.sizes.missed) == len(model.violations_.shortfalls)
        assert sum(not row.met for row in facts.sizes.rows) == len(facts.sizes.missed)
        assert "missed." in facts.verdict
        assert not facts.all_well


def test_items_that_are_left_out(seed):
    X, _ = blobs(seed, n=60)
    X[:2] = 500.0
    X[1] = -500.0
    model = SizeConstrainedKMeans(3, size_min=5, outlier_cost=200.0, random_state=0).fit(X)
    assert (model.labels_ == -1).sum() >= 2
    facts = gather(model, X)
    assert facts.sizes.n_outliers == (model.labels_ == -1).sum()
    assert "left out." in facts.verdict
    assert sum(card.size for card in facts.cards) == (model.labels_ >= 0).sum()


def test_doubtful_items_that_bounds_hold():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0]])
    model = SizeConstrainedKMeans(2, size_min=2, init=[[1.5], [10.0]]).fit(X)
    facts = gather(model, X)
    words = {doubt.item: doubt.why for card in facts.cards for doubt in card.doubtful}
    assert words[3] == "cluster 0 is nearer; held here by the bounds on sizes"
    assert facts.sizes.rows[1].price > 0  # the cluster of the last item has to have two
    assert facts.sizes.holding(3, 1, 0) == "the bounds on sizes"
    assert facts.sizes.holding(0, 0, 1) is None  # a bound that binds elsewhere holds nobody


def test_doubtful_items_that_bounds_of_groups_hold(seed):
    rng = np.random.default_rng(seed)
    X, _ = blobs(seed, n=90)
    groups = np.where(X[:, 0] > np.median(X[:, 0]), "m", "w")  # so that the bound has to hurt
    groups[rng.choice(90, 20)] = "w"
    model = SizeConstrainedKMeans(3, group_min={"m": 8}, random_state=0).fit(X, groups=groups)
    assert (model.prices_ == 0).all()
    assert (model.group_prices_ > 0).any()
    facts = gather(model, X, groups=groups, plain=None)
    words = [(doubt.item, doubt.why) for card in facts.cards for doubt in card.doubtful]
    nearer = [(item, why) for item, why in words if "is nearer" in why and "by a hair" not in why]
    assert nearer
    for item, why in nearer:
        assert groups[item] == "m"
        assert why.endswith("held here by the bounds on its group")


def test_no_bound_of_a_group_is_invented(tmp_path, seed):
    rng = np.random.default_rng(seed)
    X, _ = blobs(seed, n=90)
    groups = rng.choice(["m", "w"], size=90)
    given = {
        "min": ({"group_min": 5}, [None] * 6, [5.0] * 6),
        "one": ({"group_max": {"w": 30}}, [None] * 3 + [30.0] * 3, [None] * 6),
        "of all": ({"group_max": 90}, [None] * 6, [None] * 6),
    }
    for name, (words, high, low) in given.items():
        model = SizeConstrainedKMeans(3, random_state=0, **words).fit(X, groups=groups)
        rows = gather(model, X, groups=groups, plain=None).sizes.groups
        assert [row.high for row in rows] == high, name
        assert [row.low for row in rows] == low, name


# ---- prices -------------------------------------------------------------------------------------------


def cost_of_sizes(model, X, sizes):
    """What the best labels with exactly these sizes cost, the centres as they are."""
    costs = 0.5 * np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2) ** 2
    return size_constrained_assignment(costs, sizes, sizes).cost


def read_prices(model, X, folder, **words):
    page = Page(write_report(folder / "report.html", model, X, plain=None, **words))
    return [row.price for row in gather(model, X, plain=None, **words).sizes.rows], page.text


@pytest.mark.parametrize("bounds", [{"size_min": 36}, {"size_max": 41}])
def test_a_price_is_the_cost_of_one_more_item(tmp_path, seed, bounds):
    X, _ = blobs(seed, n=120, gap=1.0)
    model = SizeConstrainedKMeans(3, random_state=0, **bounds).fit(X)
    prices, text = read_prices(model, X, tmp_path)
    assert "what one more item in the cluster would cost" in text
    sizes = np.bincount(model.labels_)
    now = cost_of_sizes(model, X, sizes)
    low = np.full(3, bounds.get("size_min", 0))
    for h in np.flatnonzero(prices):
        # the item comes from the cluster where it is cheapest, of those that may lose one
        others = [g for g in range(3) if g != h and sizes[g] > low[g]]
        after = min(
            cost_of_sizes(model, X, sizes + (np.arange(3) == h) - (np.arange(3) == g)) for g in others
        )
        assert prices[h] == pytest.approx(after - now, abs=1e-9)
    assert np.any(prices)


def test_prices_of_pinned_sizes_mean_something_beside_each_other(tmp_path, seed):
    X, _ = blobs(seed, n=90, gap=1.0)
    model = SizeConstrainedKMeans(2, size_min=1.0, size_max=1.0, random_state=0).fit(X)
    prices, text = read_prices(model, X, tmp_path)
    assert "one size only, so only the differences of prices mean something" in text
    assert "its minimum binds" not in text
    # one more here and one less there costs at least the difference, and the one way round exactly that
    now = cost_of_sizes(model, X, [45, 45])
    dearer, cheaper = int(np.argmax(prices)), int(np.argmin(prices))
    sizes = np.array([45, 45])
    sizes[[dearer, cheaper]] = 46, 44
    back = np.array([45, 45])
    back[[dearer, cheaper]] = 44, 46
    difference = prices[dearer] - prices[cheaper]
    costs = [cost_of_sizes(model, X, sizes) - now, cost_of_sizes(model, X, back) - now]
    assert min(costs[0] - difference, costs[1] + difference) == pytest.approx(0.0, abs=1e-9)
    assert costs[0] >= difference - 1e-9


def test_prices_of_loads_are_those_of_a_unit_of_load(tmp_path, seed):
    X, _ = blobs(seed, n=60)
    load = np.random.default_rng(seed).integers(1, 5, size=60).astype(float)
    model = SizeConstrainedKMeans(3, size_min=0.9, random_state=0).fit(X, size_weight=load)
    for given in ({"size_weight": load}, {}):
        _, text = read_prices(model, X, tmp_path, **given)
        assert "what one more unit of load in the cluster would cost" in text
        assert "near the true ones only" in text


def test_groups_whose_sizes_are_pinned(tmp_path, seed):
    X, _ = blobs(seed, n=90)
    groups = np.repeat(["m", "w"], 45)
    model = SizeConstrainedKMeans(3, group_min={"m": 15}, random_state=0).fit(X, groups=groups)
    _, text = read_prices(model, X, tmp_path, groups=groups)
    assert text.count("Its minima leave no choice") == 1
    assert "comes on top of that of the cluster" in text
