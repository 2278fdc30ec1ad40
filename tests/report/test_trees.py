"""The page of a tree: what was merged, along which neighbours, what ended it; and no word that is not so."""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse

from coterie import Constraints
from coterie.exceptions import DeadEndWarning
from coterie.hierarchy import ConstrainedLinkage, COPCobweb
from coterie.report import constraint_outcomes, plain_labels
from coterie.report._facts.gather import gather
from tests.report.test_methods import written


def grid(rng, side=6):
    """Cells of a map with two features, and the edges between neighbours."""
    cell = np.arange(side * side).reshape(side, side)
    edges = np.concatenate(
        [
            np.column_stack([cell[:, :-1].ravel(), cell[:, 1:].ravel()]),
            np.column_stack([cell[:-1].ravel(), cell[1:].ravel()]),
        ]
    )
    return rng.normal(size=(side * side, 2)), edges


def test_a_tree_on_neighbours(tmp_path, seed):
    X, edges = grid(np.random.default_rng(seed))
    known = Constraints(must_link=[(0, 1)], cannot_link=[(0, 35)], n_items=36)
    model = ConstrainedLinkage(4, connectivity=edges).fit(X, constraints=known)
    page = written(tmp_path, model, X, pictures=True)
    assert "Merging" in page.text
    assert "every cluster is connected" in page.text
    assert "The graph of neighbours is in one piece." in page.text
    assert f"{model.n_iter_} merges of 36 items, of which 1 only join" in page.text
    assert "along the same neighbours" in page.text
    drawn = {f"report-{name}.png" for name in ("map", "sizes", "merges")}
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", *drawn}
    # heights rise; nothing on the page says that they are made small, or come to rest
    for word in ("half-step", "came to rest", "stopped by itself", "iteration", "better start"):
        assert word not in page.text


def test_islands_are_said(tmp_path, seed):
    X, edges = grid(np.random.default_rng(seed))
    column = edges % 6
    cut = edges[~((column == [1, 2]).all(axis=1) | (column == [4, 5]).all(axis=1))]
    model = ConstrainedLinkage(5, connectivity=cut).fit(X)
    assert model.n_islands_ == 3
    page = written(tmp_path, model, X)
    assert "The graph of neighbours has 3 islands, of 18, 12, 6 items" in page.text


def test_the_largest_size_is_in_the_table_and_has_no_price(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(40, 2))
    load = np.arange(40) % 3 + 1.0
    model = ConstrainedLinkage(4, size_max=25, linkage="average").fit(X, size_weight=load)
    page = written(tmp_path, model, X, size_weight=load)
    assert "Sizes count the load of the items" in page.text
    assert "All bounds on sizes hold." in page.text
    assert "Price" not in page.text
    assert "price" not in page.text
    facts = gather(model, X, size_weight=load)
    assert [row.high for row in facts.sizes.rows] == [25.0] * 4
    assert [row.size for row in facts.sizes.rows] == np.bincount(model.labels_, load).tolist()
    assert all(row.met and row.low is None and row.price is None for row in facts.sizes.rows)
    # without the loads of the fit the page says the same
    assert gather(model, X).sizes == facts.sizes


def test_a_share_is_one_of_the_number_asked_for(seed):
    X, edges = grid(np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeadEndWarning)
        model = ConstrainedLinkage(4, size_max=1.0, connectivity=edges).fit(X)
    highs = {row.high for row in gather(model, X).sizes.rows}
    assert highs == {9.0}  # 36 cells in 4 clusters, however many came out


def tangled(seed, n=40, n_pairs=80):
    """Cannot-links across two halves that have nothing to do with where the items are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    half = rng.permutation(n) < n // 2
    a, b = np.flatnonzero(half), np.flatnonzero(~half)
    pairs = np.unique(np.column_stack([rng.choice(a, n_pairs), rng.choice(b, n_pairs)]), axis=0)
    return X, Constraints(cannot_link=pairs, n_items=n)


def test_a_repair_is_said(tmp_path, seed):
    X, known = tangled(seed)
    model = ConstrainedLinkage(2, linkage="complete").fit(X, constraints=known)
    assert model.repaired_
    page = written(tmp_path, model, X)
    assert f"Merging ended at {model.n_roots_} clusters, not 2" in page.text
    assert "no cut of the tree" in page.text
    assert "not of the page" in page.text  # the numbers of the clusters in what follows
    first = next(iter(model.blocked_))
    assert first.told in page.text
    assert "All " in page.text


def test_more_clusters_than_asked_for(tmp_path, seed):
    X, known = tangled(seed)
    with pytest.warns(DeadEndWarning):
        model = ConstrainedLinkage(2, linkage="complete", on_dead_end="warn").fit(X, constraints=known)
    page = written(tmp_path, model, X)
    assert model.n_clusters_ > 2
    assert f"40 items in {model.n_clusters_} clusters; 2 were asked for." in page.text
    assert page.count("article", "card") == model.n_clusters_
    assert page.count("p", "mixed") == 1
    assert "not of the page" not in page.text
    # more clusters are tighter: that is no price of what is known
    assert "costs" not in page.text


def test_many_blocks_are_cut(tmp_path):
    X = np.arange(20.0)[:, None]
    known = Constraints.distinct(["same"] * 20)
    with pytest.warns(DeadEndWarning):
        model = ConstrainedLinkage(3, on_dead_end="warn").fit(X, constraints=known)
    page = written(tmp_path, model, X)
    assert "160 more pairs are not listed." in page.text


@pytest.mark.parametrize("linkage", ["complete", "average", "single", "ward"])
def test_distances_that_were_given(tmp_path, linkage, seed):
    X = np.random.default_rng(seed).normal(size=(40, 2))
    far = np.linalg.norm(X[:, None] - X, axis=2)
    model = ConstrainedLinkage(3, linkage=linkage, metric="precomputed").fit(far)
    page = written(tmp_path, model, far)
    assert "scaled distances" in page.text
    assert "a small mean distance to the items of the cluster" in page.text
    typical = gather(model, far).cards[0].typical[0]
    inside = np.flatnonzero(model.labels_ == 0)
    assert typical == inside[far[np.ix_(inside, inside)].mean(axis=1).argmin()]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_cosine_measures_angles(tmp_path, form, seed):
    rng = np.random.default_rng(seed)
    X = np.abs(rng.normal(size=(40, 4))) * rng.uniform(0.1, 50.0, size=(40, 1))
    model = ConstrainedLinkage(3, linkage="average", metric="cosine").fit(form(X))
    assert "the mean direction of its items" in written(tmp_path, model, form(X)).text
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for card in gather(model, form(X)).cards:
        inside = np.flatnonzero(model.labels_ == card.cluster)
        assert card.typical[0] == inside[(unit[inside] @ unit[inside].sum(axis=0)).argmax()]


def test_a_number_of_clusters_that_was_found(tmp_path, seed):
    X = np.repeat(np.eye(3) * 50, 15, axis=0) + np.random.default_rng(seed).normal(size=(45, 3))
    known = Constraints(must_link=[(0, 1)], cannot_link=[(0, 40)], n_items=45)
    model = COPCobweb().fit(X, constraints=known)
    page = written(tmp_path, model, X)
    assert page.count("article", "card") == model.n_clusters_
    assert "were asked for" not in page.text
    assert "Minus the category utility" in page.text
    assert "half-step" not in page.text
    assert plain_labels(model, X) is not None


def test_a_threshold_instead_of_a_number(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(30, 2))
    model = ConstrainedLinkage(None, distance_threshold=2.0).fit(X)
    page = written(tmp_path, model, X)
    assert f"30 items in {model.n_clusters_} clusters" in page.text
    assert "were asked for" not in page.text
    assert "the next one would be at" in page.text


def test_categories_are_told_as_shares(tmp_path):
    X = np.array([["red", 1.0], ["blue", 2.0], ["red", 3.0]] * 5, dtype=object)
    known = Constraints(must_link=[(0, 2)], n_items=15)
    model = COPCobweb(categorical_features=[0]).fit(X, constraints=known)
    page = written(tmp_path, model, X)
    assert "column 0 = red" in page.text
    assert "The constraint holds." in page.text
    ones = np.column_stack([X[:, 0] == "red", X[:, 0] == "blue", X[:, 1]]).astype(float)
    page = written(tmp_path, model, ones)  # other columns than those of the fit
    assert "The constraint holds." in page.text
    assert not any(part["id"] == "comparison" for part in page.all("section"))
    assert constraint_outcomes(model, ones)["outcome"] == ["met"]


def test_a_long_course_is_thinned(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(3000, 2))
    model = ConstrainedLinkage(3, linkage="single").fit(X)
    page = written(tmp_path, model, X)
    line = next(one for one in page.all("polyline"))
    assert len(re.findall(",", line["points"])) == 1000
