"""Connected clusters of a million cells: farthest-first with its certificate, a growth, k-means from Ward.

A grid whose cells have two features, each white noise smoothed by a Gaussian of 12 cells, standardised, with
.3 of normal noise; neighbours share a side. Seeds of the growth are drawn; one iteration of NetScan is a
growth and new centres. The whole fit beside it also works out the certificate for its k. Memory is the peak
of a fit in a fresh process above what stood there before: X, the graph, and the loaded kernels.

ConnectedKMeans as it comes, k = 100, at three sizes, and Ward's tree alone (`refine=False`), so that the
difference is what the moves take: border moves, and up to ten pairs of clusters parted anew for each cluster
and round.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from benchmarks.measure import in_fresh_process, save, verdict
from benchmarks.protocol import rounded
from coterie import ConnectedKCenter, ConnectedKMeans
from coterie.adjacency import pieces, read_graph
from coterie.datasets import grid_neighbors
from coterie.graph._connected.growth import Growth
from coterie.graph._connected.netscan import KCenterCriterion, netscan

TITLE = "connected clusters of 1,000,000 grid cells: a certificate, a growth, k-means"
QUICK = False
SIDE, WARM, SMOOTH, NOISE = 1_000, 60, 12.0, 0.3
CENTRES, SEEDS = 20, 100
CERTIFICATE_SECONDS, GROWTH_SECONDS = 30.0, 5.0
SIDES, MEANS = (100, 316, 1_000), 100


def cells(side: int, seed: int = 0) -> tuple[Any, Any]:
    """Features of the cells of a square, and who shares a side with whom."""
    rng = np.random.default_rng(seed)
    columns = []
    for _ in range(2):
        smooth = gaussian_filter(rng.normal(size=(side, side)), SMOOTH).ravel()
        columns.append((smooth - smooth.mean()) / smooth.std() + NOISE * rng.normal(size=side * side))
    graph = read_graph(grid_neighbors((side, side)).must_link, side * side)
    return np.column_stack(columns), graph


# ---- k-center ---------------------------------------------------------------------------------------------


def standing(given: Any) -> Any:
    """The input; memory that making it took is handed back, or a fit would reuse it unseen."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return given


def warm_centres(side: int) -> Any:
    """The grid; the kernels are loaded, so that they do not count."""
    certify(cells(WARM))
    return standing(cells(side))


def certify(given: Any) -> dict[str, Any]:
    X, graph = given
    model = ConnectedKCenter(CENTRES, connectivity=graph, algorithm="farthest-first").fit(X)
    told = {"radius": model.radius_, "lower_bound": model.lower_bound_, "ratio": model.approx_ratio_}
    return {**told, "pieces": int(pieces(graph, model.labels_)[0])}


def drawn(side: int) -> Any:
    """A growth and its seeds."""
    X, graph = cells(side)
    return Growth(graph, X, "euclidean"), np.random.default_rng(0).choice(len(X), SEEDS, replace=False)


def warm_growth(side: int) -> Any:
    iterate(drawn(WARM))
    return standing(drawn(side))


def grow(given: Any) -> int:
    growth, seeds = given
    return int(growth(seeds, growth.space.centres_at(seeds))[0].min())


def iterate(given: Any) -> float:
    growth, seeds = given
    return float(netscan(growth, KCenterCriterion(growth.space), seeds, 1, None).objective)


def whole_fit(given: Any) -> float:
    growth, seeds = given
    model = ConnectedKCenter(
        SEEDS, connectivity=growth.graph, algorithm="netscan", init=seeds, max_iter=1, refine=False
    )
    return float(model.fit(growth.space.X).radius_)


def centre_rows() -> list[dict[str, Any]]:
    in_fresh_process(__name__, "certify", "cells", (WARM,))  # compiles
    run = in_fresh_process(__name__, "certify", "warm_centres", (SIDE,))
    told, cpu = run["answer"], run["cpu_s"]
    rows = [
        verdict(
            f"farthest-first with certificate, {SIDE**2:,} cells, k = {CENTRES}",
            f"{cpu:.1f} s, {run['peak_mb_above_input']:.0f} MB above the input",
            goal=f"{CERTIFICATE_SECONDS:g} s; connected",
            reached=cpu <= CERTIFICATE_SECONDS and told["pieces"] == CENTRES,
            remark=f"Radius {told['radius']:.3f}, at most {told['ratio']:.2f} times the best.",
            raw=rounded(run),
        )
    ]
    in_fresh_process(__name__, "iterate", "drawn", (WARM,))  # compiles
    runs = {
        name: in_fresh_process(__name__, name, "warm_growth", (SIDE,))
        for name in ("grow", "iterate", "whole_fit")
    }
    cpu, memory = ({name: run[of] for name, run in runs.items()} for of in ("cpu_s", "peak_mb_above_input"))
    rows.append(
        verdict(
            f"a growth pass, {SIDE**2:,} cells, k = {SEEDS}; one iteration of NetScan",
            f"{cpu['grow']:.2f} s, {memory['grow']:.0f} MB; {cpu['iterate']:.2f} s, {memory['iterate']:.0f} "
            "MB above the input",
            goal=f"{GROWTH_SECONDS:g} s",
            reached=cpu["iterate"] <= GROWTH_SECONDS and runs["grow"]["answer"] == 0,
            remark=f"A fit of one iteration, with the certificate of k = {SEEDS}: {cpu['whole_fit']:.1f} s.",
            raw=rounded(runs),
        )
    )
    return rows


# ---- k-means ----------------------------------------------------------------------------------------------


def warm_means(side: int) -> Any:
    means(cells(WARM))
    return standing(cells(side))


def means(given: Any) -> dict[str, Any]:
    """As it comes, and the seconds of that."""
    X, graph = given
    start = time.process_time()
    model = ConnectedKMeans(MEANS, connectivity=graph, random_state=0).fit(X)
    took = time.process_time() - start
    told = {"inertia": model.inertia_, "ward": float(model.history_[0]), "rounds": model.n_iter_}
    return {**told, "cpu_s": took, "pieces": int(pieces(graph, model.labels_)[0])}


def tree(given: Any) -> float:
    X, graph = given
    return float(ConnectedKMeans(MEANS, connectivity=graph, refine=False).fit(X).inertia_)


def mean_rows() -> list[dict[str, Any]]:
    in_fresh_process(__name__, "means", "cells", (WARM,))  # compiles
    runs = [in_fresh_process(__name__, "means", "warm_means", (side,)) for side in SIDES]
    trees = [in_fresh_process(__name__, "tree", "warm_means", (side,))["cpu_s"] for side in SIDES]
    rows = []
    for side, run, ward in zip(SIDES, runs, trees, strict=True):
        told = run["answer"]
        gain = 1 - told["inertia"] / told["ward"]
        rows.append(
            verdict(
                f"ConnectedKMeans from Ward, {side**2:,} cells, k = {MEANS}",
                f"{told['cpu_s']:.3g} s, {run['peak_mb_above_input']:.0f} MB above the input",
                goal="connected, below Ward",
                reached=told["pieces"] == MEANS and gain > 0,
                remark=f"Ward alone {ward:.3g} s; {told['rounds']} rounds lower its sum by {gain:.1%}.",
                raw=rounded({**run, "tree_cpu_s": ward}),
            )
        )
    n, took = np.array(SIDES) ** 2, [run["answer"]["cpu_s"] for run in runs]
    exponent = {name: float(np.polyfit(np.log(n), np.log(s), 1)[0]) for name, s in (("", took), ("t", trees))}
    rows.append(
        verdict(
            f"growth with n, {n[0]:,} to {n[-1]:,} cells, exponent of the time",
            f"{exponent['']:.2f}, Ward alone {exponent['t']:.2f}",
            remark="Clusters grow with the grid; the larger, the more is left to moves on their borders.",
            seconds=rounded(took),
        )
    )
    return rows


def main() -> None:
    rows = centre_rows() + mean_rows()
    save(
        __name__,
        TITLE,
        rows,
        data=f"features smoothed over {SMOOTH:g} cells, noise {NOISE:g}, seed 0",
        times="CPU, one warm fit, on cores shared with other work",
        load=f"{os.getloadavg()[0]:.1f}, this run included",
    )
