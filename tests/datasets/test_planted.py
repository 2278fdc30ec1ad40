"""make_planted_correlation: signs, their mistakes, and how many pairs there are."""

import numpy as np
import pytest
from scipy import sparse

from coterie.datasets import make_planted_correlation


@pytest.mark.parametrize("degree", [None, 12])
@pytest.mark.parametrize("exponential", [False, True])
def test_signs_follow_the_groups_but_for_the_noise(degree, exponential, seed):
    planted = make_planted_correlation(
        300, 6, 0.2, degree=degree, exponential=exponential, random_state=seed % 2**31
    )
    W = planted.data.toarray() if sparse.issparse(planted.data) else planted.data
    assert np.array_equal(W, W.T)
    assert not W.diagonal().any()
    assert np.array_equal(np.bincount(planted.target), np.full(6, 50))
    i, j = np.nonzero(np.triu(W))
    same = planted.target[i] == planted.target[j]
    wrong = (W[i, j] > 0) != same
    assert planted.cost == pytest.approx(np.abs(W[i, j])[wrong].sum())
    assert wrong.mean() == pytest.approx(0.2, abs=0.04)
    assert np.abs(W[i, j]).mean() == pytest.approx(1.0, abs=0.1)
    assert (np.abs(W[i, j]) == 1).all() != exponential
    if degree is None:
        assert len(i) == 300 * 299 / 2
    else:
        assert 0.8 * 12 < 2 * len(i) / 300 <= 12
        assert same.mean() == pytest.approx(0.5, abs=0.08)


def test_the_same_seed_makes_the_same():
    one, two = (make_planted_correlation(50, 3, degree=5, random_state=3) for _ in range(2))
    assert (one.data != two.data).nnz == 0
