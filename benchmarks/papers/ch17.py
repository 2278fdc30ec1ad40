"""Chapter 17: classifiers of few labels and many pairs: spiral, digits, tables, tracks, annotators, a race.

The book's film of a nursing home is lost; `ch17_tracks` has what stands for it, `ch17_tables` the two-class
tables. The spiral is that of the specification (section 7.1): two arms, 40 labels each in the inner three
quarters, four must-links at the tails; errors of all 400 points. Digits (7.2): ten classes, two labels each,
200 pairs; errors of the other half.

The race. 20,000 x 64 rows (scikit-learn's `make_classification`), 2,000 labels, 200,000 pairs, a tenth of
them wrong, beside `LogisticRegression` on the 402,000 pseudo-examples of section 4.5: its fit alone, with the
loosest tolerance that comes as near. Near means: of what the fit gains over f = 0 a millionth may be missing,
a stronger demand than one on the objective, which consists of constants for the most part.

A claim is confirmed if the difference is on its side by more than two standard errors (draws are paired),
denied if it is so on the other side.
"""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from benchmarks.measure import cpu_seconds, in_fresh_process, save, verdict
from benchmarks.papers import ch17_tables as tables
from benchmarks.papers import ch17_tracks as tracks
from benchmarks.papers.ch17_tables import by_distance
from benchmarks.papers.ch17_tracks import Numbers, gap, models, percent
from benchmarks.protocol import draw, rounded
from coterie import Constraints, PairwiseLogisticRegression, PairwiseSVC
from coterie.exceptions import ViolatedConstraintsWarning
from coterie.semisupervised._training import Examples

TITLE = "chapter 17: labels and pairs in one classifier"
QUICK = False


# ---- spiral -----------------------------------------------------------------------------------------------

SPIRALS = 20
ARMS = ((201, 0.0), (199, np.pi))
SPIRAL = {"gamma": 5.0}


def spiral(seed: int) -> tuple[Any, Any, Any, Constraints]:
    """Rows, classes, labels (-1: none) and four must-links from the tails inwards."""
    rng = np.random.default_rng(seed)
    arms, told, must, first = [], [], [], 0
    for n, turn in ARMS:
        t = np.linspace(0.25, 1.0, n) * 1.75 * 2.0 * np.pi
        arms.append(np.column_stack([t * np.cos(t + turn), t * np.sin(t + turn)]))
        told.append(first + rng.choice(int(0.75 * n), size=40, replace=False))
        place = {share: first + int(share * n) for share in (0.72, 0.85, 0.97)}
        must += [(place[0.85], place[0.72]), (place[0.97], place[0.72])]
        first += n
    X = np.vstack(arms)
    X += rng.normal(scale=0.15, size=X.shape)
    truth = np.repeat([0, 1], [n for n, _ in ARMS])
    y = np.full(len(X), -1)
    for c, items in enumerate(told):
        y[items] = c
    return X / X.std(), truth, y, Constraints(must, n_items=len(X))


def spirals(n_draws: int) -> Numbers:
    """Errors of all points."""
    warnings.simplefilter("ignore", ViolatedConstraintsWarning)
    found: Numbers = {}
    for seed in range(n_draws):
        X, truth, y, known = spiral(seed)
        for name, model in models(**SPIRAL).items():
            plain = {"CPKLR": "KLR", "CPSVM": "SVM"}.get(name)
            if plain:
                found.setdefault(plain, []).append(float(np.mean(model.fit(X, y).predict(X) != truth)))
            wrong = model.fit(X, y, constraints=known).predict(X) != truth
            found.setdefault(name, []).append(float(np.mean(wrong)))
        for name, words in (("RCA + KLR", {}), ("RCA + KLR, shrinkage=0", {"shrinkage": 0.0})):
            rows = by_distance(X, known, **words)(X)
            wrong = models(**SPIRAL)["CPKLR"].fit(rows, y).predict(rows) != truth
            found.setdefault(name, []).append(float(np.mean(wrong)))
        for name, given in (("KLR, gamma as it comes", None), ("CPKLR, gamma as it comes", known)):
            wrong = PairwiseLogisticRegression().fit(X, y, constraints=given).predict(X) != truth
            found.setdefault(name, []).append(float(np.mean(wrong)))
    return found


def spiral_rows() -> list[dict[str, Any]]:
    found = in_fresh_process(__name__, "spirals", args=(SPIRALS,))["answer"]
    trial = {"KLR": 22.7, "SVM": 22.4, "CPKLR": 9.6, "NPKLR": 8.8, "CPSVM": 7.8}
    rows = []
    for name, values in found.items():
        high, far = name in ("KLR", "SVM"), name not in trial
        error = 100 * np.mean(values)
        rows.append(
            verdict(
                f"spiral, {SPIRALS} draws: {name}; error %",
                percent(values),
                theirs="" if far else f"trial {trial[name]}",
                goal="" if far else "above 18" if high else "below 13",
                reached=None if far else error > 18 if high else error < 13,
                raw=rounded(values),
            )
        )
    claims = [
        ("RCA helps little", "KLR", "RCA + KLR"),
        ("CPKLR is much better than KLR", "KLR", "CPKLR"),
        ("NPKLR is a little better than CPKLR", "CPKLR", "NPKLR"),
        ("CPKLR is better than RCA + KLR", "RCA + KLR", "CPKLR"),
        ("(not in the book) CPSVM is better than CPKLR", "CPKLR", "CPSVM"),
    ]
    for what, above, below in claims:
        word, told = gap(found[above], found[below])
        if what == "RCA helps little":
            word = "confirmed" if abs(np.mean(found[above]) - np.mean(found[below])) < 0.03 else "denied"
        rows.append(verdict(f"claim, spiral: {what}", f"{word}: {told}", claim=word))
    return rows


# ---- digits -----------------------------------------------------------------------------------------------

DRAWS = 10


def ten_digits(n_draws: int) -> Numbers:
    """Errors of digits that no label and no pair is about."""
    warnings.simplefilter("ignore", ViolatedConstraintsWarning)
    printed = PairwiseLogisticRegression(loss="nonconvex", cannot_link_loss="printed", **tracks.KERNEL)
    found: Numbers = {}
    for seed in range(n_draws):
        case = tracks.digits(seed)
        own = models(**tracks.KERNEL)
        ways = {"KLR": (own["CPKLR"], None), "SVM": (own["CPSVM"], None)}
        ways |= {name: (model, case.known) for name, model in own.items()}
        ways["NPKLR, (17.24) as printed"] = (printed, case.known)
        for name, (model, known) in ways.items():
            wrong = model.fit(case.X, case.y, constraints=known).predict(case.test) != case.truth
            found.setdefault(name, []).append(float(wrong.mean()))
    return found


def digit_rows() -> list[dict[str, Any]]:
    found = in_fresh_process(__name__, "ten_digits", args=(DRAWS,))["answer"]
    trial = {"KLR": "23.5", "CPKLR": "15", "NPKLR": "33", "NPKLR, (17.24) as printed": "51 to 55"}
    gain = 100 * (np.mean(found["KLR"]) - np.mean(found["CPKLR"]))
    return [
        verdict(
            f"ten digits, {DRAWS} draws: {name}; error %",
            percent(values),
            theirs=f"trial {trial[name]}" if name in trial else "",
            goal="5 points below KLR" if name == "CPKLR" else "",
            reached=gain >= 5 if name == "CPKLR" else None,
            remark=f"{gain:.1f} points below." if name == "CPKLR" else "",
            raw=rounded(values),
        )
        for name, values in found.items()
    ]


# ---- race -------------------------------------------------------------------------------------------------

RACE_ROWS, RACE_COLUMNS, RACE_LABELS, RACE_PAIRS, WRONG = 20_000, 64, 2_000, 200_000, 0.1
ALPHA, NEAR = 0.01, 1e-6
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


def pseudo_examples(X: Any, y: Any, known: Constraints) -> tuple[Any, Any]:
    """Section 4.5: labelled rows, and each pair as a row of either class."""
    ends = ((known.must_link, 1.0), (known.cannot_link, -1.0))
    away = np.vstack([X[pairs[:, 0]] - c * X[pairs[:, 1]] for pairs, c in ends])
    told = y >= 0
    sign = np.concatenate([2.0 * y[told] - 1.0, np.ones(len(away)), -np.ones(len(away))])
    return np.vstack([X[told], away, away]), sign


def cost(rows: Any, sign: Any, w: Any) -> float:
    """What w costs above f = 0, to all digits."""
    margin = sign * (rows @ w)
    return float(np.log1p(0.5 * np.expm1(-margin)).sum() + ALPHA * w @ w)


def linear_race(n_rows: int, n_labels: int, n_pairs: int) -> dict[str, Any]:
    """Both sides: seconds, and what is missing of the gain over f = 0."""
    warnings.simplefilter("ignore", ViolatedConstraintsWarning)
    X, truth = make_classification(
        n_rows,
        RACE_COLUMNS,
        n_informative=16,
        n_redundant=16,
        n_clusters_per_class=1,
        random_state=0,
    )
    y = np.where(np.arange(n_rows) < n_labels, truth, -1)
    known = draw(truth, n_pairs, 0, WRONG)
    rows, sign = pseudo_examples(X, y, known)
    ours = PairwiseLogisticRegression(ALPHA, kernel="linear")

    def theirs(tol: float, solver: str = "lbfgs") -> Any:
        return LogisticRegression(
            C=1.0 / (2.0 * ALPHA), fit_intercept=False, tol=tol, solver=solver, max_iter=10_000
        )

    best = theirs(1e-12, "newton-cholesky").fit(rows, sign).coef_[0]
    gain = -cost(rows, sign, best)

    def missing(model: Any) -> float:
        return (cost(rows, sign, model.coef_[0]) + gain) / gain

    found: dict[str, Any] = {"missing": missing(ours.fit(X, y, constraints=known)), "steps": ours.n_iter_}
    # of the objective as it is stated, constants and all
    found["relative"] = found["missing"] * gain / (len(y[y >= 0]) + 2.0 * n_pairs) / np.log(2.0)
    for tol in TOLERANCES:
        found["tol"], found["theirs"] = tol, missing(theirs(tol).fit(rows, sign))
        if found["theirs"] <= NEAR:
            break
    jobs = [
        lambda: ours.fit(X, y, constraints=known),
        lambda: theirs(found["tol"]).fit(rows, sign),
        lambda: theirs(1e-4).fit(rows, sign),
        lambda: theirs(1e-4, "newton-cholesky").fit(rows, sign),
    ]
    names = ("ours_s", "theirs_s", "as it comes_s", "newton_s")
    found |= {name: one["cpu_s"] for name, one in zip(names, cpu_seconds(*jobs, repeats=5), strict=True)}
    read = [lambda: Examples.read(y.astype(np.int64), np.array([[-1.0], [1.0]]), known, 1.0, True)]
    found["read"] = cpu_seconds(*read)[0]["cpu_s"] / found["ours_s"]
    found["as it comes"] = missing(theirs(1e-4).fit(rows, sign))
    found["newton"] = missing(theirs(1e-4, "newton-cholesky").fit(rows, sign))
    return found


def hinge_race(n_pairs: int) -> dict[str, Any]:
    """PairwiseSVC on the rows of the race: seconds, the share that primal and dual are apart, errors."""
    warnings.simplefilter("ignore")
    X, truth = make_classification(
        RACE_ROWS, RACE_COLUMNS, n_informative=16, n_redundant=16, n_clusters_per_class=1, random_state=0
    )
    y = np.where(np.arange(RACE_ROWS) < RACE_LABELS, truth, -1)
    known = draw(truth, n_pairs, 0, WRONG)
    model = PairwiseSVC(ALPHA, kernel="linear")
    start = time.process_time()
    model.fit(X, y, constraints=known)
    taken = time.process_time() - start
    wrong = float(np.mean(model.predict(X) != truth))
    logistic = PairwiseLogisticRegression(ALPHA, kernel="linear").fit(X, y, constraints=known)
    other = float(np.mean(logistic.predict(X) != truth))
    apart, nothing = model.dual_gap_ / model.objective_, bool(np.abs(model.decision_function(X)).max() < 0.01)
    return {"s": taken, "apart": apart, "wrong": wrong, "logistic": other, "nothing": nothing}


def race_rows() -> list[dict[str, Any]]:
    size = (RACE_ROWS, RACE_LABELS, RACE_PAIRS)
    found = in_fresh_process(__name__, "linear_race", args=size)["answer"]
    ratio = found["theirs_s"] / found["ours_s"]
    what = f"linear, {RACE_ROWS:,} x {RACE_COLUMNS}, {RACE_PAIRS:,} pairs"
    rows = [
        verdict(
            f"{what}: relative distance to the optimum of LogisticRegression on the pseudo-examples",
            f"{found['relative']:.1e}",
            goal="1e-6",
            reached=found["relative"] <= NEAR,
            remark=f"Of what the fit gains over f = 0: {found['missing']:.1e}; theirs {found['theirs']:.1e}.",
        ),
        verdict(
            f"{what}: CPU seconds, from constraints to the model, beside the fit alone",
            f"{found['ours_s']:.2f}",
            theirs=f"{found['theirs_s']:.2f} (tol={found['tol']:g})",
            ratio=ratio,
            goal="4 times faster (trial 5.6)",
            reached=ratio >= 4,
            remark=f"Theirs with tol=1e-4: {found['as it comes_s']:.2f} s, {found['as it comes']:.1e} of the "
            f"gain missing; newton-cholesky: {found['newton_s']:.2f} s, {found['newton']:.1e}.",
            missed=f"{found['read']:.0%} of our time goes into reading the pairs.",
            raw=rounded(found, 12),
        ),
    ]
    for n_pairs in (0, 2_000, RACE_PAIRS):
        hinge = in_fresh_process(__name__, "hinge_race", args=(n_pairs,))["answer"]
        rows.append(
            verdict(
                f"PairwiseSVC, linear, {RACE_LABELS:,} labels, {n_pairs:,} pairs: CPU seconds; share "
                "that primal and dual are apart; error %",
                f"{hinge['s']:.1f}; {hinge['apart']:.1e}; {100 * hinge['wrong']:.1f}",
                remark=f"Error of PairwiseLogisticRegression: {100 * hinge['logistic']:.1f} %. No race: "
                "LinearSVC has no pairs." + (" f is 0." if hinge["nothing"] else ""),
            )
        )
    return rows


# ---- what cannot be rerun ---------------------------------------------------------------------------------

LOST = "The film is lost."


def lost_rows() -> list[dict[str, Any]]:
    return [
        verdict(
            "the chapter, one day, 63 tracks, 20 pairs: NPKLR, error",
            "not testable",
            theirs="18 -> 6 %",
            remark=f"{LOST} The tracks of digits stand for it.",
            claim="not testable",
        ),
        verdict(
            "the chapter, six days, 156 tracks, 40 pairs: NPKLR, error",
            "not testable",
            theirs="22 -> 12 %",
            remark=LOST,
            claim="not testable",
        ),
        verdict(
            "the chapter: temporal constraints gain nothing over six days",
            "not testable",
            remark=f"{LOST} Nothing here stands for other light and other clothes.",
            claim="not testable",
        ),
        verdict(
            "the chapter, nine annotators, 140 weighted pairs: WPKLR, accuracy",
            "not testable",
            theirs=".7375 -> .8125",
            remark="The study is lost, and its counts disagree (160 of 180, or 140 of 160). See annotators.",
            claim="not testable",
        ),
    ]


def main() -> None:
    rows = spiral_rows() + digit_rows()
    rows += race_rows()
    rows += tracks.annotator_rows()
    own, split = tracks.track_rows_of_page()
    rows += own + tracks.track_claims(split) + tables.table_rows() + lost_rows()
    save(
        __name__,
        TITLE,
        rows,
        draws=f"spiral {SPIRALS}, digits {DRAWS}, films {tracks.FILMS}, tables {tables.DRAWS}, annotators 20",
        load=f"{os.getloadavg()[0]:.1f}, this run included",
    )
