"""Chapter 3: constrained EM beside constrained k-means and linkage, with teachers who sort a few items each.

Each of n teachers sorts 5 random items by class and states all pairs among them; n is such that 5 n is the
given share of all items (rounded up). The score is F over pairs of items, on all of them ("free": on items
that no pair names). The nine variants are the chapter's: k-means, complete linkage and EM, each without
pairs, with the must-links (ML), and with all (ML+CL). k-means and EM begin at the same random items, once,
without looking at the pairs; EM with full covariances, equal weights and the covariance of all data, a ridge
of 1e-3 of the variances, chunklets, joint weights, until the log-likelihood per item changes by less than
1e-4. One random start decides much, so that both are judged a second time from four starts, the same for
both, which k-means++ draws without looking at the pairs; of these each keeps the best by its own objective.
"EM, chapter's way" infers on a spanning tree and finds the weights by the pseudo-likelihood. "EM, own starts"
is our class with full covariances and starts of its own, of which some are k-means under the pairs: it is
shown, not judged, since k-means has no such help. "Tied" is what the specification advises for wine.

Figure 3.5 (faces of ten people under 64 lights each, 60 principal components; not to be had) is stood in for
by digits: 64 of each, the first 10 principal components (our choice: 64 items do not make a covariance of 60;
with 20, EM is below k-means), teachers who sort ten, so that nine pairs in ten are cannot-links. Its claims
are that constrained EM is best, that most of the gain comes from the few must-links, and that at 75 %
constrained k-means, as Wagstaff et al. wrote it, fails in more than half of its runs. The first footnote (a
class of several components) is a density of one's own: examples/several_clouds.py.

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
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from benchmarks import pictures
from benchmarks.measure import RESULTS, ROOT, save, verdict
from benchmarks.protocol import held_out, mean_se, rounded, side_by_side
from coterie import ConstrainedGaussianMixture, Constraints, COPKMeans, MeanFieldMixture
from coterie.datasets import load_table
from coterie.exceptions import DeadEndError
from coterie.hierarchy import ConstrainedLinkage
from coterie.metrics import pairwise_f1
from examples.several_clouds import SeveralClouds, by_turns

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
FAMILIES = (
    "EM",
    "k-means",
    "linkage",
    "EM, 4 starts",
    "k-means, 4 starts",
    "EM, chapter's way",
    "EM, own starts",
    "EM, run to the end",
    "EM, tied",
)
# The families that are judged against each other, and how many starts each of them has.
SAME_STARTS = {"1 start": ("EM", "k-means"), "4 starts": ("EM, 4 starts", "k-means, 4 starts")}
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
# Figure 3.5 on digits: items a class, components, items a teacher, shares, draws
FACES = {"each": 64, "components": 10, "seen": 10, "shares": (0.5, 0.75), "draws": 20}
IMAGE = ROOT / "docs" / "img" / "teachers.png"
MISSED = {
    "wine": "Full covariances of 13 features are much for 178 items; tied ones, below, are above both.",
    "balance-scale": "A line between classes on a grid of 5 x 5 x 5 x 5 points: nothing is Gaussian there.",
}
LINES = {
    "EM": "EM, 1 start",
    "k-means": "k-means, 1 start",
    "linkage": "linkage",
    "EM, 4 starts": "EM, 4 starts",
    "k-means, 4 starts": "k-means, 4 starts",
}


# ---- the methods ------------------------------------------------------------------------------------------


def load(name: str) -> tuple[Any, Any, int]:
    X, y = load_table(name, return_X_y=True)
    X = StandardScaler().fit_transform(X)
    if name in COMPONENTS:
        X = PCA(COMPONENTS[name], random_state=0).fit_transform(X)
    y = np.unique(y, return_inverse=True)[1]
    return X, y, len(np.unique(y))


def teachers(y: Any, share: float, seed: int, seen: int = SEEN) -> dict[str, Constraints]:
    """What the variants are told."""
    number = math.ceil(round(share * len(y) / seen, 9))
    drawn = Constraints.sample_teachers(y, number, seen, random_state=seed)
    told = {"none": Constraints(n_items=len(y)), "ML": Constraints(drawn.must_link, n_items=len(y))}
    return {**told, "ML+CL": drawn}


def labels(family: str, X: Any, k: int, known: Constraints, seed: int) -> Any:
    """Labels of one variant; those of a family share their start, and so do k-means and EM."""
    if family == "linkage":
        model = ConstrainedLinkage(k, linkage="complete", propagate=True, random_state=seed)
        return model.fit(X, constraints=known).labels_
    if family == "EM, own starts":
        return gaussians(k, random_state=seed).fit(X, constraints=known).labels_
    if family == "EM, tied":
        given: dict[str, Any] = {"covariance_type": "tied", "init_params": "k-means++", "n_init": 10}
        return gaussians(k, random_state=seed, **given).fit(X, constraints=known).labels_
    if "4 starts" in family:
        starts = [kmeans_plusplus(X, k, random_state=4 * seed + one)[0] for one in range(4)]
    else:
        starts = [X[np.random.default_rng(seed).choice(len(X), size=k, replace=False)]]
    one_start = from_centres if family.startswith("k-means") else from_means
    fitted = [one_start(family, X, first, known, seed) for first in starts]
    return min(fitted, key=lambda one: one[0])[1]


def from_centres(family: str, X: Any, first: Any, known: Constraints, seed: int) -> tuple[float, Any]:
    """Objective and labels of k-means from some centres."""
    if not known:
        plain = KMeans(len(first), init=first, n_init=1).fit(X)
        return plain.inertia_, plain.labels_
    model = COPKMeans(len(first), init=first, n_init=1, random_state=seed).fit(X, constraints=known)
    return model.objective_, model.labels_


def from_means(family: str, X: Any, first: Any, known: Constraints, seed: int) -> tuple[float, Any]:
    """Objective and labels of EM from some means, with the covariance of all data."""
    given: dict[str, Any] = {}
    if family == "EM, run to the end":
        given = {"tol": 1e-7, "max_iter": 1000}
    if family == "EM, chapter's way":
        given = {"max_table_cells": 1, "weights_update": "pseudo-likelihood"}
    k = len(first)
    covariance = np.cov(X.T) + RIDGE * np.diag(X.var(axis=0))
    given |= {"weights_init": np.full(k, 1 / k), "means_init": first}
    given |= {"precisions_init": np.repeat(np.linalg.inv(covariance)[None], k, axis=0)}
    model = gaussians(k, **given).fit(X, constraints=known)
    return model.objective_, model.labels_


def gaussians(k: int, **given: Any) -> ConstrainedGaussianMixture:
    """EM as in the chapter, but for what is given."""
    chapter = {"covariance_type": "full", "sampling": "chunklet", "weights_update": "joint"}
    return ConstrainedGaussianMixture(
        k, **{**chapter, "reg_covar": RIDGE, "tol": STOP, "max_iter": MOST, **given}
    )


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
        model = gaussians(
            2, init_params="random_from_data", n_init=4, reg_covar=1e-6, tol=1e-5, random_state=seed
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


# ---- figure 3.5 -------------------------------------------------------------------------------------------


def faces(seed: int) -> tuple[Any, Any]:
    """As many digits of each kind, in few dimensions."""
    X, y = load_table("digits", return_X_y=True)
    y = np.unique(y, return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(y == h), FACES["each"], replace=False) for h in range(10)]
    )
    return PCA(FACES["components"], random_state=0).fit_transform(X[rows]), y[rows]


def faced(share: float, family: str) -> dict[str, list[float]]:
    """F on all items by what was told and by draw; of Wagstaff's k-means 1 where it fails."""
    warnings.simplefilter("ignore")
    found: dict[str, list[float]] = {told: [] for told in TOLD}
    for seed in range(FACES["draws"]):
        X, y = faces(seed)
        given = teachers(y, share, seed, FACES["seen"])
        if family == "Wagstaff":
            model = COPKMeans(10, strategy="wagstaff", init="random", n_init=1, random_state=seed)
            try:
                model.fit(X, constraints=given["ML+CL"])
                found["ML+CL"].append(0.0)
            except DeadEndError:
                found["ML+CL"].append(1.0)
            continue
        for told, known in given.items():
            found[told].append(pairwise_f1(y, labels(family, X, 10, known, seed)))
    return found


def face_rows() -> list[dict[str, Any]]:
    families = ("EM, 4 starts", "k-means, 4 starts", "linkage", "Wagstaff")
    jobs = [(share, family) for share in FACES["shares"] for family in families]
    found = dict(zip(jobs, side_by_side(__name__, "faced", jobs), strict=True))
    rows = []
    for share in FACES["shares"]:
        em, means, linkage = (
            [mean_se(found[share, family][told])[0] for told in TOLD] for family in families[:3]
        )
        error = max(mean_se(found[share, "EM, 4 starts"][told])[1] for told in TOLD)
        rows.append(
            verdict(
                f"figure 3.5 on digits, {share:.0%}: EM, ML, ML+CL; k-means and linkage with the same",
                " ".join(f"{one:.3f}" for one in em) + f" (+- {error:.3f} at most)",
                theirs=f"k-means {' '.join(f'{one:.3f}' for one in means)}, "
                f"linkage {' '.join(f'{one:.3f}' for one in linkage)}",
                goal="rising, ML+CL above both",
                reached=em[0] <= em[1] <= em[2] and em[2] > max(means[2], linkage[2]),
                values=rounded({family: found[share, family] for family in families[:3]}),
            )
        )
        gain = (em[1] - em[0]) / (em[2] - em[0]) if em[2] > em[0] else float("nan")
        rows.append(
            verdict(
                f"figure 3.5 on digits, {share:.0%}: share of EM's gain that the must-links alone bring",
                f"{gain:.2f}",
                goal="more than half",
                reached=gain > 0.5,
            )
        )
        failed = float(np.mean(found[share, "Wagstaff"]["ML+CL"]))
        rows.append(
            verdict(
                f"figure 3.5 on digits, {share:.0%}: runs of k-means as Wagstaff et al. wrote it that fail",
                f"{failed:.0%}",
                theirs="more than half" if share == 0.75 else "",
                goal="more than half" if share == 0.75 else "",
                reached=failed > 0.5 if share == 0.75 else None,
                remark="COPKMeans as it comes always answers.",
            )
        )
    return rows


# ---- the first footnote -----------------------------------------------------------------------------------


def footnote(share: float, parts: int) -> list[float]:
    """F by draw of classes that take turns in a row of clouds, with so many Gaussians each."""
    warnings.simplefilter("ignore")
    found = []
    for seed in range(FIGURE_DRAWS):
        X, y = by_turns(seed)
        model = MeanFieldMixture(2, emission=SeveralClouds(parts), weight=1000.0, random_state=seed)
        known = Constraints.sample(y, n_pairs=round(share * len(y)), random_state=seed)
        found.append(pairwise_f1(y, model.fit(X, constraints=known).predict(X)))
    return found


def footnote_rows() -> list[dict[str, Any]]:
    jobs = [(share, parts) for share in (0.05, 0.1) for parts in (1, 2)]
    found = dict(zip(jobs, side_by_side(__name__, "footnote", jobs), strict=True))
    rows = []
    for share in (0.05, 0.1):
        (one, _), (two, error) = (mean_se(found[share, parts]) for parts in (1, 2))
        rows.append(
            verdict(
                f"footnote 1, classes that take turns in a row of clouds, {share:.0%}: two Gaussians a class",
                f"{two:.3f} +- {error:.3f}, median {np.median(found[share, 2]):.3f}",
                theirs=f"one Gaussian a class {one:.3f}",
                goal="above 0.9, one below 0.7",
                reached=two > 0.9 and one < 0.7,
                values=rounded(found[share, 2]),
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
            for starts, (ours, theirs) in SAME_STARTS.items():
                em = [mean_of(found, name, share, ours, told) for told in TOLD]
                rivals = {one: mean_of(found, name, share, one, "ML+CL") for one in (theirs, "linkage")}
                rows.append(
                    verdict(
                        f"{name}, {share:.0%}, {starts}: EM, ML, ML+CL against k-means and linkage with all",
                        " ".join(f"{one:.3f}" for one in em),
                        theirs=" ".join(f"{one.split(',')[0]} {value:.3f}" for one, value in rivals.items()),
                        goal="rising, ML+CL above both",
                        reached=em[0] <= em[1] <= em[2] and em[2] > max(rivals.values()),
                        remark="The same starts for EM and k-means.",
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
        verdicts(found) + figure_rows() + face_rows() + footnote_rows() + shown(found),
        data="standardised; ionosphere: first 10 principal components",
        pairs=f"all pairs among {SEEN} random items a teacher, true kinds",
        draws=f"{DRAWS['iris']} on iris, {DRAWS['wine']} on the others, {FIGURE_DRAWS} of figure 3.1, "
        f"{FACES['draws']} of figure 3.5",
        em=f"full covariances, reg_covar {RIDGE}, tol {STOP}; starts as the rows say",
        errors="standard errors over draws",
    )
    draw_picture()


def draw_picture(result: Path = RESULTS / "papers-ch03.json", path: Path = IMAGE) -> None:
    """Three families on each data, out of the result file alone."""
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
            shares = curves[name, "EM", "none"]
            plain = [cell["f"] for cell in shares.values()]
            lines.insert(0, pictures.Line("no pairs", plain, [0.0] * len(plain), plain=True))
            row.append(
                pictures.Panel(name if told == "ML" else "", list(shares), lines, f"F over pairs, {told}")
            )
        cells.append(row)
    pictures.small_multiples(
        path,
        cells,
        heading="Constrained EM, k-means and complete linkage: must-links alone, and with cannot-links",
        across="items that teachers sorted",
        dots=100,
        note=f"Mean of {DRAWS['iris']} (iris) or {DRAWS['wine']} draws; a teacher sorts {SEEN} items; "
        "bands: one standard error. EM and k-means: the same starts; no pairs: EM, 1 start. "
        "Source: benchmarks/papers/ch03.py",
    )
