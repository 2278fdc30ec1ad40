"""What a user gets who sets nothing: covariance types, weak priors, starts, weights, and warnings."""

import itertools
import re
import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from coterie import ConstrainedGaussianMixture, Constraints, MeanFieldMixture, PenalizedGaussianMixture
from coterie.exceptions import ViolatedConstraintsWarning
from coterie.mixture._inference.choose import Inference
from coterie.mixture._inference.network import read_network
from tests.mixture.problems import blobs

ALL = (ConstrainedGaussianMixture, PenalizedGaussianMixture, MeanFieldMixture)
every = pytest.mark.parametrize("kind", ALL, ids=[kind.__name__ for kind in ALL])


# ---- covariance types -----------------------------------------------------------------------------------


@every
def test_the_type_goes_by_items_for_each_feature(kind, seed):
    """Two components of four features: twelve items bear full covariances, eleven do not."""
    X, _ = blobs((seed, 1), 12, 2, 4)
    model = kind(2, random_state=0).fit(X)
    assert model.covariance_type_ == "full"
    assert model.covariances_.shape == (2, 4, 4)
    assert re.search(r"full: 12 items in 2 clusters are 1.5 .* 4 features", model.account().certainty.remark)
    model.fit(X[:11])
    assert model.covariance_type_ == "diag"
    assert model.covariances_.shape == (2, 4)
    words = r"diagonal: 11 items in 2 clusters are 1.4 .* 4 features"
    assert re.search(words, model.account().certainty.remark)
    model.set_params(covariance_type="tied").fit(X)
    assert model.covariance_type_ == "tied"
    assert model.account().certainty.remark is None


@every
@pytest.mark.filterwarnings("ignore::coterie.exceptions.ViolatedConstraintsWarning")
def test_auto_is_its_type_with_a_weak_prior(kind, seed):
    X, y = blobs((seed, 2), 40, 2, 2)
    c = Constraints.sample(y, 10, random_state=0)
    auto = kind(2, random_state=0).fit(X, constraints=c)
    named = kind(2, covariance_type="full", covariance_prior=0.01, random_state=0).fit(X, constraints=c)
    np.testing.assert_allclose(auto.means_, named.means_, rtol=1e-9)
    plain = kind(2, covariance_type="full", random_state=0).fit(X, constraints=c)
    without = kind(2, covariance_type="full", covariance_prior=0.0, random_state=0).fit(X, constraints=c)
    np.testing.assert_allclose(plain.means_, without.means_, rtol=1e-9)


@pytest.mark.parametrize(
    ("shape", "covariance_type"),
    [((2, 3, 3), "full"), ((3, 3), "tied"), ((2, 3), "diag"), ((2,), "spherical")],
)
def test_precisions_have_a_type_of_their_own(shape, covariance_type, seed):
    X, _ = blobs((seed, 3), 60, 2, 3)
    ones = np.ones(shape) if covariance_type in ("diag", "spherical") else np.broadcast_to(np.eye(3), shape)
    start = {"means_init": X[:2], "precisions_init": ones, "max_iter": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        auto = ConstrainedGaussianMixture(2, **start).fit(X)
        named = ConstrainedGaussianMixture(2, covariance_type=covariance_type, **start).fit(X)
    assert auto.covariance_type_ == covariance_type
    np.testing.assert_array_equal(auto.covariances_, named.covariances_)


def test_precisions_of_two_types_are_refused(seed):
    X, _ = blobs((seed, 4), 60, 3, 3)
    model = ConstrainedGaussianMixture(3, precisions_init=np.eye(3))
    with pytest.raises(ValueError, match=r"tied and of diag covariance type.*set covariance_type"):
        model.fit(X)


def test_a_warm_start_keeps_the_type(seed):
    X, _ = blobs((seed, 5), 60, 2, 4)
    model = PenalizedGaussianMixture(2, warm_start=True, random_state=0).fit(X)
    assert model.covariance_type_ == "full"
    model.fit(X[:10])  # too few for full ones, had it begun anew
    assert model.covariance_type_ == "full"
    assert "last fit" in model.account().certainty.remark


def test_columns_of_zeros_and_ones_do_not_take_over(seed):
    """Columns that are constant in a class: no component shrinks onto a rare value."""
    found = []
    for number in range(3):
        rng = np.random.default_rng((seed, 6, number))
        y = np.arange(300) % 2
        share = rng.dirichlet(np.full(3, 0.5), size=(10, 2))
        X = np.hstack([np.eye(3)[[rng.choice(3, p=one[c]) for c in y]] for one in share])
        X = X[:, X.std(axis=0) > 0]
        model = ConstrainedGaussianMixture(2, random_state=number).fit((X - X.mean(axis=0)) / X.std(axis=0))
        assert model.collapsed_.tolist() == []
        found.append(adjusted_rand_score(y, model.labels_))
    assert np.median(found) > 0.5


# ---- starts ---------------------------------------------------------------------------------------------


@every
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_start_that_collapses_never_wins(kind, seed, monkeypatch):
    """Whatever its likelihood; of two that collapse, the better one is kept."""
    X, _ = blobs((seed, 7), 60, 2, 2)
    one_start = kind._one_start
    flat: dict[int, list[int]] = {}

    def shrunk(self, data, *more):
        outcome = one_start(self, data, *more)
        number = flat.setdefault(-1, []).append(0) or len(flat[-1]) - 1
        outcome.history[-1] -= 1000.0 * number
        for component in flat.get(number, ()):
            covariances = outcome.model.emission.covariances.copy()
            covariances[component] = np.diag(outcome.model.emission.ridge)
            outcome.model.emission._set_covariances(covariances)
        return outcome

    monkeypatch.setattr(kind, "_one_start", shrunk)
    shared = {"covariance_type": "full", "n_init": 3, "max_iter": 5, "tol": 1e9, "random_state": 0}
    for collapsed, best in (({1: [0], 2: [0, 1]}, []), ({0: [0], 1: [1], 2: [0, 1]}, [1])):
        flat.clear()
        flat.update(collapsed)
        assert kind(2, **shared).fit(X).collapsed_.tolist() == best


@every
def test_starts_stay_near_k_means(kind, seed):
    """Few items of many features: full covariances from wide starts lead far away from the classes."""
    found = []
    for number in range(3):
        rng = np.random.default_rng((seed, 8, number))
        y = np.arange(400) % 4
        factors = 2.0 * rng.normal(size=(4, 5))[y] + rng.normal(size=(400, 5))
        X = np.maximum(factors @ rng.normal(size=(5, 30)) + 0.5 * rng.normal(size=(400, 30)), 0.0)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        ours = kind(4, random_state=number).fit(X).labels_
        plain = GaussianMixture(4, random_state=number).fit_predict(X)
        found.append(adjusted_rand_score(y, ours) - adjusted_rand_score(y, plain))
    assert np.mean(found) > -0.03, found


# ---- chapter 5 ------------------------------------------------------------------------------------------


def test_four_clouds_and_two_pairs_that_tell(seed):
    """Left and right is the answer, though top and bottom has the lower free energy: starts are annealed."""
    scores = []
    for number in range(5):
        rng = np.random.default_rng((seed, 10, number))
        cloud = np.arange(200) % 4
        centre = np.array([[-1, -1.5], [-1, 1.5], [1, -1.5], [1, 1.5]])
        X, y = centre[cloud] + 0.35 * rng.normal(size=(200, 2)), cloud // 2
        c = Constraints([(0, 1)], [(0, 2)], n_items=200)
        model = MeanFieldMixture(2, random_state=number).fit(X, constraints=c)
        scores.append(adjusted_rand_score(y, model.predict(X)))
    assert np.median(scores) > 0.95


def test_unequal_classes_have_unequal_weights(seed):
    rng = np.random.default_rng((seed, 11))
    y = (np.arange(400) % 8 == 0).astype(int)
    X = rng.normal(size=(400, 2)) + 4.0 * y[:, None]
    model = MeanFieldMixture(2, random_state=0).fit(X)
    np.testing.assert_allclose(np.sort(model.weights_), [1 / 8, 7 / 8], atol=0.06)
    assert adjusted_rand_score(y, model.labels_) > 0.8


def test_squared_errors_have_no_weights(seed):
    X, _ = blobs((seed, 12), 60, 2, 2)
    MeanFieldMixture(2, emission="squared-error", random_state=0).fit(X)
    model = MeanFieldMixture(2, emission="squared-error", weights_update="unconstrained")
    with pytest.raises(ValueError, match="density"):
        model.fit(X)


def test_a_tenth_of_wrong_pairs_does_not_overrule_the_data(seed):
    X, y = blobs((seed, 13), 200, 3, 2, gap=6.0)
    c = Constraints.sample(y, 100, noise=0.1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ViolatedConstraintsWarning)
        free, told = (MeanFieldMixture(3, random_state=0).fit(X, constraints=known) for known in (None, c))
        strong = MeanFieldMixture(3, weight=1000.0, random_state=0).fit(X, constraints=c)
    before, after, worse = (adjusted_rand_score(y, model.labels_) for model in (free, told, strong))
    assert after >= before - 0.15
    assert after > worse


# ---- chapter 4 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loops", [False, True])
def test_pairs_without_a_coupling_have_their_true_probability(k, loops, seed):
    """A pair of weight zero, and one that is stated both ways; their ends are joined by other pairs."""
    rng = np.random.default_rng((seed, 14, k))
    X = rng.normal(size=(6, 1))
    links = [(0, 1), (1, 2), (3, 4), *([(0, 2)] if loops else [])]
    must, cannot = [*links, (0, 3), (1, 5)], [(2, 3), (0, 3), (0, 4)]
    c = Constraints(must, cannot, n_items=6, weight=[1.0] * len(links) + [1, 0] + [0.7, 1, 0], confidence=0.8)
    model = PenalizedGaussianMixture(
        k,
        covariance_type="full",
        weights_update="fixed",
        weights_init=np.full(k, 1 / k),
        means_init=np.linspace(-1, 1, k)[:, None],
        precisions_init=np.ones((k, 1, 1)),
        reg_covar=1.0,
        max_iter=1,
        tol=1e9,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, constraints=c)
    tables = (c.must_table, 1.0), (c.cannot_table, -1.0)
    pairs = [
        (i, j, sign * weight * np.log(4.0))
        for table, sign in tables
        for (i, j), weight in zip(table.ij.tolist(), table.weight.tolist(), strict=True)
    ]
    potential, together, total = model._model.log_joint(X), np.zeros(len(pairs)), 0.0
    for labels in itertools.product(range(k), repeat=6):
        same = np.array([labels[i] == labels[j] for i, j, _ in pairs])
        chance = np.exp(potential[np.arange(6), labels].sum() + same @ [b for _, _, b in pairs])
        together, total = together + chance * same, total + chance
    np.testing.assert_allclose(model.agreement_, together / total, atol=1e-9)


def test_a_weight_beyond_all_measure_is_as_good_as_hard(seed):
    X, _ = blobs((seed, 15), 40, 3, 1)
    must, cannot = [(0, 1), (1, 2), (5, 9)], [(2, 3), (9, 12)]
    shared = {"weights_update": "fixed", "means_init": [[-1.0], [0.0], [1.0]], "max_iter": 3, "tol": 1e9}
    model, hard = (
        PenalizedGaussianMixture(3, **shared).fit(X, constraints=c)
        for c in (
            Constraints(must, cannot, n_items=40, weight=1e18),
            Constraints(must, cannot, n_items=40, hard=True),
        )
    )
    np.testing.assert_allclose(model.agreement_, [1, 1, 1, 0, 0], atol=1e-9)
    # each must-link that holds is worth the most that one can be; hard ones are worth nothing
    assert model.objective_ + 3e6 == pytest.approx(hard.objective_, abs=1e-5 * abs(hard.objective_))
    np.testing.assert_allclose(model.responsibilities_, hard.responsibilities_, atol=1e-6)


def test_more_outvoted_pairs_than_their_confidence_allows_are_said(seed):
    X, y = blobs((seed, 16), 120, 2, 2, gap=20.0)
    for noise, words in ((0.4, "confidence allows for about"), (0.02, "constraints were outvoted")):
        c = Constraints.sample(y, 100, noise=noise, random_state=0)
        with pytest.warns(ViolatedConstraintsWarning, match=words) as told:
            PenalizedGaussianMixture(2, random_state=0).fit(X, constraints=c)
        assert len([one for one in told if one.category is ViolatedConstraintsWarning]) == 1


# ---- what is left out, and what is held out -------------------------------------------------------------


def test_the_spanning_tree_keeps_what_matters_most(seed):
    """Against all 125 trees of five units: the couplings kept are those that the potentials break most."""
    rng = np.random.default_rng((seed, 17))
    pairs = list(itertools.combinations(range(5), 2))
    network = read_network(Constraints(None, pairs, n_items=5), 3, obey="all")
    potential = rng.normal(size=(5, 3))
    chance = np.exp(potential) / np.exp(potential).sum(axis=1, keepdims=True)
    matters = {pair: -np.log1p(-chance[pair[0]] @ chance[pair[1]]) for pair in pairs}

    def is_tree(edges):
        reached = {0}
        for _ in edges:
            reached |= {v for edge in edges for v in edge if reached & set(edge)}
        return len(reached) == 5

    trees = [edges for edges in itertools.combinations(pairs, 4) if is_tree(edges)]
    assert len(trees) == 125
    best = max(trees, key=lambda edges: sum(matters[edge] for edge in edges))
    inference = Inference(network, rest="spanning-tree", most_cells=3, potential=potential)
    kept = np.delete(network.ends, inference.dropped, axis=0)
    assert {tuple(edge) for edge in kept.tolist()} == set(best)


def test_the_weakest_couplings_are_left_out(seed):
    """A chain whose weak and strong pairs take turns, in any order: pieces of two are the strong ones."""
    rng = np.random.default_rng((seed, 18))
    X, _ = blobs((seed, 18), 40, 2, 1)
    chain = [(i, i + 1) for i in range(9)]
    weight = np.where(np.arange(9) % 2, 1.0, 3.0) + 0.1 * rng.random(9)
    for sign in (1, -1):
        stated = {"must_link": chain} if sign > 0 else {"cannot_link": chain}
        c = Constraints(**stated, n_items=40, weight=weight)
        model = PenalizedGaussianMixture(3, max_component_size=2, n_init=1, max_iter=2, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dropped = model.fit(X, constraints=c).dropped_constraints_
        left_out = dropped.must_link if sign > 0 else dropped.cannot_link
        assert left_out.tolist() == [[i, i + 1] for i in (1, 3, 5, 7)]


def test_eta_is_scored_by_the_rule_on_pairs_held_out(seed):
    """Not by labels, which pairs that share an item with it decide; and not on the pairs of the fit."""
    rng = np.random.default_rng((seed, 19))
    y = rng.integers(2, size=60)
    X = rng.normal(size=(60, 2)) + 0.7 * y[:, None]
    known = Constraints.sample(y, 100, random_state=0)
    shared = {"annealing": False, "n_init": 1, "max_iter": 4, "weight": 100.0, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        curve = MeanFieldMixture(2, eta="select", **shared).fit(X, constraints=known).eta_curve_
        folds = list(known.split(5, random_state=0))
        scores: dict[str, list[float]] = {"rule": [], "labels": [], "kept": []}
        for eta in curve[:, 0]:
            models = [MeanFieldMixture(2, eta=eta, **shared).fit(X, constraints=kept) for kept, _ in folds]
            for name, stated in (("rule", 1), ("labels", 1), ("kept", 0)):
                shares = []
                for fold, model in zip(folds, models, strict=True):
                    labels = model.labels_ if name == "labels" else model.predict(X)
                    wrong = fold[stated].violations(labels)
                    shares.append((wrong.must_link.n + wrong.cannot_link.n) / fold[stated].n_pairs)
                scores[name].append(float(np.mean(shares)))
    np.testing.assert_allclose(curve[:, 1], scores["rule"], atol=1e-12)
    for other in ("labels", "kept"):  # the three differ here
        assert not np.allclose(curve[:, 1], scores[other], atol=1e-3)
