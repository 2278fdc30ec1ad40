"""How sure the model is: probabilities, doubts and their account are those of the model."""

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from coterie import (
    ConstrainedGaussianMixture,
    Constraints,
    MeanFieldMixture,
    PairwiseClustering,
    PenalizedGaussianMixture,
)
from coterie.base import Account, Certainty, account_of
from coterie.exceptions import ViolatedConstraintsWarning
from coterie.mixture._engine.account import price_of_mixture
from coterie.report import constraint_outcomes
from coterie.report._facts.doubt import IN_DOUBT, MOST_ITEMS, MOST_PAIRS, read_certainty
from coterie.report._facts.gather import gather
from coterie.report._page.numbers import number, percent
from tests.marks import outvoted
from tests.report.test_methods import written


def told(R, labels=None, known=None, agreement=None, **more):
    """What is read off a model that has these probabilities."""
    R = np.asarray(R, dtype=float)
    labels = R.argmax(axis=1) if labels is None else np.asarray(labels)
    known = Constraints(n_items=len(R)) if known is None else known
    account = Account(known=known, certainty=Certainty(R, agreement, **more))
    return read_certainty(account, labels)


def test_a_model_without_probabilities_says_nothing():
    assert read_certainty(account_of(SimpleNamespace(labels_=[0, 1])), np.array([0, 1])) is None


def test_the_probability_is_that_of_the_cluster_an_item_is_in():
    R = [[0.7, 0.3, 0.0], [0.2, 0.2, 0.6], [0.05, 0.95, 0.0], [1.0, 0.0, 0.0]]
    sure = told(R, labels=[0, 0, 1, 0])  # the second is held where it is not most probable
    assert sure.own.tolist() == [0.7, 0.2, 0.95, 1.0]
    assert sure.rival.tolist() == [1, 2, 0, 1]
    assert sure.other.tolist() == [0.3, 0.6, 0.05, 0.0]
    assert (sure.below(0.9), sure.below(0.6)) == (2, 1)
    assert [(one.item, one.cluster, one.likely) for one in sure.items] == [
        (1, 0, ((2, 0.6), (0, 0.2))),
        (0, 0, ((0, 0.7), (1, 0.3))),
    ]


def test_one_cluster_has_no_rival():
    sure = told(np.ones((4, 1)))
    assert sure.rival.tolist() == [-1] * 4
    assert sure.items == ()


def test_every_item_is_in_one_band(seed):
    rng = np.random.default_rng(seed)
    R = rng.dirichlet(np.full(4, 0.3), size=500)
    R[:3] = [[1, 0, 0, 0], [0.99, 0.01, 0, 0], [0.5, 0.5, 0, 0]]
    sure = told(R)
    assert sum(count for _, count in sure.bands) == 500
    counts = dict(sure.bands)
    assert counts["0.99 and above"] == (R.max(axis=1) >= 0.99).sum()
    assert counts["below 0.5"] == (R.max(axis=1) < 0.5).sum()
    assert sum(list(counts.values())[:-2]) == sure.below(IN_DOUBT)
    assert len(sure.items) == MOST_ITEMS
    shown = [sure.own[one.item] for one in sure.items]
    assert shown == sorted(sure.own)[:MOST_ITEMS]


def test_numbers_a_hair_above_one_are_one():
    certainty = Certainty(np.array([[1 + 1e-12, -1e-12]]))
    assert certainty.own(np.array([0])).tolist() == [1.0]


def test_pairs_in_doubt_are_those_least_probable():
    R = np.array([[0.9, 0.1], [0.2, 0.8], [0.95, 0.05], [0.99, 0.01], [0.4, 0.6]])
    known = Constraints([(0, 1), (0, 2)], [(2, 3), (1, 3)], n_items=5)
    assert known.cannot_link.tolist() == [[1, 3], [2, 3]]  # pairs are kept in order
    sure = told(R, known=known, agreement=[0.3, 0.97, 0.8, 0.05])  # must-links first, then cannot-links
    found = [(pair.kind, pair.i, pair.j, round(pair.probability, 6), pair.met) for pair in sure.pairs]
    assert found == [("cannot-link", 1, 3, 0.2, True), ("must-link", 0, 1, 0.3, False)]
    assert (sure.n_pairs, sure.n_pairs_in_doubt) == (4, 2)


def test_pairs_of_no_weight_and_of_no_number_are_not_doubted():
    known = Constraints([(0, 1)], n_items=3, weight=0.0) | Constraints([(1, 2)], n_items=3)
    sure = told(np.full((3, 2), 0.5), known=known, agreement=np.array([0.1, np.nan]))
    assert (sure.n_pairs, sure.pairs) == (0, ())


def test_many_pairs_are_cut(seed):
    rng = np.random.default_rng(seed)
    n = 200
    known = Constraints(np.column_stack([np.arange(100), np.arange(100) + 100]), n_items=n)
    sure = told(rng.dirichlet([1, 1], size=n), known=known, agreement=np.full(100, 0.5))
    assert (sure.n_pairs_in_doubt, len(sure.pairs)) == (100, MOST_PAIRS)


@pytest.mark.parametrize(
    ("cannot", "words"),
    [
        (
            [(0, 1)],
            "1 cannot-link could not be counted in the probabilities (0 and 1); in the clusters it is",
        ),
        ([(0, 2)], "(0 and 2); in the clusters it holds."),
        ([(0, 2), (1, 2)], "(0 and 2, 1 and 2); in the clusters they all hold."),
        ([(0, 2), (0, 1)], "in the clusters 1 of them is broken."),
        ([(0, 2), (1, 2), (2, 4), (0, 5)], ", and 1 more); in the clusters they all hold."),
    ],
)
def test_what_was_dropped_is_said(cannot, words):
    R = np.eye(2)[[0, 0, 1, 0, 0, 1]]
    sure = told(R, dropped=Constraints(None, cannot, n_items=6))
    assert len(sure.text) == 1
    assert words in sure.text[0]


def test_what_was_inferred_and_what_collapsed_is_said():
    sure = told(np.eye(3), inference="Exact, by trees", collapsed=(0, 2))
    assert sure.text[0] == "How the probabilities were found: Exact, by trees."
    assert sure.text[1].startswith("Clusters 0, 2 have shrunk")
    assert told(np.eye(3), collapsed=(1,)).text[0].startswith("Cluster 1 has shrunk")
    assert told(np.eye(3), collapsed=()).text == ()


# ---- on the page --------------------------------------------------------------------------------------


def overlapping(seed, n=120):
    """Two clouds that run into each other, and pairs of which some are wrong."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 2)) + 2.6 * y[:, None]
    return X, y, Constraints.sample(y, n_pairs=30, noise=0.2, random_state=seed)


@pytest.fixture
def doubting(seed):
    X, _, known = overlapping(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ViolatedConstraintsWarning)
        model = PenalizedGaussianMixture(2, confidence=0.8, random_state=0).fit(X, constraints=known)
    return model, X


def test_the_page_says_how_sure_the_model_is(tmp_path, doubting):
    model, X = doubting
    page = written(tmp_path, model, X)
    own = model.responsibilities_[np.arange(len(X)), model.labels_]
    assert f"{(own < 0.9).sum()} of 120 items are in doubt" in page.text
    assert f"How the probabilities were found: {model.inference_}" in page.text
    must = model.constraints_.must_table.n
    true = np.r_[model.agreement_[:must], 1 - model.agreement_[must:]]
    assert f"{(true < 0.9).sum()} of 30 stated pairs are in doubt" in page.text
    assert page.count("circle", "doubt") == (own < 0.9).sum()
    assert "Hollow: in doubt" in page.text
    titles = [text for text in page.texts if text.startswith("7: cluster ")]
    assert titles == [f"7: cluster {model.labels_[7]}, {percent(own[7])}"]
    assert "Minus the log-likelihood" in page.text
    assert "half-step" not in page.text
    assert "distances to the centres" not in page.text


def test_the_cards_name_the_items_least_sure(doubting):
    model, X = doubting
    facts = gather(model, X)
    own = facts.certainty.own
    for card in facts.cards:
        members = np.flatnonzero(model.labels_ == card.cluster)
        worst = members[np.argsort(own[members], kind="stable")[:3]]
        assert [doubt.item for doubt in card.doubtful] == worst[own[worst] < IN_DOUBT].tolist()
        densest = model.score_samples(X) + np.log(model.predict_proba(X)[:, card.cluster])
        assert card.typical[0] == members[densest[members].argmax()]


def test_what_a_move_costs_is_log_likelihood(doubting):
    model, X = doubting
    known = model.constraints_
    table = constraint_outcomes(model, X)
    broken = [row for row, outcome in enumerate(table["outcome"]) if outcome == "broken"]
    assert broken
    worth = np.log(0.8 / 0.2)  # no pair states a confidence
    share = np.log(model.predict_proba(X))
    for row in broken:
        reason = table["reason"][row]
        item, there = map(int, re.match(r"moving (\d+) into cluster (\d+) would cost", reason).groups())
        cost = share[item, model.labels_[item]] - share[item, there]
        assert f"would cost {number(max(cost, 0.0))}" in reason
        assert f"weighs {number(worth)}" in reason
        assert item in (int(table["i"][row]), int(table["j"][row]))
    assert len(broken) == known.violations(model.labels_).n_broken


def test_a_stated_confidence_is_what_a_pair_weighs():
    price = price_of_mixture(SimpleNamespace(objective_kind_="joint", confidence=0.9))
    assert price.statement == pytest.approx(np.log(9))
    assert price.stated == 1.0  # the log-odds are in the strength of the pair
    assert price_of_mixture(SimpleNamespace(objective_kind_="joint", confidence=1.0)).statement < 20
    assert price_of_mixture(SimpleNamespace(objective_kind_="bound", weight=7.0)).statement == 7.0
    assert price_of_mixture(SimpleNamespace(objective_kind_="bound", weight=(7.0, 1.0))).statement is None


def test_every_mixture_has_the_part_and_sizes_of_pages_stay_small(tmp_path, seed):
    X, _, known = overlapping(seed, 3000)
    model = ConstrainedGaussianMixture(2, random_state=0).fit(X, constraints=known)
    page = written(tmp_path, model, X)
    assert page.count("path", "many") == 4  # sure and in doubt, for each cluster
    assert page.count("path", "doubt") == 2
    assert "Pale: in doubt" in page.text
    assert "more items in doubt are not listed" in page.text
    assert "None: each of the 30 stated pairs has at least 90 %." in page.text.replace("\u00a0", " ")


def test_where_nothing_is_in_doubt(tmp_path, seed):
    X = np.repeat([[0.0, 0.0], [90.0, 90.0]], 20, axis=0) + np.random.default_rng(seed).normal(size=(40, 2))
    model = ConstrainedGaussianMixture(2, random_state=0).fit(X)
    page = written(tmp_path, model, X)
    assert "No item is in doubt" in page.text
    assert "Hollow" not in page.text
    assert "Constraints in doubt" not in page.text


@outvoted
def test_distances_alone_have_doubts_too(tmp_path, seed):
    X, _, known = overlapping(seed, 40)
    far = ((X[:, None] - X) ** 2).sum(axis=-1)
    model = PairwiseClustering(2, metric="precomputed", random_state=0).fit(far, constraints=known)
    page = written(tmp_path, model, far)
    assert "read them as an order, not as chances" in page.text
    assert "after each sweep from there" in page.text
    reasons = constraint_outcomes(model, far)["reason"]
    assert not any("would cost" in reason for reason in reasons)


def test_dropped_must_links_are_said_too():
    R = np.eye(2)[[0, 0, 1, 0, 0, 1]]
    dropped = Constraints([(0, 2)], [(0, 1)], n_items=6)
    (words,) = told(R, dropped=dropped).text
    assert words.startswith(
        "1 must-link and 1 cannot-link could not be counted in the probabilities (0 and 2"
    )
    assert words.endswith("in the clusters 2 of them are broken.")


def test_a_mixture_without_density_has_a_page(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + np.repeat([[0.0, 0.0], [9.0, 9.0]], 30, axis=0)
    known = Constraints([(0, 1), (2, 50)], n_items=60, weight=0.01)
    model = MeanFieldMixture(2, emission="squared-error", random_state=0)
    with pytest.warns(ViolatedConstraintsWarning):
        model.set_params(weight=1.0).fit(X, constraints=known)
    page = model.report(X, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The centre of a cluster is here the mean of its items." in page
    # broken because the way is long: squared distances on both sides
    assert "the constraint weighs 0.01" in page
