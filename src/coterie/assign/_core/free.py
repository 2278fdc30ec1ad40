"""`free`: every item to its nearest centre; items do not act on each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from coterie.assign._core.assignment import Assignment
from coterie.base import check_sample_weight
from coterie.distortion import DISTORTIONS, distortion_named


def free(X: Any, centers: Any, *, metric: str = "sqeuclidean", sample_weight: Any = None) -> Assignment:
    """Give every row the nearest centre.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The items; float32 stays float32, CSR stays sparse.
    centers : array of shape (k, d)
        The centres.
    metric : {"sqeuclidean", "cosine"}
        The cost of an item: squared distance, or one minus the cosine.
    sample_weight : array of shape (n,), optional
        Weights of the items in `cost`.

    Returns
    -------
    Assignment
        Ties go to the lower cluster.

    Notes
    -----
    Time O(n k d) in blocks of matrix products, threaded; memory O(n) beside X.

    Examples
    --------
    >>> from coterie.assign import free
    >>> found = free([[0.0], [1.0], [9.0]], [[0.0], [10.0]])
    >>> found.labels, found.cost
    (array([0, 0, 1], dtype=int32), 2.0)
    """
    if metric not in DISTORTIONS:
        raise ValueError(f"metric must be one of {', '.join(map(repr, DISTORTIONS))}; got {metric!r}.")
    data = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name="X")
    middle = check_array(centers, dtype=np.float64, input_name="centers")
    if middle.shape[1] != data.shape[1]:
        raise ValueError(f"centers has {middle.shape[1]} features, but X has {data.shape[1]}.")
    weight = check_sample_weight(sample_weight, data)
    distortion = distortion_named(metric)(data, weight)
    middle = distortion.validated_centres(middle)
    labels = distortion.nearest(middle)
    return Assignment(labels, float(distortion.cost_to_assigned(labels, middle).sum()), optimal=True)
