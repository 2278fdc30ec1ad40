"""What labels cost, as the compiled loops take it: one energy for every method in which pairs have prices.

    sum over units u of cost[u, l_u]
    + sum over edges t between u and v:   price[t, h] where l_u = l_v = h,   coupling[t] apart[l_u, l_v]
    + what rows of counts say (`Core`)  + what closures say

A price is paid, or won where it is negative. One column of `price` is a price that is the same in every
cluster: `PCKMeans`, and metrics that all clusters share. With a metric for each cluster, and with distances
to centres, there are k. Couplings are for pairs that pay by how far apart two centres are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie._arrays import Floats, Index


class Energy(NamedTuple):
    """Costs of units and prices of edges.

    Attributes
    ----------
    cost : array of shape (n_units, k)
        Of each unit in each cluster, above the least of its row.
    alone : array of shape (n_units, k)
        The same without what pairs add to the cost of their ends: 0 where a unit would be without pairs.
    price : array of shape (n_edges, 1) or (n_edges, k)
        What an edge costs if both ends are in a cluster.
    coupling, apart : array of shape (n_edges,), (k, k)
        What an edge costs between two clusters, by their distance, 0 on the diagonal; no rows: nothing.
    """

    cost: Floats
    alone: Floats
    price: Floats
    coupling: Floats
    apart: Floats


class Closure(NamedTuple):
    """All pairs that follow from must-link components, at squared distances, without writing them down.

    Where nothing follows it is None, and the loops are compiled without what they do for it.

    A unit pays to be apart from its component, and to be with components that keep away. Such sums need only
    the number, the squares and the vector sum of the items of each component in each cluster.

    Attributes
    ----------
    component, mass, square, inner : arrays, one number a unit
        Component (-1: none), number of items, their squares, and twice the spread inside of the unit.
    row_ptr, row_index, row_data : CSR
        The vector sum of each unit.
    keeps_ptr, keeps_index : CSR
        Which components keep away from a component.
    away : array of shape (n_components, k)
        Items of those that keep away.
    near, squares, sums : arrays of shape (n_components, k), (n_components, k), (n_components, k, width)
        Number, squares and vector sum of these and of the component itself.
    price, most : float
        Of a pair, and the most that a pair is apart.
    time : array, one number a component
        When its sums changed last; see `Marks`.
    """

    component: Index
    mass: Floats
    square: Floats
    inner: Floats
    row_ptr: Index
    row_index: Index
    row_data: Floats
    keeps_ptr: Index
    keeps_index: Index
    away: Floats
    near: Floats
    squares: Floats
    sums: Floats
    price: float
    most: float
    time: Index


class Marks(NamedTuple):
    """Who is looked at again.

    `due`: bit 1 for a sweep, bit 2 for an exchange, since a neighbour moved. `may_improve`: 0 where a unit
    has what is best for it and nothing is broken. `group_time` (of rows of counts) against `unit_time`: what
    is no edge changed since the unit was last visited; `clock` has one number.
    """

    due: Any
    may_improve: Any
    group_time: Index
    unit_time: Index
    clock: Index


class Chunklets(NamedTuple):
    """Units that soft must-links join: pointer, units, and the block of each unit (-1: none)."""

    ptr: Index
    unit: Index
    of_unit: Index


class Scratch(NamedTuple):
    """Two arrays of length k, one of the length of the longest block, and one number a unit."""

    out: Floats
    total: Floats
    before: Any
    listed: Index


NO_COUPLING = np.empty(0), np.empty((0, 0))
