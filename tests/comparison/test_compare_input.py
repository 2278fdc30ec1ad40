"""Comparisons: what may be given, how it reaches the fits, and what is said when it goes wrong."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

import coterie
from coterie import Constraints, COPKMeans, PCKMeans, choose_k, compare
from coterie.comparison import best, in_words
from coterie.exceptions import DeadEndError, ViolatedConstraintsWarning
from tests.comparison.entrants import FIGURES, Failing, Told, blobs, rows_of


@pytest.fixture(autouse=True)
def empty_log():
    Told.log = []


# ---- bounds, distances, libraries ---------------------------------------------------------------------


def test_bounds_go_to_the_methods_that_have_them_and_hold_in_plain_too(sizes):
    X, known, _ = blobs()
    bounds = {"size_min": 19, "size_max": 21}
    frame = compare(X, known, 3, parameters=bounds, n_repeats=1, random_state=0)
    rows = rows_of(frame)
    assert set(rows) == {"SizeConstrainedKMeans", "SizeConstrainedKMedians", "BalancedKMeans", "plain"}
    assert set(sizes) == set(rows)
    assert all(19 <= size <= 21 for name in sizes for size in sizes[name])
    frame = compare(
        X, known, 3, methods=["COPKMeans", "size-constrained-k-means"], parameters=bounds, n_repeats=1
    )
    assert rows_of(frame)["COPKMeans"]["status"] == "takes no bounds on sizes"
    assert best(frame) == "SizeConstrainedKMeans"
    assert "Not compared: COPKMeans (takes no bounds on sizes)." in in_words(frame)


def test_loads_and_groups_reach_the_fit():
    X, known, _ = blobs()
    load = np.where(np.arange(60) % 2, 3.0, 1.0)
    methods = ["COPKMeans", "SizeConstrainedKMeans"]
    frame = compare(X, known, 3, methods=methods, size_weight=load, parameters={"size_min": 30}, n_repeats=1)
    assert rows_of(frame)["COPKMeans"]["status"] == "takes no bounds on loads, sizes"
    assert best(frame) == "SizeConstrainedKMeans"
    frame = compare(
        X, known, 3, methods=methods, groups=np.arange(60) % 2, parameters={"group_min": 5}, n_repeats=1
    )
    assert rows_of(frame)["SizeConstrainedKMeans"]["status"] == "ok"
    methods = [COPKMeans(3), "SizeConstrainedKMeans"]
    frame = compare(X, known, 3, methods=methods, size_weight=load, n_repeats=1)
    assert rows_of(frame)["COPKMeans"]["status"] == "takes no size_weight"


def test_sample_weight_reaches_the_fit():
    X, known, _ = blobs(noise=0.1)
    weight = np.where(np.arange(60) < 30, 1.0, 0.0)
    heard = compare(X, known, 3, methods="PCKMeans", sample_weight=weight, n_repeats=1, random_state=0)
    unheard = compare(X, known, 3, methods="PCKMeans", n_repeats=1, random_state=0)
    assert not heard[FIGURES].equals(unheard[FIGURES])
    methods = ["PCKMeans", Told(np.zeros(60, int))]
    frame = compare(X, known, 3, methods=methods, sample_weight=weight, n_repeats=1)
    assert rows_of(frame)["Told"]["status"] == "takes no sample_weight"


def test_cosine_is_for_the_methods_that_have_it():
    rng = np.random.default_rng(0)
    X = rng.random((60, 5)) + 0.1
    known = Constraints.sample(X.argmax(axis=1), 40, random_state=0)
    rows = rows_of(compare(X, known, 5, metric="cosine", n_folds=2, n_repeats=1, random_state=0))
    assert "SizeConstrainedKMedians" not in rows
    names = ["COPKMeans", "SizeConstrainedKMedians"]
    frame = compare(X, known, 5, metric="cosine", methods=names, n_repeats=1)
    assert rows_of(frame)["SizeConstrainedKMedians"]["status"] == "has no cosine distance"


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_every_library(library):
    X, known, _ = blobs()
    frame = compare(
        X, known, 3, methods=["COPKMeans", "SeededKMeans"], n_repeats=1, library=library, random_state=0
    )
    assert type(frame).__module__.split(".")[0] == library
    assert best(frame) == "COPKMeans"
    assert "takes no cannot-link, must-link constraints" in in_words(frame)


# ---- what goes wrong ----------------------------------------------------------------------------------


def test_a_method_that_fails_in_one_fold_says_why_and_is_not_chosen():
    X, known, _ = blobs()
    error = coterie.InfeasibleConstraintsError("17 cannot be with 4.\nDrop one.")
    frame = compare(X, known, 3, methods=[("fails", Failing(error, after=3)), "COPKMeans"], n_repeats=1)
    row = rows_of(frame)["fails"]
    assert row["status"] == "17 cannot be with 4."
    assert np.isnan(row["score"])
    assert not row["chosen"]
    assert frame["method"].tolist()[-1] == "fails"
    assert len(Told.log) == 4  # it is not asked again
    frame = compare(X, known, 3, methods=[("fails", Failing(DeadEndError("no way"))), "COPKMeans"])
    assert rows_of(frame)["fails"]["status"] == "no way"


def test_contradictions_leave_the_soft_methods():
    X, known, _ = blobs()
    i, j = known.must_link[0].tolist()
    bad = known | Constraints([(i, 59), (j, 58)], [(58, 59), (i, j)], n_items=60)
    rows = rows_of(compare(X, bad, 3, methods=["COPKMeans", "PCKMeans"], n_repeats=1, random_state=0))
    assert rows["COPKMeans"]["status"] != "ok"
    assert str(i) in rows["COPKMeans"]["status"]
    assert rows["PCKMeans"]["chosen"]


def test_more_classes_than_clusters_leaves_the_soft_methods():
    X, _, _ = blobs()
    y = np.where(np.arange(60) % 2, np.arange(60) % 5, -1)
    soft = Constraints.from_labels(y, weight=1.0)
    rows = rows_of(compare(X, soft, 3, n_repeats=1, random_state=0))
    assert "5 classes" in rows["SeededKMeans"]["status"]
    assert "different labels" in rows["COPKMeans"]["status"]
    assert rows["PCKMeans"]["status"] == rows["KMedoids"]["status"] == "ok"
    # labels are hard unless a weight is given: then no method can, and the proof is raised
    with pytest.raises(
        coterie.InfeasibleConstraintsError, match=r"could be fitted.*different labels"
    ) as told:
        compare(X, y, 3, n_repeats=1, random_state=0)
    assert told.value.certificate is not None


def test_faults_are_not_hidden():
    X, known, _ = blobs()
    for fault in (TypeError("a fault"), RuntimeError("a fault"), IndexError("a fault")):
        with pytest.raises(type(fault), match="a fault"):
            compare(X, known, 3, methods=[("fails", Failing(fault)), "COPKMeans"])


def test_if_nothing_can_be_fitted_the_reason_is_raised():
    X, known, _ = blobs()
    with pytest.raises(ValueError, match=r"none of the methods could be fitted\. COPKMeans: n_init"):
        compare(X, known, 3, methods=["COPKMeans", "PCKMeans"], parameters={"n_init": -1})
    with pytest.raises(ValueError, match="SeededKMeans: takes no cannot-link, must-link constraints"):
        compare(X, known, 3, methods="SeededKMeans")


def test_broken_statements_and_empty_clusters_do_not_warn():
    """The frame says so; warnings of others come through (here they would be errors)."""
    X = np.zeros((40, 1))
    X[20:] = 1.0
    y = np.repeat([0, 1], 20)
    known = Constraints.sample(y, 40, noise=0.3, random_state=0)
    with pytest.warns((ConvergenceWarning, ViolatedConstraintsWarning)):
        PCKMeans(3, random_state=0).fit(X, constraints=known)
    compare(X, known, 3, methods="PCKMeans", n_repeats=1, random_state=0)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"constraints": None}, ValueError, "none are given. Give some must-links"),
        ({"constraints": Constraints(n_items=60)}, ValueError, "none are given. Give some"),
        (
            {"constraints": Constraints.distinct(np.arange(60) // 2)},
            ValueError,
            "none are given; distinct constraints are never held out",
        ),
        ({"constraints": Constraints([(0, 1)], n_items=60)}, ValueError, "there are 1 pairs .* at least 10"),
        ({"constraints": [0, 0, 1, 1] + [-1] * 56}, ValueError, "there are 4 labels .* at least 10"),
        ({"constraints": Constraints([(0, 1)], n_items=9)}, ValueError, "9"),
        ({"n_folds": 30}, ValueError, "there are 40 pairs .* n_folds=30 needs at least 60"),
        ({"n_folds": 1}, ValueError, "n_folds"),
        ({"n_repeats": 0}, ValueError, "n_repeats"),
        ({"n_clusters": 61}, ValueError, "n_clusters=61, but X has 60 rows"),
        ({"n_clusters": 0}, ValueError, "n_clusters"),
        ({"X": np.full((60, 2), np.nan)}, ValueError, "NaN"),
        ({"methods": []}, ValueError, "methods is empty"),
        ({"methods": 7}, TypeError, "methods is a list"),
        ({"methods": ["CopKMean"]}, ValueError, "Did you mean COPKMeans"),
        ({"methods": [COPKMeans]}, TypeError, "methods holds names, estimators"),
        ({"methods": [PCKMeans(3), PCKMeans(3)]}, ValueError, "two methods are called 'PCKMeans'"),
        ({"methods": [("plain", PCKMeans(3))]}, ValueError, "'plain' is the name of"),
        ({"parameters": {"n_clusters": 3}}, ValueError, "'n_clusters' is an argument of compare"),
        ({"parameters": {"sizemin": 3}}, ValueError, "parameter 'sizemin'. Did you mean 'size_min'"),
        ({"metric": "manhattan"}, ValueError, "no method takes all that is given"),
        ({"parameters": {"size_min": 30}}, ValueError, "could be fitted. SizeConstrainedKMeans"),
        ({"library": "excel"}, ValueError, "library must be one of"),
    ],
)
def test_wrong_input_is_named(change, error, words):
    X, known, _ = blobs()
    asked = {"X": X, "constraints": known, "n_clusters": 3, "n_repeats": 1, **change}
    with pytest.raises(error, match=words):
        compare(asked.pop("X"), asked.pop("constraints"), asked.pop("n_clusters"), **asked)


def test_an_estimator_that_takes_no_statements_says_so():
    X, known, _ = blobs()
    frame = compare(X, known, 3, methods=[KMeans(3), "COPKMeans"], n_repeats=1)
    assert rows_of(frame)["KMeans"]["status"] == "takes no constraints"


def test_words_want_a_frame_of_compare():
    X, known, _ = blobs()
    frame = compare(X, known, 3, methods="COPKMeans", n_repeats=1, random_state=0)
    with pytest.raises(ValueError, match="no column chosen"):
        best(frame.drop(columns="chosen"))
    with pytest.raises(ValueError, match="no row, or several"):
        in_words(frame.assign(chosen=False))
    with pytest.raises(TypeError, match="not a data frame"):
        best([1, 2])


def test_frames_go_by_name():
    X, known, _ = blobs()
    known = known.with_ids([f"row-{i}" for i in range(60)])
    moved = pd.DataFrame(X, known.ids, ["a", "b"]).sample(frac=1, random_state=0)
    rows = rows_of(compare(moved, known, 3, methods="COPKMeans", n_repeats=1, random_state=0))
    assert rows["COPKMeans"]["score"] == 1.0  # by position the pairs would be as good as random
    assert choose_k(moved, known, range(2, 5), random_state=0).n_clusters == 3
    with pytest.raises(ValueError, match="X has a row 'nobody'"):
        compare(moved.rename({"row-7": "nobody"}), known, 3)


def test_rows_of_which_most_values_are_not_stored():
    X, known, _ = blobs()
    names = ["PCKMeans", "ConstrainedGaussianMixture"]
    rows = rows_of(compare(sparse.csr_matrix(X), known, 3, methods=names, n_repeats=1))
    assert rows["PCKMeans"]["status"] == "ok"
    assert rows["ConstrainedGaussianMixture"]["status"].startswith("takes no text, and no matrix")


def test_mixtures_of_many_features_need_a_simpler_shape():
    X, known, _ = blobs()
    wide = np.column_stack([X, np.random.default_rng(0).normal(size=(60, 101))])
    names = ["PCKMeans", "PenalizedGaussianMixture"]
    status = "PenalizedGaussianMixture"
    once = {"methods": names, "n_folds": 2, "n_repeats": 1}
    assert rows_of(compare(wide, known, 3, **once))[status]["status"].startswith("is made for at most")
    plain = compare(wide, known, 3, **once, parameters={"covariance_type": "diag"})
    assert rows_of(plain)[status]["status"] == "ok"


def test_the_number_of_components_is_that_of_the_clusters():
    X, known, _ = blobs()
    with pytest.raises(ValueError, match="'n_components' is an argument of compare itself"):
        compare(X, known, 3, methods=["MeanFieldMixture"], parameters={"n_components": 4})
    once = {"n_folds": 2, "n_repeats": 1}
    rows = rows_of(compare(X, known, 3, methods=["MeanFieldMixture"], parameters={"n_init": 1}, **once))
    assert rows["MeanFieldMixture"]["n_clusters"] == 3
