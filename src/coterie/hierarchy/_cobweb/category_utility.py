"""Category utility: how much better the attributes of an item can be guessed once its cluster is known.

From Gluck and Corter 1985 for nominal attributes, and CLASSIT (Gennari, Langley and Fisher 1989) for numbers.
One place for the definition; the compiled loop of COPCobweb scores its options from sums, and is tested
against this. Costs one pass over the data.
"""

from __future__ import annotations

import math

import numpy as np

from coterie.hierarchy._cobweb.state import Floats, Index

DENSITY = 1.0 / (2.0 * math.sqrt(math.pi))


def category_utility(numeric: Floats, nominal: Index, labels: Index, acuity: float) -> float:
    """Category utility of a partition.

    It is ``1/k sum_h P(h) sum_a u(a, h)``, over the k clusters h and the attributes a, where ``u`` is

    - ``sum_v P(a = v | h)^2 - P(a = v)^2`` over the values v of a nominal attribute,
    - ``(1 / s(a, h) - 1 / s(a)) / (2 sqrt(pi))`` for numbers: what the sum of squares becomes for a normal
      density of standard deviation s. None counts as less than `acuity`, or one item alone would have an
      infinite density.

    It is 0 for a single cluster, and below 0 where the clusters spread more than the whole. `nominal` holds
    values as whole numbers from 0, of which different attributes share none; no cluster of `labels` is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.hierarchy._cobweb.category_utility import category_utility
    >>> nominal = np.array([[0, 2], [0, 2], [1, 2], [1, 2]])  # two equal halves, told apart by one attribute
    >>> category_utility(np.empty((4, 0)), nominal, np.array([0, 0, 1, 1]), 1.0)
    0.25
    """
    n, k = len(labels), int(labels.max()) + 1
    size = np.bincount(labels, minlength=k)
    total = 0.0
    for values in nominal.T:
        n_values = int(values.max()) + 1
        count = np.bincount(labels * n_values + values, minlength=k * n_values).reshape(k, n_values)
        within = ((count / size[:, None]) ** 2).sum(axis=1)
        total += float(size / n @ within) - float(((count.sum(axis=0) / n) ** 2).sum())
    for numbers in numeric.T:
        mean = np.bincount(labels, numbers, k) / size
        with np.errstate(over="ignore"):  # an infinite spread is a density of 0
            within = np.sqrt(np.bincount(labels, (numbers - mean[labels]) ** 2, k) / size)
            overall = float(numbers.std())
        total += (float(size / n @ (1.0 / np.maximum(within, acuity))) - 1.0 / max(overall, acuity)) * DENSITY
    return total / k
