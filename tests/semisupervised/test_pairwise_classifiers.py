"""Closed forms, limits, oracles and symmetries of the classifiers of labels and pairs."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit, log_expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from coterie import Constraints, PairwiseLogisticRegression, PairwiseSVC
from coterie.semisupervised._training import (
    APART_LOSSES,
    SAME_LOSSES,
    Examples,
    SmoothObjective,
    least_smooth,
)
from coterie.semisupervised._training.pair_losses import not_both, printed_apart
from tests.marks import outvoted
from tests.oracles import pair_classifier as oracle

pytestmark = pytest.mark.filterwarnings("ignore::coterie.exceptions.ViolatedConstraintsWarning")

GRID = [column.ravel() for column in np.meshgrid(np.linspace(-6, 6, 25), np.linspace(-6, 6, 25))]
MODELS = {
    "convex": PairwiseLogisticRegression(tol=1e-7),
    "nonconvex": PairwiseLogisticRegression(loss="nonconvex", tol=1e-7),
    "printed": PairwiseLogisticRegression(loss="nonconvex", cannot_link_loss="printed", tol=1e-7),
    "hinge": PairwiseSVC(tol=1e-11, max_iter=20_000),
}
every_model = pytest.mark.parametrize("name", MODELS)
# losses of the oracle: of what is alike, of what is not both of a class
LOSSES = {
    "convex": ("convex-same", "convex-apart"),
    "nonconvex": ("nonconvex-same", "not-both"),
    "printed": ("nonconvex-same", "printed"),
    "hinge": ("hinge-same", "hinge-apart"),
}


def model_of(name, **words):
    return type(MODELS[name])(**{**MODELS[name].get_params(), **words})


def problem(seed, n=24, k=2, n_pairs=14, d=3):
    """Rows, labels (two or more a class), and pairs of both kinds with weights, some of them wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.full(n, -1)
    y[: 2 * k] = np.arange(2 * k) % k
    draws = np.array([rng.choice(n, 2, replace=False) for _ in range(n_pairs)])
    _, first = np.unique(np.sort(draws, axis=1), axis=0, return_index=True)
    draws, must = draws[np.sort(first)], rng.random(len(first)) < 0.5
    weight = rng.gamma(2.0, size=len(draws)) / 2
    known = Constraints(draws[must], n_items=n, weight=weight[must])
    known = known | Constraints(None, draws[~must], n_items=n, weight=weight[~must])
    pairs = [
        (i, j, c, w)
        for table, c in ((known.must_table, 1), (known.cannot_table, -1))
        for (i, j), w in zip(table.ij.tolist(), table.weight.tolist(), strict=True)
    ]
    return X, y, known, pairs


def rbf(X, gamma=0.4):
    return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=-1))


# ---- closed forms and losses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mu", "f", "objective"),
    [
        ("convex", 0.0, (0.4010581, 0.0), None),
        ("convex", 1.0, (0.316366, 0.105195), 2.000422),
        ("convex", 0.2, (0.373902, 0.033696), 0.877058),
        ("nonconvex", 1.0, (0.420571, 0.102267), 1.281095),
        ("nonconvex", 5.0, (0.940319, 0.802625), None),
        ("hinge", 1.0, (0.5, 0.5), 0.75),
        ("hinge", 0.2, (0.8, 0.2), 0.66),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_two_items_and_one_pair(name, mu, f, objective, sign):
    """The worked example; two more items, one of them alone with a label, give the second class."""
    K = np.eye(3)
    known = Constraints([(0, 1)], n_items=3) if sign > 0 else Constraints(None, [(0, 1)], n_items=3)
    model = model_of(name, alpha=0.5, weight=mu, kernel="precomputed").fit(K, [1, -1, 0], constraints=known)
    found = model.decision_function(K)
    assert found[:2] == pytest.approx([f[0], sign * f[1]], abs=1e-5)
    # the third item is alone: KLR, or the hinge at f = -1
    alone = 0.5 if name == "hinge" else 0.5 * 0.4010581**2 - log_expit(0.4010581)
    if objective is not None:
        assert model.objective_ - alone == pytest.approx(objective, abs=1e-5)
    if name == "hinge" and mu:
        assert np.abs(model.pair_dual_coef_) == pytest.approx(np.full((1, 1), min(mu, 0.5)), abs=1e-5)
        assert model.dual_coef_ == pytest.approx(np.ones((1, 2)), abs=1e-5)


def test_losses_are_those_of_the_chapter_and_have_its_properties():
    a, b = GRID
    convex, nonconvex = (SAME_LOSSES[name](a, b)[0] for name in ("convex", "nonconvex"))
    both = oracle.sigma(a) * oracle.sigma(b) + oracle.sigma(-a) * oracle.sigma(-b)
    assert nonconvex == pytest.approx(-np.log(both))
    assert convex == pytest.approx(oracle.pair_loss("convex-same", a, b))

    def printed(z):  # L''
        return oracle.softplus(-z) + oracle.softplus(z)

    assert 2 * nonconvex == pytest.approx(printed(a) + printed(b) - printed(a + b))
    assert convex == pytest.approx(printed(a - b))
    # the bound, with equality at 0 alone
    assert (convex - 2 * nonconvex)[(a != 0) | (b != 0)].min() > 1e-3
    (origin,) = np.flatnonzero((a == 0) & (b == 0))
    assert convex[origin] == pytest.approx(2 * nonconvex[origin])
    assert nonconvex[origin] == pytest.approx(np.log(2))
    at_2 = [SAME_LOSSES[name](2.0, -2.0)[0] for name in ("convex", "nonconvex")]
    assert at_2[0] - 2 * at_2[1] == pytest.approx(0.915, abs=1e-3)
    for loss in SAME_LOSSES.values():
        assert loss(a, b)[0] == pytest.approx(loss(b, a)[0])  # symmetric
        assert loss(a, b)[0] == pytest.approx(loss(-a, -b)[0])  # even
    # the border is where it should be, but for the convex one, which has its least value there
    apart = np.sign(a) * np.sign(b)
    assert (nonconvex[apart < 0] > np.log(2)).all()
    assert (nonconvex[apart > 0] < np.log(2)).all()
    middle = SAME_LOSSES["convex"](0.5 * (a + 1), 0.5 * (b - 2))[0]
    assert (middle <= 0.5 * (convex + SAME_LOSSES["convex"](1.0, -2.0)[0]) + 1e-12).all()


def test_losses_of_one_class_against_all():
    a, b = GRID
    for (loss, form), found in APART_LOSSES.items():
        name = "convex-apart" if loss == "convex" else form
        assert found(a, b)[0] == pytest.approx(oracle.pair_loss(name, a, b))
    assert not_both(a, b)[0] == pytest.approx(-np.log1p(-oracle.sigma(a) * oracle.sigma(b)))
    assert not_both(a, b)[0].min() >= 0
    # (17.24) as printed pays for driving f down
    apart = -np.log(oracle.sigma(a) * oracle.sigma(-b) + oracle.sigma(-a) * oracle.sigma(b))
    assert printed_apart(a, b)[0] == pytest.approx(apart + (a + b) / 2)
    assert printed_apart(0.0, -100.0)[0] == pytest.approx(-49.3069, abs=1e-4)
    assert printed_apart(0.0, -200.0)[0] - printed_apart(0.0, -100.0)[0] == pytest.approx(-50.0)


@pytest.mark.parametrize(
    "loss", dict.fromkeys([*SAME_LOSSES.values(), *APART_LOSSES.values()]), ids=lambda f: f.__name__
)
def test_slopes_of_losses(loss):
    rng = np.random.default_rng(0)
    for point in rng.normal(scale=3.0, size=(20, 2)):
        error = check_grad(lambda p: loss(*p)[0], lambda p: np.array(loss(*p)[1:]), point)
        assert error < 1e-6
    ends = np.array([-1e3, 0.0, 1e3])
    a, b = (one.ravel() for one in np.meshgrid(ends, ends))
    for found in loss(a, b):
        assert np.isfinite(found).all()
        assert (np.abs(found) <= 2e3 + 1).all()


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", ["convex", "nonconvex", "printed"])
def test_slope_and_value_of_the_objective(name, k):
    X, y, known, pairs = problem(3, k=k)
    code = np.array([[-1.0], [1.0]]) if k == 2 else 2.0 * np.eye(k) - 1.0
    examples = Examples.read(y, code, known, 0.7, k == 2)
    kind = MODELS[name]
    same, apart = SAME_LOSSES[kind.loss], APART_LOSSES[kind.loss, kind.cannot_link_loss]
    rows = X[examples.items]
    objective = SmoothObjective(rows, examples, 0.3, same, apart)
    weights = np.random.default_rng(0).normal(size=(rows.shape[1], code.shape[1]))
    expected = 0.0
    for s in range(code.shape[1]):
        labels = [(i, code[c, s]) for i, c in enumerate(y) if c >= 0]
        w = weights[:, s]
        expected += oracle.objective(X @ w, w @ w, labels, pairs, *LOSSES[name], 0.7, 0.3, k == 2)
    assert objective.at_zero + objective.at(weights)[0] == pytest.approx(expected)
    error = check_grad(
        lambda w: objective.at(w.reshape(weights.shape))[0],
        lambda w: objective.at(w.reshape(weights.shape))[1].ravel(),
        weights.ravel(),
    )
    assert error < 1e-5


# ---- limits -----------------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("k", [2, 3])
def test_without_pairs_it_is_a_plain_classifier(name, k):
    X, y, known, _ = problem(1, n=40, k=k)
    y[:20] = np.arange(20) % k
    told = y >= 0
    expected = []
    for s in range(k):
        sign = np.where(y[told] == s, 1, -1)
        if name == "hinge":
            plain = LinearSVC(loss="hinge", C=5.0, fit_intercept=False, tol=1e-11, max_iter=10**6)
        else:
            plain = LogisticRegression(C=5.0, fit_intercept=False, tol=1e-11, max_iter=10**4)
        expected.append(plain.fit(X[told], sign).coef_[0])
    for words in ({}, {"constraints": Constraints(n_items=40)}):
        model = model_of(name, alpha=0.1, kernel="linear").fit(X, y, **words)
        assert model.coef_ == pytest.approx(np.array(expected[k == 2 :]), abs=1e-5)
    none = model_of(name, alpha=0.1, kernel="linear", weight=0.0).fit(X, y, constraints=known)
    assert none.coef_ == pytest.approx(model.coef_, abs=1e-9)


def test_linear_pairs_are_pseudo_examples():
    X, y, known, pairs = problem(2, n=60, n_pairs=80)
    told = y >= 0
    away = np.array([X[i] - c * X[j] for i, j, c, _ in pairs])
    weight = np.array([0.7 * w for *_, w in pairs])
    rows = np.vstack([X[told], away, away])
    sign = np.concatenate([2 * y[told] - 1, np.ones(len(away)), -np.ones(len(away))])
    plain = LogisticRegression(C=1 / (2 * 0.1), fit_intercept=False, tol=1e-12, max_iter=10**4)
    plain.fit(rows, sign, np.concatenate([np.ones(told.sum()), weight, weight]))
    model = model_of("convex", alpha=0.1, weight=0.7, kernel="linear").fit(X, y, constraints=known)
    assert model.coef_ == pytest.approx(plain.coef_, abs=1e-6)


@pytest.mark.parametrize("weight", [1.0, 1e3, 1e4])
def test_few_labels_are_heard_among_many_pairs(weight):
    """Two labels against 40 pairs of such weight: f is near 0, and still that of the optimum."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)) * [1, 2, 4], np.repeat([0, 1], 20)
    X[:, 0] += y
    known = Constraints.sample(y, n_pairs=40, random_state=0)
    told = np.where(np.isin(np.arange(40), [0, 39]), y, -1)
    model = PairwiseLogisticRegression(weight=weight, kernel="linear").fit(X, told, constraints=known)
    assert model.converged_
    ends = [(known.must_link, 1.0), (known.cannot_link, -1.0)]
    away = np.vstack([X[pairs[:, 0]] - c * X[pairs[:, 1]] for pairs, c in ends])
    w = np.zeros(3)
    for _ in range(20):
        u, f = away @ w, X[[0, 39]] @ w
        p = expit([f[0], -f[1]])
        slope = X[[0, 39]].T @ (p * [1, -1]) + weight * away.T @ np.tanh(u / 2) + 0.02 * w
        curve = X[[0, 39]].T @ ((p * (1 - p))[:, None] * X[[0, 39]]) + 0.02 * np.eye(3)
        curve += weight * away.T @ ((0.5 / np.cosh(u / 2) ** 2)[:, None] * away)
        w -= np.linalg.solve(curve, slope)
    assert np.abs(model.coef_[0] - w).max() < 1e-2 * np.abs(w).max()


# ---- oracles ----------------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(2))
def test_the_least_objective(name, k, seed):
    X, y, known, pairs = problem(seed, n=12, k=k, n_pairs=8)
    K = rbf(X)
    model = model_of(name, alpha=0.1, weight=0.6, kernel="precomputed").fit(K, y, constraints=known)
    f = model.decision_function(K).reshape(12, -1)
    total = 0.0
    for s in range(f.shape[1]):
        sign = 1 if k == 2 else s
        labels = [(i, 1 if c == sign else -1) for i, c in enumerate(y) if c >= 0]
        words = (labels, pairs, *LOSSES[name], 0.6, 0.1, k == 2)
        net = np.linalg.lstsq(K, f[:, s], rcond=None)[0]
        total += oracle.objective(f[:, s], net @ f[:, s], *words)
        if name == "hinge":
            slow, least, dual, fell = oracle.dual_descent(K, labels, pairs, 0.6, 0.1, k == 2)
            assert least - dual < 1e-8
            assert not fell
        else:
            slow, least = oracle.least(K, *words, begin=f[:, s] if name != "convex" else None)
        assert f[:, s] == pytest.approx(slow, abs=1e-4)
    assert model.objective_ == pytest.approx(total, rel=1e-6)
    assert model.converged_
    assert (np.diff(model.history_) <= 1e-12 * abs(model.history_[0])).all()


@pytest.mark.parametrize("seed", range(4))
def test_em_of_the_chapter_ends_in_the_same_place(seed):
    X, y, known, pairs = problem(seed, n=20, n_pairs=12)
    K = rbf(X)
    labels = [(i, 2 * c - 1) for i, c in enumerate(y) if c >= 0]
    slow, history = oracle.em(K, labels, pairs, 0.5, 0.05)
    assert (np.diff(history) <= 1e-10).all()
    model = model_of("nonconvex", alpha=0.05, weight=0.5, kernel="precomputed").fit(K, y, constraints=known)
    assert model.objective_ == pytest.approx(history[-1], rel=1e-6)
    assert model.decision_function(K) == pytest.approx(slow, abs=1e-3)


def test_the_pairs_of_the_dual_make_f():
    X, y, known, pairs = problem(5, n=20)
    K = rbf(X)
    model = model_of("hinge", alpha=0.2, kernel="precomputed").fit(K, y, constraints=known)
    told = np.flatnonzero(y >= 0)
    f = sum((2 * y[i] - 1) * a * K[i] for i, a in zip(told, model.dual_coef_[0], strict=True))
    for (i, j, c, _), g in zip(sorted(pairs), model.pair_dual_coef_[0], strict=True):
        f = f - g * (K[i] - c * K[j])
    assert model.decision_function(K) == pytest.approx(f / 0.4, abs=1e-6)
    assert 0 <= model.dual_gap_ <= 1e-11 * model.objective_


@outvoted
@pytest.mark.parametrize(("k", "weight"), [(2, 1.0), (2, 100.0), (3, 1.0), (3, 100.0)])
def test_few_labels_beside_many_pairs(k, weight):
    """However much pairs count, the labels tell the classes apart: the search does not end before."""
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=3000)
    X = rng.normal(size=(3000, 5)) + 2.0 * np.eye(k, 5)[y]
    known = Constraints.sample(y, 20_000, noise=0.05, random_state=0)
    some = np.full(3000, -1)
    for c in range(k):
        some[np.flatnonzero(y == c)[:2]] = c
    words = {"weight": weight, "kernel": "linear", "alpha": 0.01}
    model = PairwiseLogisticRegression(**words).fit(X, some, constraints=known)
    assert model.converged_
    examples = Examples.read(some, 2.0 * np.eye(k)[:, k == 2 :] - 1.0, known, weight, k == 2)
    assert len(examples.labelled) == 2 * k
    rows = X[examples.items]
    objective = SmoothObjective(
        rows, examples, 0.01, SAME_LOSSES["convex"], APART_LOSSES["convex", "not-both"]
    )
    slope = np.abs(objective.at(model.coef_.T)[1]).max()
    # in rows of length 1; at 0 the labels alone pull with about 1 each
    assert slope / np.sqrt((rows**2).sum(axis=1).mean()) < 1e-4 * 2 * k
    if k == 2:
        assert np.mean(model.predict(X) == y) > 0.85


# ---- symmetries -------------------------------------------------------------------------------------------


@every_model
def test_flipped_labels_flip_f(name):
    X, y, known, _ = problem(7)
    there = model_of(name).fit(X, y, constraints=known).decision_function(X)
    back = model_of(name).fit(X, np.where(y >= 0, 1 - y, -1), constraints=known).decision_function(X)
    assert back == pytest.approx(-there, abs=1e-4)


@every_model
def test_equal_rows_in_a_pair(name):
    """A must-link between them is inert; a cannot-link draws f to 0."""
    X, y, _, _ = problem(8)
    X[9] = X[8]
    plain = model_of(name).fit(X, y)
    same = model_of(name).fit(X, y, constraints=Constraints([(8, 9)], n_items=24, weight=5.0))
    # nonconvex: the pair is certain of itself where f is large
    if name in ("convex", "hinge"):
        assert same.decision_function(X) == pytest.approx(plain.decision_function(X), abs=1e-3)
        apart = Constraints(None, [(8, 9)], n_items=24, weight=50.0)
        pulled = model_of(name).fit(X, y, constraints=apart).decision_function(X)[8]
        assert abs(pulled) < 0.1 * abs(plain.decision_function(X)[8])


@pytest.mark.parametrize("k", [2, 3])
def test_convex_losses_have_one_optimum(k):
    """From anywhere; for the hinge the oracle of coordinates comes to the same place by another way."""
    X, y, known, _ = problem(9, k=k)
    code = np.array([[-1.0], [1.0]]) if k == 2 else 2.0 * np.eye(k) - 1.0
    examples = Examples.read(y, code, known, 1.0, k == 2)
    rng, rows, found = np.random.default_rng(0), X[examples.items], []
    objective = SmoothObjective(
        rows, examples, 0.01, SAME_LOSSES["convex"], APART_LOSSES["convex", "not-both"]
    )
    for scale in (0.0, 1.0, 100.0):
        begin = scale * rng.normal(size=(rows.shape[1], code.shape[1]))
        answer = least_smooth(objective, begin, 1.0, 1e-8, 10_000)
        found.append(answer.weights)
        assert np.abs(objective.at(answer.weights)[1]).max() < 1e-6
    for other in found[1:]:
        assert other == pytest.approx(found[0], abs=1e-5)


def test_the_class_of_least_loss_is_that_of_the_largest_f():
    X, y, known, _ = problem(10, k=3)
    code = 2 * np.eye(3) - 1
    must = Constraints(known.must_link, n_items=24)
    ova = model_of("convex").fit(X, y, constraints=must)
    by_loss = model_of("convex", code=code).fit(X, y, constraints=must)
    assert (by_loss.predict(X) == ova.predict(X)).all()
    f = ova.decision_function(X)
    for loss in (lambda z: np.logaddexp(0, -z), lambda z: np.maximum(0, 1 - z)):
        total = np.stack([loss(row * f).sum(axis=1) for row in code], axis=1)
        assert (total.argmin(axis=1) == f.argmax(axis=1)).all()
    assert by_loss.predict_proba(X) == pytest.approx(softmax(f, axis=1), abs=1e-4)
