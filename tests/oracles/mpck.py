"""Slow, obvious MPCK-means: the objective pair by pair, and the metric that is best for given labels.

Written from the definition (Bilenko, Basu and Mooney 2004), with the box of the data in place of its farthest
pair. Metrics are always d x d matrices here, one for each cluster; `matrices` makes them out of what a model
stores.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from tests.oracles import kmeans as plain
from tests.oracles.kmeans import Said, dense, is_broken

FLOOR = 1e-9  # least variance of a direction, as a share of its squared range


def weights(X, sample_weight=None) -> np.ndarray:
    return np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=float)


# ---- what the data say --------------------------------------------------------------------------------


def covariance(X, sample_weight=None) -> np.ndarray:
    """Spread of all items about their mean, divided by their weight."""
    X, w = dense(X), weights(X, sample_weight)
    middle = w @ X / w.sum()
    return sum(w[i] * np.outer(x - middle, x - middle) for i, x in enumerate(X)) / w.sum()


def first_weight(X, sample_weight=None) -> float:
    """What every feature weighs at the start: the squared distances to the mean then add up to n d."""
    spread = float(np.trace(covariance(X, sample_weight)))
    return X.shape[1] / spread if spread > 0 else 1.0


def axes(X, learn: str, sample_weight=None) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (columns) along which a metric is bounded, and the range of the data in each.

    The features; for a full metric, the principal axes of the features in units of their ranges.
    """
    X = dense(X)
    turn = np.eye(X.shape[1])
    if learn == "full":
        scale = np.ptp(X, axis=0)
        scale[scale == 0] = first_weight(X, sample_weight) ** -0.5
        turn = np.linalg.eigh(covariance(X / scale, sample_weight))[1] / scale[:, None]
    reach = np.ptp((X - X.mean(axis=0)) @ turn, axis=0)
    if learn == "full":
        reach[reach <= 1e-7 * max(float(reach.max()), 1.0)] = 0.0  # rounding
    else:
        reach = np.ptp(X, axis=0)
    return turn, reach


def box(X, learn: str, sample_weight=None) -> np.ndarray:
    """The matrix B for which <B, A> bounds the squared distance of every two items under the metric A.

    For a diagonal A the ranges do. A full A can make two items farther apart than a box of ranges is long:
    it is blown up until the ellipsoid that fits into it holds every item.
    """
    turn, reach = axes(X, learn, sample_weight)
    if learn != "full":
        return np.diag(reach**2)
    along = (dense(X) - dense(X).mean(axis=0)) @ turn
    middle = (along.max(axis=0) + along.min(axis=0)) / 2
    wide = reach > 0
    if not wide.any():
        return np.zeros((len(reach), len(reach)))
    norms = (((along - middle)[:, wide] / reach[wide]) ** 2).sum(axis=1)
    back = np.linalg.inv(turn)
    return max(1.0, 4.0 * float(norms.max())) * back.T @ np.diag(reach**2) @ back


def matrices(metric, k: int, *, learn: str, per_cluster: bool) -> list[np.ndarray]:
    """One matrix for each cluster out of (d,), (d, d), (k, d) or (k, d, d)."""
    metric = np.asarray(metric, dtype=float)
    each = list(metric) if per_cluster else [metric] * k
    assert len(each) == k
    found = [one if learn == "full" else np.diag(one) for one in each]
    assert all(one.ndim == 2 and one.shape[0] == one.shape[1] for one in found)
    return found


# ---- the objective ------------------------------------------------------------------------------------


def squared(v: np.ndarray, A: np.ndarray) -> float:
    return float(v @ A @ v)


def logdet(A: np.ndarray) -> float:
    sign, value = np.linalg.slogdet(A)
    assert sign > 0, "a metric must be positive definite"
    return float(value)


def pair_cost(X, s: Said, labels: Sequence[int], metrics: list[np.ndarray], bound: np.ndarray) -> float:
    """What a broken pair of strength 1 costs."""
    gap, g, h = X[s.i] - X[s.j], labels[s.i], labels[s.j]
    if s.together:
        return (squared(gap, metrics[g]) + squared(gap, metrics[h])) / 2
    return float((bound * metrics[g]).sum()) - squared(gap, metrics[g])


def parts(
    X,
    labels: Sequence[int],
    centres,
    metrics: list[np.ndarray],
    said: Sequence[Said] = (),
    *,
    weight: float = 1.0,
    learn: str = "diagonal",
    per_cluster: bool = False,
    shrinkage: float = 0.0,
    sample_weight=None,
) -> dict[str, float]:
    """The four parts of the objective; pairs that are hard cost nothing."""
    X, centres, w = dense(X), dense(centres), weights(X, sample_weight)
    labels = [int(h) for h in labels]
    bound = box(X, learn, sample_weight)
    broken = [s for s in said if not s.hard and is_broken(labels, s)]

    def priced(together: bool) -> float:
        return weight * math.fsum(
            s.strength * pair_cost(X, s, labels, metrics, bound) for s in broken if s.together == together
        )

    spread = covariance(X, sample_weight)
    spread = spread if learn == "full" else np.diag(np.diag(spread))
    kept = metrics if per_cluster else metrics[:1]
    prior = math.fsum(float((spread * A).sum()) - logdet(A) for A in kept)
    return {
        "distortion": math.fsum(
            w[i] * squared(X[i] - centres[h], metrics[h]) for i, h in enumerate(labels) if w[i]
        ),
        "must_link": priced(True),
        "cannot_link": priced(False),
        "metric": shrinkage * prior - math.fsum(w[i] * logdet(metrics[h]) for i, h in enumerate(labels)),
    }


def objective(*args, **kwargs) -> float:
    return math.fsum(parts(*args, **kwargs).values())


# ---- the metric that is best for given labels and centres ---------------------------------------------


def evidence(
    X, labels, centres, said: Sequence[Said], h: int | None, *, weight, learn, shrinkage, sample_weight=None
) -> tuple[np.ndarray, float]:
    """Sum of outer products and count of a cluster (None: of all): the best metric is count / sum."""
    X, centres, w = dense(X), dense(centres), weights(X, sample_weight)
    total, count = shrinkage * covariance(X, sample_weight), float(shrinkage)
    bound = box(X, learn, sample_weight)
    for i, g in enumerate(labels):
        if h is None or g == h:
            total = total + w[i] * np.outer(X[i] - centres[g], X[i] - centres[g])
            count += w[i]
    for s in said:
        if s.hard or not is_broken(labels, s):
            continue
        outer = np.outer(X[s.i] - X[s.j], X[s.i] - X[s.j])
        if s.together:
            share = 1.0 if h is None else ((labels[s.i] == h) + (labels[s.j] == h)) / 2
            total = total + weight * s.strength * share * outer
        elif h is None or labels[s.i] == h:
            total = total + weight * s.strength * (bound - outer)
    return total, count


def invert(
    total: np.ndarray, count: float, X, *, learn: str, first: float, sample_weight=None
) -> tuple[np.ndarray, int]:
    """count / total with the floor along the axes, and the number of directions at the floor.

    Directions in which the data have no extent keep the weight of the start, and count as floored.
    """
    turn, reach = axes(X, learn, sample_weight)
    wide = reach > 0
    scaled = (turn[:, wide] / reach[wide]).T @ (total / count) @ (turn[:, wide] / reach[wide])
    if learn == "full":
        values, vectors = np.linalg.eigh(scaled)
    else:
        values, vectors = np.diag(scaled), np.eye(int(wide.sum()))
    low = values < FLOOR
    values = np.where(low, FLOOR, values)
    back = (turn[:, wide] / reach[wide]) @ vectors
    flat = turn[:, ~wide] / np.linalg.norm(turn[:, ~wide], axis=0)
    return (back / values) @ back.T + first * flat @ flat.T, int(low.sum() + (~wide).sum())


def best_metrics(
    X,
    labels: Sequence[int],
    centres,
    said: Sequence[Said] = (),
    *,
    weight: float = 1.0,
    learn: str = "diagonal",
    per_cluster: bool = False,
    shrinkage: float = 0.0,
    sample_weight=None,
) -> tuple[list[np.ndarray], int]:
    """The metric of each cluster at which the objective is least, and the number of floored directions."""
    k = len(centres)
    first = first_weight(X, sample_weight)
    found, floored = [], 0
    for h in range(k) if per_cluster else [None]:
        total, count = evidence(
            X,
            labels,
            centres,
            said,
            h,
            weight=weight,
            learn=learn,
            shrinkage=shrinkage,
            sample_weight=sample_weight,
        )
        A, low = invert(total, count, X, learn=learn, first=first, sample_weight=sample_weight)
        found.append(A)
        floored += low
    return found if per_cluster else found * k, floored


# ---- slopes and searches ------------------------------------------------------------------------------


def slope(value: Callable[[np.ndarray], float], at: np.ndarray, *, symmetric: bool = False) -> np.ndarray:
    """Central differences; a symmetric matrix is moved in both halves at once."""
    at = np.asarray(at, dtype=float)
    found = np.zeros_like(at)
    for where in np.ndindex(at.shape):
        step = 1e-6 * max(abs(float(at[where])), 1e-3 * float(np.abs(at).max()))
        move = np.zeros_like(at)
        move[where] += step
        if symmetric and where[0] != where[1]:
            move[where[::-1]] += step
        found[where] = (value(at + move) - value(at - move)) / (2 * step)
    return found


def best_labels(
    n: int, k: int, said: Sequence[Said], value: Callable[[list[int]], float]
) -> tuple[float, list[int]]:
    """The labelling of least objective among all that meet what is hard."""
    fine = (list(map(int, row)) for row in plain.all_labellings(n, k))
    return min((value(labels), labels) for labels in fine if plain.obeys_hard(labels, said))


def best_move(
    labels: Sequence[int], k: int, said: Sequence[Said], value: Callable[[list[int]], float]
) -> float:
    """What the best move of one item (with its hard must-links) would gain; 0 if none does."""
    now = value(list(labels))
    units = plain.parts(len(labels), said, hard_only=True)
    moves = (m for m in plain.single_moves(labels, units, k) if plain.obeys_hard(m, said))
    return max((now - value(m) for m in moves), default=0.0)
