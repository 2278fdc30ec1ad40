"""EMC on the six tables of its paper: does bending edges carry over from pairs to their neighbours?

The protocol of Hakkoymaz, Chatzimilioudis, Gunopulos and Mannila 2009: x N pairs of N items, half must-links
and half cannot-links, drawn from the true classes; raw features, constant ones left out; the Rand index of
all items ("accuracy" there), and here also that of the items in no pair, where 10 are left. Every method gets
the same draws. "EMC" is `weight=0.0`, as in the paper: pairs act through distances and the start alone; "EMC
priced" is the default, by which broken pairs cost something at the end as well. Both come out of the same
distances, by the public functions of `coterie.graph`; of each table the first draw is checked against the
class. MPCK has the paper's weight 1 and a diagonal metric a cluster; "kernel" is KernelPCKMeans, linear as
in the specification, or with its default kernel. Balance-scale and breast-w have fewer draws, to spare time.
K-means by Xing's diagonal metric, the paper's fourth method, is left out: on raw ionosphere XingMetric stops
far from its optimum, and says so.

The figures of the paper are lost, and its text says who wins where, by no number. A claim of it is confirmed
if the difference, averaged over all x, is on its side by more than two standard errors (draws are paired and
the unit), denied if it is so on the other side. "Theirs" is the prototype behind the specification: 4 draws,
x = .2 / .6. `draw_picture` makes docs/img/emc.png out of the result file.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import rand_score

from benchmarks import pictures
from benchmarks.measure import RESULTS, ROOT, save, verdict
from benchmarks.protocol import held_out, mean_se, rounded, side_by_side
from coterie import EMC, Constraints, KernelPCKMeans, KMedoids, MPCKMeans
from coterie.datasets import load_table
from coterie.exceptions import ViolatedConstraintsWarning
from coterie.graph import adjust_weights, hub_distances, knn_graph

TITLE = "EMC: Rand index by constraints on six tables"
QUICK = False
DRAWS, FEW, FEWEST, STARTS = 50, 10, 10, 10
SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
TIMED = tuple(round(0.1 * i, 1) for i in range(1, 11))
NEIGHBOURS, PARTS = (5, 10, 20), (1, 2, 4, 8, 12, 16, 20, 24)
LARGE = {"balance-scale": 10, "breast-w": 10}  # draws
METHODS = ("k-means", "EMC", "EMC priced", "MPCK", "kernel", "kernel rbf")
IMAGE = ROOT / "docs" / "img" / "emc.png"
# goals on ionosphere at x = .6, and how near to k-means wine stays
LEAST, GAIN, NEAR = 0.69, 0.07, 0.05

# seconds in the paper: SS-Kernel, MPCK, EMC
TIMES = {
    "soybean-small": (0.1, 0.4, 0.6),
    "iris": (0.1, 0.5, 1.1),
    "wine": (0.1, 0.5, 1.6),
    "ionosphere": (0.1, 0.5, 4.3),
    "balance-scale": (0.3, 0.5, 7.0),
    "breast-w": (0.6, 0.6, 7.3),
}
TABLES = tuple(TIMES)
# the prototype at x = .2 and .6, in the order of TABLES
SPEC = {
    "k-means": (".854", ".880", ".712", ".589", ".594", ".924"),
    "EMC": (".903/.950", ".921/.943", ".684/.728", ".592/.726", ".672/.721", ".909/.898"),
    "MPCK": (".821/1.00", ".924/.952", ".820/.815", ".592/.572", ".614/.675", ".889/.921"),
    "kernel": (".834/.913", ".839/.878", ".698/.698", ".589/.589", ".591/.603", ".924/.924"),
}
# who is above whom, by the paper's text
CLAIMS = [
    *((table, "EMC", ("MPCK", "kernel")) for table in TABLES if table not in ("wine", "breast-w")),
    ("breast-w", "MPCK", ("EMC",)),
    ("breast-w", "EMC", ("kernel",)),
    ("wine", "MPCK", ("EMC", "kernel")),
    ("balance-scale", "k-means", ("MPCK",)),  # which "cannot improve"
]
NO_FIELD = 1.0 + 1e-9
TEXT = {"constraint_edges": "none", "norm": "none", "average": "all"}
VARIANTS = {
    "must-links as edges, no field": {"alpha": NO_FIELD},
    "the paper's text": TEXT,
    "the paper's start alone": {**TEXT, "alpha": NO_FIELD},
}
Scores = dict[str, list[float]]


# ---- what runs in processes of its own --------------------------------------------------------------------


def table(name: str) -> tuple[Any, Any]:
    """Raw features that are not constant, of complete rows, and classes."""
    X, y = load_table(name, return_X_y=True, missing="drop")
    X = np.asarray(X, dtype=float)
    return X[:, X.std(axis=0) > 0], y


def drawn(y: Any, share: float, seed: int) -> Constraints:
    return Constraints.sample(y, n_pairs=round(share * len(y)), how="balanced", random_state=seed)


def score(y: Any, labels: Any, known: Constraints) -> tuple[float, float]:
    """Rand index of all items, and of those in no pair."""
    free = held_out(known)
    return rand_score(y, labels), rand_score(y[free], labels[free]) if free.sum() >= FEWEST else np.nan


def rivals(k: int, seed: int) -> dict[str, Callable[[Any, Constraints], Any]]:
    """Labels of the other methods."""
    plain = KMeans(k, n_init=STARTS, random_state=seed)

    def fit(model: Any, X: Any, known: Constraints) -> Any:
        return model.fit(X, constraints=known).labels_

    return {
        "k-means": lambda X, known: plain.fit(X).labels_,
        "MPCK": partial(fit, MPCKMeans(k, weight=1.0, per_cluster=True, random_state=seed)),
        "kernel": partial(fit, KernelPCKMeans(k, kernel="linear", random_state=seed)),
        "kernel rbf": partial(fit, KernelPCKMeans(k, random_state=seed)),
    }


def curve(name: str) -> list[dict[str, list[tuple[float, float]]]]:
    """Of each share, method and draw the Rand index of all items, and of those in no pair."""
    warnings.simplefilter("ignore", ViolatedConstraintsWarning)
    X, y = table(name)
    k, graph, told = len(np.unique(y)), knn_graph(X), []
    for share in SHARES:
        found: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
        for seed in range(LARGE.get(name, DRAWS)):
            known = drawn(y, share, seed)
            labels = {method: run(X, known) for method, run in rivals(k, seed).items()}
            D = hub_distances(adjust_weights(graph, known, X=X).graph, n_partitions=1).distances
            for method, weight in (("EMC", 0.0), ("EMC priced", "auto")):
                words: dict[str, Any] = {"weight": weight, "random_state": seed}
                medoids = KMedoids(k, metric="precomputed", init="neighborhoods", **words)
                labels[method] = medoids.fit(D, constraints=known).labels_
                if seed == 0:
                    assert (EMC(k, **words).fit(X, constraints=known).labels_ == labels[method]).all()
            for method, scores in found.items():
                scores.append(score(y, labels[method], known))
        told.append(found)
    return told


def variants(name: str, share: float, draws: int, given: list[dict[str, Any]]) -> list[list[float]]:
    """CPU time, and Rand index by draw, of EMC with weight 0 and these parameters; one fit goes ahead."""
    warnings.simplefilter("ignore", ViolatedConstraintsWarning)
    X, y = table(name)
    k, told = len(np.unique(y)), []
    EMC(k, n_neighbors=2).fit(X[:40], constraints=Constraints([(0, 1)], n_items=40))
    for words in given:
        kind, values, start = words.pop("kind", None), [], time.process_time()
        for seed in range(draws):
            known = drawn(y, share, seed)
            if kind == "must":
                known = Constraints(must_link=known.must_link, n_items=len(y))
            if kind == "cannot":
                known = Constraints(cannot_link=known.cannot_link, n_items=len(y))
            model = EMC(k, weight=0.0, random_state=seed, **words).fit(X, constraints=known)
            values.append(rand_score(y, model.labels_))
        told.append([(time.process_time() - start) / draws, *values])
    return told


def times(name: str) -> dict[str, float]:
    """Mean CPU seconds of a fit over TIMED; one fit of each goes ahead."""
    warnings.simplefilter("ignore", ViolatedConstraintsWarning)
    X, y = table(name)
    k = len(np.unique(y))
    runs: dict[str, Callable[[Any, Constraints], Any]] = rivals(k, 0)
    runs["EMC"] = lambda X, known: EMC(k, weight=0.0).fit(X, constraints=known)
    parts = max(round(len(y) / 80), 1)
    runs["EMC, n / 80 parts"] = lambda X, known: EMC(k, weight=0.0, n_partitions=parts, random_state=0).fit(
        X, constraints=known
    )
    taken = {}
    for method, run in runs.items():
        run(X, drawn(y, TIMED[0], 0))
        start = time.process_time()
        for seed, share in enumerate(TIMED):
            run(X, drawn(y, share, seed))
        taken[method] = (time.process_time() - start) / len(TIMED)
    return taken


# ---- rows -------------------------------------------------------------------------------------------------

Found = dict[tuple[str, float], dict[str, Any]]


def told(values: Any, digits: int = 3) -> str:
    mean, error = mean_se(list(values))
    return f"{mean:.{digits}f} +- {error:.{digits}f}"


def column(found: Found, name: str, share: float, method: str, free: bool = False) -> Any:
    """Rand index by draw."""
    values = np.array(found[name, share][method], dtype=float)
    return values[:, int(free)]


def goals(found: Found) -> list[dict[str, Any]]:
    """The goals on ionosphere and wine."""
    mine, plain = (column(found, "ionosphere", 0.6, method) for method in ("EMC", "k-means"))
    free, plain_free = (column(found, "ionosphere", 0.6, method, True) for method in ("EMC", "k-means"))
    gain = free - plain_free
    wine = [
        mean_se(list(column(found, "wine", x, "EMC") - column(found, "wine", x, "k-means")))[0]
        for x in SHARES
    ]
    return [
        verdict(
            "ionosphere, x = .6: Rand index of EMC",
            f"{told(mine)}; s.d. {mine.std(ddof=1):.3f}; k-means {plain.mean():.3f}",
            theirs=".71 over 64 draws, s.d. .04; k-means .589",
            goal=f"at least {LEAST}",
            reached=mine.mean() >= LEAST,
        ),
        verdict(
            "ionosphere, x = .6, items in no pair: EMC less k-means",
            f"{told(gain)}; EMC {np.nanmean(free):.3f}, k-means {np.nanmean(plain_free):.3f}",
            goal=f"at least {GAIN}",
            reached=np.nanmean(gain) >= GAIN,
        ),
        verdict(
            f"wine, x = {by_share()}: EMC less k-means",
            " ".join(f"{one:+.3f}" for one in wine),
            theirs="-.028 at .2, +.016 at .6",
            goal=f"within {NEAR} (it does not improve)",
            reached=max(map(abs, wine)) <= NEAR,
        ),
    ]


def by_share() -> str:
    return " ".join(f"{x:g}".lstrip("0") for x in SHARES)


def claims(found: Found) -> list[dict[str, Any]]:
    """Who is above whom, by the paper and here."""
    rows = []
    for name, above, below in CLAIMS:
        for other in below:
            gaps = np.array([column(found, name, x, above) - column(found, name, x, other) for x in SHARES])
            mean, error = mean_se(gaps.mean(axis=0).tolist())
            word = "neither" if abs(mean) <= 2 * error else "confirmed" if mean > 0 else "denied"
            ahead = f"{above} ahead" if mean > 0 else f"{other} ahead"
            rows.append(
                verdict(
                    f"{name}: {above} above {other} (the paper's Figure 10)",
                    f"{word}: {mean:+.3f} +- {error:.3f}",
                    remark=f"By x: {' '.join(f'{one:+.3f}' for one in gaps.mean(axis=1))}; {ahead}.",
                    claim=word,
                )
            )
    return rows


def curves(found: Found) -> list[dict[str, Any]]:
    """A row for each table and method; the curve stands in it."""
    rows = []
    for place, name in enumerate(TABLES):
        for method in METHODS:
            cells = {}
            for share in SHARES:
                mean, error = mean_se(list(column(found, name, share, method)))
                free, free_error = mean_se(list(column(found, name, share, method, True)))
                cells[f"{share:g}"] = {"rand": mean, "rand_se": error, "free": free, "free_se": free_error}
            rows.append(
                verdict(
                    f"{name}, {method}: Rand index at x = {by_share()}; items in no pair",
                    "; ".join(" ".join(short(c[kind]) for c in cells.values()) for kind in ("rand", "free")),
                    theirs=SPEC[method][place] if method in SPEC else "",
                    data=name,
                    method=method,
                    curve=rounded(cells),
                )
            )
    return rows


def short(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def ablations(found: Found) -> list[dict[str, Any]]:
    """What each part of the method is worth, as found."""
    some = list(VARIANTS.values())
    jobs: list[tuple[Any, ...]] = [(name, 0.6, FEW, some) for name in TABLES]
    kinds = [{"kind": "must"}, {"kind": "cannot"}]
    jobs += [("ionosphere", x, FEW, kinds) for x in (0.6, 1.0)]
    wide = [{"n_neighbors": k} for k in NEIGHBOURS]
    jobs += [(name, 0.6, FEW // 2, wide) for name in ("iris", "ionosphere")]
    answers = iter(list(side_by_side(__name__, "variants", jobs)))
    rows = []
    for name in TABLES:
        full = column(found, name, 0.6, "EMC")[:FEW]
        for what, (_, *values) in zip(VARIANTS, next(answers), strict=True):
            gap = full - np.array(values)
            rows.append(
                verdict(
                    f"{name}, x = .6: {what}",
                    told(values),
                    remark=f"EMC as it is: {full.mean():.3f}, {told(gap)} above.",
                )
            )
    for share in (0.6, 1.0):
        (_, *must), (_, *cannot) = next(answers)
        both = column(found, "ionosphere", share, "EMC")[:FEW]
        rows.append(
            verdict(
                f"ionosphere, x = {share:g}: must-links alone / cannot-links alone / both",
                f"{told(must)} / {told(cannot)} / {told(both)}",
                theirs="" if share < 1 else ".664 / .520 / .723",
                remark="Half of the pairs each. The paper: both best, then cannot-links alone.",
            )
        )
    for name in ("iris", "ionosphere"):
        answer = next(answers)
        rows.append(
            verdict(
                f"{name}, x = .6: n_neighbors = {', '.join(map(str, NEIGHBOURS))}",
                "; ".join(told(values) for _, *values in answer),
                remark="CPU seconds a fit: "
                + ", ".join(f"{taken:.2f}" for taken, *_ in answer)
                + ". As many paths as neighbours. The paper: no significant gain.",
            )
        )
    return rows


def parts() -> list[dict[str, Any]]:
    """Parts on breast-w: all hubs, and eight for each two parts."""
    try:
        import pymetis  # noqa: F401
    except ImportError:
        return [verdict("breast-w in parts", "not run", remark="pymetis is missing.")]
    jobs = [
        ("breast-w", 0.6, FEW // 2, [{"n_partitions": p, "hubs_per_pair": hubs} for p in PARTS])
        for hubs in ("all", 8)
    ]
    rows = []
    for (*_, given), answer in zip(jobs, side_by_side(__name__, "variants", jobs), strict=True):
        rows.append(
            verdict(
                f"breast-w, x = .6, {given[0]['hubs_per_pair']} hubs: "
                f"n_partitions = {', '.join(map(str, PARTS))}",
                " ".join(f"{np.mean(values):.3f}" for _, *values in answer)
                + "; CPU seconds "
                + " ".join(f"{taken:.2f}" for taken, *_ in answer),
                theirs="up to 24 times faster; worse after 12 parts, slower again after 16",
                remark=f"{answer[0][0] / min(taken for taken, *_ in answer):.1f} times faster at best.",
            )
        )
    return rows


def time_rows() -> list[dict[str, Any]]:
    """CPU seconds of a fit, beside the paper's."""
    rows = []
    for name, answer in zip(
        TABLES, side_by_side(__name__, "times", [(name,) for name in TABLES]), strict=True
    ):
        rows.append(
            verdict(
                f"{name}: CPU seconds of kernel / MPCK / EMC / EMC in n / 80 parts",
                " / ".join(
                    f"{answer[method]:.3f}" for method in ("kernel", "MPCK", "EMC", "EMC, n / 80 parts")
                ),
                theirs=" / ".join(map(str, TIMES[name])) + " (a Pentium IV; EMC in parts)",
                raw=rounded(answer),
            )
        )
    return rows


def main() -> None:
    answers = side_by_side(__name__, "curve", [(name,) for name in TABLES])
    found: Found = {
        (name, share): cell
        for name, cells in zip(TABLES, answers, strict=True)
        for share, cell in zip(SHARES, cells, strict=True)
    }
    rows = goals(found) + claims(found) + ablations(found) + parts() + time_rows() + curves(found)
    save(
        __name__,
        TITLE,
        rows,
        draws=f"{DRAWS}; {LARGE['breast-w']} of balance-scale and breast-w; {FEW} of variants; {FEW // 2} of "
        "n_neighbors and parts",
        pairs="x N, half must-links and half cannot-links, true kinds",
        times="means over x = .1 to 1, a draw each",
        load=f"{os.getloadavg()[0]:.1f}, this run included",
    )
    draw_picture()


def draw_picture(result: Path = RESULTS / "papers-emc.json", path: Path = IMAGE) -> None:
    """A panel for each table, out of the result file alone."""
    rows = [row for row in json.loads(result.read_text())["rows"] if "curve" in row]
    shown = ("k-means", "EMC", "EMC priced", "MPCK", "kernel", "kernel rbf")
    panels = []
    for name in dict.fromkeys(row["data"] for row in rows):
        lines = []
        for method in shown:
            (cells,) = (r["curve"] for r in rows if (r["data"], r["method"]) == (name, method))
            values, errors = ([cell[key] for cell in cells.values()] for key in ("rand", "rand_se"))
            lines.append(pictures.Line(method, values, errors, plain=method == "k-means"))
        panels.append(pictures.Panel(name, [f"{x:g}" for x in SHARES], lines, "Rand index, all items"))
    pictures.small_multiples(
        path,
        [panels[at : at + 3] for at in range(0, len(panels), 3)],
        heading="EMC on the tables of its paper",
        across="pairs told, for each item",
        note=f"Mean of {DRAWS} draws of true pairs, of the last two {LARGE['breast-w']}; bands: one standard "
        "error. EMC: weight=0.0, the paper; EMC priced: the default. Source: benchmarks/papers/emc.py",
    )
