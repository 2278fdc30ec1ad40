"""Slow, obvious CVQE and LCVQE: prices pair by pair, all labellings, the paper's passes literally."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from tests.oracles.kmeans import Said, dense, obeys_hard


def square(a, b) -> float:
    """Squared distance."""
    return float(((np.asarray(a, dtype=float) - np.asarray(b, dtype=float)) ** 2).sum())


def nearest_but(point, centres, h: int) -> int | None:
    """The centre nearest to a point, h left out; None where there is no other."""
    others = [g for g in range(len(centres)) if g != h]
    return min(others, key=lambda g: square(point, centres[g])) if others else None


def astray(X, s: Said, centres, h: int) -> tuple[int, int] | None:
    """The end farther from centre h, and the next centre; of two as far, to seven digits, the cheaper."""
    if len(centres) == 1:
        return None
    ends = [(r, nearest_but(X[r], centres, h)) for r in (s.i, s.j)]
    far = [square(X[r], centres[h]) for r, _ in ends]
    if abs(far[0] - far[1]) <= 1e-7 * max(far):
        return min(ends, key=lambda end: square(X[end[0]], centres[end[1]]))
    return ends[int(far[1] > far[0])]


def pulls(X, labels, centres, said: Iterable[Said], form: str) -> list[tuple[float, tuple, int]]:
    """What broken soft pairs pay: a factor, from where (a point or a centre), to which centre."""
    found = []
    for s in said:
        a, b = labels[s.i], labels[s.j]
        if s.hard or (a == b) == s.together:
            continue
        if s.together and form == "linear":
            found += [(0.25 * s.strength, ("x", s.i), b), (0.25 * s.strength, ("x", s.j), a)]
        elif s.together:
            found.append((0.5 * s.strength, ("c", a), b))
        elif form == "linear":
            end = astray(X, s, centres, a)
            if end is not None:
                found.append((0.5 * s.strength, ("x", end[0]), end[1]))
        else:
            n = nearest_but(centres[a], centres, a)
            if n is not None:
                found.append((0.5 * s.strength, ("c", a), n))
    return found


def frozen_objective(X, labels, centres, parts, sample_weight=None) -> float:
    """The objective with all choices made: labels, and from where to where broken pairs pull."""
    X = dense(X)
    w = np.ones(len(X)) if sample_weight is None else sample_weight
    own = sum(0.5 * w[i] * square(X[i], centres[h]) for i, h in enumerate(labels))
    place = {"x": X, "c": centres}
    return own + sum(f * square(place[kind][at], centres[n]) for f, (kind, at), n in parts)


def objective(X, labels, centres, said: Sequence[Said], form: str, sample_weight=None) -> float:
    """By its definition."""
    X = dense(X)
    return frozen_objective(X, labels, centres, pulls(X, labels, centres, said, form), sample_weight)


def best_labels(X, centres, said: Sequence[Said], form: str, sample_weight=None) -> float:
    """The least objective of all labellings that obey what is hard, the centres as they are."""
    every = itertools.product(range(len(centres)), repeat=len(X))
    return min(
        objective(X, labels, centres, said, form, sample_weight)
        for labels in every
        if obeys_hard(labels, said)
    )


def lcvqe_pass(X, centres, must, cannot) -> tuple[list[int], np.ndarray]:
    """One pass as Pelleg and Baras print it: the pairs one by one, each sees what the last one left.

    Returns the labels and the new centres.
    """
    k = len(centres)
    D = np.array([[square(x, c) for c in centres] for x in X])
    labels = D.argmin(axis=1).tolist()
    half: list[list[int]] = [[] for _ in range(k)]
    whole: list[list[int]] = [[] for _ in range(k)]
    for x, y in must:
        a, b = labels[x], labels[y]
        if a == b:
            continue
        keep = 0.5 * (D[x, a] + D[y, b]) + 0.25 * (D[x, b] + D[y, a])
        to_a, to_b = 0.5 * (D[x, a] + D[y, a]), 0.5 * (D[x, b] + D[y, b])
        least = min(keep, to_a, to_b)
        if least == keep:
            half[b].append(x)
            half[a].append(y)
        else:
            labels[x] = labels[y] = a if least == to_a else b
    for x, y in cannot:
        a = labels[x]
        if a != labels[y]:
            continue
        r = y if D[y, a] > D[x, a] else x
        stays = x if r == y else y
        n = min((g for g in range(k) if g != a), key=lambda g: D[r, g])
        if 0.5 * (D[x, a] + D[y, a] + D[r, n]) < 0.5 * (D[stays, a] + D[r, n]):
            whole[n].append(r)
        else:
            labels[r] = n
    new = np.array(centres, dtype=float)
    for h in range(k):
        members = [i for i, label in enumerate(labels) if label == h]
        mass = len(members) + 0.5 * len(half[h]) + len(whole[h])
        if mass:
            new[h] = (X[members].sum(0) + 0.5 * X[half[h]].sum(0) + X[whole[h]].sum(0)) / mass
    return labels, new


def lcvqe(X, centres, must, cannot, max_iter: int = 100) -> tuple[list[int], np.ndarray]:
    """Passes until the labels stay."""
    labels: list[int] = []
    for _ in range(max_iter):
        before = labels
        labels, centres = lcvqe_pass(X, centres, must, cannot)
        if labels == before:
            break
    return labels, centres


def best_centres(X, labels, centres, parts, sample_weight=None) -> np.ndarray:
    """The minimiser of `frozen_objective`, from its gradient: a linear system over all centres."""
    X = dense(X)
    k = len(centres)
    w = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    system, right = np.zeros((k, k)), np.zeros((k, X.shape[1]))
    for i, h in enumerate(labels):
        system[h, h] += w[i]
        right[h] += w[i] * X[i]
    for factor, (kind, at), n in parts:
        system[n, n] += 2 * factor
        if kind == "x":
            right[n] += 2 * factor * X[at]
        else:
            system[at, at] += 2 * factor
            system[at, n] -= 2 * factor
            system[n, at] -= 2 * factor
    return np.linalg.solve(system, right)
