"""What the page draws and calls things: maps with edges and ticks, names of clusters, items apart."""

import re

import numpy as np
import pytest

from coterie import ConstrainedSeedKMeans, Constraints, COPKMeans, SeededKMeans
from coterie.base import Trace
from coterie.exceptions import ViolatedConstraintsWarning
from coterie.hierarchy import ConstrainedLinkage
from coterie.mixture import ConstrainedGaussianMixture
from coterie.report import constraint_outcomes, write_report
from coterie.report._facts.gather import gather
from coterie.report._page.numbers import ticks
from coterie.report._page.svg import course_of
from tests.report.data import blobs
from tests.report.pages import Page


@pytest.mark.parametrize(
    "model",
    [COPKMeans(12, random_state=0), ConstrainedGaussianMixture(3, covariance_type="diag", random_state=0)],
)
def test_no_item_is_typical_and_doubtful(model, seed):
    X, _ = blobs(seed, n=40, gap=0.2)
    cards = gather(model.fit(X), X).cards
    for card in cards:
        doubtful = [doubt.item for doubt in card.doubtful]
        assert not set(card.typical) & set(doubtful)
        assert len(card.typical) == min(3, card.size - len(doubtful))
    assert any(card.doubtful for card in cards)


def test_neighbours_are_drawn_and_coordinates_have_ticks(tmp_path, seed):
    across, up = (part.ravel() for part in np.meshgrid(np.arange(6), np.arange(4)))
    place = np.column_stack([11.0 + across / 10, 1000.0 * up])
    near = np.abs(across[:, None] - across) + np.abs(up[:, None] - up) == 1
    X = np.random.default_rng(seed).normal(size=(24, 3))
    model = ConstrainedLinkage(4, connectivity=np.triu(near)).fit(X)
    facts = gather(model, X, coordinates=place, coordinate_names=("lon", "lat"))
    assert len(facts.map.edges) == near.sum() / 2
    assert [text for _, text in facts.map.ticks[0]] == ["11.0", "11.1", "11.2", "11.3", "11.4", "11.5"]
    assert [text for _, text in facts.map.ticks[1]] == [
        "0",
        "500",
        "1,000",
        "1,500",
        "2,000",
        "2,500",
        "3,000",
    ]
    # a tick stands where its value is drawn
    np.testing.assert_allclose([at for at, _ in facts.map.ticks[0]], np.unique(facts.map.xy[:, 0]))
    page = Page(write_report(tmp_path / "page.html", model, X, coordinates=place, pictures=True))
    drawn = sum(path["d"].count("L") for path in page.all("path", "near"))
    crossing = (model.labels_[:, None] != model.labels_) & near
    assert (drawn, page.all("path", "cut")[0]["d"].count("L")) == (near.sum() / 2, crossing.sum() / 2)
    assert page.count("span", "x") >= 6
    assert "dashed ones lead from one cluster to another" in page.text
    assert (tmp_path / "page-map.png").exists()
    # components have no unit
    assert gather(model, X).map.ticks == ([], [])


@pytest.mark.parametrize(
    ("values", "told"), [([2384.0, 1293.0], "2,384 1,293"), ([2565.31, 2564.69], "2,565.31 2,564.69")]
)
def test_the_ends_of_a_trace_differ(values, told):
    drawn = course_of(Trace(np.array(values)))
    assert re.findall(r"<span>(.*?)</span>", drawn) == [
        f"start {told.split()[0]}",
        "→ iteration",
        f"end {told.split()[1]}",
    ]
    assert re.findall(r'class="x"[^>]*>(.*?)<', drawn) == ["0"]


def test_one_or_two_features_are_the_map(tmp_path):
    X = np.column_stack([np.linspace(-1, 1, 20), np.repeat([0.0, 1.0], 10)])
    model = COPKMeans(2, random_state=0).fit(X)
    features = [
        type("F", (), {"name": n, "kind": "numeric", "offset": 50.0, "scale": 10.0, "level": None})
        for n in "ab"
    ]
    shown = gather(model, X, features=features).map
    assert shown.axes == ("a", "b")
    assert [text for _, text in shown.ticks[0]] == ["40", "45", "50", "55", "60"]
    alone = gather(COPKMeans(2, random_state=0).fit(X[:, :1]), X[:, :1]).map
    assert alone.axes[0] == "feature 0"
    assert (len(alone.ticks[0]) > 2, alone.ticks[1]) == (True, [])


@pytest.mark.parametrize("n", [60, 3000])
def test_identical_rows_do_not_hide_each_other(n):
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [5.0, 1.0]], n // 3, axis=0)
    shown = gather(COPKMeans(3, random_state=0).fit(X), X).map
    assert len(np.unique(shown.xy, axis=0)) == n
    assert shown.xy.min() >= 0
    assert shown.xy.max() <= 1
    for rows in np.split(shown.xy, 3):  # near their place
        assert np.ptp(rows, axis=0).max() < 0.25
    assert f"{n - 3:,} items at the place of another: drawn around it." in shown.notes
    apart = X[:60] + np.random.default_rng(0).normal(size=(60, 2))
    far = gather(COPKMeans(3, random_state=0).fit(apart), apart)
    assert not any("at the place" in note for note in far.map.notes)


def test_booleans_are_shares_of_yes():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = np.column_stack([np.where(y == 0, rng.uniform(size=100) < 0.9, rng.uniform(size=100) < 0.2), 9.0 * y])
    features = gather(COPKMeans(2, random_state=0).fit(X), X).cards[0].traits.features
    at = X[:, 1] == X[np.argmax(COPKMeans(2, random_state=0).fit(X).labels_ == 0), 1]
    (one,) = [trait for trait in features if trait.name == "feature 0"]
    assert one.here == f"{100 * X[at, 0].mean():.0f}\u00a0% yes"
    assert one.overall == f"{100 * X[:, 0].mean():.0f}\u00a0%"
    (other,) = [trait for trait in features if trait.name == "feature 1"]
    assert "yes" not in other.here


@pytest.mark.parametrize(("k", "style"), [(2, "cards two"), (3, "cards"), (4, "cards two"), (5, "cards")])
def test_four_cards_stand_two_by_two(tmp_path, k, style, seed):
    X, y = blobs(seed, k=k)
    known = Constraints.sample(y, n_pairs=30, random_state=0)
    page = Page(
        write_report(tmp_path / "page.html", COPKMeans(k, random_state=0).fit(X, constraints=known), X)
    )
    assert [one["class"] for one in page.all("div", "cards")] == [style]
    # what holds is folded
    assert page.count("details") == 1
    assert all("open" not in one for one in page.all("details"))


def test_clusters_carry_the_names_of_labels(tmp_path, seed):
    X, y = blobs(seed, gap=6.0)
    labels = [["pear", "apple", "fig"][kind] if row < 30 else -1 for row, kind in enumerate(y)]
    known = Constraints.from_labels(labels)
    model = ConstrainedSeedKMeans(3, random_state=0).fit(X, constraints=known)
    names = dict(enumerate(model.account().names))
    assert names == {int(model.labels_[labels.index(name)]): name for name in ("pear", "apple", "fig")}
    page = Page(write_report(tmp_path / "page.html", model, X))
    for h, name in names.items():
        assert page.text.count(f"Cluster {h} ({name})") == 2  # the legend and the card
        assert f"cluster {h} ({name})" in page.source  # hovering over a point
    # no formula, and not too long
    odd = Constraints.from_labels([{"pear": "$x^{2$", "fig": "y" * 99}.get(name, name) for name in labels])
    model = ConstrainedSeedKMeans(3, random_state=0).fit(X, constraints=odd)
    page = Page(write_report(tmp_path / "page.html", model, X, pictures=True))
    assert "($x^{2$)" in page.text
    assert f"({'y' * 19}…)" in page.text
    assert (tmp_path / "page-sizes.png").exists()


def test_names_where_labels_are_outvoted_or_say_nothing():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    known = Constraints.from_labels(["a", "a", -1, "b", "b", "a"])
    with pytest.warns(ViolatedConstraintsWarning):
        model = SeededKMeans(2, random_state=0).fit(X, constraints=known)
    first, last = int(model.labels_[0]), int(model.labels_[5])
    assert (model.account().names[first], model.account().names[last]) == ("a", "b")
    assert constraint_outcomes(model, X)["reason"][-1].endswith(f"in cluster {last} (b)")
    for nothing in (Constraints([(0, 1)], n_items=6), None):
        assert COPKMeans(2, random_state=0).fit(X, constraints=nothing).account().names == ()
    # labels that are the numbers of the clusters add nothing
    model = ConstrainedSeedKMeans(2, random_state=0).fit(
        X, constraints=Constraints.from_labels([0, -1, -1, 1, -1, -1])
    )
    assert model.labels_[0] == 0
    assert model.account().names == ()


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.0, 1.0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (1990.0, 2020.0, ["1,990", "1,995", "2,000", "2,005", "2,010", "2,015", "2,020"]),
        (-0.07, 0.049, ["\u22120.06", "\u22120.04", "\u22120.02", "0.00", "0.02", "0.04"]),
        (0.0, 3e6, ["0", "500,000", "1e+06", "1.5e+06", "2e+06", "2.5e+06", "3e+06"]),
        (3.0, 3.0, []), (0.0, np.inf, []), (np.nan, 1.0, []),
    ],
)  # fmt: skip
def test_ticks_are_round(low, high, told):
    found = ticks(low, high)
    assert [text for _, text in found] == told
    assert all(0 <= at <= 1 for at, _ in found)
    assert [text for _, text in ticks(0.0, 1.5, 10, 1.0)] == ["0", "1"]
