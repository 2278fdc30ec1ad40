"""Pages of pipelines, in the user's own columns; and rows that the model has not seen, which are refused."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from coterie import Constraints, COPKMeans, PCKMeans
from coterie.base._same_rows import changed_row, mark_rows
from coterie.report import constraint_outcomes, write_report
from coterie.report._facts.gather import gather
from tests.report.pages import Page

OTHER_ROWS = r"X is not what the model was fitted on: row \d+ differs; .*write_report\(path, pipeline, X\)"


@pytest.fixture(scope="module")
def wine_frame():
    return pytest.importorskip("pandas").DataFrame(load_wine().data, columns=load_wine().feature_names)


@pytest.fixture(scope="module")
def scaled(wine_frame):
    return make_pipeline(StandardScaler(), COPKMeans(3, random_state=0)).fit(wine_frame)


def test_a_pipeline_is_told_in_the_users_units(tmp_path, wine_frame, scaled):
    labels = scaled[-1].labels_
    for card in gather(scaled, wine_frame).cards:
        for trait in card.traits.features:
            column = wine_frame[trait.name]
            here = column[labels == card.cluster].mean()
            assert float(trait.here.replace(",", "")) == pytest.approx(here, abs=column.std() / 3)
            assert trait.effect == pytest.approx((here - column.mean()) / column.std(ddof=0))
    page = Page(write_report(tmp_path / "page.html", scaled, wine_frame))
    assert "proline" in page.text
    assert "Parameters of COPKMeans" in page.text
    assert "Steps before the model: StandardScaler." in page.text
    # in another form, and as a step of another pipeline
    assert gather(make_pipeline(scaled), wine_frame).cards == gather(scaled, wine_frame).cards
    bare = make_pipeline(StandardScaler(), COPKMeans(3, random_state=0)).fit(wine_frame.to_numpy())
    bare = gather(bare, wine_frame.to_numpy()).cards[0].traits.features
    told = gather(scaled, wine_frame).cards[0].traits.features
    assert [trait.here for trait in bare] == [trait.here for trait in told]
    assert bare[0].name.startswith("feature ")


def test_other_rows_are_refused(tmp_path, wine_frame, scaled, seed):
    shuffled = wine_frame.sample(frac=1, random_state=seed)
    target = tmp_path / "page.html"
    with pytest.raises(ValueError, match=OTHER_ROWS):
        scaled[-1].report(wine_frame.to_numpy(), target)
    with pytest.raises(ValueError, match=OTHER_ROWS):
        write_report(target, scaled, shuffled)
    with pytest.raises(
        ValueError, match="X has 3 columns of numbers, but the model was fitted on 13 columns"
    ):
        scaled[-1].report(wine_frame.iloc[:, :3], target)
    with pytest.raises(ValueError, match="X has 10 rows, but the model was fitted on 178"):
        write_report(target, scaled, wine_frame[:10])
    with pytest.raises(ValueError, match=OTHER_ROWS):
        constraint_outcomes(scaled[-1], wine_frame.to_numpy())
    assert not target.exists()
    scaled[-1].report(scaled[:-1].transform(wine_frame), target)
    assert target.exists()


def test_categories_booleans_texts_and_missing_values_of_a_pipeline(wine_frame):
    frame, y = wine_frame.copy(), load_wine().target
    frame["region"] = np.where(y == 0, "north", "south")
    frame["sweet"] = y == 1
    frame["note"] = [f"a wine of kind {kind} in bottle {row}" for row, kind in enumerate(y)]
    frame["id"] = [f"b{row}" for row in range(len(y))]
    frame.iloc[3, 0] = np.nan
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    steps = make_column_transformer(
        (numbers, [*wine_frame.columns, "sweet"]), (OneHotEncoder(), ["region"]), remainder="drop"
    )
    model = make_pipeline(steps, PCKMeans(3, random_state=0)).fit(frame)
    facts = gather(model, frame)
    told = {(card.cluster, one.name): one for card in facts.cards for one in card.traits.features}
    names = {name for _, name in told}
    assert names <= {*wine_frame.columns, "region = north", "region = south", "sweet"}
    labels = model[-1].labels_
    assert {"region = north", "sweet"} <= names
    for (cluster, name), one in told.items():
        if name == "sweet":
            assert one.here == f"{100 * (y == 1)[labels == cluster].mean():.0f}\u00a0% yes"
        elif name == "region = north":
            assert one.here == f"{100 * (y == 0)[labels == cluster].mean():.0f}\u00a0%"
        elif name == "alcohol":
            mean = frame["alcohol"][labels == cluster].mean()  # of those that are there
            assert float(one.here) == pytest.approx(mean, abs=0.05)
    assert facts.texts[7] == frame["note"][7]


def test_texts_are_shown_where_they_are_typical(tmp_path):
    kinds = "the rocket flew to the moon", "the puck slid on the ice"
    docs = [f"{kinds[row % 2]} number {row} <b>" for row in range(30)]
    model = make_pipeline(TfidfVectorizer(), COPKMeans(2, metric="cosine", random_state=0)).fit(docs)
    facts = gather(model, docs)
    assert {facts.cards[0].traits.words[0], facts.cards[1].traits.words[0]} < {
        *kinds[0].split(),
        *kinds[1].split(),
    }
    page = Page(write_report(tmp_path / "page.html", model, docs))
    assert page.text.count("number") == 6
    assert not page.count("b", "x")
    X = np.arange(30.0)[:, None]
    alone = COPKMeans(2, random_state=0).fit(X)
    page = Page(write_report(tmp_path / "page.html", alone, X, texts=["long " * 100] * 30))
    assert page.text.count("long long") == page.text.count("long…") * 16 > 0
    with pytest.raises(ValueError, match="texts must be 30, one per row of X; got 2"):
        write_report(tmp_path / "page.html", alone, X, texts=docs[:2])


def test_a_step_without_names_or_with_inexact_rows(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(60, 3)) + 5 * np.repeat([[0.0], [1.0]], 30, axis=0)
    noise = np.random.default_rng(seed)

    def nearly(rows):  # another answer each time, as of randomised components
        return rows + 1e-3 * noise.normal(size=rows.shape)

    model = make_pipeline(FunctionTransformer(nearly), COPKMeans(2, random_state=0)).fit(X)
    assert gather(model, X).cards[0].traits.features[0].name.startswith("feature ")
    with pytest.raises(ValueError, match="is not what the model was fitted on"):
        gather(model, X[::-1])


def test_what_is_no_table_is_told_as_the_steps_leave_it(seed):
    pictures = np.random.default_rng(seed).uniform(size=(20, 4, 4)) + np.repeat([0, 3], 10)[:, None, None]
    model = make_pipeline(
        FunctionTransformer(lambda rows: rows.reshape(len(rows), -1)), COPKMeans(2, random_state=0)
    )
    assert gather(model.fit(pictures), pictures).n_features == 16
    words = [{"moon": 1.0, "ice": float(row % 2)} for row in range(20)]
    model = make_pipeline(DictVectorizer(sparse=False), COPKMeans(2, random_state=0)).fit(words)
    assert gather(model, words).cards[0].traits.features[0].name == "ice"


@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_matrix, sparse.csc_array])
def test_rows_are_known_again_in_any_form(form, seed):
    X = np.random.default_rng(seed).normal(size=(3000, 4)) * [1.0, 1e6, 1e-6, 1.0]
    marks = mark_rows(form(X))
    assert len(marks) == 1000
    for other in (np.asarray, np.float32, sparse.csr_matrix):
        assert changed_row(marks, other(X)) is None
    assert changed_row(marks, X + 1) is not None
    for wrong in (X[::-1], X * 2, X[:, ::-1]):
        assert changed_row(marks, wrong) is not None
        assert changed_row(marks, wrong, nearly=True) is not None


def test_odd_rows_are_known_again():
    for X in (np.full((3, 2), np.nan), np.full((2, 2), 1e308), np.zeros((1, 5)), np.zeros((4, 1))):
        assert changed_row(mark_rows(X), X) is None
    assert changed_row(mark_rows(np.zeros((4, 2))), np.array([[0.0, 0], [0, 0], [0, 1], [0, 0]])) == 2
    assert mark_rows(np.array([["a"]], dtype=object)) is None
    assert len(mark_rows(np.ones((200, 50_000)))) == 64  # the rows of given distances are long


def test_a_fit_does_not_keep_its_rows():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = COPKMeans(2, random_state=0).fit(X, constraints=Constraints([(0, 1)], n_items=50))
    assert not any(
        np.shares_memory(X, value) for value in vars(model).values() if isinstance(value, np.ndarray)
    )
