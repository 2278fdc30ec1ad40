"""HMRF-KMeans on three sets of news: what the pairs are worth at the start, in assigning, and in the metric.

The protocol of Basu, Bilenko and Mooney 2004: 300 documents of three groups, tf-idf without stop words and
very frequent or rare words; 20 runs of 2-fold cross-validation; pairs from the training half only; all items
are clustered, and the normalised mutual information (NMI) is that of the test half. All weights are 1, one
start, at most 40 iterations, steps of 1.75 (cosine) and .5 (I-divergence). I: pairs choose the first
centres; I-C: they are priced as well; I-C-D: the weights of the words are learned as well. For the
I-divergence centres alone are smoothed, and I-C-D follows the rule as printed (ascent). Without pairs the
first centres are perturbed copies of the global mean, as in the paper. "Our start" is the default of the
class instead: several starts, from neighbourhoods that cannot-links tell apart or by k-means++. "Theirs" is
the prototype behind the specification (5 runs x 2 folds, other splits).

What differs from the paper: its draws and filters are unknown, and Different-3 has 2913 words here, 3251
there; its figures carry no numbers, so that only its claims compare. Two of them are (a), that I-C-D is best
everywhere, already without pairs, and (d), that with the I-divergence I-C is above I on Different-3 and
Similar-3, and below it on Related-3. The goals and their bands were written before the runs that they judge.
`draw_picture` makes docs/img/news3.png out of the result file.
"""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import normalized_mutual_info_score

from benchmarks import pictures
from benchmarks.measure import RESULTS, ROOT, save, verdict
from benchmarks.protocol import mean_se, rounded, side_by_side
from coterie import Constraints
from coterie.datasets import load_news3
from coterie.exceptions import ViolatedConstraintsWarning

TITLE = "HMRF-KMeans on three sets of news: NMI of the test half, 20 x 2 folds"
QUICK = False
RUNS, MOST = 20, 40
SIZES = (0, 50, 100, 200, 400, 1000)
SETS = ("different", "related", "similar")
GAIN, SAME, BAND = 0.1, 0.02, 0.04
AT_1000 = {"different": 0.80, "related": 0.54, "similar": 0.37}
IMAGE = ROOT / "docs" / "img" / "news3.png"

_NONE = {"use_pairs": "none", "learn": "none"}
_I = {"use_pairs": "init", "learn": "none"}
_I_C = {"use_pairs": "both", "learn": "none"}
_I_C_D = {"use_pairs": "both", "learn": "diagonal"}
_PAPER = {"init": "perturb", "n_init": 1}
_AS_THERE = {"weight": 1.0, "closure": "auto", "smoothing": 10.0}
COLUMNS: dict[str, dict[str, Any]] = {
    "cosine k-means": {"metric": "cosine", **_NONE, **_PAPER},
    "cosine I": {"metric": "cosine", **_I, **_PAPER},
    "cosine I-C": {"metric": "cosine", **_I_C, **_PAPER},
    "cosine I-C-D": {"metric": "cosine", "step": 1.75, **_I_C_D, **_PAPER},
    "I-div. k-means": {"metric": "idivergence", **_NONE, **_PAPER},
    "I-div. I": {"metric": "idivergence", **_I, **_PAPER},
    "I-div. I-C": {"metric": "idivergence", **_I_C, **_PAPER},
    "I-div. I-C-D": {"metric": "idivergence", "rule": "ascent", "step": 0.5, **_I_C_D, **_PAPER},
    "cosine k-means, our start": {"metric": "cosine", **_NONE},
    "cosine I, our start": {"metric": "cosine", **_I},
    "cosine I-C, our start": {"metric": "cosine", **_I_C},
    "cosine I-C-D, our start": {"metric": "cosine", **_I_C_D},
}

# set, pairs; cosine I, I-C, I-C-D; I-divergence I, I-C, ascent
SPEC = """
different    0 .125 .125 .359 .068 .068 .186
different   50 .503 .470 .600 .358 .361 .464
different  100 .382 .376 .549 .335 .318 .371
different  200 .536 .536 .638 .491 .495 .550
different  400 .783 .783 .798 .780 .778 .788
different 1000 .802 .802 .810 .807 .807 .813
related      0 .096 .096 .233 .052 .052 .148
related     50 .224 .228 .331 .194 .201 .260
related    100 .235 .235 .337 .183 .171 .238
related    200 .248 .255 .348 .253 .256 .318
related    400 .501 .495 .532 .489 .487 .519
related   1000 .535 .532 .542 .531 .527 .538
similar      0 .029 .029 .061 .024 .024 .032
similar     50 .069 .075 .072 .070 .069 .080
similar    100 .060 .061 .078 .061 .062 .077
similar    200 .133 .137 .167 .120 .125 .148
similar    400 .354 .356 .362 .335 .333 .348
similar   1000 .381 .380 .348 .369 .370 .367
"""
SPEC_COLUMNS = ("cosine I", "cosine I-C", "cosine I-C-D", "I-div. I", "I-div. I-C", "I-div. I-C-D")


# ---- data and folds ---------------------------------------------------------------------------------------


def vectors(name: str, metric: str) -> tuple[Any, Any]:
    """Documents as rows of tf-idf, and their groups; for the I-divergence each row sums to one."""
    texts, y = load_news3(name, return_X_y=True)
    words = TfidfVectorizer(
        stop_words="english", token_pattern=r"(?u)\b[a-zA-Z]{2,}\b", min_df=3, max_df=0.15, norm="l2"
    )
    X = sp.csr_matrix(words.fit_transform(texts))
    if metric == "idivergence":
        X = sp.csr_matrix(sp.diags(1 / np.asarray(X.sum(axis=1)).ravel()) @ X)
    return X, y


def folds(y: Any, runs: int) -> Any:
    """Runs of 2-fold cross-validation: the run, the fold, and the rows of the test half."""
    for run in range(runs):
        order = np.random.default_rng(run).permutation(len(y))
        for fold, test in enumerate((order[: len(y) // 2], order[len(y) // 2 :])):
            yield run, fold, np.sort(test)


def training_pairs(y: Any, test: Any, n_pairs: int, seed: list[int]) -> Constraints:
    """True pairs inside the training half."""
    told = y.copy()
    told[test] = -1
    return Constraints.sample(told, n_pairs=n_pairs, random_state=seed)


def nmi(name: str, column: str, runs: int) -> list[list[float]]:
    """For each number of pairs, NMI of the test half by run and fold."""
    from coterie.kmeans import HMRFKMeans

    warnings.simplefilter("ignore", ViolatedConstraintsWarning)  # soft pairs may be broken
    given = COLUMNS[column]
    X, y = vectors(name, given["metric"])
    found: list[list[float]] = [[] for _ in SIZES]
    for run, fold, test in folds(y, runs):
        for size, values in zip(SIZES, found, strict=True):
            known = training_pairs(y, test, size, [run, fold, size])
            model = HMRFKMeans(3, max_iter=MOST, random_state=2 * run + fold, **_AS_THERE, **given)
            labels = model.fit(X, constraints=known).labels_
            values.append(float(normalized_mutual_info_score(y[test], labels[test])))
    return found


Found = dict[tuple[str, str], list[list[float]]]


def measured(
    runs: int = RUNS, sets: tuple[str, ...] = SETS, columns: tuple[str, ...] = tuple(COLUMNS)
) -> Found:
    jobs = [(name, column, runs) for name in sets for column in columns]
    found = {}
    for (name, column, _), answer in zip(jobs, side_by_side(__name__, "nmi", jobs), strict=True):
        print(f"{name}, {column}", flush=True)
        found[name, column] = answer
    return found


# ---- rows -------------------------------------------------------------------------------------------------


def verdicts(found: Found) -> list[dict[str, Any]]:
    """The goals; all of them on the paper's start, each cell judged by its mean."""
    rows = []
    for name in ("different", "related"):
        for place, size in enumerate(SIZES[:4]):
            gain, error = difference(found, name, "cosine I-C-D", "cosine I", place)
            rows.append(
                verdict(
                    f"{name}, {size} pairs: cosine I-C-D less I",
                    f"{gain:+.3f} +- {error:.3f}",
                    theirs=f"{spec(name, size, 'cosine I-C-D') - spec(name, size, 'cosine I'):+.3f}",
                    goal=f"at least {GAIN}",
                    reached=gain >= GAIN,
                    missed="Both are above the prototype's: I "
                    f"{mean_of(found, name, 'cosine I', place):.3f} (there "
                    f"{spec(name, size, 'cosine I'):.3f}), I-C-D "
                    f"{mean_of(found, name, 'cosine I-C-D', place):.3f} "
                    f"({spec(name, size, 'cosine I-C-D'):.3f}); less is left to gain.",
                )
            )
    for name in SETS:
        gains = [difference(found, name, "cosine I", "cosine k-means", i)[0] for i in range(1, len(SIZES))]
        rows.append(
            verdict(
                f"{name}, {', '.join(map(str, SIZES[1:]))} pairs: cosine I less k-means",
                " ".join(f"{gain:+.3f}" for gain in gains),
                goal="above 0",
                reached=min(gains) > 0,
                remark="Without pairs both are the same.",
            )
        )
    for name in SETS:
        gaps = [difference(found, name, "cosine I-C", "cosine I", i)[0] for i in range(len(SIZES))]
        theirs = [spec(name, size, "cosine I-C") - spec(name, size, "cosine I") for size in SIZES]
        rows.append(
            verdict(
                f"{name}, {', '.join(map(str, SIZES))} pairs: cosine I-C less I",
                " ".join(f"{gap:+.3f}" for gap in gaps),
                theirs=" ".join(f"{gap:+.3f}" for gap in theirs),
                goal=f"within {SAME}",
                reached=max(map(abs, gaps)) <= SAME,
            )
        )
    for name, said in AT_1000.items():
        mean, error = mean_se(found[name, "cosine I-C-D"][-1])
        rows.append(
            verdict(
                f"{name}, 1000 pairs: cosine I-C-D",
                f"{mean:.3f} +- {error:.3f}",
                theirs=f"{spec(name, 1000, 'cosine I-C-D'):.3f}",
                goal=f"{said:.2f}, within {BAND}",
                reached=abs(mean - said) <= BAND,
            )
        )
    for metric, name in itertools.product(("cosine", "I-div."), SETS):
        gaps, theirs = [], []
        for place, size in enumerate(SIZES):
            full, *less = (f"{metric} {one}" for one in ("I-C-D", "I", "I-C"))
            gaps.append(min(difference(found, name, full, one, place) for one in less))
            theirs.append(min(spec(name, size, full) - spec(name, size, one) for one in less))
        rows.append(
            verdict(
                f"{name}, {', '.join(map(str, SIZES))} pairs: {metric} I-C-D less the better of I and I-C",
                " ".join(f"{gap:+.3f}" for gap, _ in gaps),
                theirs=" ".join(f"{gap:+.3f}" for gap in theirs),
                goal="above 0 (claim a)",
                reached=min(gaps)[0] > 0,
                missed="Below it: " + in_words(gap for gap in gaps if gap[0] <= 0),
            )
        )
    for name, sign in (("different", 1), ("similar", 1), ("related", -1)):
        places = range(1, len(SIZES))
        gaps = [difference(found, name, "I-div. I-C", "I-div. I", place) for place in places]
        theirs = [spec(name, size, "I-div. I-C") - spec(name, size, "I-div. I") for size in SIZES[1:]]
        rows.append(
            verdict(
                f"{name}, {', '.join(map(str, SIZES[1:]))} pairs: I-div. I-C less I",
                " ".join(f"{gap:+.3f}" for gap, _ in gaps),
                theirs=" ".join(f"{gap:+.3f}" for gap in theirs),
                goal=f"{'above' if sign > 0 else 'below'} 0 in the mean (claim d)",
                reached=sign * sum(gap for gap, _ in gaps) > 0,
                remark="With errors " + in_words(gaps),
            )
        )
    return rows


def difference(found: Found, name: str, one: str, other: str, place: int) -> tuple[float, float]:
    """Mean difference of two columns, which share splits and pairs; its error over the runs.

    The two folds of a run are not independent, so a run counts once.
    """
    gaps = np.subtract(found[name, one][place], found[name, other][place])
    return mean_se(gaps.reshape(-1, 2).mean(axis=1).tolist())


def in_words(gaps: Iterable[tuple[float, float]]) -> str:
    """Differences with their errors."""
    return ", ".join(f"{gap:+.4f} +- {error:.4f}" for gap, error in gaps) + "."


def mean_of(found: Found, name: str, column: str, place: int) -> float:
    """Mean of a column."""
    return float(np.mean(found[name, column][place]))


def spec(name: str, size: int, column: str) -> float:
    """The prototype's number; NaN where it has none."""
    for line in SPEC.split("\n"):
        cells = line.split()
        if cells[:2] == [name, str(size)] and column in SPEC_COLUMNS:
            return float(cells[2 + SPEC_COLUMNS.index(column)])
    return float("nan")


def shown(found: Found) -> list[dict[str, Any]]:
    """A row for each set and column, with the means by number of pairs."""
    rows = []
    for (name, column), values in found.items():
        told = [mean_se(np.reshape(one, (-1, 2)).mean(axis=1).tolist()) for one in values]
        curve = {
            size: {"nmi": mean, "nmi_se": error} for size, (mean, error) in zip(SIZES, told, strict=True)
        }
        theirs = [spec(name, size, column) for size in SIZES]
        rows.append(
            verdict(
                f"{name}, {column}: NMI by pairs",
                " ".join(f"{mean:.3f}" for mean, _ in told),
                theirs="" if np.isnan(theirs[0]) else " ".join(f"{one:.3f}" for one in theirs),
                remark=f"Errors {min(e for _, e in told):.3f} to {max(e for _, e in told):.3f}.",
                data=name,
                column=column,
                curve=rounded(curve),
            )
        )
    return rows


def main() -> None:
    found = measured()
    save(
        __name__,
        TITLE,
        verdicts(found) + shown(found),
        data="100 documents of each of 3 newsgroups, tf-idf; 2913, 3223 and 1864 words",
        pairs=f"{', '.join(map(str, SIZES))}, drawn at random inside the training half, true kinds",
        seeds=f"0 to {RUNS - 1}",
        weight=1,
        max_iter=MOST,
        n_init="1; the default with our start",
        errors="standard errors over runs",
    )
    draw_picture()


def draw_picture(result: Path = RESULTS / "papers-hmrf.json", path: Path = IMAGE) -> None:
    """Both distortions and our start, on each set, out of the result file alone."""
    rows = [row for row in json.loads(result.read_text())["rows"] if "curve" in row]
    curves = {(row["data"], row["column"]): row["curve"] for row in rows}
    kinds = {
        "cosine": ("k-means", "I", "I-C", "I-C-D"),
        "I-div.": ("k-means", "I", "I-C", "I-C-D"),
        "cosine, our start": ("k-means", "I", "I-C", "I-C-D"),
    }
    cells = []
    for place, (kind, names) in enumerate(kinds.items()):
        metric, _, start = kind.partition(", ")
        row = []
        for name in dict.fromkeys(name for name, _ in curves):
            lines = []
            for one in names:
                curve = curves.get((name, f"{metric} {one}" + (f", {start}" if start else "")))
                if curve:
                    values, errors = ([cell[key] for cell in curve.values()] for key in ("nmi", "nmi_se"))
                    lines.append(pictures.Line(one, values, errors, plain=one == "k-means"))
            title = f"News-{name.capitalize()}-3" if place == 0 else ""
            row.append(pictures.Panel(title, list(SIZES), lines, f"NMI of the test half, {kind}"))
        cells.append(row)
    pictures.small_multiples(
        path,
        cells,
        heading="HMRF-KMeans on news: pairs at the start (I), in assigning (C), in the word weights (D)",
        across="pairs told, from the training half",
        note=f"Mean of {RUNS} x 2 folds; bands: one standard error over runs. First two rows: the paper's "
        "start. Source: benchmarks/papers/hmrf.py, after Basu, Bilenko and Mooney 2004",
    )
