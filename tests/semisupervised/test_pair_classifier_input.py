"""Input that is wrong, odd or extreme, and what is said of it; words, counts and warnings of a fit."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from coterie import Constraints, PairwiseLogisticRegression, PairwiseSVC
from coterie.exceptions import ParameterError, UnsupportedConstraintError, ViolatedConstraintsWarning
from tests.marks import outvoted

KINDS = [PairwiseLogisticRegression, PairwiseSVC]
every_kind = pytest.mark.parametrize("kind", KINDS)
X = np.array([[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]])
Y = [0, -1, -1, -1, -1, 1]


# ---- labels -----------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([-1] * 6, "y has no label.*pairs alone are for clustering: see PCKMeans"),
        ([None] * 6, "y has no label"),
        ([np.nan] * 6, "y has no label"),
        ([1, -1, -1, 1, -1, -1], r"one class only, 1 \(-1, None and NaN: not known\); label an item of an"),
        (np.array(["a", -1, "b", "a", "b", "a"]), "text '-1' or 'nan'.*Say with None"),
        (np.array(["a", np.nan, "b", "a", "b", "a"]), "text '-1' or 'nan'"),
        (["a", "-1", "b", "a", "b", "a"], "text '-1' or 'nan'"),
        (["a", None, None, None, None, "a"], "y has one class only, a"),
        ([0, "a", None, None, None, None], "y holds labels of several types"),
        ([0.5, 1.25, -1, -1, -1, -1], "continuous"),
        ([0, np.inf, -1, -1, -1, -1], "y contains infinity"),
        ([0, 1, -1], "6, 3"),
        (np.zeros((6, 2)), "1d array"),
    ],
)
def test_labels_that_cannot_be(kind, y, message):
    known = Constraints([(0, 1)], [(0, 5)], n_items=6)
    with pytest.raises(ValueError, match=message):
        kind().fit(X, y, constraints=known)


@every_kind
@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["a", -1, "b", -1, -1, "b"], ["a", "b"]),
        (["a", np.nan, "b", None, -1, "b"], ["a", "b"]),
        ([3, None, 7, None, np.nan, 7], [3, 7]),
        (np.array([3, None, 7, None, -1, 7], dtype=object), [3, 7]),
        ([True, None, False, None, -1, False], [False, True]),
        ((3.0, -1, 7.0, -1, -1, 7.0), [3.0, 7.0]),
    ],
)
def test_labels_that_stand_beside_others_of_no_label(kind, y, classes):
    model = kind().fit(X, y)
    assert model.classes_.tolist() == classes
    assert model.classes_.dtype.kind == np.asarray(classes).dtype.kind
    expected = kind().fit(X, [(1, -1, 0, -1, -1, 0), (0, -1, 1, -1, -1, 1)][y[0] == classes[0]])
    assert np.allclose(model.decision_function(X), expected.decision_function(X))


@every_kind
def test_a_class_without_a_label_is_not_learned(kind):
    """Nothing names it: its rows go to others, or to nobody."""
    rows = np.eye(3).repeat(4, axis=0)
    y = np.full(12, -1)
    y[[0, 4]] = 0, 1
    apart = Constraints(None, [(8, 0), (8, 4), (9, 1), (9, 5)], n_items=12, weight=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ViolatedConstraintsWarning)
        two = kind().fit(rows, y, constraints=apart)
        open_world = kind(unknown=7).fit(rows, y, constraints=apart)
    assert two.classes_.tolist() == [0, 1]
    assert set(two.predict(rows)) == {0, 1}
    assert open_world.predict(rows).tolist() == [0] * 4 + [1] * 4 + [7] * 4
    if kind is PairwiseLogisticRegression:
        with pytest.raises(ParameterError, match="code has 3 rows, one a class"):
            kind(code=2 * np.eye(3) - 1).fit(rows, y)


# ---- parameters -------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize(
    ("name", "values"),
    {
        "alpha": [0, 0.0, -1.0, np.nan, np.inf, "auto"], "weight": [-1.0, np.nan, "heavy"],
        "kernel": ["round", None], "gamma": [0.0, -1.0, "scale"], "degree": [0, 1.5], "coef0": [np.inf],
        "tol": [0.0, -1e-3], "max_iter": [0, 2.5], "unknown": [[1, 2], "nobody"],
    }.items(),
)  # fmt: skip
def test_nonsense_is_refused_by_name(kind, name, values):
    for value in values:
        with pytest.raises(ValueError, match=f"{name}") as caught:
            kind(**{name: value}).fit(X, Y)
        assert caught.value.parameters == (name,)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"loss": "hinge"}, "loss"),
        ({"cannot_link_loss": "both"}, "cannot_link_loss"),
        ({"code": "ecoc"}, "code"),
        ({"code": [["a", "b"], ["b", "a"]]}, "must be 'ova' or a matrix of -1 and 1"),
        ({"code": [[1, -1], [1]]}, "must be 'ova' or a matrix of -1 and 1"),
        ({"code": [[1, 1], [1, -1]]}, "both in every column, and no two equal rows"),
        ({"code": [[1, -1], [1, -1]]}, "both in every column"),
        ({"code": [[1, 0], [-1, 1]]}, "code must hold -1 and 1"),
        ({"code": [[1], [-1]], "unknown": 7}, 'unknown goes with code="ova"'),
    ],
)
def test_losses_and_codes_that_do_not_exist(words, message):
    with pytest.raises(ParameterError, match=message):
        PairwiseLogisticRegression(**words).fit(X, Y)


def test_a_code_takes_must_links_alone():
    coded = PairwiseLogisticRegression(code=[[1, 1], [-1, 1], [-1, -1]])
    y = [0, -1, 1, -1, -1, 2]
    for known, kind in (
        (Constraints(None, [(0, 5)], n_items=6), "cannot-link"),
        (Constraints.from_labels([0, 0, 1, -1, -1, -1]), "label"),
    ):
        with pytest.raises(UnsupportedConstraintError, match=f"a code takes must-links alone, not {kind}"):
            coded.fit(X, y, constraints=known)
    coded.fit(X, y, constraints=Constraints([(3, 2), (4, 5)], n_items=6))
    assert coded.predict(X)[[0, 2, 3, 4, 5]].tolist() == [0, 1, 1, 2, 2]
    assert coded.decision_function(X).shape == (6, 3)


# ---- kernels ----------------------------------------------------------------------------------------------


@every_kind
def test_a_kernel_with_negative_directions_is_clipped_and_told(kind):
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    values = np.array([3.0, 2.0, 1.0, 0.5, -0.2, -0.7])
    K = vectors * values @ vectors.T
    known = Constraints([(1, 0), (3, 5), (2, 4)], n_items=6)
    with pytest.warns(UserWarning, match="not positive semidefinite: it has the eigenvalue -0.7"):
        found = kind(alpha=0.1, kernel="precomputed").fit(K, Y, constraints=known)
    clipped = vectors * np.maximum(values, 0) @ vectors.T
    expected = kind(alpha=0.1, kernel="precomputed").fit(clipped, Y, constraints=known)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-4)
    assert found.decision_function(clipped) == pytest.approx(expected.decision_function(clipped), abs=1e-2)
    with (
        pytest.raises(ValueError, match="has no positive direction"),
        pytest.warns(UserWarning, match="left out"),
    ):
        kind(kernel="precomputed").fit(-np.eye(6), Y)
    with pytest.raises(ValueError, match="square"):
        kind(kernel="precomputed").fit(np.ones((6, 2)), Y)


@every_kind
def test_a_kernel_too_large_to_hold_is_refused(kind):
    n = 60_000
    known = Constraints(np.column_stack([np.arange(n - 1), np.arange(1, n)]), n_items=n)
    with pytest.raises(ValueError, match=r"GB.*Nystroem"):
        kind().fit(np.zeros((n, 1)), np.r_[0, 1, np.full(n - 2, -1)], constraints=known)


# ---- constraints ------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.filterwarnings("ignore:f is 0 for all rows")  # and so it is
def test_contradictory_pairs_are_legal_and_counted(kind):
    known = Constraints([(1, 2), (0, 5)], [(1, 2), (3, 4)], n_items=6)
    y = [0, -1, -1, 1, 1, 1]
    with pytest.warns(ViolatedConstraintsWarning, match="3 contradictions of labels and pairs among them"):
        model = kind().fit(X, y, constraints=known)
    # (1, 2) as both kinds, (0, 5) against two labels, (3, 4) against one class
    assert model.n_contradictions_ == 3
    assert model.violations_.n_broken == known.violations(model.predict(X)).n_broken >= 1
    # an odd ring of cannot-links is no contradiction that is seen pair by pair, but one of them is broken
    ring = Constraints(None, [(1, 2), (2, 3), (1, 3)], n_items=6)
    with pytest.warns(ViolatedConstraintsWarning, match=r"see violations_\.$"):
        model = kind().fit(X, Y, constraints=ring)
    assert model.n_contradictions_ == 0
    assert model.violations_.n_broken >= 1
    kind().fit(
        X, [0, -1, -1, -1, -1, 1], constraints=Constraints([(0, 1)], [(0, 5)], n_items=6)
    )  # no warning


@every_kind
def test_an_item_with_itself(kind):
    plain = kind().fit(X, Y).decision_function(X)
    found = kind().fit(X, Y, constraints=Constraints([(2, 2), (3, 3)], n_items=6))
    assert found.decision_function(X) == pytest.approx(plain, abs=1e-9)
    with pytest.raises(ValueError, match="links item 2 with itself, which nothing can meet"):
        Constraints(None, [(2, 2)], n_items=6)


@every_kind
def test_constraints_of_other_items_and_weights_below_0(kind):
    with pytest.raises(ValueError, match="9 items, but X has 6 rows"):
        kind().fit(X, Y, constraints=Constraints([(0, 8)], n_items=9))
    with pytest.raises(ValueError, match="weight"):
        Constraints([(0, 1)], n_items=6, weight=-1.0)
    many = np.arange(5_000)
    with pytest.raises(UnsupportedConstraintError, match="groups are written out as pairs here"):
        kind().fit(np.zeros((5_000, 1)), many % 2, constraints=many % 3)


# ---- searches that stop early, extreme values -------------------------------------------------------------


def crowded():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(60, 3)), np.full(60, -1)
    y[:6] = np.arange(6) % 3
    pairs = np.unique(np.sort(rng.integers(60, size=(90, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return rows, y, Constraints(pairs[::2], pairs[1::2], n_items=60)


@every_kind
def test_pairs_that_count_beyond_measure_are_refused(kind):
    rows, y, known = crowded()
    with pytest.raises(ParameterError, match="a pair counts 1e\\+300 times what a label counts"):
        kind(weight=1e300).fit(rows, y, constraints=known)


@outvoted
@every_kind
def test_a_search_that_is_cut_off_says_so(kind):
    rows, y, known = crowded()
    word = "slope is still above tol" if kind is PairwiseLogisticRegression else "primal and dual are still"
    with pytest.warns(ConvergenceWarning, match=f"stopped after 2 steps: .*{word}.*Raise max_iter or tol"):
        model = kind(alpha=0.3, max_iter=2).fit(rows, y, constraints=known)
    assert not model.converged_
    assert model.n_iter_ == 2
    done = kind(alpha=0.3).fit(rows, y, constraints=known)
    assert done.converged_
    assert done.objective_ < model.objective_
    if kind is PairwiseSVC:
        assert model.dual_gap_ > 1e-4 * model.objective_
        assert done.dual_gap_ <= 1e-4 * done.objective_


@outvoted
@pytest.mark.filterwarnings("ignore:f is 0 for all rows")  # and so it is
def test_the_gap_is_one_between_primal_and_dual():
    """Worked out from `coef_` and the multipliers, for a search that ended and one that did not."""
    rows, y, known = crowded()
    least = PairwiseSVC(alpha=0.2, kernel="linear", tol=1e-11).fit(rows, y, constraints=known).objective_
    for max_iter in (3, 1000):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = PairwiseSVC(alpha=0.2, kernel="linear", max_iter=max_iter).fit(rows, y, constraints=known)
        f, a, g = rows @ model.coef_.T, model.dual_coef_, model.pair_dual_coef_
        labels, pairs = np.flatnonzero(y >= 0), np.vstack([known.must_link, known.cannot_link])
        apart = np.arange(len(pairs)) >= len(known.must_link)
        order = np.lexsort((apart, pairs[:, 1], pairs[:, 0]))
        pairs, apart = pairs[order], apart[order]
        i, j = pairs.T
        primal, dual = 0.0, 0.0
        for s in range(3):
            sign = np.where(y[labels] == s, 1, -1)
            away = np.where(apart, np.maximum(0, 1 + f[i, s] + f[j, s]), np.abs(f[i, s] - f[j, s]))
            norm = 0.2 * (model.coef_[s] ** 2).sum()
            primal += np.maximum(0, 1 - sign * f[labels, s]).sum() + away.sum() + norm
            # every multiplier is in its box
            assert (a[s] >= -1e-12).all() and (a[s] <= 1 + 1e-12).all()  # noqa: PT018
            assert (np.abs(g[s]) <= 1 + 1e-12).all()
            assert (g[s][apart] >= -1e-12).all()
            dual += a[s].sum() + g[s][apart].sum() - norm
        assert model.objective_ == pytest.approx(primal, rel=1e-9)
        assert primal - least - 1e-8 <= model.dual_gap_ <= primal - dual + 1e-8
        # minus the dual never rises
        assert (np.diff(model.history_) <= 0).all()
        assert model.history_[-1] == pytest.approx(model.dual_gap_ - model.objective_)


@outvoted
@pytest.mark.filterwarnings("ignore:f is 0 for all rows")
@pytest.mark.parametrize("n_columns", [2, 40])
def test_equations_that_are_not_written_out(n_columns, monkeypatch):
    """Conjugate gradients, from sparse rows and dense ones, end where Cholesky does; few columns and many."""
    from coterie.semisupervised._training import box_dual

    rng = np.random.default_rng(n_columns)
    rows, y, known = crowded()
    rows = np.hstack([rows, rng.normal(size=(60, n_columns))])[:, -n_columns:]
    model = PairwiseSVC(alpha=0.2, kernel="linear", tol=1e-8)
    direct = model.fit(rows, y, constraints=known).objective_
    for X in (rows, sparse.csr_array(rows)):
        for passes in (0, 10**9):  # all by conjugate gradients, none
            monkeypatch.setattr(box_dual, "_PASSES", passes)
            assert model.fit(X, y, constraints=known).objective_ == pytest.approx(direct, rel=1e-7)
            assert model.converged_


@outvoted
@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:f is 0 for all rows")
def test_equal_rows_and_weights_of_all_sizes():
    """Must-links between equal rows, rows of zeros, and weights of 1e-4 to 1e4: each search has an end."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows, n = rng.integers(0, 3, size=(10, 1 + seed % 3)).astype(float), 10
        rows[:2] = rows[2:4]
        y = np.array([0, 1, 0, 1, -1, -1, -1, -1, -1, -1])
        ends = [pair for pair in combinations(range(n), 2) if rng.random() < 0.3]
        strength = 10.0 ** rng.uniform(-4, 4, size=len(ends))
        known = Constraints([(0, 2), (8, 9)], n_items=n) | Constraints(ends, n_items=n, weight=strength)
        for kernel in ("linear", "rbf"):
            model = PairwiseSVC(kernel=kernel).fit(rows, y, constraints=known)
            assert 0 <= model.dual_gap_ <= 1e-4 * model.objective_


@outvoted
@pytest.mark.filterwarnings("ignore:f is 0 for all rows")
def test_multipliers_where_f_is_0():
    """They are the best of the dual there, too."""
    known = Constraints([(0, 1)], n_items=3)
    model = PairwiseSVC(kernel="linear", weight=10).fit([[1.0], [-1.0], [1.0]], [1, 0, -1], constraints=known)
    assert model.objective_ == pytest.approx(2.0, rel=1e-4)
    np.testing.assert_allclose(model.dual_coef_, [[1.0, 1.0]])
    assert model.pair_dual_coef_ == pytest.approx(1.0, abs=1e-2)


@outvoted
@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_many_labels_and_pairs_in_few_columns():
    """Where first-order searches of the dual have no end: a small alpha, rows that are not scaled."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1000)
    rows = rng.normal(size=(1000, 5)) * [1, 10, 0.1, 1, 1] + 2 * y[:, None]
    some, known = np.where(np.arange(1000) < 500, y, -1), Constraints.sample(y, 800, random_state=0)
    for alpha in (1e-4, 1.0, 1e4):
        least = []
        for unit in (1e-3, 1.0, 1e3):
            model = PairwiseSVC(alpha * unit**2, weight=0.01, kernel="linear")
            least.append(model.fit(rows * unit, some, constraints=known).objective_)
            assert model.converged_
        assert np.ptp(least) <= 2e-4 * least[0]


@outvoted
def test_pairs_that_outweigh_the_labels_are_told_of():
    """The hinge of a pair bends at 0: above some weight f is 0, and its signs are rounding."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    rows, known = rng.normal(size=(200, 3)) + y[:, None], Constraints.sample(y, 300, random_state=0)
    some = np.where(np.arange(200) < 4, y, -1)
    with pytest.warns(UserWarning, match="f is 0 for all rows.*take a smaller weight"):
        model = PairwiseSVC(kernel="linear").fit(rows, some, constraints=known)
    assert np.abs(model.decision_function(rows)).max() < 1e-2
    model = PairwiseSVC(weight=0.001, kernel="linear").fit(rows, some, constraints=known)  # no warning
    assert np.abs(model.decision_function(rows)).max() > 0.5


@every_kind
@pytest.mark.parametrize("k", [2, 3])
def test_f_of_a_thousand(kind, k):
    """Hardly any price on the norm, and rows far out: nothing overflows, and the probabilities are sure."""
    rows = np.vstack([1e3 * np.eye(k), 1e3 * np.eye(k), -1e3 * np.ones((1, k))])
    y = np.r_[np.arange(k), np.full(k + 1, -1)]
    known = Constraints([(0, k)], [(0, k + 1)], n_items=2 * k + 1)
    losses = ({}, {"loss": "nonconvex"}) if kind is PairwiseLogisticRegression else ({},)
    for words in losses:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = kind(alpha=1e-9, kernel="linear", **words).fit(rows, y, constraints=known)
        far = 1e3 * rows
        assert np.isfinite(model.decision_function(far)).all()
        assert np.abs(model.decision_function(far)).max() > 999
        assert model.predict(far)[:k].tolist() == list(range(k))
        if kind is PairwiseLogisticRegression:
            chance = model.predict_proba(far)
            assert np.isfinite(chance).all()
            assert chance.sum(axis=1) == pytest.approx(np.ones(2 * k + 1))
            assert chance[:k].max(axis=1) == pytest.approx(np.ones(k))


def test_probabilities_are_those_of_the_model():
    two = PairwiseLogisticRegression().fit(X, Y)
    f = two.decision_function(X)
    assert two.predict_proba(X) == pytest.approx(np.column_stack([expit(-f), expit(f)]))
    three = PairwiseLogisticRegression().fit(X, [0, -1, 1, -1, -1, 2])
    odds = expit(three.decision_function(X))
    assert three.predict_proba(X) == pytest.approx(odds / odds.sum(axis=1, keepdims=True))


@every_kind
@pytest.mark.filterwarnings("ignore:f is 0 for all rows")  # and so it is
def test_rows_that_nothing_names_do_not_matter(kind):
    """With a gamma of their own; sparse rows of no value are rows of zeros."""
    far = np.vstack([X, [[100.0]]])
    known = Constraints([(1, 0), (4, 3)], n_items=6)
    one = kind(gamma=0.5).fit(X, Y, constraints=known)
    other = kind(gamma=0.5).fit(far, [*Y, -1], constraints=Constraints(known.must_link, n_items=7))
    assert other.decision_function(X) == pytest.approx(one.decision_function(X), abs=1e-9)
    assert other.support_.tolist() == [0, 1, 3, 4, 5]
    empty = kind(kernel="linear").fit(sparse.csr_array((6, 2)), Y, constraints=known)
    assert empty.decision_function(np.ones((1, 2))) == pytest.approx([0.0])


@outvoted
@every_kind
def test_score_counts_rows_with_a_label(kind):
    """So that a search over folds of partial labels chooses, and says, what it should."""
    X, truth = load_iris(return_X_y=True)
    names = np.array(["ape", "bee", "cat"])[truth]
    known = Constraints.sample(truth, n_pairs=60, random_state=0)
    told = np.arange(150) % 4 == 0
    model = kind().fit(X, np.where(told, names, None), constraints=known)
    right = model.predict(X) == names
    assert 0.8 < right.mean() < 1.0
    assert model.score(X, names) == pytest.approx(right.mean())
    assert model.score(X, np.where(told, names, None)) == pytest.approx(right[told].mean())
    weight = np.linspace(0, 1, 150)
    expected = (weight * right)[told].sum() / weight[told].sum()
    assert model.score(X, np.where(told, names, None), sample_weight=weight) == pytest.approx(expected)
    for silent in (-1, None, np.nan):
        with pytest.raises(ValueError, match="y has no label"):
            model.score(X, np.full(150, silent))
    search = GridSearchCV(kind(), {"weight": [0.0, 1.0]}, cv=3)
    search.fit(X, np.where(told, truth, -1), constraints=known)
    assert 0.8 < search.best_score_ <= 1.0


@outvoted
def test_what_wrong_pairs_do_to_each_loss():
    """A tenth of 200 pairs is wrong: the hinge is held at 0 by them, the nonconvex loss leaves them aside."""
    pixels, digit = load_digits(return_X_y=True)
    kept = np.isin(digit, [3, 8])
    pixels, truth = pixels[kept] / 16, digit[kept]
    wrong = {"hinge": [], "convex": [], "nonconvex": []}
    sizes = {name: [] for name in wrong}
    for seed in range(3):
        y = np.full(len(truth), -1)
        for c in (3, 8):
            y[np.random.default_rng(seed).choice(np.flatnonzero(truth == c), 5, replace=False)] = c
        said = Constraints.sample(truth, n_pairs=200, noise=0.1, random_state=seed)
        for name, found in wrong.items():
            model = PairwiseSVC() if name == "hinge" else PairwiseLogisticRegression(loss=name)
            model.fit(pixels, y, constraints=said)
            found.append(np.mean(model.predict(pixels) != truth))
            sizes[name].append(np.median(np.abs(model.decision_function(pixels)[said.constrained_items])))
    hinge, convex, nonconvex = (np.mean(found) for found in wrong.values())
    assert nonconvex < 0.08 < hinge
    assert nonconvex < convex < hinge
    assert max(sizes["hinge"]) < 0.1 * min(sizes["nonconvex"])
