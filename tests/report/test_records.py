"""The page of entities: no features, no cards, the largest entities and the merges to look at."""

import numpy as np
import pytest

from coterie import Constraints
from coterie.datasets import make_references
from coterie.relational import EntityResolver
from coterie.report import write_report
from tests.report.test_methods import written

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def fitted():
    made = make_references(60, 90, 90, attribute="name", p_ambiguous=0.1, noise=0.1, random_state=2)
    names = made.data.copy()
    names[names == names[0]] = "<b>Eve</b> " + names[0, 0]
    columns = {0: "person-name"}
    return EntityResolver(columns=columns).fit(names, contexts=made.contexts), names


def sections(page):
    return [section["id"] for section in page.all("section")]


def test_the_section_has_the_largest_entities_and_the_merges_to_look_at(tmp_path, fitted):
    model, names = fitted
    page = written(tmp_path, model, names)
    assert sections(page) == ["entities", "made"]
    assert f"{len(names)} records in {model.n_clusters_} entities." in page.text
    assert not page.count("article", "card")
    for heading in ("The largest entities", "The weakest merges", "What nearly merged"):
        assert heading in page.text
    size = np.bincount(model.labels_)
    assert f"Entity {size.argmax()}" in page.text
    weakest = model.merges_[model.merges_["similarity"].argmin()]
    assert f"{names[weakest['left'], 0]} ({weakest['left']})" in page.text
    assert f"{weakest['similarity']:.3f}" in page.text
    nearest = model.near_merges_[0]
    assert model.why_apart(nearest["left"], nearest["right"]) in page.text
    assert "<b>Eve" not in page.source


def test_thousands_of_entities_make_no_long_page(tmp_path):
    made = make_references(2000, 0, 4000, attribute="name", p_ambiguous=0, random_state=0)
    model = EntityResolver(columns={0: "person-name"}).fit(made.data)
    assert model.n_clusters_ > 1000
    page = written(tmp_path, model, made.data)
    assert len(page.source) < 100_000
    assert "more entities of several records are not listed" in page.text


def test_what_is_known_is_compared_where_labels_without_are_given(tmp_path, fitted):
    free, names = fitted
    left, right = free.merges_[["left", "right"]][-1]
    model = EntityResolver(columns={0: "person-name"})
    model.fit(names, constraints=Constraints(cannot_link=[(left, right)], n_items=len(names)))
    # the contexts of the fit are not here: it cannot be repeated
    assert sections(written(tmp_path, model, names)) == ["entities", "statements", "made"]
    page = written(tmp_path, model, names, plain=free.labels_)
    assert sections(page) == ["entities", "statements", "comparison", "made"]
    assert "records changed entity" in page.text
    assert "The constraint holds." in page.text


def test_a_place_makes_a_map(tmp_path, fitted):
    model, names = fitted
    place = np.column_stack([np.arange(len(names)), model.labels_])
    assert sections(written(tmp_path, model, names, coordinates=place))[0] == "map"
    with pytest.raises(ValueError, match="X has 3 rows, but the model was fitted on"):
        write_report(tmp_path / "report.html", model, names[:3])


def test_the_tables_fit_a_phone(tmp_path, fitted, browser):
    model, names = fitted
    path = write_report(tmp_path / "report.html", model, names)
    page = browser.new_page(viewport=PHONE)
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    wide = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert page.evaluate(wide) == 0
    page.close()
