"""A fit with weights: costs count them, and are left out where they are missing."""

import re

import numpy as np
import pytest

from coterie import Constraints, PCKMeans, SeededKMeans, SizeConstrainedKMeans
from coterie.exceptions import ViolatedConstraintsWarning
from coterie.report import constraint_outcomes, plain_labels, write_report
from coterie.report._facts.gather import gather
from tests.report.data import blobs
from tests.report.pages import Page

LEFT_OUT = "The fit used sample_weight, which this page was not given"


@pytest.fixture
def weighted(seed):
    """A fit that weights change, with constraints that it breaks."""
    X, y = blobs(seed)
    weight = np.random.default_rng(seed).uniform(1.0, 20.0, size=len(X))
    known = Constraints.sample(y, n_pairs=40, noise=0.2, random_state=0)
    with pytest.warns(ViolatedConstraintsWarning):
        model = PCKMeans(3, weight=2.0, random_state=0).fit(X, constraints=known, sample_weight=weight)
    assert model._weighted
    return model, X, weight


def page_of(model, X, folder, **words):
    return Page(write_report(folder / "report.html", model, X, **words))


def test_costs_count_the_weights(weighted, tmp_path):
    model, X, weight = weighted
    table = constraint_outcomes(model, X, sample_weight=weight)
    cost = 0.5 * np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2) ** 2 * weight[:, None]
    reasons = [reason for reason in table["reason"] if reason.startswith("moving")]
    assert len(reasons) == table["outcome"].count("broken") > 0
    for reason in reasons:
        item, target = map(int, re.match(r"moving (\d+) into cluster (\d+)", reason).groups())
        price = cost[item, target] - cost[item, model.labels_[item]]
        said = float(re.search(r"would cost ([\d.,]+\d)", reason)[1].replace(",", ""))
        assert said == pytest.approx(price, rel=5e-3)
    page = page_of(model, X, tmp_path, sample_weight=weight)
    assert LEFT_OUT not in page.text
    assert gather(model, X, sample_weight=weight).comparison.spread == pytest.approx(model.inertia_, rel=1e-3)


def test_without_the_weights_no_cost_is_told(weighted, tmp_path):
    model, X, weight = weighted
    for reason, outcome in zip(*map(constraint_outcomes(model, X).get, ("reason", "outcome")), strict=True):
        assert "cost" not in reason or outcome == "broken"
        assert "would cost" not in reason or "cannot be said without the sample_weight" in reason
    assert plain_labels(model, X) is None
    page = page_of(model, X, tmp_path)
    assert page.text.count(LEFT_OUT) == 1
    assert any(section["id"] == "comparison" for section in page.all("section"))
    assert not re.search(r"would cost \d", page.text)
    for word in ("summed squared", "adjusted Rand", "because it was said", "without being said"):
        assert word not in page.text
    assert gather(model, X).n_broken == gather(model, X, sample_weight=weight).n_broken


def test_given_labels_are_compared_without_distances(weighted, tmp_path):
    model, X, weight = weighted
    plain = plain_labels(model, X, sample_weight=weight)
    page = page_of(model, X, tmp_path, plain=plain)
    assert "adjusted Rand" in page.text
    assert "summed squared" not in page.text
    assert page.text.count(LEFT_OUT) == 1


def test_the_sentence_stands_only_where_something_is_missing(weighted, tmp_path):
    model, X, weight = weighted
    assert LEFT_OUT not in page_of(model, X, tmp_path, plain=None).text
    free = PCKMeans(3, random_state=0).fit(X, sample_weight=weight)
    assert LEFT_OUT not in page_of(free, X, tmp_path).text
    again = PCKMeans(3, random_state=0).fit(X)
    assert not again._weighted
    bounded = SizeConstrainedKMeans(3, size_min=38, random_state=0).fit(X, sample_weight=weight)
    assert page_of(bounded, X, tmp_path).text.count(LEFT_OUT) == 1


def test_statements_that_guide_the_start_alone():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [0.2], [5.2]])
    model = SeededKMeans(2, random_state=0)
    model.fit(X, constraints=Constraints.from_labels([0, 0, 1, 1, -1, -1]), sample_weight=np.ones(6))
    (reason,) = constraint_outcomes(model, X, Constraints(must_link=[(0, 5)], n_items=6))["reason"]
    assert reason.startswith("constraints only guide the start; what it would cost to meet it cannot be said")


def test_one_weight_for_all(weighted):
    model, X, _ = weighted
    assert constraint_outcomes(model, X, sample_weight=3.0) == constraint_outcomes(
        model, X, sample_weight=np.full(len(X), 3.0)
    )
    with pytest.raises(ValueError, match="sample_weight"):
        constraint_outcomes(model, X, sample_weight=[1.0, 2.0])
