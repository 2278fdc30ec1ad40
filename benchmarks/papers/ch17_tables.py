"""Chapter 17, tables of two classes: errors by labels, by pairs, and by the share of pairs that are wrong.

Half of the rows for training, 1 to 10 labels a class, pairs drawn at random from the training rows, the
classifiers as they come (gamma="median"). RCA learns from the must-links and goes before
KLR. PGMM is `ConstrainedGaussianMixture` with a component a class, fitted on all training rows, labels and
pairs hard; it cannot take wrong pairs, and is left out there. "Weighted": each pair states the confidence
1 - noise.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import in_fresh_process, verdict
from benchmarks.papers.ch17_tracks import Numbers, gap, models
from benchmarks.protocol import draw, rounded
from coterie import RCA, ConstrainedGaussianMixture, Constraints, PairwiseLogisticRegression
from coterie.exceptions import ViolatedConstraintsWarning

TABLES = ("breast_cancer", "digits 3, 8", "digits 4, 9")
LABELS, PAIRS, NOISE, DRAWS = (1, 5, 10), (0, 20, 50, 100, 200), (0.0, 0.1, 0.2, 0.3), 20


def by_distance(X: Any, known: Constraints, **words: Any) -> Any:
    """RCA of the must-links, rows as wide as before."""
    rca = RCA(**words).fit(X, constraints=Constraints(known.must_link, n_items=len(X)))
    scale = X.std() / rca.transform(X).std()
    return lambda rows: scale * rca.transform(rows)


def table(name: str) -> tuple[Any, NDArray[Any]]:
    """Columns of one unit, and two classes."""
    if name == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return StandardScaler().fit_transform(X), y
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, [int(one) for one in name.split(" ", 1)[1].split(",")])
    return X[kept] / 16.0, (y[kept] == y[kept].max()).astype(int)


def halves(name: str, n_labels: int, seed: int) -> tuple[Any, Any, Any, Any, Any]:
    """Training rows, their classes, the labels that are told; rows and classes of the test."""
    X, y = table(name)
    rng = np.random.default_rng(seed)
    train, test = np.split(rng.permutation(len(X)), [len(X) // 2])
    told = np.full(len(train), -1)
    for c in (0, 1):
        told[rng.choice(np.flatnonzero(y[train] == c), size=n_labels, replace=False)] = c
    return X[train], y[train], told, X[test], y[test]


def by_mixture(X: Any, told: Any, known: Constraints, seed: int) -> Any:
    """What gives rows the class of the labelled items of their component."""
    labels = Constraints.from_labels(told)
    model = ConstrainedGaussianMixture(2, random_state=seed).fit(X, constraints=labels | known)
    of = {model.labels_[told == c][0]: c for c in (0, 1)}
    return lambda rows: np.array([of[label] for label in model.predict(rows)])


def curve(name: str, n_labels: int, n_draws: int) -> dict[str, list[list[float]]]:
    """Errors by method, number of pairs and draw; the pairs are true."""
    warnings.simplefilter("ignore", ViolatedConstraintsWarning)
    found: dict[str, list[list[float]]] = {}
    for n_pairs in PAIRS:
        cell: Numbers = {}
        for seed in range(n_draws):
            X, truth, told, test, y = halves(name, n_labels, seed)
            known = draw(truth, n_pairs, seed)
            must = Constraints(known.must_link, n_items=len(X))
            answers = {way: m.fit(X, told, constraints=known).predict(test) for way, m in models().items()}
            klr = PairwiseLogisticRegression()
            answers["CPKLR, must-links"] = klr.fit(X, told, constraints=must).predict(test)
            change = by_distance(X, known) if must else np.asarray
            answers["RCA + KLR"] = klr.fit(change(X), told).predict(change(test))
            answers["PGMM"] = by_mixture(X, told, known, seed)(test)
            for way, labels in answers.items():
                cell.setdefault(way, []).append(float(np.mean(labels != y)))
        for way, values in cell.items():
            found.setdefault(way, []).append(values)
    return found


def noisy(name: str, n_labels: int, n_pairs: int, n_draws: int) -> dict[str, list[list[float]]]:
    """Errors by method, share of wrong pairs and draw."""
    warnings.simplefilter("ignore", ViolatedConstraintsWarning)
    found: dict[str, list[list[float]]] = {}
    for noise in NOISE:
        cell: Numbers = {}
        for seed in range(n_draws):
            X, truth, told, test, y = halves(name, n_labels, seed)
            said = draw(truth, n_pairs, seed, noise)
            sure = Constraints(said.must_link, said.cannot_link, n_items=len(X), confidence=1.0 - noise)
            for way, model in models().items():
                for weighted, known in (("", said), (", weighted", sure)):
                    wrong = model.fit(X, told, constraints=known).predict(test) != y
                    cell.setdefault(way + weighted, []).append(float(wrong.mean()))
        for way, values in cell.items():
            found.setdefault(way, []).append(values)
    return found


def curves_of(found: dict[str, list[list[float]]]) -> str:
    return "; ".join(
        f"{way} " + " ".join(f"{100 * np.mean(values):.1f}" for values in cells)
        for way, cells in found.items()
    )


def table_rows() -> list[dict[str, Any]]:
    rows, all_curves, all_noisy = [], {}, {}
    for name in TABLES:
        for n in LABELS:
            found = in_fresh_process(__name__, "curve", args=(name, n, DRAWS))["answer"]
            all_curves[name, n] = found
            rows.append(
                verdict(
                    f"{name}, {n} labels a class: error % at {', '.join(map(str, PAIRS))} pairs",
                    curves_of(found),
                    remark="No pairs: CPKLR, NPKLR and RCA + KLR are KLR, CPSVM is SVM.",
                    curve=rounded(found),
                )
            )
        for n_pairs in (100, 200):
            found = in_fresh_process(__name__, "noisy", args=(name, 5, n_pairs, DRAWS))["answer"]
            all_noisy[name, n_pairs] = found
            rows.append(
                verdict(
                    f"{name}, 5 labels a class, {n_pairs} pairs: error % with "
                    f"{', '.join(f'{100 * share:.0f}' for share in NOISE)} % wrong",
                    curves_of(found),
                    curve=rounded(found),
                )
            )
    return rows + table_claims(all_curves, all_noisy)


def table_claims(curves: Any, wrong: Any) -> list[dict[str, Any]]:
    """What the chapter says of methods, over all tables and labels."""

    def at(way: str, n_pairs: int) -> NDArray[Any]:
        return np.concatenate([found[way][PAIRS.index(n_pairs)] for found in curves.values()])

    claims = [
        ("CPKLR is better than KLR, 50 pairs", at("CPKLR", 0), at("CPKLR", 50)),
        ("CPKLR is better than KLR, 200 pairs", at("CPKLR", 0), at("CPKLR", 200)),
        ("NPKLR is better than CPKLR, 50 pairs", at("CPKLR", 50), at("NPKLR", 50)),
        ("NPKLR is better than CPKLR, 200 pairs", at("CPKLR", 200), at("NPKLR", 200)),
        ("CPKLR is a little better than CPSVM, 50 pairs", at("CPSVM", 50), at("CPKLR", 50)),
        ("CPKLR is a little better than CPSVM, 200 pairs", at("CPSVM", 200), at("CPKLR", 200)),
        ("CPKLR is better than RCA + KLR, 200 pairs", at("RCA + KLR", 200), at("CPKLR", 200)),
        ("with must-links alone, too, 200 pairs", at("RCA + KLR", 200), at("CPKLR, must-links", 200)),
        ("CPKLR is better than PGMM, 200 pairs", at("PGMM", 200), at("CPKLR", 200)),
        ("PGMM degrades with pairs (200 beside none)", at("PGMM", 200), at("PGMM", 0)),
        ("NPKLR degrades with many pairs (200 beside 100)", at("NPKLR", 200), at("NPKLR", 100)),
    ]
    for way in ("CPKLR", "NPKLR", "CPSVM"):
        for at_noise, share in enumerate(NOISE):
            if share in (0.1, 0.3):
                plain, weighted = (
                    np.concatenate([found[name][at_noise] for found in wrong.values()])
                    for name in (way, f"{way}, weighted")
                )
                what = f"{way}: weights help, {100 * share:.0f} % of the pairs wrong"
                claims.append((what, plain, weighted))
    rows = []
    for what, above, below in claims:
        word, told = gap(above, below)
        rows.append(verdict(f"claim, tables: {what}", f"{word}: {told}", claim=word))
    return rows
