"""Where a start begins: centres from must-link components, k-means++ that knows them, random rows.

Neighbourhoods are must-link components of two items and more; their means are good centres when they are
large, and poor ones when they have two or three items. Sources: Basu, Banerjee and Mooney 2004
(neighbourhoods), Basu, Bilenko and Mooney 2004 (weighted farthest-first), Arthur and Vassilvitskii 2007
(k-means++).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index
from coterie._compiled import chunk_rows, over_chunks
from coterie.constraints import Constraints
from coterie.distortion import Distortion

RandomState = np.random.RandomState
# By how much a feature of the middle is shaken, in all: as in the authors' program.
_SHAKEN = 0.7


class CentreStarts:
    """Centres to start from, for one set of data and constraints."""

    def __init__(self, distortion: Distortion, known: Constraints, k: int, rng: RandomState) -> None:
        self.distortion, self.known, self.k, self.rng = distortion, known, k, rng
        self.items: Index = known.constrained_items
        # k-means++ counts no distance beyond this: what may be left out should not become a centre
        self.cap = np.inf
        # whether farthest-first looks at cannot-links between neighbourhoods
        self.avoid_cannot_linked = False
        self._means: Any = None
        self._by_component: Any = None

    def centres(self, how: str) -> Floats:
        """Centres by the name of the way."""
        if how == "random":
            return self.random()
        if how == "perturb":
            return self.perturbed()
        if how == "neighborhoods":
            chosen = self.neighbourhoods()
            return self.plus_plus(chosen, joined=False)
        return self.plus_plus(np.empty((0, self.distortion.points.d)), joined=how == "constraint++")

    def n_neighbourhoods(self) -> int:
        """Number of must-link components of two items and more."""
        return len(self._neighbourhoods()[1])

    def _neighbourhoods(self) -> tuple[Any, Floats, Index]:
        """Means (dense or CSR), masses and component numbers of the neighbourhoods."""
        if self._means is None:
            component = self.known.components[self.items] if len(self.items) else self.items
            number, group, size = np.unique(component, return_inverse=True, return_counts=True)
            kept = np.flatnonzero(size > 1)
            rank = np.full(len(number), -1, dtype=np.int64)
            rank[kept] = np.arange(len(kept))
            inside = rank[group] >= 0
            items, group = self.items[inside], rank[group[inside]]
            total = np.bincount(group, self.distortion.weights(items), len(kept)).astype(np.float64)
            sums = self.distortion.points.add_up(items, group, len(kept), self.distortion.row_scale)
            scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
            means = sparse.diags(scale) @ sums if sparse.issparse(sums) else sums * scale[:, None]
            self._means = means[total > 0], total[total > 0], number[kept][total > 0]
        return self._means

    def neighbourhoods(self) -> Floats:
        """Up to k centres: neighbourhoods by weighted farthest-first, and one item apart from them all."""
        means, mass, component = self._neighbourhoods()
        if not len(mass):
            return np.empty((0, self.distortion.points.d))
        chosen = self._farthest_first(means, mass, component if self.avoid_cannot_linked else None)
        centres = _dense(means[chosen])
        if len(chosen) < self.k:
            centres = np.concatenate([centres, self._apart_from(component[chosen])])
        return self.distortion.centres_from_means(self.distortion.possible_centres(centres))

    def perturbed(self) -> Floats:
        """Neighbourhoods by weighted farthest-first, then the middle of the data, each feature shaken."""
        means, mass, _ = self._neighbourhoods()
        chosen = self._farthest_first(means, mass)
        shape = self.k - len(chosen), self.distortion.points.d
        shaken = self._middle() * (1.0 + _SHAKEN * (self.rng.uniform(size=shape) - 0.5))
        found = [_dense(means[chosen])] if chosen else []
        return self.distortion.centres_from_means(np.concatenate([*found, shaken]))

    def _middle(self) -> Floats:
        """The mean of all items, as they enter the sums of clusters."""
        return self.distortion.total_of(np.arange(self.distortion.points.n)) / self.distortion.total

    def _farthest_first(self, means: Any, mass: Floats, component: Index | None = None) -> list[int]:
        """All up to k; of more, the heaviest, then always the farthest: by the least, over the chosen, of the
        distortion between both times both masses. Of several the one farthest from the middle of the data.

        With `component`, those that cannot-links keep away from most of the chosen come first: two of the
        same class are then rarely both taken.
        """
        if len(mass) <= self.k:
            return list(range(len(mass)))
        if component is not None:
            graph = self.known.contracted
            links = np.ones(len(graph.indices)), graph.indices, graph.indptr
            away = sparse.csr_matrix(links, (graph.n_components,) * 2)[component][:, component]
        power = 2 if self.distortion.unit == "squared distance" else 1  # `distances` are roots then

        def apart(place: Floats) -> Floats:
            return np.asarray(self.distortion.distances(means, place[None])[:, 0] ** power, dtype=np.float64)

        from_middle = apart(self._middle())

        def first(rank: Floats) -> int:
            ties = np.flatnonzero(rank >= (1.0 - 1e-9) * rank.max())  # rounding decides nothing
            return int(ties[np.argmax(from_middle[ties])])

        chosen = [first(mass)]
        far = np.full(len(mass), np.inf)
        while len(chosen) < self.k:
            last = chosen[-1]
            far = np.minimum(far, apart(_dense(means[[last]])[0]) * mass * mass[last])
            rank = far.copy()
            rank[chosen] = -1.0
            if component is not None:
                met = np.asarray(away[:, chosen].sum(axis=1)).ravel()
                met[chosen] = -1.0
                rank[met < met.max()] = -1.0
            chosen.append(first(rank))
        return chosen

    def _apart_from(self, components: Index) -> Floats:
        """One component that is cannot-linked to all the given ones, if there is one."""
        graph = self.known.contracted
        hit = np.zeros(graph.n_components, dtype=bool)
        hit[components] = True
        degree = np.diff(graph.indptr)
        head = np.repeat(np.flatnonzero(degree), degree[degree > 0])
        met = np.bincount(head[hit[graph.indices]], minlength=graph.n_components)
        found = np.flatnonzero(met == len(components))[:1]
        if not len(found):
            return np.empty((0, self.distortion.points.d))
        return self.distortion.centre_of(np.flatnonzero(graph.component == found[0]))[None]

    def random(self) -> Floats:
        """Rows at random, by their weight."""
        return self._as_rows(
            drawn_by_weight(self.distortion.points.n, self.distortion.sample_weight, self.k, self.rng)
        )

    def _as_rows(self, items: Index) -> Floats:
        """Rows as centres."""
        return self.distortion.centres_from_means(self.distortion.rows(items))

    def plus_plus(self, centres: Floats, *, joined: bool) -> Floats:
        """k-means++ on top of given centres: the next is drawn by its cost, the best of a few draws is kept.

        With `joined`, an item that must-links join stands for its component: the component's mean becomes
        the centre, and the first centre is drawn among the items that constraints name.
        """
        distortion, rng, k = self.distortion, self.rng, self.k
        n, mass = distortion.points.n, distortion.sample_weight
        trials = 2 + int(np.log(k))
        rows = chunk_rows(n, trials * distortion.points.d, 0)
        nearest = np.full(n, self.cap)

        def lower(start: int, stop: int) -> None:
            """Take the centres added last into account."""
            cost = distortion.chunk_costs(start, stop, added).min(axis=1)
            np.minimum(nearest[start:stop], cost, out=nearest[start:stop])

        def potentials(start: int, stop: int) -> Floats:
            """What would remain, for each candidate."""
            cost = np.minimum(distortion.chunk_costs(start, stop, candidates), nearest[start:stop, None])
            return mass[start:stop] @ cost if len(mass) else cost.sum(axis=0)

        if not len(centres):
            among = self.items if joined and len(self.items) else np.arange(n)
            centres = self._candidate_centres(among[drawn(distortion.weights(among), 1, rng)], joined)
        added = centres
        over_chunks(lower, n, rows)
        while len(centres) < k:
            far = distortion.weighted(nearest)
            # where nothing is left that is not a centre already, any will do
            items = drawn(far, trials, rng) if far.any() else rng.randint(n, size=trials)
            candidates = self._candidate_centres(items, joined)
            best = int(np.argmin(sum(over_chunks(potentials, n, rows))))
            added = candidates[[best]]
            centres = np.concatenate([centres, added])
            over_chunks(lower, n, rows)
        return centres

    def _candidate_centres(self, items: Index, joined: bool) -> Floats:
        centres = self._as_rows(items)
        if joined and self.known.must_table.n + len(self.known.groups):
            if self._by_component is None:
                component = self.known.components[self.items]
                order = np.argsort(component, kind="stable")
                self._by_component = component[order], self.items[order]
            component, members = self._by_component
            for position, number in enumerate(self.known.components[items].tolist()):
                start, stop = np.searchsorted(component, [number, number + 1])
                if stop - start > 1:
                    centres[position] = self.distortion.centre_of(members[start:stop])
        return centres


def drawn(mass: Floats, count: int, rng: RandomState) -> Index:
    """Some items, each by its mass; one may come twice."""
    running = np.cumsum(mass)
    found = np.searchsorted(running, rng.uniform(size=count) * running[-1], side="right")
    return np.minimum(found, len(mass) - 1)


def drawn_by_weight(n: int, mass: Floats, k: int, rng: RandomState) -> Index:
    """Some k of n items, each by its weight (empty: all alike)."""
    # the smallest of exponential waiting times; the same draws with and without weights of one
    wait = -np.log1p(-rng.uniform(size=n))
    if len(mass):
        wait = np.divide(wait, mass, out=np.full(n, np.inf), where=mass > 0)
    return np.argsort(wait, kind="stable")[:k]


def _dense(rows: Any) -> Floats:
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
