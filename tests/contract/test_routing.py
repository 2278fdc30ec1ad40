"""scikit-learn's splitting hands each fold the constraints among its own rows, renumbered."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coterie import Constraints
from coterie.base import ConstrainedClusterMixin, anything, constrained_fit
from coterie.metrics import constraint_satisfaction_scorer
from tests.marks import outvoted

pytestmark = pytest.mark.contract

N = 60
FIRST_COLUMN = np.arange(N, dtype=float)  # an item is recognised by its first feature in any fold


class Recorder(ConstrainedClusterMixin, BaseEstimator):
    """Remembers what it was fitted with."""

    parameter_rules = {"note": anything("a remark")}
    received: list = []

    def __init__(self, note=None):
        self.note = note

    @constrained_fit
    def fit(self, X, y=None, *, constraints=None):
        X, known = self._begin_fit(X, constraints)
        Recorder.received.append((np.asarray(X)[:, 0], known))
        self.labels_ = known.check(3).witness
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


@pytest.fixture(autouse=True)
def _forget():
    Recorder.received.clear()


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=N)
    known = Constraints.sample(truth, n_pairs=200, random_state=0)
    known = known | Constraints.from_labels(np.where(FIRST_COLUMN % 7 == 0, truth, -1))
    return np.column_stack([FIRST_COLUMN, rng.normal(size=N)]), truth, known


def induced(known, rows):
    """Slow and obvious: pairs with both ends in the rows, renumbered by position."""
    position = {int(row): at for at, row in enumerate(rows)}
    tables = []
    for table in (known.must_link, known.cannot_link):
        inside = [(position[i], position[j]) for i, j in table.tolist() if i in position and j in position]
        tables.append(sorted((min(p), max(p)) for p in inside))
    labels = {}
    for group in known.groups:
        for item, code in zip(group.items.tolist(), group.codes.tolist(), strict=True):
            if item in position:
                labels[position[item]] = group.names[code]
    return tables[0], tables[1], labels


@pytest.mark.parametrize("routing", [True, False])
@outvoted
def test_every_fold_of_a_search_receives_its_own(data, routing):
    X, truth, known = data
    with sklearn.config_context(enable_metadata_routing=routing):
        search = GridSearchCV(
            Recorder(), {"note": [1, 2]}, cv=KFold(4, shuffle=True, random_state=0), scoring=lambda *_: 0.0
        )
        search.fit(X, truth, constraints=known)
    assert len(Recorder.received) == 2 * 4 + 1
    for rows, received in Recorder.received:
        must, cannot, labels = induced(known, rows.astype(int))
        assert received.n_items == len(rows)
        assert [tuple(pair) for pair in received.must_link.tolist()] == must
        assert [tuple(pair) for pair in received.cannot_link.tolist()] == cannot
        (group,) = received.groups
        found = {
            item: group.names[code]
            for item, code in zip(group.items.tolist(), group.codes.tolist(), strict=True)
        }
        assert found == labels
        assert len(must) + len(cannot) > 20


def test_partial_labels_are_split_like_any_vector(data):
    X, truth, _ = data
    partial = np.where(FIRST_COLUMN % 2 == 0, truth, -1)
    GridSearchCV(Recorder(), {"note": [1]}, cv=3, scoring=lambda *_: 0.0).fit(X, constraints=partial)
    for rows, received in Recorder.received:
        assert received == Constraints.from_labels(partial[rows.astype(int)])


def test_a_wrong_number_of_items_is_not_split_but_refused(data):
    X, _, known = data
    search = GridSearchCV(Recorder(), {"note": [1]}, cv=3, scoring=lambda *_: 0.0, error_score="raise")
    with pytest.raises(ValueError, match="50 items, but X has 40 rows"):
        search.fit(X, constraints=known[:50])


def test_a_bootstrap_is_refused_with_the_reason(data):
    _, _, known = data
    with pytest.raises(ValueError, match="row 4 is taken more than once"):
        known[[4, 5, 4]]


def framed(X, index=None):
    return pd.DataFrame(X, index=index, columns=["first", "second"])


@pytest.mark.parametrize("index", ["names", "none"])
@outvoted
def test_folds_of_frames_go_by_name_or_by_the_rows_they_were_cut_from(data, index):
    X, _, known = data
    names = [f"item-{i}" for i in range(N)]
    frame = framed(X, names if index == "names" else None)
    folds = KFold(3, shuffle=True, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            Recorder(),
            frame,
            cv=folds,
            params={"constraints": known.with_ids(names)},
            scoring=constraint_satisfaction_scorer,
            error_score="raise",
        )
    assert len(found["test_score"]) == 3
    for rows, received in Recorder.received:
        assert received == known[rows.astype(int)]
        assert list(received.ids) == [names[int(row)] for row in rows]


@outvoted
def test_a_search_over_rows_in_another_order_is_refused_until_they_are_aligned(data):
    X, _, known = data
    known = known.with_ids([f"item-{i}" for i in range(N)])
    moved = framed(X, known.ids).sample(frac=1, random_state=0)
    search = GridSearchCV(Recorder(), {"note": [1]}, cv=3, scoring=lambda *_: 0.0, error_score="raise")
    with pytest.raises(ValueError, match="X has a row 'item-"):
        search.fit(moved, constraints=known)
    Recorder.received.clear()
    search.fit(moved, constraints=known.align(moved.index))
    assert len(Recorder.received) == 4
    for rows, received in Recorder.received:
        assert received == known[rows.astype(int)]


@outvoted
def test_a_pipeline_goes_by_name_where_its_steps_keep_the_names(data):
    X, _, known = data
    known = known.with_ids([f"item-{i}" for i in range(N)])
    moved = framed(X, known.ids).sample(frac=1, random_state=0)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), Recorder())
    pipeline.fit(moved, recorder__constraints=known)
    assert list(Recorder.received[0][1].ids) == list(moved.index)
    with pytest.raises(ValueError, match="no row of X"):
        pipeline.fit(moved[1:], recorder__constraints=known)
