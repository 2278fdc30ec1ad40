"""Which inference answers for which connected component of the constraint graph, and why.

Units without couplings are independent. Pieces that are trees (pairs among them) and pieces narrow enough
for a junction tree are answered exactly. For the rest the caller says what to do: a spanning tree that drops
couplings, mean field, or sampling. No piece ever costs more than the cells that were allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from coterie._arrays import Floats, Index
from coterie._words import count_of
from coterie.mixture._inference.answer import Answer, PieceSolver, normalise
from coterie.mixture._inference.elimination import Steps, eliminate
from coterie.mixture._inference.forest import Forest
from coterie.mixture._inference.junction import JunctionTree
from coterie.mixture._inference.network import Network

Kind = Literal["exact", "bound", "estimate"]
Exact = Literal["all", "forbidden", "none"]
MakeSolver = Callable[[int, int, Index, Floats], PieceSolver]

_REST_WORDS = {
    "spanning-tree": "a spanning tree of the couplings stands in there, and the others are dropped",
    "mean-field": "mean field answers there",
    "gibbs": "samples answer there",
}


@dataclass(frozen=True)
class InferenceAccount:
    """How the labels were inferred, and why.

    Attributes
    ----------
    method : str
        "independent", "exact", or with " + " what answered for pieces that are too wide.
    reason : str
        Why, in words.
    kind : {"exact", "bound", "estimate"}
        What the log-likelihood is.
    n_units : int
        Units of items that share a label, free items not counted.
    n_couplings : int
        Couplings between them.
    n_trees, n_narrow, n_wide : int
        Connected pieces: trees (pairs among them), those with circles that a junction tree answers, others.
    n_cells : int
        Cells in the tables of the junction tree.
    n_dropped : int
        Couplings that were dropped.
    sampling : str
        Account of the samples, where there are any.
    """

    method: str
    reason: str
    kind: Kind
    n_units: int
    n_couplings: int
    n_trees: int
    n_narrow: int
    n_wide: int
    n_cells: int
    n_dropped: int
    sampling: str = ""

    def __str__(self) -> str:
        message = f"{self.method}: {self.reason}."
        return f"{message} {self.sampling}." if self.sampling else message


class _Piece(NamedTuple):
    """A part of the inference: who answers for which units and couplings."""

    solver: PieceSolver
    units: Index
    edges: Index


class Inference:
    """Infers the labels of a network.

    Parameters
    ----------
    network : Network
        Units and couplings.
    rest : str
        Inference for pieces too wide to be exact: "spanning-tree", "mean-field", "gibbs" or "error".
    exact : {"all", "forbidden", "none"}
        Which pieces are answered exactly where possible: all, those with forbidden couplings (a sampler may
        not find its way through these), or none. `rest` answers for the others that have couplings.
    most_cells : int
        Cells that the tables of exact inference may have, all together.
    make : callable, optional
        Makes the solver of the rest from the number of units, of labels, the couplings and their worth.
    potential : array of shape (n_units, k), optional
        First potentials of the units: the spanning tree keeps the couplings that matter most under them.
    """

    def __init__(
        self,
        network: Network,
        *,
        rest: str = "error",
        exact: Exact = "all",
        most_cells: int = 200_000,
        make: MakeSolver | None = None,
        potential: Floats | None = None,
    ) -> None:
        self.network = network
        self._absorb()
        loose = np.flatnonzero(self._role == 0)
        ends = network.ends[loose]
        piece, n_units, n_edges = pieces_of(network.n_units, ends)
        has_edges = n_edges > 0
        of_edge = piece[ends[:, 0]] if len(ends) else np.empty(0, dtype=np.int64)
        asked = has_edges & (exact == "all")
        if exact == "forbidden":
            asked[of_edge[network.beta[loose] == -np.inf]] = True
        tree = asked & (n_edges == n_units - 1)
        steps, cells, wide = self._narrow(ends, piece, asked & ~tree, most_cells)
        n_wide = len(wide)
        wide += np.flatnonzero(has_edges & ~asked).tolist()
        self.pieces: list[_Piece] = []
        self.dropped: Index = np.empty(0, dtype=np.int64)
        self.rest_solver: Any = None
        is_wide = np.zeros(len(n_edges), dtype=bool)
        is_wide[wide] = True
        in_forest = tree.copy()
        kept = np.ones(len(ends), dtype=bool)
        if wide and rest == "error":
            raise ValueError(_too_wide(len(wide), network.k, most_cells, int(n_units[wide].max())))
        if wide and rest == "spanning-tree":
            assert potential is not None
            kept = _spanning(network, ends, of_edge, is_wide, potential)
            self.dropped = loose[~kept]
            in_forest |= is_wide
        elif wide:
            assert make is not None
            self.rest_solver = self._add(make, is_wide, piece, loose, ends, of_edge)
        self._add(Forest, in_forest, piece, loose[kept], ends[kept], of_edge[kept])
        if steps:
            narrow = np.zeros(len(n_edges), dtype=bool)
            narrow[np.unique(piece[[unit for unit, _ in steps]])] = True

            def junction(n: int, k: int, ends: Index, beta: Floats) -> PieceSolver:
                number = np.cumsum(narrow[piece]) - 1
                local = [(int(number[v]), [int(number[u]) for u in around]) for v, around in steps]
                return JunctionTree(k, ends, beta, local)

            self._add(junction, narrow, piece, loose, ends, of_edge)
        self.single: Index = np.flatnonzero(~has_edges[piece])
        kinds: dict[str, Kind] = {"mean-field": "bound", "gibbs": "estimate"}
        kind: Kind = kinds.get(rest, "exact") if wide else "exact"
        method, reason = self._reason_of(exact, rest, n_wide, len(wide), cells, most_cells)
        self.account = InferenceAccount(
            method=method,
            reason=reason,
            kind=kind,
            n_units=network.n_units,
            n_couplings=len(network.ends),
            n_trees=int(tree.sum()),
            n_narrow=int(asked.sum() - tree.sum()) - n_wide,
            n_wide=n_wide,
            n_cells=cells,
            n_dropped=len(self.dropped),
        )

    def infer(self, potential: Floats, scale: float = 1.0) -> Answer:
        """Probabilities of all labels, from log potentials with the prior; `scale` is of finite couplings."""
        network = self.network
        potential = potential.copy()
        if self._clamped.any():
            potential[~self._may] = -np.inf
        if len(self._clamped_unit):
            np.add.at(potential, (self._clamped_unit, self._clamped_label), self._clamped_beta * scale)
        marginals, agreement = np.empty_like(potential), np.empty(len(network.ends))
        by_root = np.zeros(network.n_units)
        marginals[self.single], by_root[self.single] = normalise(potential[self.single])
        log_z = float(by_root.sum())
        for solver, units, edges in self.pieces:
            answer = solver.infer(potential[units], scale)
            marginals[units], agreement[edges] = answer.marginals, answer.agreement
            log_z += answer.log_z
            if answer.by_root is not None:
                by_root[units] = answer.by_root
        rest = np.concatenate([np.flatnonzero(self._role), self.dropped])
        u, v = network.ends[rest].T
        agreement[rest] = (marginals[u] * marginals[v]).sum(axis=1)
        constant = scale * (network.constant + network.held_constant + self._constant)
        return Answer(marginals, log_z + constant, agreement, by_root)

    def together(self, potential: Floats, marginals: Floats, u: Index, v: Index) -> Floats:
        """Chance that units without a coupling agree: independent, but for exact pieces that hold both."""
        linked = np.zeros(len(self.network.ends), dtype=bool)
        for solver, _, edges in self.pieces:
            linked[edges] = solver is not self.rest_solver
        piece = pieces_of(self.network.n_units, self.network.ends[linked])[0]
        chance = np.asarray((marginals[u] * marginals[v]).sum(axis=1))
        rows = np.flatnonzero(piece[u] == piece[v])
        left = np.unique(u[rows])
        while len(left):  # one unit of every piece is held at each label in turn
            held = left[np.unique(piece[left], return_index=True)[1]]
            mine = rows[np.isin(u[rows], held)]
            chance[mine] = 0.0
            for label in np.arange(self.network.k):
                barred = potential.copy()
                barred[np.ix_(held, np.arange(self.network.k) != label)] = -np.inf
                share, then = marginals[u[mine], label], self.infer(barred).marginals[v[mine], label]
                chance[mine] += np.where(share > 0, share * then, 0.0)
            left = np.setdiff1d(left, held)
        return chance

    def restart(self) -> None:
        """Forget what the last answers left behind."""
        if self.rest_solver is not None:
            self.rest_solver.restart()

    def _absorb(self) -> None:
        """Couplings with clamped units: a field on the other end, or a constant."""
        network = self.network
        self._clamped = network.clamp >= 0
        self._may = ~self._clamped[:, None] | (network.clamp[:, None] == np.arange(network.k))
        held = self._clamped[network.ends]
        self._role = held.sum(axis=1)  # 0: between free units, 1: a field, 2: a constant
        half = self._role == 1
        first = held[half, 0]
        u, v = network.ends[half].T
        self._clamped_unit: Index = np.where(first, v, u)
        self._clamped_label: Index = network.clamp[np.where(first, u, v)]
        self._clamped_beta: Floats = network.beta[half]
        both = self._role == 2
        same = network.clamp[network.ends[both, 0]] == network.clamp[network.ends[both, 1]]
        self._constant = float(network.beta[both][same].sum())

    def _narrow(self, ends: Index, piece: Index, loopy: Any, most_cells: int) -> tuple[Steps, int, list[int]]:
        """Steps for all pieces with circles that fit, cells that they take, and the pieces that do not."""
        around: dict[int, dict[int, set[int]]] = {}
        mine = loopy[piece[ends[:, 0]]] if len(ends) else np.empty(0, dtype=bool)
        for u, v in ends[mine].tolist():
            units = around.setdefault(int(piece[u]), {})
            units.setdefault(u, set()).add(v)
            units.setdefault(v, set()).add(u)
        steps: Steps = []
        cells, wide = 0, []
        for number, units in sorted(around.items(), key=lambda entry: (len(entry[1]), entry[0])):
            found = eliminate(units, self.network.k, most_cells - cells)
            if found is None:
                wide.append(number)
            else:
                steps += found[0]
                cells += found[1]
        return steps, cells, wide

    def _add(
        self, make: MakeSolver, chosen: Any, piece: Index, edges: Index, ends: Index, of_edge: Index
    ) -> PieceSolver | None:
        """A part for the chosen pieces, its units numbered anew; `edges` are positions in the network."""
        units = np.flatnonzero(chosen[piece])
        if not len(units):
            return None
        number = np.full(self.network.n_units, -1, dtype=np.int64)
        number[units] = np.arange(len(units))
        mine = chosen[of_edge]
        solver = make(len(units), self.network.k, number[ends[mine]], self.network.beta[edges[mine]])
        self.pieces.append(_Piece(solver, units, edges[mine]))
        return solver

    def _reason_of(
        self, exact: str, rest: str, n_wide: int, n_rest: int, cells: int, most_cells: int
    ) -> tuple[str, str]:
        """The method and the reason for it."""
        network = self.network
        if not network.n_units:
            return "independent", "nothing is stated, so items are independent given the model"
        parity = " (cannot-links between two components are opposites)" if network.flip.any() else ""
        if not len(network.ends):
            return "exact", f"constraints leave no couplings between units{parity}"
        if (self._role > 0).all():
            return "exact", "all couplings are with labelled items"
        wide = (
            f"{count_of(n_wide, 'piece')} of the constraint graph would need tables of more than "
            f"max_table_cells={most_cells:,}"
        )
        if exact == "all":
            if n_wide:
                return f"exact + {rest}", f"{wide}; {_REST_WORDS[rest]}"
            tables = f", tables of {cells:,} cells" if cells else ""
            return "exact", f"all pieces of the constraint graph are trees or narrow{tables}{parity}"
        if not n_rest:
            return "exact", "every piece of the constraint graph has forbidden couplings and is narrow"
        message = f"asked for, for {count_of(len(network.ends), 'coupling')}"
        if exact == "forbidden" and n_wide:
            message += (
                f"; {wide} and has forbidden couplings: some labellings may be out of the sampler's reach"
            )
        return rest, message


def pieces_of(n_units: int, ends: Index) -> tuple[Index, Index, Index]:
    """The connected piece of each unit, and units and couplings of each piece."""
    ones = np.ones(len(ends), dtype=np.int8)
    graph = sparse.coo_matrix((ones, (ends[:, 0], ends[:, 1])), (n_units, n_units))
    n_pieces, piece = connected_components(graph, directed=False)
    n_edges = np.bincount(piece[ends[:, 0]], minlength=n_pieces)
    return piece.astype(np.int64), np.bincount(piece, minlength=n_pieces), n_edges


def _spanning(network: Network, ends: Index, of_edge: Index, is_wide: Any, potential: Floats) -> Any:
    """Which couplings stay: all outside wide pieces, there a tree of those that would be broken most."""
    kept = np.ones(len(ends), dtype=bool)
    rows = np.flatnonzero(is_wide[of_edge])
    u, v = ends[rows].T
    chance = normalise(potential)[0]
    agree = np.minimum((chance[u] * chance[v]).sum(axis=1), 1.0 - 1e-12)
    matters = -np.log1p(-agree)
    cost = 1.0 + matters.max() - matters  # the tree of least cost keeps what matters most
    n = network.n_units
    tree = minimum_spanning_tree(sparse.coo_matrix((cost, (u, v)), (n, n)).tocsr()).tocoo()
    low, high = np.minimum(tree.row, tree.col), np.maximum(tree.row, tree.col)
    kept[rows] = np.isin(ends[rows] @ [n, 1], low.astype(np.int64) * n + high)
    return kept


def _too_wide(n_wide: int, k: int, most_cells: int, largest: int) -> str:
    return (
        f"exact inference is out of reach: {count_of(n_wide, 'piece')} of the constraint graph (the largest "
        f"has {largest:,} units) would need tables of more than max_table_cells={most_cells:,} cells for {k} "
        "components. Use inference='auto', which takes mean field there, or raise max_table_cells."
    )
