"""Distances learned before a method: pipelines, and `distance`; each fold teaches them what it keeps."""

import numpy as np
import pytest
import sklearn
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coterie import RCA, Constraints, PCKMeans, compare
from tests.comparison.entrants import FIGURES, Told, blobs, rows_of

ONCE = {"n_folds": 4, "n_repeats": 1, "random_state": 0}


def stretched():
    """Three clusters that a wide column without worth hides."""
    X, known, y = blobs()
    return np.column_stack([X, 60 * np.random.default_rng(1).normal(size=60)]), known, y


def by_hand(X, known, n_folds=4, seed=0):
    """The folds of `compare`, each fitted step by step; met among the must-links, and the cannot-links."""
    rng = np.random.default_rng(seed)
    rng.integers(2**31)
    of_folds, *of_fits = rng.integers(2**31, size=1 + n_folds).tolist()
    together, apart = [], []
    for (kept, held), of_fit in zip(known.split(n_folds, random_state=of_folds), of_fits, strict=True):
        rows = RCA().fit(X, constraints=kept).transform(X)
        labels = PCKMeans(3, random_state=of_fit).fit(rows, constraints=kept).labels_
        together += [labels[i] == labels[j] for i, j in held.must_link.tolist()]
        apart += [labels[i] != labels[j] for i, j in held.cannot_link.tolist()]
    return np.mean(together), np.mean(apart)


def test_a_pipeline_and_a_distance_score_as_fitted_by_hand():
    X, known, _ = stretched()
    methods = ["PCKMeans", make_pipeline(RCA(), PCKMeans(3)), ("bare", PCKMeans(3))]
    rows = rows_of(compare(X, known, 3, methods=methods, distance=RCA(), **ONCE))
    expected = by_hand(X, known)
    for name in ("PCKMeans", "RCA + PCKMeans"):
        assert (rows[name]["must_met"], rows[name]["cannot_met"]) == expected
        assert rows[name]["score"] > rows["bare"]["score"] + 0.1
    assert rows["plain"]["score"] < 0.8
    assert not sklearn.get_config()["enable_metadata_routing"]
    again = rows_of(compare(X, known, 3, methods="PCKMeans", distance="rca", **ONCE))
    assert all(again[name][one] == rows[name][one] for name in ("PCKMeans", "plain") for one in FIGURES)


class Taught(RCA):
    """Notes what it learned from."""

    log = []

    def fit(self, X, y=None, *, constraints=None):
        Taught.log.append(constraints)
        return super().fit(X, constraints=constraints)


class Asking(Told):
    """Asks for constraints, as our classes do."""

    __metadata_request__fit = {"constraints": True}


def test_all_steps_are_told_what_the_fold_keeps_and_no_more():
    X, known, y = stretched()
    Told.log, Taught.log = [], []
    compare(X, known, 3, methods=make_pipeline(StandardScaler(), Taught(), Asking(y)), **ONCE)
    told = [constraints for constraints, _ in Told.log]
    assert len(told) == len(Taught.log) == 5
    assert all(one is other for one, other in zip(told, Taught.log, strict=True))
    assert told[0] == known
    for kept in told[1:]:
        assert 0 < kept.n_pairs < known.n_pairs


def test_a_distance_is_learned_once_a_fold():
    X, known, _ = stretched()
    Taught.log = []
    frame = compare(X, known, 3, methods=["COPKMeans", "PCKMeans"], distance=Taught(), **ONCE)
    assert len(Taught.log) == 5
    assert set(frame["status"]) == {"ok"}


def test_any_last_step_will_do_where_some_step_takes_constraints():
    X, known, _ = stretched()
    steps = [make_pipeline(RCA(), KMeans(3)), make_pipeline(StandardScaler(), KMeans(3))]
    rows = rows_of(compare(X, known, 3, methods=steps, **ONCE))
    assert rows["RCA + KMeans"]["score"] > 0.9
    assert rows["StandardScaler + KMeans"]["status"] == "takes no constraints"


def test_a_distance_passes_over_other_kinds_and_the_method_gets_them():
    X, known, _ = blobs()
    more = known | Constraints.across(np.repeat(["a", "b"], [20, 40]))
    rows = rows_of(compare(X, more, 3, methods=["PCKMeans", "SeededKMeans"], distance="rca", **ONCE))
    assert rows["PCKMeans"]["status"] == "ok"
    assert rows["SeededKMeans"]["status"].startswith("takes no across")


def test_nothing_to_learn_from_is_told_as_any_fit_that_fails():
    X, known, _ = blobs()
    apart = Constraints([known.must_link[0]], known.cannot_link, n_items=60)  # held out in one fold
    entrants = [("rca", make_pipeline(RCA(), PCKMeans(3))), "PCKMeans"]
    rows = rows_of(compare(X, apart, 3, methods=entrants, **ONCE))
    assert rows["rca"]["status"].startswith("RCA learns from must-links")
    assert rows["PCKMeans"]["chosen"]
    with pytest.raises(ValueError, match=r"could be fitted\. PCKMeans: RCA learns from must-links"):
        compare(X, apart, 3, methods="PCKMeans", distance="rca", **ONCE)


def test_wrong_distances_are_named():
    X, known, _ = blobs()
    with pytest.raises(ValueError, match="no distance 'mahalanobis'"):
        compare(X, known, 3, distance="mahalanobis")
    with pytest.raises(ValueError, match="metric='cosine', but"):
        compare(X, known, 3, distance="rca", metric="cosine")
