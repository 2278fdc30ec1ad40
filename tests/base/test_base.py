"""Parameter rules, progress, and the account after a fit."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coterie import Constraints, InfeasibleConstraintsError
from coterie.base import Rule, anything, check_parameters, constrained_fit, instance, one_of, real, whole
from coterie.exceptions import UnsupportedConstraintError, ViolatedConstraintsWarning
from tests.contract.toy import BreaksHardPairs, ToyGuided, ToyHard, ToySoft

HAS_CALLBACKS = hasattr(ToyHard, "set_callbacks")


@pytest.mark.parametrize(
    ("rule", "good", "bad", "words"),
    [
        (whole(1), [1, np.int32(7)], [0, 1.0, True, "1", None], "a whole number, at least 1"),
        (whole(0, 3), [0, 3], [-1, 4], "a whole number from 0 to 3"),
        (real(0.0), [0, 0.5, np.float32(2)], [-0.1, np.nan, np.inf, True, "x"], "a number, at least 0"),
        (real(0.0, above=True), [1e-9], [0.0], "a number above 0"),
        (one_of("auto", None), ["auto", None], ["Auto", 0], "'auto' or None"),
        (one_of("a") | whole(1), ["a", 2], ["b", 0], "'a' or a whole number, at least 1"),
        (instance(dict, "a dict"), [{}], [[]], "a dict"),
        (anything("a seed"), [None, object()], [], "a seed"),
    ],
)
def test_rules(rule, good, bad, words):
    assert isinstance(rule, Rule)
    assert rule.words == words
    assert all(rule.holds(value) for value in good)
    assert not any(rule.holds(value) for value in bad)


def test_a_bad_parameter_is_named_with_its_value_before_anything_runs():
    with pytest.raises(
        ValueError, match=r"n_clusters of ToyHard must be a whole number, at least 1; got 'x'"
    ):
        ToyHard(n_clusters="x").fit("not even data")
    check_parameters(ToyHard())


@pytest.fixture
def data():
    return np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])


def test_outvoted_constraints_are_one_warning_and_a_report(data):
    soft = Constraints([(0, 2)], [(0, 1)], n_items=5)
    with pytest.warns(ViolatedConstraintsWarning, match=r"2 of 2 constraints were outvoted") as caught:
        model = ToySoft(n_clusters=3).fit(data, constraints=soft)
    assert len(caught) == 1
    assert model.violations_.must_link.ij.tolist() == [[0, 2]]
    assert model.violations_.cannot_link.ij.tolist() == [[0, 1]]
    assert caught[0].filename == __file__


def test_the_warning_names_three_of_them_in_the_users_ids(data):
    def told(known):
        with pytest.warns(ViolatedConstraintsWarning) as caught:
            ToySoft(n_clusters=3).fit(data, constraints=known)
        return str(caught[0].message)

    ids = ["anna", "bob", "cem", "dora", "eve"]
    one = Constraints([("anna", "cem"), ("anna", "bob")], ids=ids)
    assert told(one) == "1 of 2 constraints were outvoted, e.g. must-link anna - cem; see violations_."
    four = one | Constraints([("bob", "dora"), ("bob", "eve")], [("anna", "bob")], ids=ids)
    assert told(four).startswith(
        "4 of 5 constraints were outvoted, e.g. must-link anna - cem, must-link bob - "
    )
    assert "cannot-link" not in told(four)
    group = Constraints.from_labels(["red", -1, "red", -1, -1], weight=1.0).with_ids(ids)
    assert "e.g. label red: " in told(group)


def users_line(action):
    """Where the one warning of `action` points: is it the file, and the line, of the call?"""
    with pytest.warns(ViolatedConstraintsWarning) as caught:
        action()
    assert len({warning.lineno for warning in caught}) == 1
    assert caught[0].filename == __file__
    return caught[0].lineno - action.__code__.co_firstlineno


@pytest.mark.parametrize("routing", [True, False])
def test_the_warning_points_at_the_users_line(data, routing):
    soft = Constraints([(0, 2)], [(0, 1)], n_items=5)
    model, pipeline = ToySoft(n_clusters=3), make_pipeline(StandardScaler(), ToySoft(n_clusters=3))
    whole_data = [(np.arange(5), np.arange(5))] * 2
    search = GridSearchCV(
        model, {"max_iter": [2]}, cv=whole_data, scoring=lambda *_: 0.0, error_score="raise"
    )
    key = "constraints" if routing else "toysoft__constraints"
    with sklearn.config_context(enable_metadata_routing=routing):
        assert users_line(lambda: model.fit(data, constraints=soft)) == 0
        assert users_line(lambda: model.fit_predict(data, constraints=soft)) == 0
        assert users_line(lambda: pipeline.fit(data, **{key: soft})) == 0
        assert users_line(lambda: pipeline.fit_predict(data, **{key: soft})) == 0
        assert users_line(lambda: search.fit(data, constraints=soft)) == 0


def test_who_obeys_nothing_warns_and_never_raises(data):
    impossible = Constraints([(0, 2), (2, 4)], [(0, 4)], n_items=5, hard=True)
    with pytest.warns(
        ViolatedConstraintsWarning, match="2 of 3 constraints were outvoted, e.g. must-link 0 - 2"
    ):
        model = ToyGuided(n_clusters=3).fit(data, constraints=impossible)
    assert model.violations_.n_hard == 2
    with pytest.raises(ValueError, match="n_clusters=9, but X has n_samples=5"):
        ToyGuided(n_clusters=9).fit(data, constraints=impossible)


def test_who_obeys_nothing_still_refuses_kinds(data):
    class Seeded(ToyGuided):
        constraint_kinds = frozenset({"label"})

    with pytest.raises(UnsupportedConstraintError, match="kind must-link; it takes label"):
        Seeded(n_clusters=3).fit(data, constraints=Constraints([(0, 1)], n_items=5))


def test_hard_pairs_that_collide_are_an_error_in_the_users_ids(data):
    ids = list("abcde")
    known = Constraints([("a", "c"), ("c", "e")], [("a", "e")], ids=ids, hard=True)
    for kind in (ToyHard, ToySoft):
        with pytest.raises(InfeasibleConstraintsError, match=r"a must join e \(a-c-e\)") as caught:
            kind(n_clusters=2).fit(data, constraints=known)
        assert caught.value.certificate.must_link.tolist() == [[0, 2], [2, 4]]


def test_a_broken_promise_is_an_error(data):
    with pytest.raises(RuntimeError, match=r"BreaksHardPairs broke constraints that it promises to obey"):
        BreaksHardPairs(n_clusters=3).fit(data, constraints=Constraints([(0, 2)], n_items=5, hard=True))


def test_a_failed_fit_leaves_nothing_behind(data):
    model = ToyHard(n_clusters=2)
    with pytest.raises(InfeasibleConstraintsError):
        model.fit(data, constraints=Constraints(None, [(0, 1), (1, 2), (0, 2)], n_items=5))
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "violations_")


def test_kinds_are_refused_by_name(data):
    class PairsOnly(ToyHard):
        constraint_kinds = frozenset({"must-link"})

    with pytest.raises(UnsupportedConstraintError, match=r"kind label; it takes must-link"):
        PairsOnly().fit(data, constraints=[0, 0, -1, -1, 1])


class Counter:
    """Counts finished tasks; asks to stop after three."""

    def __init__(self):
        self.begun = self.ended = 0
        self.closed = False

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.begun += 1

    def on_fit_task_end(self, estimator, context):
        self.ended += 1
        return self.ended >= 3

    def teardown(self, estimator, context):
        self.closed = True


@pytest.mark.skipif(not HAS_CALLBACKS, reason=f"scikit-learn {sklearn.__version__} has no callbacks")
def test_callbacks_see_every_step_and_can_stop(data):
    counter = Counter()
    model = ToyHard(n_clusters=2, max_iter=10).set_callbacks(counter).fit(data)
    assert model.n_iter_ == 3
    assert counter.begun == counter.ended == 4  # three steps and the fit itself
    assert counter.closed


def test_a_fit_may_call_the_fit_of_its_parent(data):
    class Child(ToyHard):
        @constrained_fit
        def fit(self, X, y=None, *, constraints=None):
            super().fit(X, constraints=constraints)
            self.labels_ = self.labels_[::-1][::-1]
            return self

    model = Child(n_clusters=2).fit(data, constraints=Constraints([(0, 2)], n_items=5))
    assert not model.violations_
    assert model.violations_.n_stated == 1
    assert not {"_fitting", "_known"} & set(vars(model))


def test_a_fit_that_forgets_to_begin_is_told_so(data):
    class Forgetful(ToyHard):
        @constrained_fit
        def fit(self, X, y=None, *, constraints=None):
            self.labels_ = np.zeros(len(X), dtype=int)
            return self

    with pytest.raises(RuntimeError, match=r"fit of Forgetful must call self\._begin_fit"):
        Forgetful().fit(data)


def test_more_clusters_than_parts_are_refused(data):
    chain = Constraints([(0, 1), (1, 2), (2, 3)], n_items=5)
    with pytest.raises(InfeasibleConstraintsError, match="Only 2 parts remain"):
        ToyHard(n_clusters=3).fit(data, constraints=chain)


@pytest.mark.skipif(not HAS_CALLBACKS, reason=f"scikit-learn {sklearn.__version__} has no callbacks")
def test_callbacks_stay_open_while_a_parent_fits(data):
    """The parent's fit must not close what the child's fit still uses."""
    closed_while_fitting = []
    listener = Counter()

    class Child(ToyHard):
        @constrained_fit
        def fit(self, X, y=None, *, constraints=None):
            super().fit(X, constraints=constraints)
            closed_while_fitting.append(listener.closed)
            return self

    Child(n_clusters=2).set_callbacks(listener).fit(data)
    assert closed_while_fitting == [False]
    assert listener.closed
