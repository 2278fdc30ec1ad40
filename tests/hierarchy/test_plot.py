"""The picture of a tree says what the tree says: heights, vetoes, must-links, counts and the cut."""

import re
import sys
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.cluster.hierarchy import dendrogram
from sklearn.exceptions import NotFittedError

from coterie import Constraints
from coterie.hierarchy import ConstrainedLinkage, plot_dendrogram

VETOED, MUST = "#d55e00", "#0072b2"


def fitted(X, known=None, n_clusters=2, **given):
    given = {"linkage": "average", "on_dead_end": "warn", **given}
    return ConstrainedLinkage(n_clusters, **given).fit(X, constraints=known)


def drawn(model, **given):
    return plot_dendrogram(model, Figure().add_subplot(), **given)


def lines(ax, *colours):
    """The segments drawn, all or those of some colours."""
    found = [one for one in ax.collections if isinstance(one, LineCollection)]
    found = [one for one in found if not colours or to_hex(one.get_color()[0]) in colours]
    return [np.asarray(segment) for one in found for segment in one.get_segments()]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []


def leaves(ax):
    return [text.get_text() for text in ax.get_xticklabels()]


def cut(ax):
    (line,) = ax.get_lines() or [None]
    return None if line is None else line.get_ydata()[0]


def crossing(ax, height):
    """Upright lines that pass this height."""
    ups = [(a[1], b[1]) for one in lines(ax) for a, b in pairwise(one) if a[0] == b[0]]
    return sum(min(ends) < height < max(ends) for ends in ups)


@pytest.fixture
def points(seed):
    return np.random.default_rng(seed).normal(size=(24, 3))


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "ward"])
def test_without_constraints_it_is_scipys_dendrogram(points, linkage):
    model = fitted(points, linkage=linkage)
    ax = drawn(model)
    theirs = dendrogram(model.linkage_, no_plot=True)
    expected = np.stack([theirs["icoord"], theirs["dcoord"]], axis=2)

    def ordered(brackets):
        return np.array(sorted(np.asarray(brackets).reshape(-1, 8).tolist()))

    np.testing.assert_allclose(ordered(lines(ax)), ordered(expected))
    assert leaves(ax) == [str(leaf) for leaf in theirs["leaves"]]
    assert legend(ax) == ["cut: 2 clusters"]


def test_vetoed_merges_are_dashed_above_all_others(points):
    known = Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)], n_items=24)
    model = fitted(points, known, n_clusters=4)
    ax = drawn(model)
    assert model.n_roots_ == 3
    assert "vetoed: 2 merges" in legend(ax)
    comb = lines(ax, VETOED)
    top = model.linkage_[np.isfinite(model.linkage_[:, 2]), 2].max()
    heights = {end[1] for segment in comb for end in segment}
    assert max(heights) > top
    assert len(comb) == 3 + 1  # down to each root, and across
    assert ax.get_yticklabels()[-1].get_text() == "∞"
    assert ax.get_yticks()[-1] == max(heights)
    (dashed,) = [one for one in ax.collections if to_hex(one.get_color()[0]) == VETOED]
    assert dashed.get_linestyle()[0][1] is not None
    assert np.isfinite(np.concatenate(lines(ax))).all()


def test_must_links_are_thick_lines_at_height_zero(points):
    points[10] = points[11]  # at height 0 as well, but stated by nobody
    known = Constraints(must_link=[(0, 1), (1, 2), (5, 6)], n_items=24)
    ax = drawn(fitted(points, known))
    flat = lines(ax, MUST)
    assert len(flat) == 3
    assert all((segment[:, 1] == 0).all() for segment in flat)
    assert "must-link: 3 merges" in legend(ax)


def test_the_cut_crosses_one_branch_of_each_cluster(points):
    known = Constraints(must_link=[(3, 4)], cannot_link=[(0, 1), (1, 2)], n_items=24)
    for n_clusters in (2, 3, 9, 23):
        model = fitted(points, known, n_clusters=n_clusters)
        ax = drawn(model)
        assert crossing(ax, cut(ax)) == model.n_clusters_ == n_clusters
        assert f"cut: {n_clusters} clusters" in legend(ax)


def test_a_threshold_is_drawn_where_it_is(points):
    model = fitted(points, n_clusters=None, distance_threshold=1.5)
    ax = drawn(model)
    assert cut(ax) == 1.5
    assert crossing(ax, 1.5) == model.n_clusters_
    apart = Constraints(cannot_link=[(0, 1)], n_items=24)
    ax = drawn(fitted(points, apart, n_clusters=None, distance_threshold=1e9))
    assert crossing(ax, cut(ax)) == 2  # above every real merge, below infinity


def test_one_cluster_has_no_cut(points):
    assert cut(drawn(fitted(points, n_clusters=1))) is None


def test_heights_that_fall_are_drawn_as_they_are_and_have_no_cut():
    X = np.array([[0.0], [10.0], [0.5]])
    model = fitted(X, linkage="ward", connectivity=[(0, 1), (1, 2)])
    assert model.linkage_[0, 2] > model.linkage_[1, 2]
    ax = drawn(model)
    assert cut(ax) is None
    tops = sorted(segment[:, 1].max() for segment in lines(ax))
    np.testing.assert_allclose(tops, [9.5, 9.5])  # the second bracket hangs from the first one's top
    assert ax.get_ylim()[1] > 9.5


def counted(names):
    return sum(int(name[1:].split()[0].strip(")").replace(",", "")) if "(" in name else 1 for name in names)


@pytest.mark.parametrize("n_shown", [2, 5, 23, 24, 100])
def test_a_large_tree_shows_its_last_merges_with_counts(points, n_shown):
    known = Constraints(must_link=[(3, 4)], cannot_link=[(0, 1)], n_items=24)
    ax = drawn(fitted(points, known), n_shown=n_shown)
    assert len(leaves(ax)) == min(n_shown, 24)
    assert counted(leaves(ax)) == 24
    assert bool(ax.get_xlabel()) == (n_shown < 24)


def test_what_is_cut_away_are_the_first_merges(points):
    model = fitted(points)
    shown = dendrogram(model.linkage_, p=7, truncate_mode="lastp", no_plot=True)
    ax = drawn(model, n_shown=7)
    assert leaves(ax) == shown["ivl"]


def test_more_roots_than_leaves_share_the_last(points):
    known = Constraints.distinct(np.zeros(24, dtype=int)) | Constraints(n_items=24)
    model = fitted(points, known, n_clusters=24)
    ax = drawn(model, n_shown=6)
    assert len(leaves(ax)) == 6
    assert "(19)" in leaves(ax)
    assert counted(leaves(ax)) == 24
    assert legend(ax)[0] == "vetoed: 23 merges"


def test_a_repaired_model_shows_its_tree_without_a_cut():
    known = Constraints(cannot_link=[(0, 2), (1, 3), (2, 3)], n_items=4)
    model = fitted(np.array([[0.0], [1.0], [3.0], [5.5]]), known, on_dead_end="repair")
    assert model.repaired_
    ax = drawn(model)
    assert cut(ax) is None
    assert legend(ax) == ["vetoed: 2 merges"]


def test_leaves_are_named_by_labels_ids_or_numbers():
    X = np.array([[0.0], [1.0], [3.0]])
    known = Constraints(cannot_link=[("x", "z")], ids=["x", "y", "z"])
    assert sorted(leaves(drawn(fitted(X)))) == ["0", "1", "2"]
    assert sorted(leaves(drawn(fitted(X, known)))) == ["x", "y", "z"]
    assert sorted(leaves(drawn(fitted(X, known), labels=["$a", "b$", 3]))) == ["$a", "3", "b$"]


@pytest.mark.parametrize(("n", "known"), [(1, None), (2, None), (2, [(0, 1)]), (3, [(0, 1), (1, 2), (0, 2)])])
def test_tiny_trees(n, known):
    told = Constraints(cannot_link=known or [], n_items=n)
    ax = drawn(fitted(np.arange(n)[:, None] ** 2.0, told, n_clusters=n))
    ax.figure.canvas.draw()
    assert sorted(leaves(ax)) == [str(i) for i in range(n)]
    assert len(lines(ax, VETOED)) == (n + 1 if known else 0)


def test_an_axes_of_its_own(points):
    ax = plot_dendrogram(fitted(points))
    plt.close(ax.figure)
    mine = Figure().add_subplot()
    assert plot_dendrogram(fitted(points), mine) is mine


@pytest.mark.parametrize("n_shown", [1, 0, 401, 2.5, True, None])
def test_the_number_of_leaves_is_checked(points, n_shown):
    with pytest.raises(ValueError, match=re.escape(f"from 2 to 400; got {n_shown!r}")):
        drawn(fitted(points), n_shown=n_shown)


def test_names_must_be_as_many_as_items(points):
    with pytest.raises(ValueError, match=r"labels has 3 names, but the model was fitted on 24 items"):
        drawn(fitted(points), labels="abc")


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        plot_dendrogram(ConstrainedLinkage(2))


def test_what_is_missing_is_named(points, monkeypatch):
    model = fitted(points)
    monkeypatch.setitem(sys.modules, "matplotlib.collections", None)
    with pytest.raises(ImportError, match=r"needs matplotlib.*pip install \"coterie\[plot\]\""):
        plot_dendrogram(model)
