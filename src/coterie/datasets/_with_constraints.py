"""Small data that come with their constraints: the example of Figure 1.1, and random blobs.

Both are made in memory, at a cost linear in the items and pairs. The figure is from S. Basu, I. Davidson
and K. Wagstaff, "Constrained Clustering", 2008, chapter 1.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.utils import Bunch, check_random_state

from coterie.constraints import Constraints


def load_height_weight() -> Bunch:
    """Load the twelve people of Figure 1.1: by weight or by height, the constraints decide.

    Four groups of three stand at the corners of a rectangle that is longer in weight. Without constraints
    the best two clusters are the light and the heavy. Two must-links and a cannot-link ask for the
    short and the tall instead.

    Returns
    -------
    Bunch
        With the keys ``data`` of shape (12, 2), ``feature_names``, ``constraints``, ``target_by_weight``
        (the best split without constraints), ``target_by_height`` (the best split with them) and ``DESCR``.

    Examples
    --------
    >>> from coterie.datasets import load_height_weight
    >>> people = load_height_weight()
    >>> people.constraints.must_link.tolist(), people.constraints.cannot_link.tolist()
    ([[0, 3], [6, 9]], [[0, 6]])
    """
    corners = np.array([[0.0, 0.0], [0.0, 3.2], [3.0, 0.0], [3.0, 3.2]])
    offsets = np.array([[0.0, 0.0], [0.3, 0.0], [0.0, 0.3]])
    return Bunch(
        data=(corners[:, None] + offsets).reshape(12, 2),
        feature_names=["height", "weight"],
        constraints=Constraints(must_link=[(0, 3), (6, 9)], cannot_link=[(0, 6)], n_items=12),
        target_by_weight=np.repeat([0, 1, 0, 1], 3),
        target_by_height=np.repeat([0, 0, 1, 1], 3),
        DESCR="Height and weight of 12 people, in arbitrary units, with three constraints. "
        "Source: after Figure 1.1 of Basu, Davidson and Wagstaff, Constrained Clustering, 2008.",
    )


def make_constrained_blobs(
    n_samples: int = 300,
    n_features: int = 2,
    n_clusters: int = 3,
    *,
    n_pairs: int = 60,
    noise: float = 0.0,
    cluster_std: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Make round clusters of points, and random pairs with what is known about them.

    Parameters
    ----------
    n_samples : int, default=300
        Number of points, spread evenly over the clusters.
    n_features : int, default=2
        Number of features.
    n_clusters : int, default=3
        Number of clusters.
    n_pairs : int, default=60
        Number of random pairs, must-link or cannot-link by the true clusters.
    noise : float, default=0.0
        Share of the pairs that state the opposite of the truth.
    cluster_std : float, default=1.0
        Standard deviation of each cluster.
    random_state : int, RandomState or None, default=None
        Seed of both the points and the pairs.

    Returns
    -------
    Bunch
        With the keys ``data``, ``target``, ``constraints`` and ``DESCR``.

    Examples
    --------
    >>> from coterie.datasets import make_constrained_blobs
    >>> blobs = make_constrained_blobs(n_samples=100, n_pairs=20, random_state=0)
    >>> blobs.data.shape, blobs.constraints.n_pairs
    ((100, 2), 20)
    """
    random = check_random_state(random_state)
    data, target = make_blobs(
        n_samples, n_features, centers=n_clusters, cluster_std=cluster_std, random_state=random
    )
    # A seed of its own: the same seed for points and pairs would tie one to the other.
    seed = int(random.randint(np.iinfo(np.int32).max))
    constraints = Constraints.sample(target, n_pairs=n_pairs, noise=noise, random_state=seed)
    return Bunch(
        data=data,
        target=target,
        constraints=constraints,
        DESCR=f"{n_samples} points in {n_clusters} Gaussian clusters, {n_pairs} random pairs. Source: made.",
    )
