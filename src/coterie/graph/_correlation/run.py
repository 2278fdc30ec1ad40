"""One fit of correlation clustering: starts of an algorithm, the search behind it, small parts, the bound."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np

from coterie._arrays import Index
from coterie.base import Step
from coterie.constraints import Constraints
from coterie.exceptions import DeadEndError
from coterie.graph._correlation.fixed_number import best_of_k, into_k
from coterie.graph._correlation.packing import triple_packing
from coterie.graph._correlation.programs import solve_ilp, solve_lp
from coterie.graph._correlation.roundings import cautious, cgw, lp_pivot, pivot, region, trivial
from coterie.graph._correlation.search import improve_partition
from coterie.graph._correlation.signed_graph import SignedGraph
from coterie.graph._correlation.small_parts import best_small_parts
from coterie.graph._correlation.two_clusters import sdp_rounding, sdp_vectors, two

# Units up to which "auto" solves the linear program for the bound; above the second one start is made.
_LP_UNITS, _ONE_START_ABOVE, _STARTS = 100, 20_000, 10
# What each algorithm promises for complete input of weights 1 and -1; for attractions and repulsions that add
# up to 1; without hard constraints.
_COMPLETE = {"pivot": 3.0, "lp-pivot": 2.5, "cgw": 4.0, "cautious": 9.0 * (44.0**2 + 1.0)}
_PROBABILITIES = {"pivot": 5.0, "lp-pivot": 2.5}
_AGREEMENTS = {"trivial": 0.5, "sdp": 0.7664}
# Draws of hyperplanes.
_DRAWS = 100
# Algorithms that chance plays a part in.
_RANDOM = {"auto", "local", "exact", "pivot", "cgw", "lp-pivot"}


class Ended(NamedTuple):
    """Where a start ended: labels of units, what they cost, the costs on the way, and whether it was done."""

    label: Index
    objective: float
    history: list[float]
    converged: bool


class Run:
    """A fit, by the parameters of the estimator."""

    def __init__(self, model: Any, graph: SignedGraph, hard: Constraints, rng: Any, begin: float) -> None:
        self._model, self._graph, self._hard, self._rng = model, graph, hard, rng
        limit = model.time_limit
        self._until = math.inf if limit is None else begin + limit
        self._lp: Any = None
        self._bound: float | None = None  # of the integer program
        self._proven = False  # or the time was over
        self._small: Any = []  # what small parts cost at best, and the units of the others
        self._algorithm, self._k = model.algorithm, model.n_clusters
        starts = 1 if graph.n > _ONE_START_ABOVE else _STARTS
        starts = starts if model.n_init == "auto" else model.n_init
        self.n_starts = starts if self._algorithm in _RANDOM else 1

    def start(self, number: int, step: Step) -> Ended:
        """The algorithm once, and the search behind it."""
        graph, rng, model = self._graph, self._rng, self._model
        if number and time.monotonic() > self._until:
            raise DeadEndError("the time was over before a start found labels; raise time_limit.")
        label = self._own_answer(number)
        cost, converged = graph.cost(label), True
        history = [cost]

        def after_a_pass(cost: float) -> bool:
            nonlocal converged
            history.append(cost)
            converged = not (step(cost) or time.monotonic() > self._until)
            return not converged

        if self._algorithm in ("auto", "local") or model.refine:
            label, cost = improve_partition(graph.level, label, rng, model.tol, cost, after_a_pass)
        if self._k is not None:
            begin = self._exactly(label)
            label = best_of_k(graph.level, begin, self._k, rng)[0]
            history = [graph.cost(begin), graph.cost(label)]
        return Ended(label, graph.cost(label), history, converged)

    def _own_answer(self, number: int) -> Index:
        graph, rng = self._graph, self._rng
        if self._algorithm in ("auto", "local", "exact"):
            # pivots are near to large groups that noise hides from single units; the second start is these
            return np.arange(graph.n) if number == 1 else pivot(graph, rng.permutation(graph.n))
        if self._algorithm == "pivot":
            return pivot(graph, rng.permutation(graph.n))
        if self._algorithm in ("region", "cgw", "lp-pivot"):
            self._lp = solve_lp(graph) if self._lp is None else self._lp
            if self._algorithm == "region":
                return region(graph, self._lp.x)
            if self._algorithm == "cgw":
                return cgw(graph, self._lp.x, rng.permutation(graph.n))
            return lp_pivot(graph, self._lp.x, rng)
        if self._algorithm == "sdp":
            return sdp_rounding(graph, sdp_vectors(graph), rng, _DRAWS)
        if self._algorithm == "two":
            return two(graph, rng)
        return {"trivial": trivial, "cautious": cautious}[self._algorithm](graph)

    def _exactly(self, label: Index) -> Index:
        """Labels with the number of clusters that was asked for."""
        found = into_k(self._graph.level, label, self._k)
        if found is None:
            # the clusters leave no room for some unit: begin at labels that are known to be legal
            witness = self._hard.check(self._k).witness
            if witness is None:
                raise DeadEndError(
                    f"no {self._k} clusters that keep what must hold were found; raise n_init, or take "
                    'algorithm="exact".'
                )
            first = np.unique(self._graph.unit, return_index=True)[1]
            found = np.unique(np.asarray(witness)[first], return_inverse=True)[1]
            found = into_k(self._graph.level, found, self._k)
            assert found is not None  # a witness has no more clusters than asked for
        return found

    def finish(self, best: Ended) -> Ended:
        """Small parts and integer programs, beginning with the best start."""
        graph, label = self._graph, best.label
        if self._algorithm in ("auto", "exact") and self._k is None:
            label, *self._small = best_small_parts(graph, label)
        if self._algorithm == "exact":
            left = None if math.isinf(self._until) else max(1.0, self._until - time.monotonic())
            cost, rest = self._small or (0.0, np.arange(graph.n))
            found = solve_ilp(graph.only(rest), label[rest], n_clusters=self._k, time_limit=left)
            label[rest] = 2 * graph.n + found.label
            self._bound, self._proven = cost + found.bound, found.proven
        cost = graph.cost(label)
        if cost < best.objective:
            best = best._replace(label=label, objective=cost, history=[*best.history, cost])
        return best

    def bound(self, best: Ended) -> tuple[str | None, float]:
        """A lower bound on the cost of the graph, and how it was found."""
        wanted, graph = self._model.bound, self._graph

        def named(name: str, value: float, rounding: float = 1e-9) -> tuple[str, float]:
            return ("exact" if value >= best.objective * (1.0 - rounding) else name), value

        if wanted is None:
            return None, 0.0
        if self._bound is not None:
            return named("lp", self._bound)
        if wanted == "pairs":
            return "pairs", 0.0
        cost, rest = self._small or best_small_parts(graph, best.label)[1:]
        if not len(rest):
            return named("lp", cost)
        others, weight = graph.only(rest), graph.edges[2]
        largest = np.bincount(others.part).max()
        # beside weights far above the cost the value of a program is not exact enough
        solved = self._lp is not None and np.abs(weight[np.isfinite(weight)]).max() <= 1e3 * best.objective
        if wanted == "lp" or (wanted == "auto" and (solved or largest <= _LP_UNITS)):
            value = self._lp.value if solved else cost + solve_lp(others, cut=best.objective).value
            return named("lp", value, rounding=1e-6)
        return "packing", cost + triple_packing(others, self._rng)

    def guarantee(self, advice: Any, soft: bool) -> float | None:
        """The factor that the algorithm promises for such input."""
        if self._k is not None or soft:
            return None
        if self._algorithm == "exact":
            return 1.0 if self._proven else None
        if self._algorithm == "region":
            return 4.0 * math.log(self._graph.n + 1.0) + 1.0
        if self._hard:
            return None
        if self._algorithm in _AGREEMENTS:
            return _AGREEMENTS[self._algorithm]
        n = advice.net.shape[0]
        all_listed = advice.net.nnz == n * (n - 1)
        if (all_listed or advice.default == -1) and (np.abs(advice.net.data) == 1).all():
            return _COMPLETE.get(self._algorithm)
        if all_listed and advice.sums_to_one:
            return _PROBABILITIES.get(self._algorithm)
        return None
