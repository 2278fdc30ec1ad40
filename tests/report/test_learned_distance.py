"""Pages of models behind a learned distance: in the user's columns, and true about what was known."""

import re

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coterie import RCA, Constraints, COPCobweb, MPCKMeans, PCKMeans
from coterie.report import write_report
from coterie.report._facts.gather import gather
from tests.marks import outvoted
from tests.report.pages import Page

pytestmark = outvoted
WINE = load_wine()
KNOWN = Constraints.sample(WINE.target, n_pairs=60, random_state=0)


@pytest.fixture(scope="module")
def wine_frame():
    return pytest.importorskip("pandas").DataFrame(WINE.data, columns=WINE.feature_names)


def fitted(*steps, X=WINE.data):
    with sklearn.config_context(enable_metadata_routing=True):
        return make_pipeline(*steps).fit(X, constraints=KNOWN)


def test_a_page_speaks_of_the_users_columns(tmp_path, wine_frame):
    model = fitted(StandardScaler(), RCA(), MPCKMeans(3, random_state=0), X=wine_frame)
    page = Page(write_report(tmp_path / "page.html", model, wine_frame)).text
    assert f"Distance learned by RCA from {model[1].n_used_} constraints." in page
    assert "Steps before the model: StandardScaler, RCA." in page
    assert "Near and far are told by the learned distance." in page
    assert "first direction of the learned space" in page
    assert not re.search(r"component|rca\d", page)
    labels, told = model[-1].labels_, 0
    for card in gather(model, wine_frame).cards:
        for trait in card.traits.features:
            column, told = wine_frame[trait.name], told + 1
            here = column[labels == card.cluster].mean()
            assert trait.effect == pytest.approx((here - column.mean()) / column.std(ddof=0))
    assert told


@pytest.mark.parametrize("n_components", [None, 2])
def test_without_what_is_known_there_is_no_distance(tmp_path, n_components):
    """Not even one of fewer columns."""
    model = fitted(StandardScaler(), RCA(n_components=n_components), PCKMeans(3, random_state=0))
    scaled = StandardScaler().fit_transform(WINE.data)
    plain = PCKMeans(3, random_state=0).fit(scaled).labels_
    found = gather(model, WINE.data).comparison
    assert found == gather(model, WINE.data, plain=plain).comparison
    assert found.n_broken_plain == KNOWN.violations(plain).n_broken
    assert found.spread is None  # of two spaces
    page = Page(write_report(tmp_path / "page.html", model, WINE.data)).text
    assert "without constraints and bounds and learned distance" in page


def test_a_distance_that_was_told_nothing_says_so(tmp_path):
    with pytest.warns(UserWarning, match="RCA was told nothing"):
        model = make_pipeline(RCA(), PCKMeans(3, random_state=0)).fit(WINE.data)
    assert "Distance as it was: RCA was told nothing." in gather(model, WINE.data).learned


def test_sparse_rows_and_a_method_that_has_no_centres(tmp_path):
    X = sparse.csr_matrix(np.where(WINE.data > WINE.data.mean(axis=0), WINE.data, 0.0))
    model = fitted(RCA(), COPCobweb(random_state=0), X=X)
    facts = gather(model, X, features=WINE.feature_names)
    named = {word for card in facts.cards for word in card.traits.words}
    assert named
    assert named <= set(WINE.feature_names)
