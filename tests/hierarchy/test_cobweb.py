"""`COPCobweb`: equal to the definition on small problems, legal on all, clear about what it cannot read."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie import Constraints
from coterie.exceptions import InfeasibleConstraintsError
from coterie.hierarchy._cobweb import state as _cobweb_state
from coterie.hierarchy._cobweb.category_utility import category_utility
from coterie.hierarchy._cop_cobweb import AUTO_ACUITY, COPCobweb
from tests.assign.problems import feasible_constraints, random_constraints
from tests.constraints.strategies import GROUP_MAKERS
from tests.oracles import cobweb as oracle
from tests.oracles.constraints import numbered


def random_table(rng, n):
    """Rows of some nominal and some numeric attributes in loose clusters, and which are nominal."""
    nominal = [rng.random() < 0.5 for _ in range(rng.randint(1, 4))]
    clusters = rng.randint(1, 5)
    middle = [[rng.uniform(-6, 6) for _ in nominal] for _ in range(clusters)]
    usual = [[rng.randrange(3) for _ in nominal] for _ in range(clusters)]
    rows = []
    for _ in range(n):
        h = rng.randrange(clusters)
        row = []
        for a, is_nominal in enumerate(nominal):
            if is_nominal:
                row.append("abc"[usual[h][a] if rng.random() < 0.8 else rng.randrange(3)])
            else:
                row.append(rng.gauss(middle[h][a], 1.0))
        rows.append(row)
    return rows, nominal


def tree_of(model):
    """The tree as nested frozensets of items."""
    n_nodes = len(model.parents_)
    own = [frozenset(np.flatnonzero(model.leaves_ == node).tolist()) for node in range(n_nodes)]
    below = [[child for child in range(n_nodes) if model.parents_[child] == node] for node in range(n_nodes)]

    def shape(node):
        return frozenset(shape(child) for child in below[node]) if below[node] else own[node]

    return shape(0)


def shape_of(node):
    return frozenset(shape_of(child) for child in node.children) if node.children else frozenset(node.own)


def fit_both(rows, nominal, acuity, known):
    model = COPCobweb(categorical_features=nominal, acuity=acuity)
    model.fit(np.array(rows, dtype=object), constraints=known)
    return model, *oracle.cobweb(rows, nominal, acuity, known)


@pytest.mark.parametrize("many", [150, pytest.param(300, marks=pytest.mark.slow)])
def test_equal_to_the_definition(many, seed):
    done, seen = Counter(), set()
    compared = refused = 0
    for number in range(many):
        rng = random.Random(f"{seed} {number}")
        n = rng.randint(1, 26)
        rows, nominal = random_table(rng, n)
        acuity = rng.choice([0.3, 1.0, 2.5])
        if number % 3 == 0:
            known = Constraints(n_items=n)
        elif number % 3 == 1 and n > 1:
            known = random_constraints(rng, n, dense=0.3)
        else:
            known = feasible_constraints(rng, n, rng.randint(1, 4))[0]
        if known.contracted.n_contradictions:
            with pytest.raises(InfeasibleConstraintsError):
                COPCobweb(categorical_features=nominal).fit(np.array(rows, dtype=object), constraints=known)
            refused += 1
            continue
        model, root, history, actions = fit_both(rows, nominal, acuity, known)
        assert model.labels_.tolist() == numbered(oracle.labels_of(root, n), known)
        assert tree_of(model) == shape_of(root)
        np.testing.assert_allclose(model.history_, history, atol=1e-9)
        assert model.n_clusters_ == len(root.children)
        assert not model.violations_
        compared += 1
        done.update(actions)
        seen |= known.kinds
    assert compared >= 0.76 * many
    assert refused > 0
    assert seen == {"must-link", "cannot-link", "label", "distinct", "across"}
    # every option is taken, at the top and below, so that a mistake in any would show
    assert set(done) == set(itertools.product(["add", "new", "merge", "split"], [True, False]))


@pytest.mark.parametrize("many", [16, pytest.param(40, marks=pytest.mark.slow)])
def test_merges_keep_to_the_statements(many, seed):
    """Two equal clusters, kept apart by one constraint of each kind, would be merged without it."""
    for kind in ("cannot-link", "distinct", "across", "label"):
        vetoed = 0
        for number in range(many):
            rng = random.Random(f"{seed} {kind} {number}")
            rows, nominal = random_table(rng, 24)
            values = [rng.choice([0, 1]) if rng.random() < 0.25 else -1 for _ in rows]
            known = Constraints(n_items=24)
            if kind == "cannot-link":
                known = Constraints(None, [tuple(rng.sample(range(24), 2)) for _ in range(4)], n_items=24)
            else:
                known = GROUP_MAKERS[kind](np.array(values))
            free = oracle.cobweb(rows, nominal, 1.0, Constraints(n_items=24))[0]
            model, root, _, _ = fit_both(rows, nominal, 1.0, known)
            assert model.labels_.tolist() == numbered(oracle.labels_of(root, 24), known)
            assert not model.violations_
            vetoed += bool(known.violations(oracle.labels_of(free, 24)))
        assert vetoed > many / 4


def test_worked_by_hand():
    """Four rows of two attributes; the scores are those of the definition, worked out on paper."""
    rows = np.array([["a", "x"], ["a", "x"], ["b", "y"], ["b", "x"]])
    model = COPCobweb(categorical_features=[0, 1]).fit(rows)
    # 2: {0, 1} {2} scores (2/3 * 2 + 1/3 * 2 - 10/9) / 2 = 4/9, all together 0
    # 3: with 2: (1/2 * 2 + 1/2 * 3/2 - (1/2 + 5/8)) / 2 = 5/16; alone: (2 - 9/8) / 3 = 7/24;
    #    with 0 and 1: (3/4 * (5/9 + 1) + 1/4 * 2 - 9/8) / 2 = 13/48
    np.testing.assert_allclose(model.history_, [0.0, 0.0, -4 / 9, -5 / 16])
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.category_utility_ == pytest.approx(5 / 16)
    assert model.objective_ == -model.category_utility_
    # below the second cluster its two rows are told apart
    assert model.parents_.tolist() == [-1, 0, 0, 2, 2]
    assert model.leaves_.tolist() == [1, 1, 3, 4]


def test_numbers_worked_by_hand():
    """0 and 10: apart they score (1 - 1/5) / (4 sqrt(pi)); 0 and 2, at an acuity of 1, are the same."""
    model = COPCobweb(acuity=1.0).fit([[0.0], [10.0]])
    assert model.n_clusters_ == 2
    assert model.category_utility_ == pytest.approx(0.8 / (4 * math.sqrt(math.pi)))
    assert COPCobweb(acuity=1.0).fit([[0.0], [2.0]]).n_clusters_ == 1
    assert COPCobweb(acuity=0.9).fit([[0.0], [2.0]]).n_clusters_ == 2


def test_category_utility_is_that_of_the_definition(seed):
    for number in range(60):
        rng = random.Random(f"{seed} {number}")
        n = rng.randint(1, 20)
        rows, nominal = random_table(rng, n)
        labels = np.unique([rng.randrange(4) for _ in rows], return_inverse=True)[1]
        parts = [
            [row for row, h in zip(rows, labels, strict=True) if h == g] for g in range(labels.max() + 1)
        ]
        numeric = np.array([[v for v, a in zip(row, nominal, strict=True) if not a] for row in rows])
        codes = np.array(
            [
                [
                    3 * at + "abc".index(v)
                    for at, v in enumerate(v for v, a in zip(row, nominal, strict=True) if a)
                ]
                for row in rows
            ]
        )
        expected = oracle.category_utility(parts, nominal, 0.7)
        found = category_utility(
            numeric.reshape(n, -1).astype(float), codes.reshape(n, -1).astype(int), labels, 0.7
        )
        assert found == pytest.approx(expected, abs=1e-12)
        # the names of the clusters do not matter
        other = rng.sample(range(labels.max() + 1), labels.max() + 1)
        again = category_utility(
            numeric.reshape(n, -1).astype(float),
            codes.reshape(n, -1).astype(int),
            np.array(other)[labels],
            0.7,
        )
        assert again == pytest.approx(found, abs=1e-12)


def test_one_item_and_identical_items():
    one = COPCobweb().fit([[3.0, 4.0]])
    assert (one.n_clusters_, one.labels_.tolist(), one.category_utility_) == (1, [0], 0.0)
    same = COPCobweb().fit(np.ones((50, 2)))
    assert same.n_clusters_ == 1
    assert same.parents_.tolist() == [-1, 0]  # nothing to tell apart, so no node below
    words = COPCobweb(categorical_features=[0]).fit(np.full((50, 1), "x"))
    assert words.parents_.tolist() == [-1, 0]


def test_constant_columns_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2)) + 20 * rng.integers(3, size=(60, 1))
    constant = np.column_stack([np.full(60, 1e9), X, np.full(60, -3.0)])
    for acuity in ("auto", 1.0):
        plain, more = (COPCobweb(acuity=acuity).fit(Z) for Z in (X, constant))
        assert plain.labels_.tolist() == more.labels_.tolist()
        assert more.category_utility_ == pytest.approx(plain.category_utility_)


def test_all_linked(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(scale=100.0, size=(30, 2))
    chain = Constraints([(i, i + 1) for i in range(29)], n_items=30)
    together = COPCobweb().fit(X, constraints=chain)
    assert together.n_clusters_ == 1
    assert together.parents_.tolist() == [-1, 0]  # one component, one leaf, far apart as its items are
    apart = Constraints(None, list(itertools.combinations(range(30), 2)), n_items=30)
    for known in (apart, Constraints.distinct(np.zeros(30, dtype=int)), Constraints.across(np.arange(30))):
        for rows in (X, np.zeros((30, 2))):
            model = COPCobweb().fit(rows, constraints=known)
            assert model.labels_.tolist() == list(range(30))


def test_a_component_counts_as_a_whole():
    """Item 0 may not share a cluster with 3, since 1, which has not come yet, may not."""
    X = np.array([[0.0], [0.1], [50.0], [0.0]])
    known = Constraints([(0, 1)], [(1, 3)], n_items=4)
    order = [3, 0, 2, 1]
    model = COPCobweb().fit(X[order], constraints=known[order])
    assert model.labels_.tolist() == [0, 1, 2, 1]
    assert COPCobweb().fit(X[order]).labels_.tolist() == [0, 0, 1, 0]


def test_statements_without_weight_have_no_effect(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) + 30 * rng.integers(2, size=(40, 1))
    nothing = Constraints([(0, 1), (2, 30)], [(3, 4), (5, 6)], n_items=40, weight=0.0)
    assert COPCobweb().fit(X, constraints=nothing).labels_.tolist() == COPCobweb().fit(X).labels_.tolist()


def test_auto_is_the_rule_on_measured_features(seed):
    """ "auto" standardises; so does a number on standardised features, and units do not matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3)) + 4 * rng.integers(3, size=(80, 1))
    auto = COPCobweb().fit(X * [1.0, 1e3, 1e-3] + [5.0, 0.0, 1.0])
    scaled = COPCobweb(acuity=AUTO_ACUITY).fit((X - X.mean(axis=0)) / X.std(axis=0))
    assert auto.labels_.tolist() == scaled.labels_.tolist()
    assert auto.category_utility_ == pytest.approx(scaled.category_utility_)
    np.testing.assert_allclose(auto.acuity_, AUTO_ACUITY * X.std(axis=0) * [1.0, 1e3, 1e-3])
    assert np.unique(scaled.acuity_).tolist() == [AUTO_ACUITY]


def test_shuffle_draws_an_order(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    found = []
    for state in range(6):
        model = COPCobweb(shuffle=True, random_state=state).fit(X)
        order = np.random.RandomState(state).permutation(60)
        in_order = COPCobweb().fit(X[order]).labels_
        assert adjusted_rand_score(model.labels_[order], in_order) == 1.0
        assert model.labels_[0] == 0
        found.append(model.labels_.tolist())
    assert any(one != found[0] for one in found[1:])


def test_larger_data_equal_in_parts(seed, monkeypatch):
    """The loop stops for room and for the keyboard; where it stops does not matter. The sums do not drift."""
    rng = np.random.default_rng(seed)
    n = 1500
    truth = rng.integers(6, size=n)
    X = np.empty((n, 5), dtype=object)
    X[:, :3] = 3.0 * rng.normal(size=(6, 3))[truth] + rng.normal(size=(n, 3))
    X[:, 3] = np.array(list("uvwxyz"))[np.where(rng.random(n) < 0.8, truth, rng.integers(6, size=n))]
    X[:, 4] = rng.random(n) < 0.5
    known = Constraints.sample(truth, n_pairs=300, random_state=0)
    whole = COPCobweb(categorical_features=[3, 4]).fit(X, constraints=known)
    assert not whole.violations_
    monkeypatch.setattr("coterie.hierarchy._cop_cobweb._STEPS", 1)
    monkeypatch.setattr("coterie.hierarchy._cop_cobweb._FIRST_NODES", 4)
    bits = COPCobweb(categorical_features=[3, 4]).fit(X, constraints=known)
    assert whole.labels_.tolist() == bits.labels_.tolist()
    assert whole.parents_.tolist() == bits.parents_.tolist()
    # the last entry is the definition's; the one before it is the loop's own
    short = COPCobweb(categorical_features=[3, 4], acuity=1.0).fit(X[:-1], constraints=known[: n - 1])
    whole = COPCobweb(categorical_features=[3, 4], acuity=1.0).fit(X, constraints=known)
    assert whole.history_[-2] == pytest.approx(short.objective_, rel=1e-9)


def test_progress_is_told_in_hundredths(capsys):
    X = np.arange(250.0)[:, None]
    COPCobweb(verbose=2).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 100
    assert lines[-1].startswith("COPCobweb: iteration 100, objective -")
    COPCobweb(verbose=2).fit(X[:3])
    assert len(capsys.readouterr().out.splitlines()) == 3


# ---- what is read ---------------------------------------------------------------------------------------


def test_nominal_columns_by_mask_number_and_name():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {
        "size": [1.0, 1.1, 9.0, 9.2, 1.2, 9.1],
        "kind": ["a", "a", "b", "b", "a", "b"],
        "known": [True, True, False, False, True, False],
    }
    frame = pd.DataFrame(columns)
    expected = [0, 0, 1, 1, 0, 1]
    for given in (
        ["kind", "known"],
        [1, 2],
        np.array([1, 2]),
        [False, True, True],
        np.array([False, True, True]),
    ):
        assert COPCobweb(categorical_features=given).fit(frame).labels_.tolist() == expected
    assert (
        COPCobweb(categorical_features=["kind", "known"]).fit(pl.DataFrame(columns)).labels_.tolist()
        == expected
    )
    typed = frame.astype({"kind": "category"})
    model = COPCobweb(categorical_features=["kind", "known"]).fit(typed)
    assert model.labels_.tolist() == expected
    assert model.feature_names_in_.tolist() == ["size", "kind", "known"]
    assert np.isnan(model.acuity_).tolist() == [False, True, True]


def test_numbers_as_nominal_values_have_no_order():
    X = [[1], [1], [2], [2], [900], [900]]
    model = COPCobweb(categorical_features=[0]).fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1, 2, 2]
    assert (
        model.labels_.tolist()
        == COPCobweb(categorical_features=[0]).fit(np.array(list("aabbcc"))[:, None]).labels_.tolist()
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([3], "names column 3; the columns are 0 to 2"), ([-1], "names column -1"),
        ([True, False], "a mask of 2 entries; X has 3 columns"),
        (["kin"], "no column of X; did you mean 'kind'"), (["zzz"], "they are size, kind, known"),
        ("kind", "in a list; got 'kind'"), (1, "in a list; got 1"), ([1.5], "one entry is 1.5"),
        ([True, 1, 2], "one entry is True"),
    ],
)  # fmt: skip
def test_unreadable_categorical_features(given, words):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": [1.0, 2.0], "kind": ["a", "b"], "known": [True, False]})
    with pytest.raises(ValueError, match=words):
        COPCobweb(categorical_features=given).fit(frame)


def test_names_need_a_frame():
    with pytest.raises(ValueError, match="X has no column names"):
        COPCobweb(categorical_features=["kind"]).fit([[1.0], [2.0]])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([[1.0, "a"], [math.nan, "b"]], r"row 1, column 0 of X is missing \(NaN\).*SimpleImputer"),
        ([[1.0, "a"], [None, "b"]], r"row 1, column 0 of X is missing"),
        ([[1.0, "a"], [2.0, None]], r"row 1, column 1 of X is missing \(None\).*'unknown'"),
        ([[1.0, "a"], [2.0, math.nan]], r"row 1, column 1 of X is missing \(nan\)"),
        ([[math.inf, "a"], [2.0, "b"]], r"row 0, column 0 of X is inf"),
        ([["one", "a"], [2.0, "b"]], r"row 0, column 0 of X holds 'one'.*list it in categorical_features"),
        ([[1.0, "a"], [2.0, {"b": 1}]], r"row 1, column 1 of X holds a dict"),
    ],
)
def test_values_that_are_refused(bad, words):
    table = np.empty((2, 2), dtype=object)
    for i, j in itertools.product(range(2), range(2)):
        table[i, j] = bad[i][j]
    with pytest.raises(ValueError, match=words):
        COPCobweb(categorical_features=[1]).fit(table)


def test_missing_in_a_frame_is_told_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": [1.0, 2.0], "kind": ["a", None]})
    with pytest.raises(ValueError, match=r"row 1, column 1 \('kind'\) of X is missing"):
        COPCobweb(categorical_features=["kind"]).fit(frame)


def test_too_many_values_are_refused_with_the_size(monkeypatch):
    monkeypatch.setattr(_cobweb_state, "MOST_BYTES", 1e6)
    names = np.array([f"name {i}" for i in range(2000)])[:, None]
    with pytest.raises(ValueError, match=r"2,000 different values.*Leave out columns"):
        COPCobweb(categorical_features=[0]).fit(names)


def test_extreme_numbers_are_no_trouble():
    X = np.array([[1e-300], [2e-300], [9e-300]])
    assert COPCobweb().fit(X).n_clusters_ == COPCobweb().fit(X * 1e300 * 1e300).n_clusters_
    assert COPCobweb(acuity=1.0).fit([[-1e200], [1e200], [1e200]]).labels_.tolist() == [0, 1, 1]


@pytest.mark.kernels
def test_the_loop_compiled_bounded_and_interpreted(seed):
    rng = random.Random(seed)
    for _ in range(6):
        rows, nominal = random_table(rng, 20)
        known = feasible_constraints(rng, 20, 3)[0]
        model, root, _, _ = fit_both(rows, nominal, 1.0, known)
        assert model.labels_.tolist() == numbered(oracle.labels_of(root, 20), known)
        assert tree_of(model) == shape_of(root)
