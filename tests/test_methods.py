"""The registry knows every method, says the truth about each, and chooses by its written rule."""

import inspect

import numpy as np
import polars as pl
import pytest

import coterie
from coterie import Constraints
from coterie.distance import LearnedDistance
from coterie.methods import (
    AUTO_RULE,
    DISTANCES,
    METHODS,
    Distance,
    Task,
    choose,
    find_distance,
    find_method,
    learned_words,
    suitable_methods,
)
from coterie.testing import constrained_clusterers

every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
ROWS = [method for method in METHODS if method.wants == "rows"]


def test_every_public_clusterer_is_listed_once():
    assert sorted(method.name for method in METHODS) == sorted(
        kind.__name__ for kind in constrained_clusterers()
    )


@every_method
def test_what_is_said_of_a_method_is_true(method):
    kind, about = method.estimator, method.about
    assert about == kind.about  # read off the file, and as the class has it
    rules = set(kind.parameter_rules)
    assert set(method._rules) - {"self"} == rules
    assert (method.kinds, method.new_rows) == (kind.constraint_kinds, hasattr(kind, "predict"))
    assert method.wants == kind.wants
    given = kind().get_params()
    assert method.needs_k == (
        about.number_from in given or given.get("n_clusters", given.get("n_components")) is not None
    )
    assert list(method._given) == list(inspect.signature(kind.fit).parameters)
    if "metric" in rules:
        assert method.metrics["sqeuclidean"] == inspect.signature(kind).parameters["metric"].default
    assert (about.max_items is not None) == kind.works_on_pairs
    assert {*about.light, *(name for own in about.with_metric.values() for name in own)} <= rules
    assert about.twin is None or find_method(about.twin).name == about.twin
    assert method.facts()["name"] == method.name == kind.__name__


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("COPKMeans", {"statements": "hold", "bounds": set(), "sparse": True, "weighted": True}),
        ("SeededKMeans", {"statements": "start", "kinds": {"label"}, "starts": True}),
        ("SizeConstrainedKMeans", {"statements": "hold", "bounds": {"sizes", "minima", "loads", "groups"}}),
        ("FrequencySensitiveKMeans", {"kinds": frozenset(), "weighted": True, "sparse": True}),
        ("OnlineBalancedKMeans", {"kinds": frozenset(), "weighted": False, "starts": False}),
        ("KMedoids", {"statements": "priced", "metrics": {"sqeuclidean": "euclidean", "cosine": "cosine"}}),
        ("ConstrainedLinkage", {"bounds": {"sizes", "loads"}, "connectivity": True, "weighted": False}),
        ("COPCobweb", {"takes_k": False, "starts": False, "sparse": False, "metrics": {"sqeuclidean": None}}),
        ("MeanFieldMixture", {"takes_k": True, "weighted": False, "sparse": False}),
    ],
)
def test_what_follows_from_a_class(name, expected):
    method = find_method(name)
    assert {word: getattr(method, word) for word in expected} == expected


@every_method
def test_every_method_can_be_built_and_fitted(method):
    X = np.abs(np.random.default_rng(0).normal(size=(30, 3)))
    alike = X @ X.T - 2
    forms = {"weights": alike, "graph": alike > 0, "labels": (X > 1).astype(int)}
    X, seed = (
        forms.get(method.wants, X),
        {"random_state": 0} if hasattr(method.estimator(), "random_state") else {},
    )
    for metric in method.metrics:
        model = method.build(2, metric=metric, **seed).fit(X)
        assert (model.account().certainty is not None) == hasattr(model, "responsibilities_")
        assert (model.account().bounds is not None) == method.about.bounded
        if method.takes_k:
            assert set(model.labels_) == {0, 1}
        else:
            assert set(model.labels_) == set(range(model.n_clusters_))
    with pytest.raises(ValueError, match="has no distance 'manhattan'"):
        method.build(2, metric="manhattan")


@pytest.mark.parametrize("method", [one for one in ROWS if "label" in one.kinds], ids=lambda one: one.name)
@pytest.mark.filterwarnings("ignore::coterie.exceptions.CoterieWarning")
def test_clusters_have_the_numbers_and_names_of_the_labels(method):
    """Two of four clusters have labels, whose order is that of their names, not of the rows."""
    rng = np.random.default_rng(1)
    y = np.repeat([3, 1, 0, 2], 12)
    X = np.abs(rng.normal(scale=0.1, size=(48, 4)) + 5 * np.eye(4)[y])
    names = {3: "cats", 1: "ants"}
    known = Constraints.from_labels([names.get(one) if at % 12 < 3 else None for at, one in enumerate(y)])
    for more in ({}, {"per_cluster": True}) if method.name == "MPCKMeans" else ({},):
        model = method.build(4, random_state=0, **more).fit(X, constraints=known)
        labels = model.labels_
        assert set(labels[(y == 1) & (np.arange(48) % 12 < 3)]) == {0}
        assert set(labels[:3]) == {1}
        account = model.account()
        assert account.names[:2] == ("ants", "cats")
        assert set(account.names[2:]) <= {None}
        if method.new_rows:  # what is kept for new rows goes along
            assert model.predict(X).tolist() == labels.tolist()
        if account.certainty is not None:
            assert (account.certainty.own(labels) > 0.5).all()
        if account.sizes is not None:
            assert account.sizes.tolist() == np.bincount(labels).tolist()


def test_what_goes_with_a_distance_gives_way_to_the_user():
    method = find_method("ConstrainedLinkage")
    assert method.build(2).linkage == "ward"
    assert method.build(2, metric="cosine").linkage == "average"
    assert method.build(2, metric="cosine", linkage="single").linkage == "single"


def test_names_are_found_as_people_write_them():
    for name in ("COPKMeans", "copkmeans", "cop-kmeans", "COP_KMeans"):
        assert find_method(name).name == "COPKMeans"
    with pytest.raises(ValueError, match="Did you mean PCKMeans"):
        find_method("PCKMean")
    with pytest.raises(ValueError, match="There are: COPKMeans"):
        find_method("zzzzzz")


# ---- distances -----------------------------------------------------------------------------------------


def test_every_public_distance_is_listed_once():
    public = [getattr(coterie, name) for name in coterie.__all__]
    found = [one.__name__ for one in public if isinstance(one, type) and issubclass(one, LearnedDistance)]
    assert sorted(one.name for one in DISTANCES) == sorted(found)


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda one: one.name)
def test_what_is_said_of_a_distance_is_true(distance):
    kind = distance.estimator
    assert (distance.about, distance.kinds) == (kind.about, kind.constraint_kinds)
    for word in (distance.word, distance.word.upper(), kind.__name__, kind.__name__.lower()):
        assert find_distance(word) is distance
    facts = distance.facts()
    assert (facts["name"], facts["word"], set(facts["kinds"])) == (
        kind.__name__,
        distance.word,
        kind.constraint_kinds,
    )
    X = np.random.default_rng(0).normal(size=(30, 3))
    known = Constraints.from_labels(np.repeat([0, 1, -1], 10))
    learned = kind().fit(X, constraints=known)
    assert (
        learned_words(learned) == f"Distance learned by {kind.__name__} from {learned.n_used_} constraints."
    )
    with pytest.warns(UserWarning, match="told nothing"):
        assert "told nothing" in learned_words(kind().fit(X))


@pytest.mark.parametrize(
    ("name", "word"), [("RCA", "rca"), ("XingMetric", "xing"), ("CannotLinkMetric", "cannot-link")]
)
def test_the_word_for_a_distance(name, word):
    assert Distance(f"coterie:{name}").word == word


def test_a_distance_that_is_not_there():
    with pytest.raises(ValueError, match=r"no distance 'rcaa'. Did you mean rca\? There are: rca"):
        find_distance("rcaa")


# ---- the rule ------------------------------------------------------------------------------------------

PAIRS = Constraints([(0, 1)], [(1, 2)], n_items=6)
RING = Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)], n_items=6)
LABELS = Constraints.from_labels([0, 0, 1, -1, -1, -1])
FLOOR = frozenset({"sizes", "minima"})  # a least size


# one pair three times, once the other way round; the labels say it once more
TWICE = Constraints([(0, 1), (1, 0), (0, 1)], [(1, 2)], n_items=6, weight=0.1)


def frame(**columns):
    pairs = {"i": [0, 1], "j": [1, 2], "kind": ["must-link", "cannot-link"]}
    return Constraints.from_frame(pl.DataFrame({**pairs, **columns}), n_items=6)


@pytest.mark.parametrize(
    ("task", "name", "reason"),
    [
        (Task(6, 2), "COPKMeans", "plain k-means"),
        (Task(6, 2, Constraints(n_items=6)), "COPKMeans", "plain k-means"),
        (Task(6, 2, PAIRS), "COPKMeans", "all constraints can be met"),
        (Task(6, 2, PAIRS | LABELS), "COPKMeans", "all constraints can be met"),
        (Task(6, 2, LABELS), "ConstrainedSeedKMeans", "labels of some items are known"),
        (Task(6, 2, RING), "PCKMeans", "cannot all be met"),
        (Task(6, 3, RING), "COPKMeans", "all constraints can be met"),
        (Task(6, 2, frame(confidence=[0.9, 0.8])), "PCKMeans", "confidences are stated"),
        (Task(6, 2, frame(weight=[1.0, 2.0])), "PCKMeans", "strengths differ"),
        (Task(6, 2, TWICE), "COPKMeans", "all constraints can be met"),
        (Task(6, 2, TWICE | LABELS), "COPKMeans", "all constraints can be met"),
        (Task(6, 2, frame(weight=[0.1, 0.1]) + frame(weight=[0.1, 0.1])), "COPKMeans", "can be met"),
        (Task(6, 2, TWICE + frame(weight=[1.0, 2.0])), "PCKMeans", "strengths differ"),
        (Task(6, 2, frame(hard=[True, False])), "PCKMeans", "some pairs are marked hard"),
        (Task(6, 2, frame(hard=[True, True])), "COPKMeans", "all constraints can be met"),
        (Task(6, 2, PAIRS, frozenset({"sizes"})), "SizeConstrainedKMeans", "bounds on sizes"),
        (
            Task(6, 2, RING, frozenset({"sizes"})),
            "SizeConstrainedKMeans",
            "cannot all be met, so they are weighed",
        ),
        (Task(6, 2, None, frozenset({"sizes", "loads"})), "SizeConstrainedKMeans", "loads and sizes"),
        (Task(6, 2, PAIRS, metric="cosine"), "COPKMeans", "all constraints can be met"),
        (Task(200_000, 2), "COPKMeans", "one start"),
        (Task(6, 2, connected=True), "ConstrainedLinkage", "must be connected; Ward's linkage"),
        (Task(6, 2, PAIRS, connected=True), "ConstrainedLinkage", "every constraint holds"),
        (Task(6, 2, RING, connected=True), "ConstrainedLinkage", "every constraint holds"),
        (Task(6, 2, LABELS, connected=True), "ConstrainedLinkage", "every constraint holds"),
        (Task(6, 2, metric="cosine", connected=True), "ConstrainedLinkage", "average linkage"),
        (Task(6, 2, None, frozenset({"sizes"}), connected=True), "ConstrainedLinkage", "connected"),
        (Task(200_000, 2, connected=True), "ConstrainedLinkage", "connected"),
        (Task(6, 2, None, FLOOR, connected=True), "ConnectedKMeans", "have a least size"),
        (Task(6, None, None, FLOOR, connected=True), "ConnectedKMeans", "as many as that allows"),
        (Task(200_000, 2, None, FLOOR, connected=True), "ConnectedKMeans", "one start"),
    ],
)
def test_the_rule(task, name, reason):
    choice = choose(task)
    assert choice.method.name == name
    assert reason in choice.reason
    assert name in AUTO_RULE
    assert choice.method.refuses(task) is None
    expected = {"n_init": 1} if task.n_items > 100_000 and choice.method.starts else {}
    if name == "SizeConstrainedKMeans" and "weighed" in reason:
        expected["weight"] = "auto"
    assert choice.parameters == expected


def test_what_is_too_hard_to_decide_is_weighed():
    rng = np.random.default_rng(0)
    pairs = rng.integers(300, size=(2400, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]]), axis=0)
    known = Constraints(cannot_link=pairs, n_items=300)
    assert known.check(6, budget=1).status == "undecided"
    assert "found out in time" in choose(Task(300, 6, known), budget=1).reason


def test_suitable_methods_leave_out_what_cannot_do_it():
    names = {method.name for method in suitable_methods(Task(6, 2, PAIRS))}
    assert names == {
        *("COPKMeans", "PCKMeans", "MPCKMeans", "HMRFKMeans", "CVQEKMeans", "KernelPCKMeans"),
        *("SizeConstrainedKMedians", "KMedoids", "ConstrainedLinkage", "EMC"),
        *("BoostCluster", "SpectralLearning"),
    }
    names = {method.name for method in suitable_methods(Task(30_000, 2, LABELS, metric="cosine"))}
    assert "KMedoids" not in names
    assert "SizeConstrainedKMedians" not in names
    assert "SeededKMeans" in names
    names = {method.name for method in suitable_methods(Task(6, 2, None, frozenset({"groups"})))}
    assert names == {"SizeConstrainedKMeans", "SizeConstrainedKMedians"}
    names = {method.name for method in suitable_methods(Task(6, 2, None, frozenset({"sizes", "loads"})))}
    sized = {"SizeConstrainedKMeans", "SizeConstrainedKMedians", "BalancedKMeans"}
    assert names == {*sized, "ConstrainedLinkage", "BalancedCut"}
    names = {method.name for method in suitable_methods(Task(6, 2, PAIRS, connected=True))}
    assert names == {"ConstrainedLinkage", "ConnectedKMeans"}
    names = {method.name for method in suitable_methods(Task(6, None, PAIRS))}
    assert names == {"COPCobweb"}


@pytest.mark.parametrize("k", [None, 2])
def test_scores_of_pairs_are_for_methods_that_want_them(correlation, k):
    task = Task(6, k, PAIRS | LABELS, given="weights")
    assert [method.wants for method in suitable_methods(task)] == ["weights"] * len(suitable_methods(task))
    assert correlation in suitable_methods(task)
    assert correlation not in suitable_methods(Task(6, k, PAIRS))
    choice = choose(task)
    assert (choice.method, choice.reason) == (correlation, "scores of pairs are given")
    assert "Scores of pairs: CorrelationClustering." in AUTO_RULE
    assert (correlation.takes_k, correlation.needs_k, correlation.facts()["wants"]) == (
        True,
        False,
        "weights",
    )
    assert correlation.build(k).n_clusters == k
    assert correlation.refuses(Task(6, k)) == "takes scores of pairs, not rows of features"
    assert find_method("PCKMeans").refuses(task) == "takes rows of features, not scores of pairs"
    assert choose(Task(200_000, k, given="weights")).parameters == {"n_init": 1}


def test_what_works_on_rows_refuses_methods_for_scores(correlation):
    X = np.random.default_rng(0).normal(size=(20, 3))
    known = Constraints.sample(np.arange(20) % 2, n_pairs=15, random_state=0)
    found = coterie.compare(X, known, 2, methods=[correlation, "COPKMeans"], n_folds=2, library="polars")
    status = dict(found.select("method", "status").rows())
    assert status["CorrelationClustering"] == "takes scores of pairs, not rows of features"
    model = correlation.estimator()
    frame = coterie.compare(X, known, 2, methods=[model, "COPKMeans"], n_folds=2, library="polars")
    assert dict(frame.select("method", "status").rows()) == status
    for method in ("CorrelationClustering", model):
        with pytest.raises(
            ValueError, match="takes scores of pairs, not rows of features; it finds the number"
        ):
            coterie.choose_k(X, known, method=method)


@pytest.mark.parametrize(
    ("name", "task", "parameters", "reason"),
    [
        ("COPKMeans", Task(6, 2, connected=True), {}, "cannot keep clusters connected"),
        ("ConstrainedLinkage", Task(6, 2, None, frozenset({"sizes"})), {}, None),
        ("ConstrainedLinkage", Task(6, 2, None, frozenset({"sizes", "minima"})), {}, "but no least size"),
        ("ConstrainedLinkage", Task(6, 2, None, frozenset({"groups"})), {}, "takes no bounds on groups"),
        ("ConnectedKMeans", Task(6, 2, None, FLOOR), {}, None),
        ("ConnectedKMeans", Task(6, 2, None, frozenset({"groups"})), {}, "takes no bounds on groups"),
        ("ConstrainedLinkage", Task(6, 2, weighted=True), {}, "takes no weights"),
        ("ConstrainedLinkage", Task(30_000, 2), {}, "at most 20,000 items"),
        ("ConstrainedLinkage", Task(30_000, 2), {"linkage": "complete"}, "at most 20,000 items"),
        ("ConstrainedLinkage", Task(30_000, 2), {"linkage": "single"}, None),
        ("ConstrainedLinkage", Task(30_000, 2, connected=True), {}, None),
        ("ConstrainedLinkage", Task(30_000, 2, metric="cosine", connected=True), {}, "at most 20,000 items"),
        ("COPCobweb", Task(6, 2), {}, None),
        ("COPCobweb", Task(6, 2, sparse=True), {}, "takes no text, and no matrix"),
        ("MeanFieldMixture", Task(600, 2, n_features=100), {}, None),
        ("MeanFieldMixture", Task(600, 2, n_features=101), {}, "at most 100 features"),
        ("MeanFieldMixture", Task(600, 2, n_features=101), {"covariance_type": "diag"}, None),
        ("MeanFieldMixture", Task(600, 2, weighted=True), {}, "takes no weights"),
        ("PairwiseClustering", Task(20_000, 2), {}, "at most 10,000 items"),
        ("COPCobweb", Task(6, 2, metric="cosine"), {}, "has no cosine distance"),
        ("COPCobweb", Task(6, None, None, frozenset({"sizes"})), {}, "takes no bounds on sizes"),
        ("SizeConstrainedKMeans", Task(6, 2, None, frozenset({"sizes", "minima"})), {}, None),
        ("COPKMeans", Task(6, 2, None, frozenset({"sizes", "minima"})), {}, "takes no bounds on sizes"),
    ],
)
def test_a_refusal_says_why(name, task, parameters, reason):
    refused = find_method(name).refuses(task, parameters)
    assert refused is None if reason is None else reason in refused


def test_a_least_size_tells_the_number_along_a_graph_alone():
    connected = find_method("ConnectedKMeans")
    assert connected.needs_k
    assert connected.finds_k(Task(6, None, None, FLOOR, connected=True))
    assert not connected.finds_k(Task(6, None, connected=True))
    assert not find_method("SizeConstrainedKMeans").finds_k(Task(6, None, None, FLOOR))
    names = {one.name for one in suitable_methods(Task(6, None, None, FLOOR, connected=True))}
    assert names == {"ConnectedKMeans"}
    with pytest.raises(ValueError, match="needs the number of clusters"):
        choose(Task(6, None, None, FLOOR))


def test_the_rule_does_not_guess_the_number_of_clusters():
    with pytest.raises(ValueError, match="needs the number of clusters"):
        choose(Task(6, None, PAIRS))
