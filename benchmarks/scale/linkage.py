"""Trees of 100,000 items without an n x n matrix: regions of a grid under a cap, single linkage under pairs.

Ward on a grid: 250 x 400 cells with three smooth, noisy features; neighbours share a side. It stands beside
scikit-learn's Ward on the same graph, which knows no cap. Single linkage: blobs in 2 and in 8 dimensions with
1,000 true pairs, beside scikit-learn's, which keeps no matrix either but computes all n(n-1)/2 distances;
SciPy's `linkage` would first write these down, 40 GB.

The floors. Ward: the distance of every edge (3 m d operations), one sort of the edges, since merges come in
the order of heights, and n - 1 means (2 d numbers read, d written). Single: every item finds its nearest in a
k-d tree, and the n - 1 edges of the tree are sorted. Both are measured in the same process with NumPy and
SciPy, on one thread.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from sklearn.cluster import AgglomerativeClustering
from sklearn.feature_extraction.image import grid_to_graph
from sklearn.metrics import adjusted_rand_score

from benchmarks.measure import in_fresh_process, save, verdict
from benchmarks.protocol import draw, overlapping_blobs
from coterie import Constraints

TITLE = "trees of 100,000 items: Ward on a grid under a cap, single linkage under pairs"
QUICK = False
ROWS, COLUMNS, FEATURES, REGIONS, CAP = 250, 400, 3, 1_000, 200
GROWTH = (25, 50, 125, 250)  # rows of the grids that the growth is taken from
N, DIMENSIONS, BLOBS, PAIRS, APART = 100_000, (2, 8), 20, 1_000, 4.0
SECONDS, MEGABYTES = 60, 1_000


def smallest(jobs: int, job: Any) -> float:
    """CPU seconds of the fastest of some runs."""
    took = []
    for _ in range(jobs):
        start = time.process_time()
        job()
        took.append(time.process_time() - start)
    return min(took)


# ---- Ward on a grid ---------------------------------------------------------------------------------------


def grid(n_rows: int) -> tuple[Any, Any]:
    """Smooth, noisy features of the cells, and the graph of cells that share a side."""
    rng = np.random.default_rng(0)
    smooth = [gaussian_filter(rng.normal(size=(n_rows, COLUMNS)), 12) for _ in range(FEATURES)]
    X = np.stack([(one / one.std()).ravel() for one in smooth], axis=1)
    X += 0.5 * rng.normal(size=X.shape)
    graph = csr_array(grid_to_graph(n_rows, COLUMNS))
    graph.setdiag(0)
    graph.eliminate_zeros()
    return X, graph


def regions(X: Any, graph: Any, share: float = 1.0) -> Any:
    from coterie.exceptions import DeadEndWarning
    from coterie.hierarchy import ConstrainedLinkage

    warnings.simplefilter("error", DeadEndWarning)  # the cap leaves room: so many regions can be had
    return ConstrainedLinkage(int(REGIONS * share), connectivity=graph, size_max=CAP).fit(X)


def warm_grid(n_rows: int) -> tuple[Any, Any]:
    """The input; the kernels are loaded, so that they do not count."""
    regions(*grid(25), share=0.1)
    return grid(n_rows)


def ward(given: Any) -> dict[str, Any]:
    """Ours, with a check of what it promises."""
    X, graph = given
    start = time.process_time()
    model = regions(X, graph, len(X) / (ROWS * COLUMNS))
    took = time.process_time() - start
    labels = model.labels_
    edges = coo_array(graph)
    inside = labels[edges.row] == labels[edges.col]
    kept = csr_array((np.ones(inside.sum()), (edges.row[inside], edges.col[inside])), shape=graph.shape)
    return {
        "cpu_s": took,
        "n_clusters": int(model.n_clusters_),
        "pieces": int(connected_components(kept)[0]),
        "largest": int(np.bincount(labels).max()),
        "n_roots": int(model.n_roots_),
    }


def sklearn_ward(given: Any) -> dict[str, Any]:
    X, graph = given
    start = time.process_time()
    model = AgglomerativeClustering(REGIONS, connectivity=graph).fit(X)
    took = time.process_time() - start
    return {"cpu_s": took, "largest": int(np.bincount(model.labels_).max())}


def ward_floor(given: Any) -> float:
    X, graph = given
    edges = coo_array(graph)
    one_way = edges.row < edges.col
    left, right = edges.row[one_way], edges.col[one_way]

    def job() -> None:
        np.argsort(((X[left] - X[right]) ** 2).sum(axis=1))
        (X[:-1] + X[1:]) / 2

    return smallest(3, job)


def ward_rows() -> list[dict[str, Any]]:
    in_fresh_process(__name__, "ward", "warm_grid", (25,))  # compiles
    run = in_fresh_process(__name__, "ward", "warm_grid", (ROWS,))
    theirs = in_fresh_process(__name__, "sklearn_ward", "grid", (ROWS,))
    floor = in_fresh_process(__name__, "ward_floor", "grid", (ROWS,))["answer"]
    told, other = run["answer"], theirs["answer"]
    n = ROWS * COLUMNS
    rows = [
        verdict(
            f"Ward on a grid of {n:,} cells, {REGIONS:,} regions of at most {CAP}",
            f"{told['cpu_s']:.3g} s",
            theirs=f"scikit-learn, no cap: {other['cpu_s']:.3g} s",
            ratio=told["cpu_s"] / other["cpu_s"],
            goal=f"{SECONDS} s",
            reached=told["cpu_s"] < SECONDS,
            remark=f"{told['cpu_s'] / floor:.2g} times the floor, {floor:.3g} s.",
            raw=[run, theirs],
        ),
        verdict(
            "its regions; connected pieces of them; largest",
            "{n_clusters:,}; {pieces:,}; {largest}".format(**told),
            theirs=f"{REGIONS:,}; ; {other['largest']:,}",
            goal=f"{REGIONS:,}; {REGIONS:,}; {CAP}",
            reached=told["n_clusters"] == told["pieces"] == REGIONS and told["largest"] <= CAP,
            remark=f"No legal merge is left at {told['n_roots']:,} regions.",
        ),
        memory_row(run, theirs),
    ]
    grown = [in_fresh_process(__name__, "ward", "warm_grid", (size,))["answer"]["cpu_s"] for size in GROWTH]
    exponent = float(np.polyfit(np.log(GROWTH), np.log(grown), 1)[0])
    rows.append(
        verdict(
            f"growth with n, {GROWTH[0] * COLUMNS:,} to {GROWTH[-1] * COLUMNS:,} cells, exponent",
            f"{exponent:.2f} ({', '.join(f'{one:.2g} s' for one in grown)})",
            seconds=grown,
        )
    )
    return rows


def memory_row(run: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    peak = run["peak_mb_above_input"]
    return verdict(
        "its peak memory above the input",
        f"{peak:.0f} MB",
        theirs=f"{theirs['peak_mb_above_input']:.0f} MB",
        goal=f"{MEGABYTES:,} MB",
        reached=peak < MEGABYTES,
        remark="All pairs of distances would take 40 GB.",
    )


# ---- single linkage ---------------------------------------------------------------------------------------


def points(n: int, d: int) -> tuple[Any, Any, Constraints]:
    X, y = overlapping_blobs(n, d, BLOBS, apart=APART, seed=0)
    return X, y, draw(y, PAIRS * n // N, 0)


def chains(X: Any, known: Constraints) -> Any:
    """Single linkage of ours, end to end: the pairs are read and closed anew."""
    from coterie.exceptions import DeadEndWarning
    from coterie.hierarchy import ConstrainedLinkage

    warnings.simplefilter("ignore", DeadEndWarning)
    told = Constraints(known.must_link, known.cannot_link, n_items=len(X))
    return ConstrainedLinkage(BLOBS, linkage="single").fit(X, constraints=told)


def warm_points(n: int, d: int) -> tuple[Any, Any, Constraints]:
    X, _, known = points(2_000, d)
    chains(X, known)
    return points(n, d)


def single(given: Any) -> dict[str, Any]:
    X, y, known = given
    start = time.process_time()
    model = chains(X, known)
    took = time.process_time() - start
    return {
        "cpu_s": took,
        "broken": known.violations(model.labels_).n_broken,
        "n_clusters": int(model.n_clusters_),
        "n_roots": int(model.n_roots_),
        "repaired": bool(model.repaired_),
        "ari": float(adjusted_rand_score(y, model.labels_)),
    }


def sklearn_single(given: Any) -> dict[str, Any]:
    X, y, known = given
    start = time.process_time()
    labels = AgglomerativeClustering(BLOBS, linkage="single").fit(X).labels_
    took = time.process_time() - start
    return {
        "cpu_s": took,
        "broken": known.violations(labels).n_broken,
        "ari": float(adjusted_rand_score(y, labels)),
    }


def single_floor(given: Any) -> float:
    X = given[0]
    return smallest(3, lambda: np.sort(cKDTree(X).query(X, k=2)[0][:, 1]))


def single_rows() -> list[dict[str, Any]]:
    rows = []
    for d in DIMENSIONS:
        in_fresh_process(__name__, "single", "points", (2_000, d))  # compiles
        run = in_fresh_process(__name__, "single", "warm_points", (N, d))
        theirs = in_fresh_process(__name__, "sklearn_single", "points", (N, d))
        floor = in_fresh_process(__name__, "single_floor", "points", (N, d))["answer"]
        told, other = run["answer"], theirs["answer"]
        rows += [
            verdict(
                f"single linkage, {N:,} x {d}, {PAIRS:,} pairs",
                f"{told['cpu_s']:.3g} s",
                theirs=f"scikit-learn, no pairs: {other['cpu_s']:.3g} s",
                ratio=told["cpu_s"] / other["cpu_s"],
                remark=f"{told['cpu_s'] / floor:.2g} times the floor, {floor:.3g} s.",
                raw=[run, theirs],
            ),
            verdict(
                "its pairs broken; clusters; adjusted Rand index",
                "{broken}; {n_clusters}; {ari:.3f}".format(**told),
                theirs="{broken}; {k}; {ari:.3f}".format(k=BLOBS, **other),
                goal=f"0 broken, {BLOBS} clusters",
                reached=told["broken"] == 0 and told["n_clusters"] == BLOBS,
                remark=f"No legal merge was left at {told['n_roots']} roots"
                + (", repaired." if told["repaired"] else "."),
            ),
            memory_row(run, theirs),
        ]
    return rows


def main() -> None:
    rows = ward_rows() + single_rows()
    save(
        __name__,
        TITLE,
        rows,
        grid=f"{ROWS} x {COLUMNS}, {FEATURES} Gaussian-filtered features and noise of half their spread",
        points=f"{BLOBS} blobs of standard deviation 1, centres spread with {APART:g}, float64",
        pairs="drawn at random from all pairs, true kinds, all obeyed",
        seeds=0,
        times="one fit in a fresh process, kernels loaded; constraints included",
    )
