"""BoostCluster on many rows: what it adds to the time inside the base, and its memory; news as sparse rows.

Ten round clusters in 8 features, and 8 features that are noise of 2.5 times their standard deviation; 1,000
random pairs of true kinds, which tell the one from the other. The base times itself: it is KMeans with a
clock around `fit`, so that all else, the projections, the kernel and its clusters, the checks of X and the
count of what is broken, is what BoostCluster adds. Memory is the peak of a fit in a fresh process above what
stood there before: X, the pairs, and what another fit had loaded.

News: subject and body of all 20 Newsgroups as rows of tf-idf of length one (19,994 x 42,215, CSR), which as a
dense table would take 6.8 GB; k = 20, pairs half must-links and half cannot-links. K-means alone has the
starts of the base.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.measure import in_fresh_process, save, verdict
from benchmarks.papers.ch08 import subject_and_body, vectors
from benchmarks.protocol import mean_se, overlapping_blobs, rounded
from coterie import BoostCluster, Constraints
from coterie.datasets import load_newsgroups

TITLE = "BoostCluster: 200,000 and 1,000,000 rows, and 20 Newsgroups as CSR"
QUICK = False
N, LARGE, WARM, D, K, PAIRS, APART, NOISE = 200_000, 1_000_000, 5_000, 16, 10, 1_000, 1.5, 2.5
STARTS, MOST_TIMES, MOST_MEMORY = 4, 2.5, 3.0
CHECKS = {"rounds alone (n_folds=0)": 0, "as it comes": 5}
# by starts of k-means; as it comes has six times the rounds
TIMED = {STARTS: list(CHECKS)[:1], 1: list(CHECKS)}
# pairs, columns of the projection, folds and draws
NEWS, NEWS_RUNS = 20, ((500, 20, 0, 2), (2_000, 20, 0, 2), (2_000, 5, 0, 2), (2_000, 20, 5, 1))


class ClockedKMeans(KMeans):
    """K-means that adds up the CPU time of all its fits."""

    seconds: ClassVar[float] = 0.0
    fits: ClassVar[int] = 0

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """As the parent does."""
        start = time.process_time()
        super().fit(X, y, sample_weight)
        ClockedKMeans.seconds += time.process_time() - start
        ClockedKMeans.fits += 1
        return self


def rows_and_pairs(n: int) -> tuple[Any, Any, Any]:
    X, y = overlapping_blobs(n, D // 2, K, apart=APART, seed=0)
    X = np.hstack([X, np.random.default_rng(0).normal(scale=NOISE, size=X.shape)])
    return X, y, Constraints.sample(y, n_pairs=PAIRS, random_state=0)


def standing(n: int, n_folds: int, n_init: int) -> Any:
    """The input; a small fit has loaded what there is to load, and spare memory is handed back."""
    warnings.simplefilter("ignore")
    boosted((*rows_and_pairs(WARM), n_folds, n_init))
    given = (*rows_and_pairs(n), n_folds, n_init)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return given


def boosted(given: Any) -> dict[str, Any]:
    """A fit: its seconds, those inside the base, rounds, and agreement beside that of the base alone."""
    X, y, known, n_folds, n_init = given
    ClockedKMeans.seconds, ClockedKMeans.fits = 0.0, 0
    start = time.process_time()
    base = ClockedKMeans(K, n_init=n_init)
    model = BoostCluster(estimator=base, n_folds=n_folds, random_state=0).fit(X, constraints=known)
    return {
        "cpu_s": time.process_time() - start,
        "base_cpu_s": ClockedKMeans.seconds,
        "fits": ClockedKMeans.fits,
        "rounds": model.n_iter_,
        "stop_reason": model.stop_reason_,
        "nmi": float(normalized_mutual_info_score(y, model.labels_)),
        "x_mb": X.nbytes / 2**20,
    }


def alone(given: Any) -> dict[str, Any]:
    """One fit of the base on X."""
    X, y, _, _, n_init = given
    start = time.process_time()
    labels = KMeans(K, n_init=n_init, random_state=0).fit(X).labels_
    return {
        "cpu_s": time.process_time() - start,
        "nmi": float(normalized_mutual_info_score(y, labels)),
        "x_mb": X.nbytes / 2**20,
    }


def time_rows() -> list[dict[str, Any]]:
    rows = []
    for n_init, checks in TIMED.items():
        plain = in_fresh_process(__name__, "alone", "standing", (N, 0, n_init))["answer"]
        for how in checks:
            n_folds = CHECKS[how]
            run = in_fresh_process(__name__, "boosted", "standing", (N, n_folds, n_init))
            told = run["answer"]
            ratio = told["cpu_s"] / told["base_cpu_s"]
            rows.append(
                verdict(
                    f"{N:,} x {D}, {PAIRS:,} pairs, k-means, n_init={n_init}, {how}: CPU",
                    f"{told['cpu_s']:.1f} s, of which {told['base_cpu_s']:.1f} s inside the base",
                    theirs="trial 2.1" if n_init == STARTS and not n_folds else "",
                    ratio=ratio,
                    goal=f"at most {MOST_TIMES} times",
                    reached=ratio <= MOST_TIMES,
                    remark=f"{told['fits']} fits of the base, {told['rounds']} rounds kept; k-means alone "
                    f"{plain['cpu_s']:.1f} s. NMI {told['nmi']:.3f}, alone {plain['nmi']:.3f}. Peak "
                    f"{run['peak_mb_above_input']:.0f} MB above X ({told['x_mb']:.0f} MB).",
                    raw=rounded({**run, "alone": plain}),
                )
            )
    return rows


def memory_rows() -> list[dict[str, Any]]:
    plain = in_fresh_process(__name__, "alone", "standing", (LARGE, 0, 1))
    rows = []
    for how, n_folds in CHECKS.items():
        run = in_fresh_process(__name__, "boosted", "standing", (LARGE, n_folds, 1))
        told, peak = run["answer"], run["peak_mb_above_input"]
        rows.append(
            verdict(
                f"{LARGE:,} x {D}, {PAIRS:,} pairs, k-means, n_init=1, {how}: memory above X, CPU",
                f"{peak:.0f} MB, {told['cpu_s']:.0f} s",
                theirs=f"k-means alone {plain['peak_mb_above_input']:.0f} MB, {plain['cpu_s']:.0f} s",
                ratio=peak / told["x_mb"],
                goal=f"at most {MOST_MEMORY:g} times X",
                reached=peak <= MOST_MEMORY * told["x_mb"],
                remark=f"X takes {told['x_mb']:.0f} MB. {told['rounds']} rounds; inside the base "
                f"{told['base_cpu_s']:.0f} s. NMI {told['nmi']:.3f}, alone {plain['answer']['nmi']:.3f}.",
                raw=rounded({**run, "alone": plain}),
            )
        )
    return rows


# ---- news -------------------------------------------------------------------------------------------------


def news(*given: Any) -> Any:
    warnings.simplefilter("ignore")
    data = load_newsgroups()
    return (*vectors([subject_and_body(text) for text in data.data], data.target), *given)


def news_alone(given: Any) -> list[float]:
    X, y, draws = given
    scores = []
    for seed in range(draws):
        labels = KMeans(NEWS, n_init=STARTS, random_state=seed).fit(X).labels_
        scores.append(float(normalized_mutual_info_score(y, labels)))
    return scores


def news_boosted(given: Any) -> dict[str, Any]:
    X, y, draws, n_pairs, n_columns, n_folds = given
    found: dict[str, Any] = {"nmi": [], "rounds": [], "stop_reason": [], "x_mb": megabytes(X)}
    for seed in range(draws):
        known = Constraints.sample(y, n_pairs=n_pairs, how="balanced", random_state=seed)
        model = BoostCluster(NEWS, n_components=n_columns, n_folds=n_folds, random_state=seed)
        model.fit(X, constraints=known)
        found["nmi"].append(float(normalized_mutual_info_score(y, model.labels_)))
        found["rounds"].append(model.n_iter_)
        found["stop_reason"].append(model.stop_reason_)
    return found


def megabytes(X: Any) -> float:
    return float(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20


def in_words(values: Any) -> str:
    return "{:.3f} +- {:.3f}".format(*mean_se(values))


def news_rows() -> list[dict[str, Any]]:
    try:
        load_newsgroups(["sci.space"])
    except FileNotFoundError:
        return [verdict("20 Newsgroups", "not run", remark="Set COTERIE_DATA to the folder that holds them.")]
    most = max(draws for *_, draws in NEWS_RUNS)
    plain, rows = in_fresh_process(__name__, "news_alone", "news", (most,)), []
    for n_pairs, n_columns, n_folds, draws in NEWS_RUNS:
        run = in_fresh_process(__name__, "news_boosted", "news", (draws, n_pairs, n_columns, n_folds))
        told, alone_s = run["answer"], plain["cpu_s"] / most
        rows.append(
            verdict(
                f"20 Newsgroups, {n_pairs:,} pairs, {n_columns} columns, n_folds={n_folds}: NMI; memory",
                f"{in_words(told['nmi'])}; {run['peak_mb_above_input']:.0f} MB",
                theirs=f"k-means {in_words(plain['answer'])}; {plain['peak_mb_above_input']:.0f} MB",
                remark=f"Memory is above X, {told['x_mb']:.0f} MB as CSR. Rounds: "
                + ", ".join(
                    f"{n} ({why})" for n, why in zip(told["rounds"], told["stop_reason"], strict=True)
                )
                + f". {run['cpu_s'] / draws:.0f} CPU seconds a fit, k-means {alone_s:.0f}.",
                raw=rounded({**run, "alone": plain}),
            )
        )
    return rows


def main() -> None:
    rows = time_rows() + memory_rows() + news_rows()
    save(
        __name__,
        TITLE,
        rows,
        data=f"round clusters, spread {APART:g}, seed 0; k = {K}; news 1 or 2 draws",
        times="CPU, one fit, on cores shared with other work",
        load=f"{os.getloadavg()[0]:.1f}, this run included",
    )
