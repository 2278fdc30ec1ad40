"""`sample_size`: how many items to draw so that every cluster is in the sample often enough."""

from __future__ import annotations

import math
from typing import Literal

from scipy.optimize import brentq
from scipy.stats import nbinom

from coterie.base import one_of, real, whole
from coterie.exceptions import ParameterError


def sample_size(
    n_clusters: int,
    *,
    per_cluster: int = 50,
    partition_floor: float | None = None,
    confidence: float = 0.99,
    bound: Literal["binomial", "book"] = "binomial",
) -> int:
    """Number of draws after which every cluster was met `per_cluster` times, with the given confidence.

    It does not depend on the number of items: clusters are found in a sample, and the others then follow.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    per_cluster : int, default 50
        How often each is to be met, s.
    partition_floor : float, optional
        The smallest cluster has at least one in so many of all items: l, at least k. None: k, as if all
        clusters were of one size.
    confidence : float, default 0.99
        Probability that no cluster is met less often, between 0 and 1.
    bound : {"binomial", "book"}
        "binomial": the smallest n with k P[Bin(n, 1/l) < s] <= 1 - confidence. "book": n = y s l with
        k (4 y exp(-y))^s = 1 - confidence, which is up to twice as much.

    Returns
    -------
    int
        The number of draws; drawing without replacement needs no more.

    References
    ----------
    Banerjee and Ghosh, chapter 8 of Constrained Clustering, table 8.1.

    Examples
    --------
    >>> from coterie.kmeans import sample_size
    >>> sample_size(10), sample_size(10, confidence=0.9999, bound="book")
    (735, 1277)
    """
    floor = n_clusters if partition_floor is None else partition_floor
    for name, value, rule in (
        ("n_clusters", n_clusters, whole(1)),
        ("per_cluster", per_cluster, whole(1)),
        ("confidence", confidence, real(0.0, 1.0)),
        ("partition_floor", floor, real()),
        ("bound", bound, one_of("binomial", "book")),
    ):
        if not rule.holds(value):
            raise ParameterError(f"{name} must be {rule.words}; got {value!r}.", name)
    if confidence in (0.0, 1.0):
        raise ParameterError(f"confidence must be between 0 and 1; got {confidence!r}.", "confidence")
    if floor < n_clusters:
        message = f"partition_floor is {floor}, but the smallest of {n_clusters} clusters has at most one in "
        raise ParameterError(f"{message}{n_clusters} items; give {n_clusters} or more.", "partition_floor")
    if bound == "book":
        # with y = c ln k and k^-delta = 1 - confidence; of the two roots the one above 1
        wanted_log = math.log(n_clusters / (1.0 - confidence)) / per_cluster
        draws = brentq(lambda y: y - math.log(4.0 * y) - wanted_log, 1.0, 8.0 + 2.0 * wanted_log)
        return round(draws * per_cluster * floor)
    # the last of the draws that are to be met comes after so many others, by the negative binomial
    return per_cluster + int(nbinom.isf((1.0 - confidence) / n_clusters, per_cluster, 1.0 / floor))
