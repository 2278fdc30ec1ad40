"""Data of the tests of the report."""

import numpy as np


def blobs(seed, n=120, k=3, d=4, gap=4.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    return rng.normal(size=(k, d))[y] * gap + rng.normal(size=(n, d)), y
