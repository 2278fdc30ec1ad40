"""The mixing weights: their prior under what is known, and the ways to update them.

Given that the constraints hold, labels are no longer drawn independently, so the weights that explain the
counts best are not the counts' shares. With a = log weights the step maximises

    sum_l N_l a_l - log Z(a),

where log Z is the log-probability of the constraints under the prior: a concave problem whose gradient is the
gap between the counts found and the counts that the prior expects. "joint" drops log Z, which is exact for
the joint likelihood of data and constraints. The pseudo-likelihood (chapter 3) treats cannot-links as if no
two shared a unit: here only as many are counted as truly share none, since counting them all can drive a
weight to zero.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from coterie._arrays import Floats, Index
from coterie.mixture._inference.choose import Inference, pieces_of
from coterie.mixture._inference.network import Network

# No weight falls below this: its logarithm would be lost for good.
LEAST_WEIGHT = 1e-10
# Counts added to every component, for where the best weights would be at the border.
_PSEUDO_COUNT = 1e-7
# A search for weights ends where the slope is so small, for each count, or after so many steps.
_FLAT, _MOST_STEPS = 1e-8, 50
# Step of a grid of weights, as in the chapter; most nodes of it, and units visited for all of them.
GRID_STEP, MOST_NODES, MOST_VISITS = 0.01, 200_000, 50_000_000
# Pieces up to this many units are looked up by their shape.
_SMALL_PIECE = 16


def _log_sum(values: Floats) -> float:
    """Log of the sum of exponentials; SciPy's takes longer than all else for a handful of numbers."""
    top = float(values.max())
    return top + float(np.log(np.exp(values - top).sum()))


def log_shares(counts: Floats) -> Floats:
    """Logarithms of counts as shares."""
    shares = np.maximum(counts / counts.sum(), LEAST_WEIGHT)
    return np.log(shares / shares.sum())


class Expected(NamedTuple):
    """Log Z of the prior, and the counts that it expects."""

    log_z: float
    counts: Floats


class Prior:
    """The prior of the labels, given that the constraints between unclamped units hold.

    Pieces of the network that look alike are worked out once. `n_free` is the number of items that no
    constraint names, `most_cells` as in `Inference`, `dropped` the couplings to leave out.
    """

    def __init__(self, network: Network, n_free: float, most_cells: int, dropped: Index) -> None:
        # a label is data like the items' features: what is clamped was drawn freely
        held = network.clamp >= 0
        self.n_free = n_free + float(network.exponent[held].sum())
        kept = np.asarray(~held[network.ends].any(axis=1))
        kept[dropped] = False
        ends, beta = network.ends[kept], network.beta[kept]
        alike = np.where(held, 0, _alike(network, ends, beta))
        units = np.flatnonzero(alike > 0)
        number = np.full(network.n_units, -1, dtype=np.int64)
        number[units] = np.arange(len(units))
        mine = alike[ends[:, 0]] > 0 if len(ends) else np.empty(0, dtype=bool)
        self.times: Floats = alike[units].astype(np.float64)
        self.network = Network(
            k=network.k,
            items=units,
            unit=np.arange(len(units)),
            flip=np.full(len(units), bool(network.flip.any())),
            n_units=len(units),
            ends=number[ends[mine]],
            beta=beta[mine],
            clamp=np.full(len(units), -1, dtype=np.int64),
            exponent=network.exponent[units],
            constant=0.0,
            held_constant=0.0,
        )
        self.constant = network.constant
        self.inference = Inference(self.network, most_cells=most_cells)
        self._last: tuple[Floats, Expected] = np.empty(0), Expected(0.0, np.empty(0))

    def expect(self, log_weights: Floats) -> Expected:
        """At unnormalised log weights; asked again for the last ones, it remembers."""
        if not np.array_equal(log_weights, self._last[0]):
            self._last = log_weights.copy(), self._expect(log_weights)
        return self._last[1]

    def _expect(self, log_weights: Floats) -> Expected:
        answer = self.inference.infer(self.network.prior(log_weights))
        assert answer.by_root is not None
        all_free = _log_sum(log_weights)
        counts = self.network.counts(answer.marginals * self.times[:, None])
        log_z = float(self.times @ answer.by_root) + self.n_free * all_free + self.constant
        return Expected(log_z, counts + self.n_free * np.exp(log_weights - all_free))


def _alike(network: Network, ends: Index, beta: Floats) -> Index:
    """How many pieces each unit's piece stands for: zero where another piece stands for it."""
    piece, n_units, _ = pieces_of(network.n_units, ends)
    by_unit = np.argsort(piece, kind="stable")
    starts = np.concatenate([[0], np.cumsum(n_units)])
    traits = np.column_stack([network.exponent, network.clamp])
    times = np.zeros(len(n_units), dtype=np.int64)
    # single units in one go
    single = np.flatnonzero(n_units == 1)
    if len(single):
        _, first, count = np.unique(
            traits[by_unit[starts[single]]], axis=0, return_index=True, return_counts=True
        )
        times[single[first]] = count
    by_edge = np.argsort(piece[ends[:, 0]], kind="stable") if len(ends) else np.empty(0, dtype=np.int64)
    edge_starts = np.searchsorted(piece[ends[by_edge, 0]], np.arange(len(n_units) + 1))
    degree = np.bincount(ends.ravel(), minlength=network.n_units)
    seen: dict[tuple[object, ...], int] = {}
    for p in np.flatnonzero(n_units > 1).tolist():
        if n_units[p] > _SMALL_PIECE:
            times[p] = 1
            continue
        units = by_unit[starts[p] : starts[p + 1]].tolist()
        units.sort(key=lambda u: (degree[u], *traits[u].tolist(), u))
        rank = {u: position for position, u in enumerate(units)}
        rows = by_edge[edge_starts[p] : edge_starts[p + 1]].tolist()
        links = sorted((*sorted((rank[ends[e, 0]], rank[ends[e, 1]])), beta[e]) for e in rows)
        key = (tuple(map(tuple, traits[units].tolist())), tuple(links))
        times[seen.setdefault(key, p)] += 1
    return times[piece]


class WeightSearch:
    """Finds the log weights that explain counts best under a prior, by BFGS; keeps the curvature for next."""

    def __init__(self, prior: Prior) -> None:
        self.prior = prior
        self._inverse: Floats | None = None  # of the curvature

    def best(self, counts: Floats, log_weights: Floats) -> Floats:
        """The best log weights; never worse than the ones given."""
        total, spare = counts.sum(), _PSEUDO_COUNT * len(counts)
        given = counts + _PSEUDO_COUNT

        def loss(a: Floats) -> tuple[float, Floats, Floats]:
            found = self.prior.expect(a)
            expected = found.counts + spare * np.exp(a)  # the weights sum to one
            return (found.log_z - given @ a) / total, (expected - given) / total, expected

        a = start = log_weights - _log_sum(log_weights)
        before, slope, expected = loss(a)
        value = before
        for _ in range(_MOST_STEPS):
            if (steepest := np.abs(slope).max()) < _FLAT:
                break
            # without couplings this step is exact, and it always leads down
            step = np.log(given / np.maximum(expected, _PSEUDO_COUNT))
            if self._inverse is not None and slope @ self._inverse @ slope > 0:
                step = -self._inverse @ slope
            for _ in range(_MOST_STEPS):
                new = a + step - _log_sum(a + step)
                new_value, new_slope, new_expected = loss(new)
                if new_value < value or np.abs(new_slope).max() < steepest:
                    break
                step = step / 2
            self._learn(new - a, new_slope - slope, total / np.maximum(expected, _PSEUDO_COUNT))
            a, value, slope, expected = new, new_value, new_slope, new_expected
        if a.min() < np.log(LEAST_WEIGHT):
            a = log_shares(np.exp(a))
            value = loss(a)[0]
        return a if value <= before else start

    def _learn(self, moved: Floats, change: Floats, free: Floats) -> None:
        """What the slope did over a step; at first the curvature is that of free items, scaled."""
        if (along := float(moved @ change)) > 0:
            if self._inverse is None:
                self._inverse = np.diag(free) * (along / (free @ change**2))
            left = np.eye(len(moved)) - np.outer(moved, change) / along
            self._inverse = left @ self._inverse @ left.T + np.outer(moved, moved) / along


class WeightGrid:
    """Log Z of the prior at all weights that are multiples of a step (chapter 4)."""

    def __init__(self, prior: Prior) -> None:
        k, parts = prior.network.k, round(1.0 / GRID_STEP)
        n_nodes = comb(parts + k - 1, k - 1)
        if n_nodes > MOST_NODES or n_nodes * prior.network.n_units > MOST_VISITS:
            raise ValueError(
                f"a grid of weights has {n_nodes:,} nodes for {k} components, each of which visits "
                f"{prior.network.n_units:,} units that differ; use weights_update='exact', which needs none."
            )
        bars = np.array(list(combinations(range(parts + k - 1), k - 1)), dtype=np.int64).reshape(-1, k - 1)
        edge = np.full((len(bars), 1), -1)
        shares = np.diff(np.hstack([edge, bars, edge + parts + k]), axis=1) - 1
        self.log_weights: Floats = np.log(np.maximum(shares / parts, LEAST_WEIGHT))
        self.log_z: Floats = np.array([prior.expect(a).log_z for a in self.log_weights])

    def best(self, counts: Floats) -> Floats:
        """The log weights of the node that explains the counts best; of equal ones the first."""
        return self.log_weights[np.argmax(self.log_weights @ counts - self.log_z)]


class JointWeights:
    """Shares of the counts: best for the joint likelihood of data and constraints."""

    kind = "joint"

    def start(self, log_weights: Floats) -> Floats:
        """Log weights before the first step."""
        return log_weights

    def update(self, counts: Floats, log_weights: Floats) -> Floats:
        """Log weights after the step."""
        return log_shares(counts)

    def log_z(self, log_weights: Floats) -> float:
        """Nothing is subtracted."""
        return 0.0


class FixedWeights(JointWeights):
    """Weights that stay as they are."""

    def update(self, counts: Floats, log_weights: Floats) -> Floats:
        """The weights as they were."""
        return log_weights


class UniformWeights(FixedWeights):
    """Weights that are all alike."""

    def start(self, log_weights: Floats) -> Floats:
        """All alike."""
        return np.full(len(log_weights), -np.log(len(log_weights)))


# Ways to update that need no prior, by their names.
PLAIN_WEIGHTS = {"joint": JointWeights, "fixed": FixedWeights, "uniform": UniformWeights}


class ExactWeights(JointWeights):
    """The weights that explain the counts best, given that the constraints of a prior hold."""

    kind = "conditional"

    def __init__(self, prior: Prior) -> None:
        self.prior, self.search = prior, WeightSearch(prior)

    def update(self, counts: Floats, log_weights: Floats) -> Floats:
        """Log weights after the step."""
        return self.search.best(counts, log_weights)

    def log_z(self, log_weights: Floats) -> float:
        """Log-probability of the constraints."""
        return self.prior.expect(log_weights).log_z


class GridWeights(ExactWeights):
    """The best weights of a grid (chapter 4)."""

    def __init__(self, prior: Prior) -> None:
        super().__init__(prior)
        self.grid = WeightGrid(prior)

    def update(self, counts: Floats, log_weights: Floats) -> Floats:
        """Log weights after the step."""
        return self.grid.best(counts)
