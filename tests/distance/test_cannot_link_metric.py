"""CannotLinkMetric: worked examples, oracles, groups, kernels, the online rule and bad input."""

import math
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

from coterie import CannotLinkMetric, Constraints, InfeasibleConstraintsError
from coterie.distance._margin import widest
from coterie.exceptions import ParameterError, UnsupportedConstraintError
from tests.marks import few_of
from tests.oracles import margin

HARD = math.inf
FINE = {"tol": 1e-7, "max_iter": 20_000}


def apart(pairs, n):
    return Constraints(cannot_link=pairs, n_items=n)


def problem(seed, n=12, d=4, m=15):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 2.0, d)
    i, j = np.triu_indices(n, 1)
    rows = rng.choice(len(i), m, replace=False)
    return X, sorted(zip(i[rows].tolist(), j[rows].tolist(), strict=True))


def squares(X, A, pairs):
    away = np.array([X[i] - X[j] for i, j in pairs])
    return np.einsum("ij,jk,ik->i", away, A, away)


@pytest.mark.parametrize(
    ("differences", "alpha"),
    [
        ([[1.0, 2.0, 2.0]], [1 / 81]),
        ([[2.0, 0.0, 0.0], [0.0, 0.5, 0.0]], [1 / 16, 16.0]),  # orthogonal
        ([[1.0, 1.0, 0.0], [-3.0, -3.0, 0.0]], [1 / 4, 0.0]),  # collinear: the longer one says nothing
        ([[1.0, 0.0, 0.0], [0.5**0.5, 0.5**0.5, 0.0]], [2 / 3, 2 / 3]),
    ],
)
def test_worked_examples(differences, alpha):
    X = np.vstack([np.array([differences, np.zeros_like(differences)]).transpose(1, 0, 2).reshape(-1, 3)])
    pairs = [(2 * p, 2 * p + 1) for p in range(len(differences))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one pair rules where there is one, and the example says so
        model = CannotLinkMetric(HARD, **FINE).fit(X, constraints=apart(pairs, len(X)))
    wanted = np.array(alpha)
    np.testing.assert_allclose(model.metric_, margin.matrix_of(X, pairs, wanted), atol=1e-7)
    np.testing.assert_array_equal(model.support_pairs_, np.array(pairs)[wanted > 0])
    np.testing.assert_allclose(model.dual_coef_, wanted[wanted > 0], rtol=1e-6)
    assert model.margin_ == pytest.approx(1 / math.sqrt(wanted.sum()), rel=1e-6)


def test_the_last_example_is_wider_than_euclid():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.5**0.5, 0.5**0.5]])
    model = CannotLinkMetric(HARD, **FINE).fit(X, constraints=apart([(0, 1), (0, 2)], 3))
    np.testing.assert_allclose(model.metric_, [[1, 1 / 3], [1 / 3, 1 / 3]], atol=1e-7)
    assert model.margin_ == pytest.approx(math.sqrt(3) / 2)
    assert model.margin_ > math.sqrt(0.5)


@few_of(6, 60)
def test_descent_finds_the_same(numbers, seed, monkeypatch):
    monkeypatch.setattr(widest, "_MORE", 3)
    for number in numbers:
        monkeypatch.setattr(widest, "_FIRST", 4 if number % 2 else 4000)
        X, pairs = problem([seed, number])
        K = margin.gram_of_pairs(X @ X.T, pairs)
        lengths = np.sqrt(np.diag(K))
        for C in (HARD, float(np.median(1 / lengths**2))):
            alpha, duals = margin.by_descent(K, C)
            assert (np.diff(duals) >= -1e-12 * abs(duals[-1])).all()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                model = CannotLinkMetric(C, **FINE).fit(X, constraints=apart(pairs, len(X)))
            wanted = margin.matrix_of(X, pairs, alpha)
            np.testing.assert_allclose(model.metric_, wanted, atol=2e-4 * np.abs(wanted).max())
            value = squares(X, model.metric_, pairs)
            primal = 0.5 * (model.metric_**2).sum()
            if C == HARD:
                assert value.min() >= 1 - 1e-9
                assert model.n_violated_ == 0
                assert model.dual_coef_.sum() == pytest.approx((model.metric_**2).sum(), rel=1e-6)
                assert (model.dual_coef_ * squares(X, np.eye(4), model.support_pairs_) ** 2 <= 1 + 1e-6).all()
                random = np.random.default_rng(number).normal(size=(4, 4))
                other = random @ random.T
                assert squares(X, other, pairs).min() / np.linalg.norm(other) <= model.margin_ * (1 + 1e-6)
            else:
                primal += C * np.maximum(1 - value, 0).sum()
                broken = [pair for pair, v in zip(pairs, value, strict=True) if v < 0.999]
                assert {tuple(pair) for pair in model.violated_pairs_.tolist()} == set(broken)
            assert primal == pytest.approx(duals[-1], rel=1e-6)
            assert model.converged_
            assert model.dual_gap_ <= 1e-7
            assert np.linalg.eigvalsh(model.metric_).min() >= -1e-10 * np.linalg.norm(model.metric_)


def test_machines_of_scikit_learn_find_the_same(seed):
    X, pairs = problem(seed)
    K = margin.gram_of_pairs(X @ X.T, pairs)
    C = float(np.median(1 / np.diag(K)))
    wide = CannotLinkMetric(1e6, **FINE).fit(X, constraints=apart(pairs, len(X)))
    np.testing.assert_allclose(
        wide.metric_, margin.matrix_of(X, pairs, margin.by_svc(K, 1e6)), rtol=1e-4, atol=1e-5
    )
    one, its_c = margin.by_one_class(K, 0.6)
    for alpha, c in ((margin.by_svc(K, C), C), (one, its_c)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = CannotLinkMetric(c, **FINE).fit(X, constraints=apart(pairs, len(X)))
        wanted = margin.matrix_of(X, pairs, alpha)
        np.testing.assert_allclose(model.metric_, wanted, atol=1e-4 * np.abs(wanted).max())


def test_soft_is_hard_from_the_bound_on():
    X, pairs = problem(3)
    closest = squares(X, np.eye(4), pairs).min()
    hard = CannotLinkMetric(HARD, **FINE).fit(X, constraints=apart(pairs, len(X)))
    soft = CannotLinkMetric(1.01 / closest**2, **FINE).fit(X, constraints=apart(pairs, len(X)))
    np.testing.assert_allclose(soft.metric_, hard.metric_, rtol=1e-4, atol=1e-5)


def test_rotation_shift_and_unit():
    X, pairs = problem(5)
    known = apart(pairs, len(X))
    plain = CannotLinkMetric(HARD, **FINE).fit(X, constraints=known)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    turned = CannotLinkMetric(HARD, **FINE).fit(X @ turn, constraints=known)
    np.testing.assert_allclose(turned.metric_, turn.T @ plain.metric_ @ turn, atol=1e-5)
    for factor, shift in ((1.0, 1e4), (1e-7, 0.0), (1e6, 0.0)):
        other = CannotLinkMetric(HARD, **FINE).fit(factor * (X + shift), constraints=known)
        np.testing.assert_allclose(factor**2 * other.metric_, plain.metric_, rtol=1e-4, atol=1e-5)


# Names, frames and labels, pairs within and beyond them; codes of -1 are not spoken of.
def groups_of(seed, n=40, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    across, distinct, labels = (rng.integers(-1, k, n) for k in (4, 15, 3))
    pairs = rng.choice(n, (5, 2), replace=False).tolist()
    known = Constraints.across(_named(across)) | Constraints.distinct(_named(distinct))
    known = known | Constraints.from_labels(labels) | apart(pairs, n)
    return X, known, margin.pairs_apart(n, pairs, [across, labels], [distinct])


def _named(codes):
    return [None if code < 0 else int(code) for code in codes]


@pytest.mark.parametrize("first", [20, 4000])
@pytest.mark.filterwarnings("ignore:the pair")
def test_groups_are_all_their_pairs(first, monkeypatch):
    monkeypatch.setattr(widest, "_FIRST", first)
    monkeypatch.setattr(widest, "_MORE", 50)
    X, known, pairs = groups_of(1)
    model = CannotLinkMetric(HARD, tol=1e-8, max_iter=20_000).fit(X, constraints=known)
    written = CannotLinkMetric(HARD, tol=1e-8, max_iter=20_000).fit(X, constraints=apart(pairs, len(X)))
    np.testing.assert_allclose(model.metric_, written.metric_, rtol=1e-3, atol=1e-4 * written.metric_.max())
    assert squares(X, model.metric_, pairs).min() >= 1 - 1e-9


@pytest.mark.filterwarnings("ignore:C=")
def test_slack_is_counted_over_all_pairs(monkeypatch):
    """The gap and the violated pairs come from a look at all of them, strengths of a pair added up."""
    monkeypatch.setattr(widest, "_FIRST", 10)
    monkeypatch.setattr(widest, "_MORE", 7)
    X, known, pairs = groups_of(2, n=20)
    strong = dict.fromkeys(pairs, 0.0)
    for kind in (known,):
        for i, j in pairs:
            alone = kind[np.array([i, j])]
            strong[i, j] = len(alone.cannot_link) + sum(
                group.n_pairs() > 0 and not (group.kind == "label" and group.n_codes == 1)
                for group in alone.groups
            )
    C = 0.02
    model = CannotLinkMetric(C, tol=1e-7, max_iter=20_000).fit(X, constraints=known)
    value = squares(X, model.metric_, pairs)
    primal = 0.5 * (model.metric_**2).sum() + C * np.maximum(1 - value, 0) @ [strong[pair] for pair in pairs]
    bound = dict(zip(map(tuple, model.support_pairs_.tolist()), model.dual_coef_, strict=True))
    assert all(alpha <= C * strong[pair] * (1 + 1e-9) for pair, alpha in bound.items())
    dual = model.dual_coef_.sum() - 0.5 * (model.metric_**2).sum()
    assert 1 - dual / primal == pytest.approx(model.dual_gap_, abs=1e-7)
    assert model.dual_gap_ <= 1e-7
    assert {tuple(pair) for pair in model.violated_pairs_.tolist()} == {
        pair for pair, v in zip(pairs, value, strict=True) if v < 0.999
    }
    assert model.n_violated_ == len(model.violated_pairs_) > 10


@pytest.mark.parametrize("wide", [False, True])
def test_more_features_than_items(wide):
    """A table of similarities takes the place of the features: the same distances, sparse or not."""
    rng = np.random.default_rng(0)
    X = (rng.uniform(size=(30, 60 if wide else 12)) < 0.2).astype(float) + rng.normal(
        size=(30, 60 if wide else 12)
    ) / 8
    known = Constraints.across(np.arange(30) % 3)
    i, j = np.triu_indices(30, 1)
    pairs = np.column_stack([i, j])
    dense = CannotLinkMetric(HARD, tol=1e-7).fit(X, constraints=known)
    spare = CannotLinkMetric(HARD, tol=1e-7).fit(sparse.csr_matrix(X), constraints=known)
    away = X[i] - X[j]
    wanted = np.sqrt(np.einsum("ij,jk,ik->i", away, dense.metric_, away))
    np.testing.assert_allclose(dense.pair_distances(X, pairs), wanted, atol=1e-8)
    np.testing.assert_allclose(
        spare.pair_distances(sparse.csr_matrix(X), pairs), wanted, rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        dense.metric_, margin.matrix_of(X, dense.support_pairs_, dense.dual_coef_), atol=1e-8
    )


def test_beyond_5000_features_there_is_no_matrix():
    X = sparse.random(30, 6000, density=0.01, random_state=0, format="csr")
    model = CannotLinkMetric(HARD).fit(X, constraints=Constraints.across(np.arange(30) % 3))
    assert not hasattr(model, "metric_")
    assert model.components_.shape[1] == 6000
    distances = model.pair_distances(X, model.support_pairs_)
    np.testing.assert_allclose(distances, 1.0, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("rbf", lambda A, B: rbf_kernel(A, B, gamma=0.3)),
        ("laplacian", lambda A, B: laplacian_kernel(A, B, gamma=0.3)),
        ("polynomial", lambda A, B: polynomial_kernel(A, B, degree=3, gamma=0.3, coef0=1.0)),
        ("cosine", lambda A, B: _unit(A) @ _unit(B).T),
        ("linear", lambda A, B: A @ B.T),
    ],
)
@pytest.mark.parametrize("n_pairs", [5, 40])
def test_kernels(name, kernel, n_pairs):
    """By the formula of the kernelised distance, for old and new items; precomputed too."""
    X, pairs = problem(7, n=14, m=n_pairs)
    new = np.random.default_rng(1).normal(size=(6, 4))
    known = apart(pairs, len(X))
    words = {"gamma": 0.3, "degree": 3, "coef0": 1.0} if name not in ("linear", "cosine") else {}
    model = CannotLinkMetric(HARD, kernel=name, **words, **FINE).fit(X, constraints=known)
    G = kernel(X, X)
    alpha, _ = margin.by_descent(margin.gram_of_pairs(G, pairs))
    (i, j), to_items = np.array(pairs).T, kernel(new, X)
    embedded = np.sqrt(alpha) * (to_items[:, i] - to_items[:, j])
    a, b = np.triu_indices(6, 1)
    wanted = np.linalg.norm(embedded[a] - embedded[b], axis=1)
    found = model.pair_distances(new, np.column_stack([a, b]))
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3)
    assert hasattr(model, "metric_") == (name == "linear")
    given = CannotLinkMetric(HARD, kernel="precomputed", **FINE).fit(G, constraints=known)
    moved = given.transform(to_items)
    np.testing.assert_allclose(np.linalg.norm(moved[a] - moved[b], axis=1), found, rtol=2e-3, atol=2e-3)


def _unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_axioms_of_a_distance():
    X, pairs = problem(8)
    model = CannotLinkMetric(HARD).fit(X, constraints=apart(pairs, len(X)))
    i, j, k = np.random.default_rng(0).integers(0, len(X), (3, 200))
    d = {
        (a, b): model.pair_distances(X, np.column_stack([x, y]))
        for a, x in zip("ijk", (i, j, k), strict=True)
        for b, y in zip("ijk", (i, j, k), strict=True)
    }
    np.testing.assert_allclose(d["i", "j"], d["j", "i"])
    assert (d["i", "k"] <= d["i", "j"] + d["j", "k"] + 1e-9).all()
    assert not d["i", "i"].any()


@pytest.mark.parametrize("C", [HARD, 0.05])
def test_online_is_the_printed_rule(C):
    X, pairs = problem(9)
    stream = CannotLinkMetric(C)
    wanted, _ = margin.online(X, pairs, C, passes=2)
    for _ in range(2):
        stream.partial_fit(X, constraints=apart(pairs, len(X)))
    np.testing.assert_allclose(stream.metric_, wanted, atol=1e-10)
    names = np.arange(len(X)) % 3
    grouped = CannotLinkMetric(C).partial_fit(X, constraints=Constraints.across(names))
    written, _ = margin.online(X, margin.pairs_apart(len(X), differ=[names]), C)
    np.testing.assert_allclose(grouped.metric_, written, atol=1e-10)


def test_online_comes_to_meet_all_but_not_with_the_least():
    X, pairs = problem(10)
    known = apart(pairs, len(X))
    best = CannotLinkMetric(HARD, **FINE).fit(X, constraints=known)
    stream, away = CannotLinkMetric(HARD), np.inf
    for _ in range(300):
        stream.partial_fit(X, constraints=known)
        now = np.linalg.norm(stream.metric_ - best.metric_)
        assert now <= away + 1e-9
        away = now
    assert squares(X, stream.metric_, pairs).min() > 0.99
    assert np.linalg.norm(stream.metric_) >= np.linalg.norm(best.metric_) * (1 - 1e-3)
    _, losses = margin.online(X, pairs, passes=300)
    longest = squares(X, np.eye(4), pairs).max()
    assert np.square(losses).sum() <= longest**2 * (best.metric_**2).sum() * (1 + 1e-6)


def test_online_goes_on_from_a_fit():
    X, pairs = problem(11)
    fitted = CannotLinkMetric(HARD, **FINE).fit(X, constraints=apart(pairs, len(X)))
    before = fitted.metric_.copy()
    other = [(0, 1), (2, 3)]
    fitted.partial_fit(X, constraints=apart(other, len(X)))
    wanted, _ = margin.online(X, other, A=before)
    np.testing.assert_allclose(fitted.metric_, wanted, atol=1e-9)
    assert fitted.n_used_ == len(pairs) + 2
    assert not hasattr(fitted, "support_pairs_")
    with pytest.raises(ValueError, match="features"):
        fitted.partial_fit(X[:, :3], constraints=apart(other, len(X)))
    with pytest.raises(ParameterError, match="kernel='rbf'"):
        CannotLinkMetric(kernel="rbf").partial_fit(X, constraints=apart(other, len(X)))


def test_online_begins_anew_where_there_is_no_matrix():
    X, pairs = problem(11)
    known = apart(pairs, len(X))
    plain = CannotLinkMetric().partial_fit(X, constraints=known)
    other = CannotLinkMetric(kernel="rbf").fit(X[:, :2], constraints=known)
    other.set_params(kernel="linear").partial_fit(X, constraints=known)
    np.testing.assert_array_equal(other.metric_, plain.metric_)
    assert other.n_used_ == plain.n_used_
    same = CannotLinkMetric().partial_fit(np.ones_like(X), constraints=known)
    assert not same.transform(X).any()
    assert same.transform(X).shape == X.shape


def test_twins():
    """Items that are the same and known to differ: named under a hard margin, listed under a soft one."""
    X = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 0.0], [1.0, 3.0], [1.0, 3.0]])
    known = Constraints.across(["a", "b", "a", "b", "c"]).with_ids([f"r{i}" for i in range(5)])
    with pytest.raises(InfeasibleConstraintsError, match=r"2 pairs.*\(r0, r1\), \(r3, r4\)\..*finite C"):
        CannotLinkMetric(HARD).fit(X, constraints=known)
    with pytest.raises(InfeasibleConstraintsError, match="finite C"):
        CannotLinkMetric(HARD).partial_fit(X, constraints=known)
    soft = CannotLinkMetric(5.0, tol=1e-8).fit(X, constraints=known)
    assert soft.violated_pairs_.tolist() == [[0, 1], [3, 4]]
    assert soft.n_violated_ == 2
    assert soft.converged_
    assert np.isfinite(soft.metric_).all()
    many = np.ones((12, 2))
    with pytest.raises(InfeasibleConstraintsError, match=r"66 pairs.*\.\.\."):
        CannotLinkMetric(HARD).fit(many, constraints=Constraints.distinct(np.zeros(12, dtype=int)))
    with pytest.raises(ValueError, match="no distance can be learned"):
        CannotLinkMetric().fit(many, constraints=apart([(0, 1)], 12))
    with pytest.raises(ValueError, match="no distance can be learned"):
        CannotLinkMetric().fit(many, constraints=Constraints.across(np.arange(12)))


def test_too_many_twins(monkeypatch):
    monkeypatch.setattr(widest, "MOST_LISTED", 20)
    X = np.vstack([np.zeros((9, 2)), np.eye(2)])
    known = Constraints.across(np.arange(11))
    for C in (HARD, 1.0):
        with pytest.raises(ValueError, match=r"20 pairs of items or more.*repeat others"):
            CannotLinkMetric(C).fit(X, constraints=known)
    assert CannotLinkMetric().fit(X[4:], constraints=known[np.arange(4, 11)]).n_violated_ == 10


def test_a_pair_that_rules_is_named():
    X, pairs = problem(12)
    X = np.vstack([X, X[0] + 1e-4])
    known = apart([*pairs, (0, 12)], 13).with_ids([f"row {i}" for i in range(13)])
    with pytest.warns(UserWarning, match=r"\(row 0, row 12\).*finite C"):
        CannotLinkMetric(HARD).fit(X, constraints=known)


@pytest.mark.parametrize("weight", [1.0, 0.3])
@pytest.mark.parametrize("C", [1.0, 1.3e-7, 1e-20])
def test_a_small_c_is_told(C, weight):
    """Every multiplier is then the most that it may be, to the last digit."""
    X, pairs = problem(13)
    known = Constraints(cannot_link=pairs, n_items=len(X), weight=weight)
    with pytest.warns(UserWarning, match="small for the unit of X") as told:
        model = CannotLinkMetric(C).fit(1e-3 * X, constraints=known)
    assert len(told) == 1
    assert model.n_violated_ == len(pairs)
    assert (model.dual_coef_ == C * weight).all()


def test_all_pairs_within_the_margin(monkeypatch):
    """What a look adds grows with what is held: few looks, though each pair of all counts in the end."""
    monkeypatch.setattr(widest, "_FIRST", 2)
    monkeypatch.setattr(widest, "_MORE", 2)
    X = problem(15, n=60)[0]
    with pytest.warns(UserWarning, match="small for the unit"):
        model = CannotLinkMetric(1e-9, max_iter=60).fit(X, constraints=Constraints.across(np.arange(60)))
    assert model.converged_
    assert len(model.dual_coef_) == model.n_violated_ == 60 * 59 // 2


@pytest.mark.filterwarnings("ignore:the pair")
def test_few_steps_are_told():
    X, known, _ = groups_of(4)
    with pytest.warns(ConvergenceWarning, match="after 2 steps"):
        model = CannotLinkMetric(HARD, max_iter=2).fit(X, constraints=known)
    assert not model.converged_
    assert model.dual_gap_ > 1e-4
    assert model.n_violated_ == 0


def test_a_search_that_makes_no_step_ends(monkeypatch):
    """Where rounding allows none, pairs that were left out look wrong in turn: that is no reason to go on."""
    solved = []

    def stuck(pairs, alpha, *_):
        solved.append(len(alpha))
        assert len(solved) < 200
        return np.where(alpha > 0, alpha, 1e-3 * (len(solved) == 1)), 0

    monkeypatch.setattr(widest, "_FIRST", 3)
    monkeypatch.setattr(widest, "_MORE", 4)
    monkeypatch.setattr(widest.WorkingPairs, "solve", stuck)
    X, known, _ = groups_of(6)
    with pytest.warns(ConvergenceWarning, match="after 0 steps"):
        CannotLinkMetric(1.0).fit(X, constraints=known)


def test_bad_input(monkeypatch):
    X, pairs = problem(14)
    known = apart(pairs, len(X))
    with pytest.raises(UnsupportedConstraintError, match="across"):
        CannotLinkMetric().fit(X, constraints=Constraints(must_link=[(0, 1)], n_items=len(X)))
    with pytest.raises(UnsupportedConstraintError, match="different labels"):
        CannotLinkMetric().fit(X, constraints=Constraints.from_labels([0, 0, *[-1] * 10]))
    with pytest.raises(ParameterError, match="C of CannotLinkMetric must be"):
        CannotLinkMetric(0.0).fit(X, constraints=known)
    for unit in (1e-100, 1e100):
        with pytest.raises(ValueError, match=r"fourth power.*multiply X by a constant"):
            CannotLinkMetric(HARD).fit(unit * X, constraints=known)
    K = X @ X.T - 5.0 * np.eye(len(X))
    with pytest.raises(ValueError, match=r"not positive semidefinite \(an eigenvalue is -5"):
        CannotLinkMetric(kernel="precomputed").fit(K, constraints=known)
    with pytest.raises(ValueError, match="symmetric"):
        CannotLinkMetric(kernel="precomputed").fit(np.triu(X @ X.T), constraints=known)
    monkeypatch.setattr("coterie.distance._kernels.named_kernels.MAX_TABLE", 1000)
    with pytest.raises(ValueError, match=r"rbf.*12 items.*GB.*linear"):
        CannotLinkMetric(kernel="rbf").fit(X, constraints=Constraints.across(np.arange(12)))


def test_names_of_records():
    """The chapter's pipeline in our language; people of one name are a little nearer than of others."""
    from sklearn import config_context
    from sklearn.pipeline import make_pipeline

    from coterie import ConstrainedLinkage

    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(12), 10)
    X = np.eye(12)[people] * 3 + rng.normal(size=(120, 12)) * 0.15
    X = np.hstack([X, rng.normal(size=(120, 3))])  # columns that say nothing
    names = people // 3
    with config_context(enable_metadata_routing=True):
        steps = CannotLinkMetric(), ConstrainedLinkage(None, linkage="single", distance_threshold=0.85)
        found = make_pipeline(*steps).fit_predict(X, constraints=Constraints.across(names))
    assert (np.unique(np.column_stack([found, people]), axis=0)[:, 0] == np.arange(12)).all()
