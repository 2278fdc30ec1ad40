"""Chapter 15: whose paper is it? Distances learned from names alone, beside IDF weights and plain distances.

A trial has records under names that several people share. Records of different names are by different
people: that is all a distance learns from. Then each name is clustered by single linkage on its own, and
judged by precision, recall and F over pairs of records: the best F of all cuts (Table 15.2; merges of equal
height count one by one, in SciPy's order), the cut into the true number of people (Table 15.3), and the
cut at .95 of the least distance between records of different names. By the learned distance that least is
1, and the cut is what the pipeline of the docs gives. IDF multiplies a column by log(N / DF) + 1, which is
(15.2) with the weights squared; (15.3) as it is printed is no IDF.

The book's sample of DBLP is lost; ours are the bibliography made after it, with its names and numbers of
authors; digits as names: the ten digits are people, paired at random into five names of 100 images; and
CiteSeer: the name is the surname, columns are the words of the title and the surnames of the co-authors,
zeros and ones; records are all 322 whose surname two authors or more share, and the 42 surnames are judged
where two records are by one author.
"""

from __future__ import annotations

import os
import re
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import pairwise_distances

from benchmarks.measure import in_fresh_process, save, verdict
from benchmarks.protocol import mean_se, rounded
from coterie import CannotLinkMetric, ConstrainedLinkage, Constraints
from coterie.datasets import load_citeseer, make_bibliography
from coterie.metrics import linkage_pair_scores, pair_scores

TITLE = "chapter 15: records of shared names, F over pairs"
QUICK = False
SEEDS, SLACK_COST, NEAR, IMAGES, LARGE = 10, 1.0, 0.95, 100, 5
WAYS = ("learned", "IDF", "Euclid")
CUTS = {"best": "best F of all cuts", "true": "F at the true number", "near": f"F at {NEAR:g}"}
CITESEER = "CiteSeer surnames"
# what an earlier trial had: best F by WAYS
TRIALS = {
    "bibliography": (0.50, 0.38, 0.31),
    "digits as names": (0.91, None, 0.90),
    CITESEER: (0.91, 0.93, None),
}
# name; Table 15.2: best F; Table 15.3: P, R and F at the true number; each by WAYS
BOOK = """
D. Johnson   .644 .390 .399  .381 .757 .507  .242 .770 .368  .260 .771 .389
A. Gupta     .490 .170 .169  .298 .620 .402  .081 .597 .142  .086 .635 .151
J. Smith     .417 .270 .292  .197 .754 .312  .137 .769 .232  .131 .734 .222
R. Johnson   .508 .253 .227  .159 .757 .263  .132 .688 .222  .136 .686 .227
L. Zhang     .278 .165 .158  .157 .488 .238  .093 .594 .161  .082 .509 .142
H. Zhang     .423 .226 .226  .195 .643 .299  .128 .575 .209  .128 .577 .128
R. Jain      .709 .569 .552  .354 .914 .510  .360 .932 .520  .357 .922 .514
J. Mitchell  .640 .535 .536  .418 .897 .570  .373 .876 .523  .373 .876 .523
"""


class Records(NamedTuple):
    """Rows, the name on each, and whose it is."""

    X: Any
    names: NDArray[Any]
    y: NDArray[Any]


def bibliography(seed: int) -> Records:
    made = make_bibliography(random_state=seed)
    return Records(made.data, made.names, made.target)


def digits(seed: int) -> Records:
    """Two digits a name, drawn anew."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    name = (rng.permutation(10) // 2)[y]
    rows = [rng.choice(np.flatnonzero(name == one), IMAGES, replace=False) for one in range(5)]
    picked = np.concatenate(rows)
    return Records(sparse.csr_matrix(X[picked] / 16.0), name[picked], y[picked])


def citeseer(seed: int) -> Records:
    """Nothing is drawn: the seed changes the order of the rows, which decides between equal distances."""
    found = load_citeseer()
    surname = np.array([name.split("_")[0] for name in found.normalized_name])
    on_paper: dict[int, set[str]] = {}
    for paper, name in zip(found.paper_id, surname, strict=True):
        on_paper.setdefault(paper, set()).add(name)
    columns = [
        [*re.findall("[a-z]{2,}", title.lower()), *(f"by {other}" for other in on_paper[paper] - {name})]
        for title, paper, name in zip(found.title, found.paper_id, surname, strict=True)
    ]
    people = {name: len(np.unique(found.target[surname == name])) for name in np.unique(surname)}
    rows = np.flatnonzero([people[name] > 1 for name in surname])
    rows = np.random.default_rng(seed).permutation(rows)
    counted = CountVectorizer(analyzer=lambda words: words, binary=True, dtype=np.float64)
    return Records(counted.fit_transform([columns[row] for row in rows]), surname[rows], found.target[rows])


DATA = {"bibliography": bibliography, "digits as names": digits, CITESEER: citeseer}


def by_idf(X: Any) -> Any:
    frequency = np.maximum(X.getnnz(axis=0), 1)
    return X @ sparse.diags(np.log(X.shape[0] / frequency) + 1.0)


def judge(records: Records, distances: NDArray[Any], least: float) -> dict[str, list[float]]:
    """Best F; precision, recall, F at the true number; F at the threshold; number of records; by name."""
    near = ConstrainedLinkage(None, linkage="single", metric="precomputed", distance_threshold=NEAR * least)
    labels = near.fit(distances, constraints=Constraints.across(records.names)).labels_
    found = {}
    for name in np.unique(records.names):
        own = records.names == name
        y, n_people = records.y[own], len(np.unique(records.y[own]))
        if not 1 < n_people < len(y):
            continue  # nothing to find
        cuts = linkage_pair_scores(
            linkage(squareform(distances[np.ix_(own, own)], checks=False), "single"), y
        )
        true = len(y) - n_people
        found[str(name)] = [
            float(cuts.f1.max()),
            *(float(one[true]) for one in (cuts.precision, cuts.recall, cuts.f1)),
            float(pair_scores(y, labels[own]).f1),
            len(y),
        ]
    return found


def trial(kind: str, seed: int) -> dict[str, Any]:
    """Scores by distance and name, and what learning took."""
    records = DATA[kind](seed)
    known = Constraints.across(records.names)
    start, cpu = time.perf_counter(), time.process_time()
    metric = CannotLinkMetric(C=SLACK_COST).fit(records.X, constraints=known)
    took = {"wall_s": time.perf_counter() - start, "fit_cpu_s": time.process_time() - cpu}
    differ = records.names[:, None] != records.names
    scores = {}
    for way, rows in zip(WAYS, (metric.transform(records.X), by_idf(records.X), records.X), strict=True):
        distances = pairwise_distances(rows)
        # the margin is 1 by definition; where slacks were needed the threshold stays what it is
        least = 1.0 if way == "learned" else float(distances[differ].min())
        scores[way] = judge(records, distances, least)
    return {
        **took,
        "scores": scores,
        "n_pairs": int(differ.sum()) // 2,
        "n_support": len(metric.support_pairs_),
        "gap": float(metric.dual_gap_),
        "n_violated": metric.n_violated_,
    }


def trials(kind: str) -> list[dict[str, Any]]:
    """All seeds, after one fit that loads the kernels."""
    CannotLinkMetric().fit(np.eye(4), constraints=Constraints.across([0, 0, 1, 1]))
    return [trial(kind, seed) for seed in range(SEEDS)]


# ---- rows -------------------------------------------------------------------------------------------------


def shown(values: Any) -> str:
    return " / ".join("-" if value is None else f"{value:.3f}" for value in values)


def mean_scores(found: list[dict[str, Any]], column: int, fewest: int = 0) -> dict[str, tuple[float, float]]:
    """Mean over the names with so many records, then mean and error over the seeds, by distance."""
    return {
        way: mean_se(
            [
                float(np.mean([one[column] for one in run["scores"][way].values() if one[5] >= fewest]))
                for run in found
            ]
        )
        for way in WAYS
    }


def mean_rows(kind: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row a cut; the goals stand with the first."""
    rows = []
    for column, cut in ((0, "best"), (3, "true"), (4, "near")):
        mean = mean_scores(found, column)
        learned, idf, plain = (mean[way][0] for way in WAYS)
        told: dict[str, Any] = {}
        if cut == "best":
            told["theirs"] = f"an earlier trial {shown(TRIALS[kind])}"
        if cut == "best" and kind == "bibliography":
            told["goal"] = "learned .05 above IDF, IDF .03 above Euclid"
            told["reached"] = learned >= idf + 0.05 and idf >= plain + 0.03
            told["remark"] = (
                "Here every author writes at least one record, which makes it harder: without that rule six "
                "seeds had .404 / .346 / .278, and the sketch behind the specification .423 / .334 / .276."
            )
        if cut == "best" and kind == "digits as names":
            # two errors of the difference to a mean of as many seeds
            told["goal"] = "learned about .91, Euclid .90 (.03)"
            told["reached"] = abs(learned - 0.91) <= 0.03 and abs(plain - 0.90) <= 0.03
        if cut == "best" and kind == CITESEER:
            large = mean_scores(found, column, fewest=LARGE)
            told["remark"] = (
                f"Surnames with {LARGE} records or more: {shown(large[way][0] for way in WAYS)}. Learning "
                f"finds no better tree here, but a threshold that holds (F at {NEAR:g})."
            )
        rows.append(
            verdict(
                f"{kind}: {CUTS[cut]}; {' / '.join(WAYS)}",
                shown((learned, idf, plain)) + f", errors up to {max(se for _, se in mean.values()):.3f}",
                **told,
                raw=rounded(mean),
            )
        )
    return rows


def book() -> dict[str, tuple[list[float], list[list[float]]]]:
    """Tables 15.2 and 15.3 by name: best F by distance; precision, recall and F by distance."""
    table = {}
    for line in BOOK.strip().splitlines():
        first, last, *rest = line.split()
        numbers = [float(one) for one in rest]
        table[f"{first} {last}"] = numbers[:3], [numbers[at : at + 3] for at in (3, 6, 9)]
    return table


def misprints() -> list[str]:
    """Entries of Table 15.3 whose F is not that of its own P and R, to rounding."""
    return [
        f"{name} by {way}: P {p:.3f}, R {r:.3f} give F {2 * p * r / (p + r):.3f}, printed {f:.3f}"
        for name, (_, by_way) in book().items()
        for way, (p, r, f) in zip(WAYS, by_way, strict=True)
        if abs(2 * p * r / (p + r) - f) > 2e-3
    ]


def name_rows(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bibliography name by name, beside the book's tables."""
    rows = []
    for name, (best, at_true) in book().items():
        mean = {way: np.mean([run["scores"][way][name] for run in found], axis=0) for way in WAYS}
        rows.append(
            verdict(
                f"{name}: best F; P, R, F at the true number; {' / '.join(WAYS)}",
                shown(mean[way][0] for way in WAYS) + "; " + "; ".join(shown(mean[way][1:4]) for way in WAYS),
                theirs=f"the book {shown(best)}; " + "; ".join(shown(one) for one in at_true),
                remark="The printed F .128 of Euclid is P again; it should be .210."
                if name == "H. Zhang"
                else "",
            )
        )
    wrong = misprints()
    rows.append(
        verdict(
            "Table 15.3, F recomputed from its P and R",
            f"{24 - len(wrong)} of 24 agree",
            goal="one misprint",
            reached=len(wrong) == 1,
            remark="; ".join(wrong) + ".",
        )
    )
    return rows


def cost_row(kind: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    middle = {
        name: float(np.median([run[name] for run in found]))
        for name in ("wall_s", "fit_cpu_s", "n_pairs", "n_support")
    }
    gap = max(run["gap"] for run in found)
    return verdict(
        f"{kind}: learning from {middle['n_pairs']:,.0f} pairs, median of {len(found)}",
        f"{middle['fit_cpu_s']:.2f} s CPU, {middle['wall_s']:.2f} s wall; "
        f"{middle['n_support']:,.0f} support pairs",
        goal="gap 1e-4",
        reached=gap <= 1e-4,
        remark=f"Largest gap {gap:.1e}; at most {max(run['n_violated'] for run in found)} pairs violated.",
        raw=rounded(middle),
    )


def main() -> None:
    rows = []
    for kind, load in DATA.items():
        try:
            load(0)
        except FileNotFoundError:
            rows.append(verdict(kind, "not run", remark="Data are missing: set COTERIE_DATA."))
            continue
        found = in_fresh_process(__name__, "trials", args=(kind,))["answer"]
        rows += mean_rows(kind, found)
        if kind == "bibliography":
            rows += name_rows(found)
        rows.append(cost_row(kind, found))
    save(
        __name__,
        TITLE,
        rows,
        C=SLACK_COST,
        seeds=f"0 to {SEEDS - 1}",
        scores="mean over names, then over seeds; error of the latter",
        load=f"{os.getloadavg()[0]:.1f}, this run included",
    )
