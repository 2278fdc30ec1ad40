"""The page of a model that was fitted on scores of pairs: no features but those added, and no map."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from coterie import Constraints
from coterie.report import write_report
from tests.report.pages import Page
from tests.report.test_methods import written

NAMES = np.array(["ann", "anne", "bob", "rob", "<b>eve</b>", "eva"])
WHO = np.arange(6) // 2
WEIGHTS = np.where(WHO[:, None] == WHO, 2.0, -1.0)
WEIGHTS[0, 2] = WEIGHTS[2, 0] = 1.5  # goes against the others
KNOWN = Constraints(must_link=[("ann", "eva")], ids=NAMES, hard=True)
ITEMS = pd.DataFrame({"age": 30.0 + 10 * WHO, "town": np.array(["Ulm", "Rom", "Ulm"])[WHO]})


@pytest.fixture
def fitted(correlation):
    def fit(weights=WEIGHTS, known=None):
        return correlation.build(None, random_state=0).fit(weights, constraints=known)

    return fit


def sections(page):
    return [section["id"] for section in page.all("section") if section["id"] != "objective"]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_without_any_features(tmp_path, fitted, form):
    model = fitted(form(WEIGHTS), Constraints(ids=NAMES))
    page = written(tmp_path, model, form(WEIGHTS), pictures=True)
    assert sections(page) == ["clusters", "sizes", "scores", "made"]
    assert "ann and bob: +1.5, parted" in page.text
    assert page.count("svg") == (page.text.count("Objective") > 0)
    assert page.count("article", "card") == 3
    assert "Items ann anne" in page.text
    assert not {"Typical", "Doubtful", "nearest to the centre"} & set(page.texts)
    assert {path.name for path in tmp_path.glob("*map*")} == set()
    assert "<b>eve" not in page.source


def test_columns_that_describe_the_items(tmp_path, fitted):
    page = written(tmp_path, fitted(), WEIGHTS, items=ITEMS)
    assert "age" in page.text
    assert "town = Rom" in page.text
    page = written(tmp_path, fitted(), WEIGHTS, items=ITEMS[["age"]].to_numpy(), features=["years"])
    assert "years" in page.text
    place = np.column_stack([WHO, np.arange(6)])
    page = written(tmp_path, fitted(), WEIGHTS, items=ITEMS, coordinates=place)
    assert sections(page)[0] == "map"
    assert page.count("circle") >= 6


def test_constraints_and_what_they_changed(tmp_path, fitted):
    page = written(tmp_path, fitted(known=KNOWN), WEIGHTS, items=ITEMS)
    assert sections(page) == ["clusters", "sizes", "scores", "statements", "comparison", "made"]
    assert "The constraint holds." in page.text
    assert "holds because it was said" in page.text
    with pytest.warns(UserWarning, match="outvoted"):
        model = fitted(known=Constraints(must_link=[(0, 4)], n_items=6, weight=0.01))
    page = written(tmp_path, model, WEIGHTS)
    assert "the scores of pairs weigh more" in page.text


def test_what_is_not_of_this_fit_is_refused(tmp_path, fitted):
    with pytest.raises(ValueError, match="items has 5 rows, but the model was fitted on 6 items"):
        write_report(tmp_path / "report.html", fitted(), WEIGHTS, items=ITEMS[:5])
    with pytest.raises(ValueError, match="not what the model was fitted on"):
        write_report(tmp_path / "report.html", fitted(), 2 * WEIGHTS)


def test_a_model_of_rows_needs_no_items(tmp_path, wine):
    model, X, _ = wine
    with pytest.raises(ValueError, match="PCKMeans was given rows in X"):
        write_report(tmp_path / "report.html", model, X, items=X)
    assert "map" in sections(Page(write_report(tmp_path / "report.html", model, X, plain=None)))
