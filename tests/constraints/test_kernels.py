"""Every compiled loop gives the same answer interpreted and compiled, in what it returns and what it writes.

This file also runs with bounds checking and with the JIT switched off.
"""

import copy
import random

import numpy as np
import pytest

import coterie.constraints._constraints
import coterie.constraints._feasible.repair  # noqa: F401  (these two bring the kernels in)
from coterie._compiled.kernels import all_kernels
from coterie.constraints._feasible.colouring import ApartGraph
from coterie.constraints._feasible.exact import first_branch

pytestmark = pytest.mark.kernels


def ints(values) -> np.ndarray:
    return np.asarray(values, dtype=np.int64)


def random_graph(rng: random.Random, n: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    near: list[set[int]] = [set() for _ in range(n)]
    for i in range(n):
        for j in range(i):
            if rng.random() < share:
                near[i].add(j)
                near[j].add(i)
    return csr([sorted(s) for s in near])


def csr(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return ints(np.concatenate([[0], np.cumsum([len(row) for row in rows])])), ints(
        [x for row in rows for x in row]
    )


def random_apart_graph(rng: random.Random, n: int) -> ApartGraph:
    """Edges, cliques and partitions over n nodes, each node's own (CSR), with sizes."""
    indptr, indices = random_graph(rng, n, rng.random())
    n_cliques, n_sets = rng.randint(0, 3), rng.randint(0, 2)
    in_clique = [[c for c in range(n_cliques) if rng.random() < 0.4] for _ in range(n)]
    in_set, codes = [], []
    for _ in range(n):
        mine = [s for s in range(n_sets) if rng.random() < 0.5]
        in_set.append(mine)
        codes.append([3 * s + rng.randrange(3) for s in mine])
    clique_ptr, clique = csr(in_clique)
    set_ptr, member = csr(in_set)
    _, code = csr(codes)
    return ApartGraph(
        nodes=np.arange(n),
        indptr=indptr,
        indices=indices,
        node_clique_ptr=clique_ptr,
        node_clique=clique,
        clique_size=np.bincount(clique, minlength=n_cliques).astype(np.int64),
        node_across_ptr=set_ptr,
        node_set=member,
        node_code=code,
        set_size=np.bincount(member, minlength=n_sets).astype(np.int64),
        code_size=np.bincount(code, minlength=3 * n_sets).astype(np.int64),
        twins=ints([]),
        twin_of=ints([]),
    )


def flat(arguments) -> list:
    """Arguments with those of named tuples in their place."""
    return [x for one in arguments for x in (flat(one) if isinstance(one, tuple) else [one])]


def join(rng):
    n, m = rng.randint(1, 20), rng.randint(0, 25)
    ends = [[rng.randrange(n) for _ in range(m)] for _ in range(2)]
    return (np.arange(n, dtype=np.int64), ints(ends[0]), ints(ends[1]))


def peel(rng):
    n = rng.randint(0, 14)
    graph = random_apart_graph(rng, n)
    return (
        graph, (graph.clique_size.copy(), graph.set_size.copy(), graph.code_size.copy()), rng.randint(1, 6),
        rng.choice([1, 2, 64]), np.diff(graph.indptr), np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64),
    )  # fmt: skip


def colour_in_order(rng):
    n, k = rng.randint(1, 14), rng.randint(1, 6)
    graph = random_apart_graph(rng, n)
    given = [rng.randrange(k) if rng.random() < 0.2 else -1 for _ in range(n)]
    order = [v for v in rng.sample(range(n), n) if given[v] < 0]
    return (
        graph, k, ints(order), ints(given), np.full(n, k, dtype=np.int64),
        np.zeros(len(graph.clique_size) * k, dtype=np.uint8), np.arange(len(graph.clique_size) + 1) * k,
        np.zeros(len(graph.clique_size), dtype=np.int64),
        np.full((len(graph.set_size), k), -1, dtype=np.int64), np.full(k, -1, dtype=np.int64),
    )  # fmt: skip


def breadth_first(rng):
    n = rng.randint(1, 15)
    indptr, indices = random_graph(rng, n, rng.random())
    return (indptr, indices, rng.randrange(n), *(np.full(n, -1, dtype=np.int64) for _ in range(3)))


def climb(rng):
    n = rng.randint(1, 15)
    parent = ints([rng.randint(-1, v - 1) for v in range(n)])
    return (parent, rng.randrange(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64))


def dsatur(rng):
    n, k = rng.randint(1, 12), rng.randint(1, 5)
    indptr, indices = random_graph(rng, n, rng.random())
    branch = first_branch(ints(rng.sample(range(n), n)), k)
    return indptr, indices, k, rng.choice([1, 7, 5000]), branch


def keep(rng):
    n, m = rng.randint(2, 10), rng.randint(0, 25)
    ends = ints([rng.sample(range(n), 2) for _ in range(m)]).reshape(-1, 2)
    is_must = np.array([rng.random() < 0.5 for _ in range(m)], dtype=bool)
    return (
        ints(rng.sample(range(m), m)), is_must, ends, np.arange(n, dtype=np.int64),
        np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64),
        np.zeros(2 * m, dtype=np.int64), np.zeros(2 * m, dtype=np.int64), np.zeros(m, dtype=np.int64),
    )  # fmt: skip


INPUTS = {
    "_join": join, "_peel": peel, "_colour_in_order": colour_in_order, "_breadth_first": breadth_first,
    "_climb": climb, "_dsatur": dsatur, "_keep": keep,
}  # fmt: skip


def constraint_kernels() -> dict:
    found = [k for k in all_kernels() if k.__module__.startswith("coterie.constraints")]
    assert len({k.__name__ for k in found}) == len(found)
    return {k.__name__: k for k in found}


def test_every_kernel_is_exercised():
    assert set(constraint_kernels()) == set(INPUTS)


@pytest.mark.parametrize("name", INPUTS)
def test_interpreted_and_compiled_agree(name):
    kernel = constraint_kernels()[name]
    rng = random.Random(name)
    for _ in range(60):
        first = INPUTS[name](rng)
        second = copy.deepcopy(first)
        said = kernel.interpreted(*first), kernel.compiled(*second)
        assert said[0] == said[1]
        for position, (a, b) in enumerate(zip(flat(first), flat(second), strict=True)):
            np.testing.assert_array_equal(a, b, err_msg=f"argument {position} of {name}")
