"""Features whose squares leave the range of their type are refused, not clustered into one."""

import numpy as np
import pytest
from scipy import sparse

from coterie import PCKMeans

X = np.random.default_rng(0).normal(size=(20, 2))


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("factor", "dtype", "told"),
    [(1e200, "f8", "large"), (1e-200, "f8", "small"), (1e25, "f4", "large"), (1e-25, "f4", "small")],
)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid:RuntimeWarning")
def test_squares_out_of_range(wrap, factor, dtype, told):
    with pytest.raises(ValueError, match=rf"too {told} for float.*multiply X"):
        PCKMeans(2).fit(wrap((factor * X).astype(dtype)))


@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_far_from_one_is_fine(factor):
    plain = PCKMeans(2, random_state=0).fit(X).labels_
    assert PCKMeans(2, random_state=0).fit(factor * X).labels_.tolist() == plain.tolist()


def test_constant_features_are_not_too_small():
    with pytest.warns(match="distinct clusters"):
        assert not PCKMeans(2).fit(np.full((5, 2), 3.0)).labels_.any()
