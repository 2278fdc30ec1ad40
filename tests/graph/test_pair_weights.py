"""LearnedPairWeights: a step worked by hand, a feature that tells among others that do not."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from coterie.constraints import Constraints
from coterie.graph._correlation.search import improve_partition
from coterie.graph._correlation.signed_graph import signed_graph
from coterie.graph._pair_weights import LearnedPairWeights
from coterie.metrics import adjusted_rand_score

TRIANGLE = [(0, 1), (0, 2), (1, 2)]


def example(seed, n=24, k=4, noise=2):
    """The first feature is high for pairs that are together; the others are noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    pairs = np.array(list(combinations(range(n), 2)))
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    return (
        pairs,
        np.column_stack([same + 0.3 * rng.normal(size=len(pairs)), rng.normal(size=(len(pairs), noise))]),
        labels,
    )


def clusters(weights):
    graph = signed_graph(weights, 0.0, Constraints(n_items=weights.shape[0]))
    start = np.arange(graph.n)
    return improve_partition(graph.level, start, np.random.default_rng(0), 0.0, graph.cost(start))[0]


def test_two_steps_of_the_support_vector_machine_worked_by_hand():
    """Three items, of which 0 and 1 are together; phi = (feature, 1).

    Step 1: theta = 0, so that only the loss counts: -1/3 for the true pair, 1/3 for the others. Best is 2
    with 0 or with 1, for 1/3, or all three, for -1/3 + 2/3. With features 1, 0, 0 psi(Y) - psi(Y*) is
    (0, 1) - (1, 1) = (-1, 0), or (1, 3) - (1, 1) = (0, 2) for all three.
    Step 2 with theta = (2, 0) and C = 2: weights 2 - 1/3 for the true pair, 1/3 for the others: all three, so
    that psi differs by (0, 2), and theta = (2, 0) - ((2, 0) + 2 (0, 2)) / 2 = (1, -2).
    """
    model = LearnedPairWeights(C=2.0)
    triangle = np.array(TRIANGLE), np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 1.0]]), np.array([0, 0, 1])
    rng = np.random.default_rng(0)
    first = model._excess(np.zeros(2), triangle, rng)
    assert first.tolist() in ([-1.0, 0.0], [0.0, 2.0])
    second = model._excess(np.array([2.0, 0.0]), triangle, rng)
    assert second.tolist() == [0.0, 2.0]
    found = LearnedPairWeights(C=2.0, max_iter=2, random_state=0).fit(
        [(TRIANGLE, [[1], [0], [0]], [0, 0, 1])]
    )
    theta = -2.0 * first
    later = theta - 0.5 * (theta + 2.0 * model._excess(theta, triangle, rng))
    assert np.append(found.coef_, found.intercept_) == pytest.approx((theta + 2 * later) / 3)


def test_a_step_of_the_perceptron_worked_by_hand():
    """Weights of 0 leave everyone alone, so that theta becomes psi(Y*) = (1, 1). That joins all three, by
    (0, 2) too much: theta = (1, -1). Now the true pair weighs 0, and is not joined: theta = (2, 0), and all
    is right.
    """
    model = LearnedPairWeights(loss="perceptron", random_state=0).fit(
        [(TRIANGLE, [[1], [0], [0]], [0, 0, 1])]
    )
    steps = np.array([[1, 1], [1, -1], [2, 0], [2, 0]])
    assert model.n_iter_ == 4
    assert np.append(model.coef_, model.intercept_) == pytest.approx(
        np.average(steps, axis=0, weights=[1, 2, 3, 4])
    )


@pytest.mark.parametrize("loss", ["svm", "perceptron"])
def test_the_feature_that_tells_is_found(loss, seed):
    model = LearnedPairWeights(loss=loss, max_iter=20, random_state=0).fit(
        [example([seed, i]) for i in range(4)]
    )
    assert model.coef_[0] > 4 * np.abs(model.coef_[1:]).max()
    assert model.intercept_ < 0
    pairs, features, labels = example([seed, 9])
    weights = model.weights(pairs, features, len(labels))
    assert sparse.issparse(weights)
    assert abs(weights - weights.T).max() == 0
    assert weights[3, 5] == pytest.approx(
        features[(pairs == [3, 5]).all(axis=1)][0] @ model.coef_ + model.intercept_
    )
    assert adjusted_rand_score(labels, clusters(weights)) > 0.9


def test_the_same_seed_learns_the_same():
    one, two = (
        LearnedPairWeights(max_iter=3, random_state=5).fit([example(1), example(2)]) for _ in range(2)
    )
    assert np.array_equal(one.coef_, two.coef_)


def test_what_cannot_be_is_refused():
    model = LearnedPairWeights()
    with pytest.raises(ValueError, match="no examples"):
        model.fit([])
    with pytest.raises(ValueError, match=r"examples have \[1, 2\] features"):
        model.fit([([(0, 1)], [[1.0]], [0, 0]), ([(0, 1)], [[1.0, 2.0]], [0, 0])])
    with pytest.raises(ValueError, match=r"example 0: pair \[0, 3\] is not of two of the items 0 to 2"):
        model.fit([([(0, 3)], [[1.0]], [0, 0, 1])])
    with pytest.raises(ValueError, match="one row a pair"):
        model.fit([([(0, 1)], [[1.0], [2.0]], [0, 0, 1])])
    with pytest.raises(ValueError, match="NaN"):
        model.fit([([(0, 1)], [[np.nan]], [0, 0, 1])])
    with pytest.raises(ValueError, match="loss"):
        LearnedPairWeights(loss="hinge").fit([example(0)])
