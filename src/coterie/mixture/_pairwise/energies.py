"""Local energies of pairwise clustering: what each unit costs in each cluster, and mean-field sweeps.

The cost of a clustering is H = 1/2 sum_h W_h / s_h, where s_h is the mass of cluster h and W_h the sum of the
dissimilarities of all ordered pairs in it. A unit of mass m whose items have the dissimilarities `own` among
themselves and `a` to a cluster (s, W) adds (a + own / 2 - m W / (2 s)) / (s + m) to H by joining: that is its
field, with expected sums in place of s, W and a. The printed update of the source lacks the factor in front
of the last term and counts the unit itself; this is the corrected one, which is exact where all labels are
certain (of squared distances it is Hartigan's criterion). Sums are kept while units change, at O(n k) a unit.

Source: the book, section 5.3.6 (Lange, Law, Jain and Buhmann).
"""

from __future__ import annotations

from math import exp
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index
from coterie._compiled import in_slices, kernel
from coterie.assign._core import Core
from coterie.base import top_eigenvalue

# Improvements below this share of what is compared are rounding.
RELATIVE = 1e-11
# A change of probabilities below this is not worth bringing the sums up to date.
_IDLE = 1e-5
# A probability below this is 0, so that it costs nothing.
_NEVER = 1e-12
# Numbers that are multiplied at a time.
_BLOCK = 1 << 22


@kernel
def sweep(
    D: Any,
    own: Any,
    mass: Any,
    links: Any,
    state: Any,
    order: Any,
    start: int,
    stop: int,
    beta: float,
    work: Any,
) -> float:
    """Give the units `order[start:stop]`, one by one, the probabilities of their field.

    They are those of the temperature 1 / `beta`. With `beta` 0 the temperature is 0: a unit moves to its best
    cluster, if that is better than its own.
    Returns the largest change of a probability. `links` says what acts on a unit beside the dissimilarities:
    edges and rows of expected counts, as in a `Core`. Written: `state`, the scratch `work` (2 x k).
    """
    core_of, indptr, to, weight, member_ptr, member_group, except_group, member_weight, member_count, _ = (
        links
    )
    Q, A, s, W, R = state
    n, k = Q.shape
    out, size = work[0], work[1]
    largest = 0.0
    for position in range(start, stop):
        u = order[position]
        m = mass[u]
        here = 0
        for h in range(k):
            q = Q[u, h]
            here = h if q > Q[u, here] else here
            others = max(s[h] - q * m, 0.0)
            mean = 0.0
            if others > 1e-9 * m:
                mean = m * (W[h] - 2.0 * q * A[h, u] - q * own[u]) / (2.0 * others)
            out[h] = (A[h, u] + 0.5 * own[u] - mean) / (others + m)
            size[h] = (abs(A[h, u]) + 0.5 * abs(own[u]) + abs(mean)) / (others + m)
        c = core_of[u]
        if c >= 0:
            for t in range(indptr[c], indptr[c + 1]):
                for h in range(k):
                    q = Q[to[t], h]
                    if q > 0.0:
                        out[h] += weight[t] * q
                        size[h] += abs(weight[t]) * q
            for e in range(member_ptr[c], member_ptr[c + 1]):
                if member_weight[e] == 0.0:
                    continue
                for h in range(k):
                    met = R[member_group[e], h]
                    if except_group[e] >= 0:
                        met -= R[except_group[e], h]
                    else:
                        met -= member_count[e] * Q[u, h]
                    if met != 0.0:
                        out[h] += member_weight[e] * met
                        size[h] += abs(member_weight[e] * met)
        best = 0
        for h in range(1, k):
            best = h if out[h] < out[best] else best
        change = 0.0
        if beta > 0.0:
            least, total = out[best], 0.0
            for h in range(k):
                out[h] = exp(-beta * (out[h] - least))
                total += out[h]
            for h in range(k):
                q = out[h] / total
                out[h] = q if q > _NEVER else 0.0
                change = max(change, abs(out[h] - Q[u, h]))
            if change < _IDLE:
                largest = max(largest, change)
                continue
        elif best != here and out[best] < out[here] - RELATIVE * (size[best] + size[here]):
            change = 1.0
            for h in range(k):
                out[h] = 1.0 if h == best else 0.0
        else:
            continue
        largest = max(largest, change)
        for h in range(k):
            more = out[h] - Q[u, h]
            if more == 0.0:
                continue
            W[h] += more * (2.0 * A[h, u] + own[u])
            s[h] += more * m
            Q[u, h] = out[h]
            for v in range(n):
                A[h, v] += more * D[u, v]
            if c >= 0:
                for e in range(member_ptr[c], member_ptr[c + 1]):
                    R[member_group[e], h] += more * member_count[e]
    return largest


class Links(NamedTuple):
    """What constraints do to units: edges and entries of a core, for all units."""

    core_of: Index
    indptr: Index
    to: Index
    weight: Floats
    member_ptr: Index
    member_group: Index
    except_group: Index
    member_weight: Floats
    member_count: Floats
    n_groups: int

    @classmethod
    def of(cls, core: Core, units: Index, n_units: int) -> Links:
        """Those of a core whose units are `units` among all."""
        core_of = np.full(n_units, -1, dtype=np.int64)
        core_of[units] = np.arange(len(units))
        return cls(
            core_of,
            core.indptr,
            units[core.indices],
            core.weight,
            core.member_ptr,
            core.member_group,
            core.except_group,
            core.member_weight,
            core.member_count.astype(np.float64),
            core.n_groups,
        )

    def owners(self) -> tuple[Index, Index]:
        """The unit of each edge and of each entry."""
        units = np.empty(len(self.indptr) - 1, dtype=np.int64)
        inside = np.flatnonzero(self.core_of >= 0)
        units[self.core_of[inside]] = inside
        return np.repeat(units, np.diff(self.indptr)), np.repeat(units, np.diff(self.member_ptr))

    def priced(self, price: float, mass: Floats) -> Links:
        """With a price for what is forbidden, which grows with both masses: chance knows no "never"."""
        root = np.sqrt(mass)
        head, owner = self.owners()
        forbids, binds = np.isinf(self.weight), np.isinf(self.member_weight)
        row = np.zeros(self.n_groups, dtype=bool)
        row[self.member_group[binds]] = True
        row[self.except_group[binds & (self.except_group >= 0)]] = True
        return self._replace(
            weight=np.where(forbids, price * root[head] * root[self.to], self.weight),
            member_weight=np.where(binds, price * root[owner], self.member_weight),
            member_count=np.where(row[self.member_group], root[owner], self.member_count),
        )

    def scaled(self, factor: float) -> Links:
        """The same, stronger or weaker."""
        return self._replace(weight=factor * self.weight, member_weight=factor * self.member_weight)

    def split(self, k: int) -> float:
        """The temperature below which the constraints alone sort units into k clusters."""
        n = len(self.indptr) - 1
        owner = np.repeat(np.arange(n), np.diff(self.member_ptr))
        to = self.core_of[self.to]
        edges = sparse.csr_matrix((self.weight, to, self.indptr), (n, n))
        rows = sparse.csr_matrix((self.member_count, (owner, self.member_group)), (n, self.n_groups))
        less = np.where(self.except_group >= 0, 0.0, self.member_count)

        def times(v: Any) -> Any:
            in_group = np.append(rows.T @ v, 0.0)
            met = in_group[self.member_group] - in_group[self.except_group] - less * v[owner]
            return -(edges @ v + np.bincount(owner, self.member_weight * met, n)) / k

        return top_eigenvalue(times, n) if n else 0.0


class LocalEnergies:
    """Probabilities of the units' clusters, and the field's sums; `D` is between units, `own` inside them."""

    def __init__(self, D: Any, own: Floats, mass: Floats, k: int) -> None:
        self.D, self.own, self.mass, self.k = D, own, mass, k
        self.m = len(mass)

    def set(self, Q: Floats, links: Links) -> None:
        """Take over probabilities, and work the sums out from them."""
        A = np.zeros((self.k, self.m))
        rows = max(1, _BLOCK // self.m)
        for start in range(0, self.m, rows):
            chunk = slice(start, start + rows)
            A += Q[chunk].T @ self.D[chunk]
        self.Q, self.A, self.links = Q, A, links
        self.s = self.mass @ Q
        self.W = np.einsum("uh,hu->h", Q, A) + self.own @ Q
        self._count()

    def _count(self) -> None:
        """Expected counts of the rows."""
        links = self.links
        self.R = np.zeros((links.n_groups, self.k))
        np.add.at(self.R, links.member_group, links.member_count[:, None] * self.Q[links.owners()[1]])

    def sweep(self, order: Index, beta: float) -> float:
        """One sweep over all units; see the kernel."""
        state, work = (self.Q, self.A, self.s, self.W, self.R), np.empty((2, self.k))
        common = self.D, self.own, self.mass, self.links, state, order
        return max(sweep(*common, *chunk, beta, work) for chunk in in_slices(self.m, self.m * self.k))

    @property
    def labels(self) -> Any:
        """The likeliest cluster of each unit."""
        return self.Q.argmax(axis=1).astype(np.int32)

    def value(self) -> float:
        """The cost H at the expected sums."""
        held = self.s > 0
        return 0.5 * float((self.W[held] / self.s[held]).sum())

    def costs(self) -> Floats:
        """What each unit adds to H in each cluster, all others staying where they are."""
        m, own = self.mass[:, None], self.own[:, None]
        others = np.maximum(self.s - self.Q * m, 0.0)
        mean = m * (self.W - self.Q * (2.0 * self.A.T + own))
        mean = np.divide(mean, 2.0 * others, out=np.zeros_like(mean), where=others > 1e-9 * m)
        found: Floats = (self.A.T + 0.5 * own - mean) / (others + m)
        return found

    def gain(self, units: Index, labels: Any) -> float:
        """By how much H falls when some units move to other clusters together; all labels are certain."""
        s, W, _ = self._after(units, labels)
        held = s > 0
        return self.value() - 0.5 * float((W[held] / s[held]).sum())

    def move(self, units: Index, labels: Any) -> None:
        """Move them."""
        self.s, self.W, more = self._after(units, labels)
        self.A += more.T @ self.D[units]
        self.Q[units] += more
        self._count()

    def _after(self, units: Index, labels: Any) -> tuple[Floats, Floats, Floats]:
        """Masses and sums of the clusters after such a move, and the change of the probabilities."""
        more = -self.Q[units]
        more[np.arange(len(units)), labels] += 1.0
        W = self.W + 2.0 * np.einsum("uh,hu->h", more, self.A[:, units]) + self.own[units] @ more
        W += np.einsum("uh,uh->h", more, self.D[np.ix_(units, units)] @ more)
        return self.s + self.mass[units] @ more, W, more


def first_split(D: Any, own: Floats, mass: Floats) -> float:
    """The temperature below which one cluster falls into two: 2 / n times the top eigenvalue of the scatter.

    The scatter matrix is minus half the dissimilarities, centred; of squared distances, the inner products
    of the units' sums of centred items.
    """
    m, n = len(mass), float(mass.sum())

    def product(v: Any) -> Any:
        # in the type of D, of which there should be no copy
        return (D @ v.astype(D.dtype)).astype(np.float64) + own * v

    at = product(np.ones(m))
    total = float(at.sum())

    def times(v: Any) -> Any:
        held = float(mass @ v)
        middle = at * (held / n) + mass * (float(at @ v) / n) - mass * (total * held / n**2)
        return -0.5 * (product(v) - middle)

    return 2.0 / n * top_eigenvalue(times, m)
