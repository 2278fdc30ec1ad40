"""`MeanFieldMixture`: steps by hand, annealing, eta, class priors and emissions."""

import pickle
import time

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln, softmax
from scipy.stats import poisson

from coterie import Constraints
from coterie.mixture import Emission, MeanFieldMixture
from tests.marks import few_of, outvoted, unsettled
from tests.mixture.problems import WarmField, blobs, random_state_of, soft_pairs, start_of, state_of
from tests.oracles import mixture as oracle

pytestmark = [outvoted, unsettled]
STILL = {"annealing": False, "reg_covar": 0.0, "tol": 0.0, "n_init": 1}


def problem(seed, *key, n=30, k=3):
    X, y = blobs((seed, *key), n, k, 2, gap=1.5)
    rng = np.random.default_rng((seed, 1, *key))
    return X, y, random_state_of(rng, X, k), rng


def agreement_with(labels, y, k=3):
    """Share of items in the right component, under the best naming."""
    table = np.zeros((k, k))
    np.add.at(table, (labels, y), 1)
    return table[linear_sum_assignment(-table)].sum() / len(y)


@pytest.mark.parametrize("prior", ["uniform", "joint", "fixed"])
@pytest.mark.parametrize("eta", [1.0, 4.0])
def test_steps_by_hand(prior, eta, seed):
    """Weak couplings, so that there is one fixed point; unequal prices for the two kinds."""
    X, _, state, rng = problem(seed, 1)
    c = soft_pairs(rng, 30, 6, 6, sure=0.6) + Constraints.distinct(
        np.where(np.arange(30) < 4, 0, -1), weight=0.4
    )
    c = c + Constraints.from_labels(np.where(np.arange(30) > 25, np.arange(30) % 2, -1), weight=0.6)
    weight = (0.3, 0.5)
    known = oracle.priced_known(c, weight)
    if prior == "uniform":
        state = oracle.State(np.full(3, 1 / 3), state.means, state.covariances)
    model = WarmField(
        3, weight=weight, eta=eta, weights_update=prior, max_iter=2, **STILL, **start_of(state)
    ).fit(X, constraints=c)
    v = np.where(known.named, eta, 1.0)
    for step in range(3):
        potential = oracle.potentials(X, state, known)
        q, _ = oracle.mean_field(potential, known.pairs)
        own = (q * (potential - np.log(q))).sum(axis=1)
        energy = -(v @ own) - eta * sum(beta * (q[i] @ q[j]) for i, j, beta in known.pairs)
        assert model.history_[step] == pytest.approx(energy, rel=1e-5)
        if step < 2:
            counts, means, covariances = oracle.m_step(X, q, item_weight=v)
            weights = counts / counts.sum() if prior == "joint" else state.weights
            state = oracle.State(weights, means, covariances)
    np.testing.assert_allclose(model.means_, state.means, atol=1e-3)
    np.testing.assert_allclose(model.covariances_, state.covariances, atol=1e-3)
    np.testing.assert_allclose(model.weights_, state.weights, atol=1e-3)
    np.testing.assert_allclose(model.responsibilities_, q, atol=2e-3)
    together = [q[i] @ q[j] for i, j, _ in known.pairs[: c.n_pairs]]
    np.testing.assert_allclose(model.agreement_, together, atol=2e-3)


def test_the_unconstrained_prior_counts_free_items_only(seed):
    X, _, state, _rng = problem(seed, 2)
    c = Constraints([(0, 1), (2, 3)], [(4, 5), (0, 4)], n_items=30)
    model = WarmField(3, weight=0.4, weights_update="unconstrained", max_iter=1, **STILL, **start_of(state))
    model.fit(X, constraints=c)
    free = np.setdiff1d(np.arange(30), c.constrained_items)
    q = softmax(oracle.potentials(X, state, oracle.Known(30)), axis=1)
    np.testing.assert_allclose(model.weights_, q[free].mean(axis=0), atol=1e-6)
    # named items are judged without the prior
    known = oracle.priced_known(c, 0.4)
    potential = oracle.log_density(X, model.means_, model.covariances_)
    potential[free] += np.log(model.weights_)
    q, _ = oracle.mean_field(potential, known.pairs)
    np.testing.assert_allclose(model.responsibilities_, q, atol=2e-3)


def test_hard_pairs_hold_and_labels_clamp(seed):
    X, y, _, _ = problem(seed, 3, n=60)
    c = Constraints.sample(y, 30, random_state=0)
    hard = Constraints(c.must_link, c.cannot_link, n_items=60, hard=True)
    labels = Constraints.from_labels(np.where(np.arange(60) < 6, y, -1))
    for known in (hard, labels, hard | labels):
        model = MeanFieldMixture(3, weight=0.1, random_state=0).fit(X, constraints=known)
        assert not model.violations_
    np.testing.assert_array_equal(model.labels_[:6], y[:6])


@pytest.mark.parametrize("pairs", [0, 20])
def test_what_is_apart_is_parted(pairs, seed):
    """Three clouds far from each other: always with the usual starts, mostly with one annealed start."""
    lucky = 0
    for number in range(3):
        rng = np.random.default_rng((seed, 4, number))
        y = np.arange(90) % 3
        X = np.array([[0.0, 0.0], [40.0, 40.0], [80.0, 0.0]])[y] + rng.normal(size=(90, 2))
        c = Constraints.sample(y, pairs, random_state=number) if pairs else None
        model = MeanFieldMixture(3, random_state=number).fit(X, constraints=c)
        assert agreement_with(model.labels_, y) == 1.0
        lucky += agreement_with(model.set_params(n_init=1).fit(X, constraints=c).labels_, y) == 1.0
    assert lucky >= 1


def test_annealing_takes_no_start(seed):
    X, _, state, _ = problem(seed, 4)
    with pytest.raises(ValueError, match=r"(?s)annealing.*means_init"):
        MeanFieldMixture(3, means_init=state.means).fit(X)


def test_annealing_ends_at_temperature_one(seed):
    X, y, _, _ = problem(seed, 4, n=90)
    c = Constraints.sample(y, 20, random_state=0)
    model = MeanFieldMixture(3, n_init=1, random_state=0).fit(X, constraints=c)
    temperature, energy = model.temperature_path_.T
    assert temperature[0] > 1.0
    assert (np.diff(temperature) < 0).all()
    assert temperature[-1] == pytest.approx(1.0)
    assert energy[-1] == model.objective_ == model.history_[-1]


@few_of(1, 4)
@pytest.mark.parametrize("weight", [1.0, 4.0, 1000.0])
def test_the_answer_belongs_to_the_objective(weight, numbers, seed):
    """Responsibilities are those of the start that won: their free energy is the objective."""
    for number in numbers:
        X, y, _, _ = problem(seed, 9, number, n=80)
        c = Constraints.sample(y, 50, noise=0.2, random_state=number)
        for model in (
            MeanFieldMixture(3, covariance_type="full", weight=weight, n_init=4, random_state=0),
            WarmField(3, covariance_type="full", weight=weight, n_init=4, annealing=False, random_state=0),
        ):
            model.fit(X, constraints=c)
            known = oracle.priced_known(c, weight)
            value = oracle.bound(
                oracle.potentials(X, state_of(model), known), known.pairs, model.responsibilities_
            )
            assert model.objective_ == pytest.approx(-value, rel=1e-5)
        cold = MeanFieldMixture(3, emission="squared-error", weight=weight, n_init=4, random_state=0)
        labels = cold.fit(X, constraints=c).labels_
        np.testing.assert_allclose(cold.responsibilities_, np.eye(3)[labels], atol=1e-6)
        same = labels[c.must_link[:, 0]] == labels[c.must_link[:, 1]]
        met = labels[c.cannot_link[:, 0]] == labels[c.cannot_link[:, 1]]
        energy = ((X - cold.means_[labels]) ** 2).sum() - weight * same.sum() + weight * met.sum()
        constant = 80 * np.log(3.0)  # of uniform mixing weights
        assert min(abs(cold.objective_ - energy), abs(cold.objective_ - energy - constant)) < 1e-4 * abs(
            energy
        )


def test_the_toy_of_chapter_5(seed):
    """Four clouds, truth left and right, data that prefer top and bottom: one pair in ten items is enough."""
    scores = []
    for number in range(3):
        rng = np.random.default_rng((seed, 5, number))
        centre = np.array([[-1, -1.5], [-1, 1.5], [1, -1.5], [1, 1.5]])[np.arange(120) % 4]
        X, y = centre + 0.35 * rng.normal(size=(120, 2)), np.arange(120) % 4 // 2
        c = Constraints.sample(y, 24, random_state=number)
        model = MeanFieldMixture(2, n_init=3, random_state=number).fit(X, constraints=c)
        hits = (model.predict(X) == y).mean()
        scores.append(max(hits, 1 - hits))
    assert np.median(scores) >= 0.98


def test_eta_is_chosen_from_its_curve(seed):
    X, y, _, _ = problem(seed, 6, n=40)
    c = Constraints.sample(y, 16, random_state=0)
    shared = {"annealing": False, "n_init": 1, "max_iter": 5, "random_state": 0}
    model = MeanFieldMixture(3, eta="select", **shared).fit(X, constraints=c)
    etas, broken = model.eta_curve_.T
    assert (np.diff(etas) > 0).all()
    assert ((broken >= 0) & (broken <= 1)).all()
    assert model.eta_ in etas
    assert model.eta_ <= etas[np.argmin(broken)]  # the smallest of those that are about as good
    again = MeanFieldMixture(3, eta=model.eta_, **shared).fit(X, constraints=c)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert MeanFieldMixture(3, eta=2.5, **shared).fit(X, constraints=c).eta_ == 2.5


# ---- emissions ------------------------------------------------------------------------------------------


def documents(seed, n=150, k=3, words=40, length=60):
    rng = np.random.default_rng((seed, 7))
    topics = rng.dirichlet(np.full(words, 0.15), size=k)
    y = np.arange(n) % k
    return np.array([rng.multinomial(length, topics[t]) for t in y]), y


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_multinomial_finds_topics(form, seed):
    X, y = documents(seed)
    c = Constraints.sample(y, 30, random_state=0)
    given = sparse.csr_matrix(X) if form == "sparse" else X.astype(float)
    model = MeanFieldMixture(3, emission="multinomial", random_state=0).fit(given, constraints=c)
    assert agreement_with(model.labels_, y) > 0.95
    assert not model.violations_
    np.testing.assert_allclose(model.responsibilities_.sum(axis=1), 1.0)
    proba = model.predict_proba(given)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert agreement_with(model.predict(given), y) > 0.9


def test_multinomial_is_naive_bayes_when_all_labels_are_known(seed):
    """With all labels given and the same smoothing the rule is that of scikit-learn's `MultinomialNB`."""
    from sklearn.naive_bayes import MultinomialNB

    X, y = documents(seed)
    model = MeanFieldMixture(3, emission="multinomial", random_state=0).fit(X.astype(float), constraints=y)
    rule = MultinomialNB(alpha=1.0, fit_prior=False).fit(X, y)
    assert (model.predict(X.astype(float)) == rule.predict(X)).mean() > 0.99


def test_multinomial_refuses_negative_counts(seed):
    X, _ = documents(seed)
    X = X.astype(float)
    X[0, 0] = -1.0
    with pytest.raises(ValueError, match="negative"):
        MeanFieldMixture(3, emission="multinomial").fit(X)


def test_squared_error_without_annealing_is_lloyd(seed):
    """At temperature zero, from given means: the steps of k-means."""
    X, _, _, _ = problem(seed, 8, n=60)
    start = X[:3].copy()
    model = MeanFieldMixture(
        3, emission="squared-error", annealing=False, means_init=start, max_iter=1, tol=0.0, n_init=1
    ).fit(X)
    nearest = ((X[:, None, :] - start) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_allclose(model.means_, [X[nearest == h].mean(axis=0) for h in range(3)], rtol=1e-9)
    rule = ((X[:, None, :] - model.means_) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X), rule)
    np.testing.assert_array_equal(model.labels_, rule)
    assert not hasattr(model, "covariances_")


class Poisson(Emission):
    """Counts with a rate for each feature: all that a new emission needs."""

    def begin(self, X, k):
        super().begin(X, k)
        self.middle = X.mean(axis=0) + 1e-3
        self.deviation = np.sqrt(self.middle)
        self.means = np.tile(self.middle, (k, 1))

    def log_prob(self, X):
        return X @ np.log(self.means).T - self.means.sum(axis=1) - gammaln(X + 1.0).sum(axis=1)[:, None]

    def statistics(self, X, shares):
        return shares.sum(axis=0), shares.T @ X

    def update(self, statistics):
        mass, total = statistics
        kept = np.maximum(mass, 1e-12)[:, None]
        self.means = np.where(mass[:, None] > 1e-9, np.maximum(total / kept, 1e-6), self.means)

    def set_means(self, means):
        self.means = np.maximum(means, 1e-6)

    def n_parameters(self):
        return self.means.size


def test_a_new_emission_is_one_class(seed):
    rng = np.random.default_rng((seed, 9))
    rates = np.array([[2.0, 9.0, 4.0], [9.0, 3.0, 4.0], [5.0, 5.0, 14.0]])
    y = np.arange(150) % 3
    X = rng.poisson(rates[y]).astype(float)
    c = Constraints.sample(y, 30, random_state=0)
    for annealing in (True, False):
        model = MeanFieldMixture(3, emission=Poisson(), annealing=annealing, random_state=0)
        model.fit(X, constraints=c)
        assert agreement_with(model.labels_, y) > 0.9
        density = poisson(model.means_).logpmf(X[:, None, :]).sum(axis=2) + np.log(model.weights_)
        np.testing.assert_allclose(model.score_samples(X), np.logaddexp.reduce(density, axis=1), rtol=1e-9)
        np.testing.assert_allclose(model.predict_proba(X), softmax(density, axis=1), atol=1e-9)
        right = -2 * model.score_samples(X).sum() + (9 + 2) * np.log(150)
        assert model.bic(X) == pytest.approx(right)
    assert agreement_with(pickle.loads(pickle.dumps(model)).predict(X), y) > 0.85


def test_squared_error_in_many_dimensions(seed):
    """Features as many as a text has words: nothing may be cubic in them."""
    rng = np.random.default_rng((seed, 10))
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 4_000)) + 0.5 * y[:, None]
    c = Constraints.sample(y, 10, random_state=0)
    started = time.process_time()
    model = MeanFieldMixture(2, emission="squared-error", n_init=1, random_state=0).fit(X, constraints=c)
    assert time.process_time() - started < 5.0
    assert agreement_with(model.labels_, y, 2) == 1.0
