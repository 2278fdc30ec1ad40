"""Chapter 3: constrained EM beside constrained k-means and linkage, with teachers who sort a few items each.

Each of n teachers sorts 5 random items by class and states all pairs among them; n is such that 5 n is the
given share of all items (rounded up). The score is F over pairs of items, on all of them ("free": on items
that no pair names). The nine variants are the chapter's: k-means, complete linkage and EM, each without
pairs, with the must-links (ML), and with all (ML+CL). k-means and EM begin at the same random items, once,
without looking at the pairs; EM with equal weights and the covariance of all data, a ridge of 1e-3 of the
variances, chunklets, joint weights, until the log-likelihood per item changes by less than 1e-4. "EM,
chapter's way" infers on a spanning tree and finds the weights by the pseudo-likelihood. "Default" is our
class as it comes: four starts from k-means under the pairs. "Tied" is what the specification advises for
wine.

"Theirs" are the reference numbers of the specification: a prototype, 20 draws of its own, its stopping rule
not recorded. That matters, as the row "run to the end" shows. The chapter's own figure has no numbers that
survive; its claims are judged. Data are standardised; ionosphere keeps its first 10 principal components (our
choice: 33 features do not make a covariance of 351 items). `draw_picture` makes docs/img/teachers.png.
"""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from benchmarks import pictures
from benchmarks.measure import RESULTS, ROOT, save, verdict
from benchmarks.protocol import held_out, mean_se, rounded, side_by_side
from coterie import ConstrainedGaussianMixture, Constraints, COPKMeans
from coterie.datasets import load_table
from coterie.hierarchy import ConstrainedLinkage
from coterie.metrics import pairwise_f1

TITLE = "chapter 3: F over pairs by the share of items that teachers sort, 40 or 100 draws"
QUICK = False
DRAWS = {"iris": 100, "wine": 40, "balance-scale": 40, "ionosphere": 40}
SEEN, BAND = 5, 0.05
SHARES = {
    "iris": (0.15, 0.3, 0.5),
    "wine": (0.15, 0.3, 0.5),
    "balance-scale": (0.15, 0.3, 0.5),
    "ionosphere": (0.15, 0.3, 0.5, 0.75),
}
COMPONENTS = {"ionosphere": 10}
RIDGE, STOP, MOST = 1e-3, 1e-4, 200
# (data, share): EM, ML, ML+CL
SPEC = {
    ("iris", 0.15): (0.731, 0.794, 0.889),
    ("iris", 0.3): (0.766, 0.830, 0.891),
    ("wine", 0.15): (0.582, 0.598, 0.599),
    ("wine", 0.3): (0.570, 0.604, 0.586),
}
FAMILIES = ("EM", "k-means", "linkage", "EM, chapter's way", "EM, run to the end", "EM, default", "EM, tied")
TOLD = ("none", "ML", "ML+CL")
FIGURE_DRAWS, FIGURE_N = 20, 400
# example, told, share: the prototype's F, mean of 6 draws
FIGURE = {
    ("a", "none", 0.15): 0.499,
    ("a", "ML", 0.15): 0.506,
    ("a", "ML", 0.3): 0.525,
    ("a", "ML+CL", 0.15): 0.502,
    ("a", "ML+CL", 0.3): 0.929,
    ("b", "none", 0.15): 0.895,
    ("b", "ML+CL", 0.15): 0.912,
    ("b", "ML+CL", 0.3): 0.926,
}
IMAGE = ROOT / "docs" / "img" / "teachers.png"
MISSED = {
    "wine": "Full covariances of 13 features are much for 178 items; tied ones, below, are above both.",
    "balance-scale": "A line between classes on a grid of 5 x 5 x 5 x 5 points: nothing is Gaussian there.",
}
LINES = {"EM": "EM, 1 start", "k-means": "k-means", "linkage": "linkage", "EM, default": "EM, 4 starts"}


# ---- the methods ------------------------------------------------------------------------------------------


def load(name: str) -> tuple[Any, Any, int]:
    X, y = load_table(name, return_X_y=True)
    X = StandardScaler().fit_transform(X)
    if name in COMPONENTS:
        X = PCA(COMPONENTS[name], random_state=0).fit_transform(X)
    y = np.unique(y, return_inverse=True)[1]
    return X, y, len(np.unique(y))


def teachers(y: Any, share: float, seed: int) -> dict[str, Constraints]:
    """What the variants are told."""
    number = math.ceil(round(share * len(y) / SEEN, 9))
    drawn = Constraints.sample_teachers(y, number, SEEN, random_state=seed)
    told = {"none": Constraints(n_items=len(y)), "ML": Constraints(drawn.must_link, n_items=len(y))}
    return {**told, "ML+CL": drawn}


def labels(family: str, X: Any, k: int, known: Constraints, seed: int) -> Any:
    """Labels of one variant; those of a family share their start."""
    first = X[np.random.default_rng(seed).choice(len(X), size=k, replace=False)]
    if family == "k-means":
        if not known:
            return KMeans(k, init=first, n_init=1).fit(X).labels_
        return COPKMeans(k, init=first, n_init=1, random_state=seed).fit(X, constraints=known).labels_
    if family == "linkage":
        model = ConstrainedLinkage(k, linkage="complete", propagate=True, random_state=seed)
        return model.fit(X, constraints=known).labels_
    if family == "EM, default":
        return ConstrainedGaussianMixture(k, random_state=seed).fit(X, constraints=known).labels_
    if family == "EM, tied":
        given: dict[str, Any] = {"covariance_type": "tied", "init_params": "k-means++", "n_init": 10}
        return ConstrainedGaussianMixture(k, random_state=seed, **given).fit(X, constraints=known).labels_
    given = {"tol": STOP, "max_iter": MOST}
    if family == "EM, run to the end":
        given = {"tol": 1e-7, "max_iter": 1000}
    if family == "EM, chapter's way":
        given |= {"max_table_cells": 1, "weights_update": "pseudo-likelihood"}
    covariance = np.cov(X.T) + RIDGE * np.diag(X.var(axis=0))
    model = ConstrainedGaussianMixture(
        k,
        reg_covar=RIDGE,
        weights_init=np.full(k, 1 / k),
        means_init=first,
        precisions_init=np.repeat(np.linalg.inv(covariance)[None], k, axis=0),
        **given,
    )
    return model.fit(X, constraints=known).labels_


def asked(name: str) -> tuple[str, ...]:
    """Families that are run on some data."""
    extra = {"iris": ("EM, run to the end",), "wine": ("EM, tied",)}.get(name, ())
    return tuple(one for one in FAMILIES if one not in ("EM, run to the end", "EM, tied") or one in extra)


def scored(name: str, share: float, draws: int, family: str) -> dict[str, dict[str, list[float]]]:
    """F on all items and on the free ones, by what was told and by draw."""
    warnings.simplefilter("ignore")  # dead ends that are repaired, empty components
    X, y, k = load(name)
    found: dict[str, Any] = {told: {"all": [], "free": []} for told in TOLD}
    for seed in range(draws):
        given = teachers(y, share, seed)
        free = held_out(given["ML+CL"])
        for told, known in given.items():
            got = labels(family, X, k, known, seed)
            found[told]["all"].append(pairwise_f1(y, got))
            found[told]["free"].append(pairwise_f1(y[free], got[free]) if free.sum() > 20 else float("nan"))
    return found


# ---- figure 3.1 -------------------------------------------------------------------------------------------


def example(kind: str, seed: int) -> tuple[Any, Any]:
    """(a) two lying clouds, class by the sign of the first feature; (b) a cross of two long clouds."""
    rng = np.random.default_rng(seed)
    half = FIGURE_N // 2
    z = rng.normal(size=(FIGURE_N, 2))
    if kind == "a":
        X = z * [2.0, 0.5]
        X[:half, 1] += 1.5
        X[half:, 1] -= 1.5
        return X, (X[:, 0] > 0).astype(int)
    X = np.concatenate([z[:half] * [3.0, 0.3], z[half:] * [0.3, 3.0] + [2.0, 0.0]])
    return X, np.repeat([0, 1], half)


def figure(kind: str, told: str, share: float) -> list[float]:
    """F on all items by draw: best of 4 random starts by its objective."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    found = []
    for seed in range(FIGURE_DRAWS):
        X, y = example(kind, seed)
        known = teachers(y, share, seed)[told]
        model = ConstrainedGaussianMixture(
            2, init_params="random_from_data", n_init=4, tol=1e-5, max_iter=MOST, random_state=seed
        )
        found.append(pairwise_f1(y, model.fit(X, constraints=known).labels_))
    return found


def figure_rows() -> list[dict[str, Any]]:
    rows = []
    jobs = list(FIGURE)
    for job, answer in zip(jobs, side_by_side(__name__, "figure", jobs), strict=True):
        kind, told, share = job
        mean, error = mean_se(answer)
        goal = {("a", "none"): ("below 0.6", mean < 0.6)}.get((kind, told))
        if job == ("a", "ML+CL", 0.3):
            goal = ("above 0.85", mean > 0.85)
        rows.append(
            verdict(
                f"figure 3.1 ({kind}), {told}" + ("" if told == "none" else f", {share:.0%}"),
                f"{mean:.3f} +- {error:.3f}, median {np.median(answer):.3f}",
                theirs=f"{FIGURE[job]:.3f}",
                goal=goal[0] if goal else "",
                reached=goal[1] if goal else None,
                values=rounded(answer),
            )
        )
    return rows


# ---- rows -------------------------------------------------------------------------------------------------

Found = dict[tuple[str, float, str], dict[str, dict[str, list[float]]]]


def measured(names: tuple[str, ...] = tuple(SHARES)) -> Found:
    jobs = [
        (name, share, DRAWS[name], family)
        for name in names
        for share in SHARES[name]
        for family in asked(name)
    ]
    found = {}
    for (name, share, _, family), answer in zip(jobs, side_by_side(__name__, "scored", jobs), strict=True):
        print(f"{name}, {share:.0%}, {family}", flush=True)
        found[name, share, family] = answer
    return found


def mean_of(found: Found, name: str, share: float, family: str, told: str) -> float:
    return mean_se(found[name, share, family][told]["all"])[0]


def verdicts(found: Found) -> list[dict[str, Any]]:
    """The order and the height on iris, and the chapter's claims on all data."""
    rows = []
    for (name, share), said in SPEC.items():
        got = [mean_of(found, name, share, "EM", told) for told in TOLD]
        error = max(mean_se(found[name, share, "EM"][told]["all"])[1] for told in TOLD)
        judged = name == "iris"
        near = max(abs(one - other) for one, other in zip(got, said, strict=True)) <= BAND
        rows.append(
            verdict(
                f"{name}, {share:.0%}: EM, ML, ML+CL",
                " ".join(f"{one:.3f}" for one in got) + f" (+- {error:.3f} at most)",
                theirs=" ".join(f"{one:.3f}" for one in said),
                goal=f"rising, each within {BAND}" if judged else "",
                reached=got[0] < got[1] < got[2] and near if judged else None,
                remark="" if judged else "One random start in 13 dimensions is lost whatever is told.",
                missed=f"Rising: {'yes' if got[0] < got[1] < got[2] else 'no'}.",
            )
        )
    for name, shares in SHARES.items():
        for share in shares:
            em = [mean_of(found, name, share, "EM, default", told) for told in TOLD]
            rivals = {one: mean_of(found, name, share, one, "ML+CL") for one in ("k-means", "linkage")}
            rows.append(
                verdict(
                    f"{name}, {share:.0%}: default EM, ML, ML+CL against k-means and linkage with all pairs",
                    " ".join(f"{one:.3f}" for one in em),
                    theirs=" ".join(f"{one} {value:.3f}" for one, value in rivals.items()),
                    goal="rising, ML+CL above both",
                    reached=em[0] <= em[1] <= em[2] and em[2] > max(rivals.values()),
                    missed=MISSED.get(name, ""),
                )
            )
    return rows


def shown(found: Found) -> list[dict[str, Any]]:
    """A row for each data, family and what was told, with the means by share."""
    rows = []
    for name, shares in SHARES.items():
        for family in asked(name):
            for told in TOLD:
                by_share = {share: found[name, share, family][told] for share in shares}
                curve = {}
                for share, values in by_share.items():
                    (mean, error), (free, _) = (mean_se(values[kind]) for kind in ("all", "free"))
                    curve[f"{share:.0%}"] = {"f": mean, "f_se": error, "free_f": free}
                rows.append(
                    verdict(
                        f"{name}, {family}, {told}: F at {', '.join(curve)}",
                        " ".join(f"{cell['f']:.3f}" for cell in curve.values()),
                        remark=f"Errors {max(cell['f_se'] for cell in curve.values()):.3f} at most; free "
                        + " ".join(f"{cell['free_f']:.3f}" for cell in curve.values()).replace("nan", "-"),
                        data=name,
                        family=family,
                        told=told,
                        curve=rounded(curve),
                    )
                )
    return rows


def main() -> None:
    found = measured()
    save(
        __name__,
        TITLE,
        verdicts(found) + figure_rows() + shown(found),
        data="standardised; ionosphere: first 10 principal components",
        pairs=f"all pairs among {SEEN} random items a teacher, true kinds",
        draws=f"{DRAWS['iris']} on iris, {DRAWS['wine']} on the others, {FIGURE_DRAWS} of figure 3.1",
        em=f"reg_covar {RIDGE}, tol {STOP}, one random start",
        errors="standard errors over draws",
    )
    draw_picture()


def draw_picture(result: Path = RESULTS / "papers-ch03.json", path: Path = IMAGE) -> None:
    """Three families, and EM as it comes, on each data, out of the result file alone."""
    rows = [row for row in json.loads(result.read_text())["rows"] if "curve" in row]
    curves = {(row["data"], row["family"], row["told"]): row["curve"] for row in rows}
    cells = []
    for told in ("ML", "ML+CL"):
        row = []
        for name in dict.fromkeys(name for name, _, _ in curves):
            lines = []
            for family, words in LINES.items():
                curve = curves[name, family, told]
                values, errors = ([cell[key] for cell in curve.values()] for key in ("f", "f_se"))
                lines.append(pictures.Line(words, values, errors))
            plain = [cell["f"] for cell in curves[name, "EM, default", "none"].values()]
            lines.insert(0, pictures.Line("no pairs", plain, [0.0] * len(plain), plain=True))
            row.append(
                pictures.Panel(name if told == "ML" else "", list(curve), lines, f"F over pairs, {told}")
            )
        cells.append(row)
    pictures.small_multiples(
        path,
        cells,
        heading="Constrained EM, k-means and complete linkage: must-links alone, and with cannot-links",
        across="items that teachers sorted",
        dots=100,
        note=f"Mean of {DRAWS['iris']} (iris) or {DRAWS['wine']} draws; a teacher sorts {SEEN} items; "
        "bands: one standard error. k-means: one random start; no pairs: EM, 4 starts. "
        "Source: benchmarks/papers/ch03.py",
    )
