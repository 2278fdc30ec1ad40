"""`sample_size`: how many items to draw so that every cluster is in the sample often enough."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Literal

from scipy.optimize import brentq
from scipy.special import bdtr

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
    _require(_is_whole(n_clusters) and n_clusters >= 1, "n_clusters", "a whole number from 1", n_clusters)
    _require(_is_whole(per_cluster) and per_cluster >= 1, "per_cluster", "a whole number from 1", per_cluster)
    floor = n_clusters if partition_floor is None else partition_floor
    wanted = f"a number from n_clusters={n_clusters} on"
    _require(_is_real(floor) and n_clusters <= floor < math.inf, "partition_floor", wanted, floor)
    _require(_is_real(confidence) and 0 < confidence < 1, "confidence", "between 0 and 1", confidence)
    _require(bound in ("binomial", "book"), "bound", "'binomial' or 'book'", bound)
    if bound == "book":
        # with y = c ln k and k^-delta = 1 - confidence; of the two roots the one above 1
        wanted_log = math.log(n_clusters / (1.0 - confidence)) / per_cluster
        draws = brentq(lambda y: y - math.log(4.0 * y) - wanted_log, 1.0, 8.0 + 2.0 * wanted_log)
        return round(draws * per_cluster * floor)

    def enough(n: int) -> bool:
        return bool(n_clusters * bdtr(per_cluster - 1, n, 1.0 / floor) <= 1.0 - confidence)

    high = per_cluster
    while not enough(high):
        high *= 2
    low = max(high // 2, per_cluster - 1)  # not enough, or fewer draws than are to be met
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _require(fine: bool, name: str, wanted: str, value: Any) -> None:
    if not fine:
        raise ParameterError(f"{name} must be {wanted}; got {value!r}.", name)
