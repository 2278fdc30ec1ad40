"""Chapter 10: collective entity resolution. Its table on CiteSeer, and what its synthetic figures claim.

CiteSeer, Table 10.1: F1 over all pairs of records, the best of all thresholds and, where relations count, of
`ALPHAS`, chosen with the truth as in the book; beside it what the defaults give without the truth. A and A*
see no papers; NR and NR* see them as evidence only; CR keeps the authors of a paper apart, too.

Figures 10.5 to 10.7: the chapter's generator is not printed, and no numbers of the figures survive. Ours is
`make_references` as it comes (100 entities, 500 contexts, half of the numbers shared), with similarity
exp(-d^2 / 8), records less than 4 apart as candidates, and a bootstrap at similarity .9; all this, the
settings of each figure and the bands of the claims were fixed before the first run, but for the second panel
of Figure 10.5: an earlier trial had two families of settings, and the other one was added after the first
results were seen. Each claim is compared over the same seeds; it is decided where the mean difference is two
standard errors off the limit. Names with hyphens are read as they are (one given name, `person_names`) since
the first results on CiteSeer showed what reading them as two costs: CR .9932 before, A .9922.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import triu
from scipy.spatial import KDTree

from benchmarks import pictures
from benchmarks.measure import RESULTS, ROOT, in_fresh_process, save, verdict
from benchmarks.papers.ch08 import Comparison, finding
from benchmarks.peers.resolve import best_of_labels, best_of_pairs
from benchmarks.protocol import mean_se, rounded, side_by_side
from coterie import EntityResolver
from coterie.datasets import load_citeseer, make_references
from coterie.metrics import pair_scores

TITLE = "chapter 10: who is who, on CiteSeer and made references"
QUICK = False
IMAGES = ROOT / "docs" / "img"
METHODS = {
    "A": "attribute",
    "A*": "attribute-closure",
    "NR": "naive",
    "NR*": "naive-closure",
    "CR": "collective",
}
# the book's best F1 and seconds, and our goals
BOOK = {"A": 0.980, "A*": 0.990, "NR": 0.981, "NR*": 0.991, "CR": 0.995}
GOAL = {"A": 0.985, "A*": 0.992, "NR": 0.986, "NR*": 0.993, "CR": 0.994}
BOOK_SECONDS = {"A": 0.1, "NR": 0.1, "CR": 2.7}
DEFAULT_GOAL, REPEATS = 0.99, 3
ALPHAS = [0.1 * tenth for tenth in range(10)]

SEEDS, ENTITIES = 10, 100
NEIGHBOURS = (0.5, 1.0, 2.0, 4.0, 8.0)  # Figure 10.5: related entities on average
# family of settings: what is made, the bootstrap, and the alphas of which the best counts
FAMILIES: dict[str, tuple[dict[str, float], float, tuple[float, ...]]] = {
    "as it comes": ({}, 0.9, (0.4, 0.6, 0.8)),
    "less ambiguous": ({"p_ambiguous": 0.3, "p_continue": 0.7}, 0.97, (0.25, 0.5, 0.75)),
}
TRIAL = {"A": (0.559, 0.571, 0.589, 0.564, 0.566), "CR": (0.589, 0.738, 0.662, 0.567, 0.567)}
IDENTIFYING = (0.0, 0.5, 1.0, 2.0)  # Figure 10.6 (a): the same, no relation ambiguous
AMBIGUOUS = (0.0, 0.5, 0.9)  # (b): share of ambiguous relations, two related entities on average
CUTS = [0.1 * tenth for tenth in range(1, 9)]
LEVELS, QUERIES = (0, 1, 2, 3), 20  # Figure 10.7, without and with ambiguous relations
FLAT, LEVEL_FLAT = 0.05, 0.02


# ---- CiteSeer ---------------------------------------------------------------------------------------------


def scored(model: Any) -> NDArray[Any]:
    """The scored pairs of a fitted model, (i, j, score)."""
    scores = triu(model.pair_scores_, k=1).tocoo()
    return np.column_stack([scores.row, scores.col, scores.data])


def citeseer() -> dict[str, Any]:
    """By method the best F1 and its alpha; the defaults; seconds of the defaults."""
    found = load_citeseer()
    names, papers, y = found.normalized_name, found.paper_id, found.target

    def fitted(method: str, **given: Any) -> Any:
        contexts = None if method == "attribute" else papers
        model = EntityResolver(method, columns={0: "person-name"}, **given)
        return model.fit(names, contexts=contexts)

    told: dict[str, Any] = {"best": {}, "defaults": {}, "seconds": {}}
    alone, closed = best_of_pairs(scored(fitted("attribute", threshold=0.0)), y)
    told["best"] |= {"A": [alone, 0.0], "A*": [closed, 0.0]}
    naive: list[Any] = []
    collective: dict[str, list[Any]] = {"average": [], "max": []}
    for alpha in ALPHAS:
        model = fitted("naive", alpha=alpha, threshold=0.0, contexts_apart=False)
        naive.append([*best_of_pairs(scored(model), y), alpha])
        for linkage, into in collective.items():
            model = fitted("collective", alpha=alpha, threshold=0.0, linkage=linkage)
            into.append([*best_of_labels(model, y), alpha])
    # of equal ones that with the least alpha, which comes first
    told["best"]["NR"] = max(([alone, alpha] for alone, _, alpha in naive), key=lambda one: one[0])
    told["best"]["NR*"] = max(([closed, alpha] for _, closed, alpha in naive), key=lambda one: one[0])
    told["best"]["CR"], told["by_max"] = (
        max(([f1, alpha, cut] for f1, cut, alpha in runs), key=lambda one: one[0])
        for runs in collective.values()
    )
    for name, method in METHODS.items():
        seconds = []
        for _ in range(REPEATS):
            start = time.process_time()
            model = fitted(method)
            seconds.append(time.process_time() - start)
        told["seconds"][name] = min(seconds)
        alone = name in ("A", "NR")
        found_f1 = pair_scores(y, pairs=model.matched_pairs_) if alone else pair_scores(y, model.labels_)
        told["defaults"][name] = found_f1.f1
    return told


def citeseer_rows() -> list[dict[str, Any]]:
    found = in_fresh_process(__name__, "citeseer")["answer"]
    best, rows = found["best"], []
    for name, (f1, alpha, *at) in best.items():
        above = name != "CR" or f1 >= best["A*"][0]
        rows.append(
            verdict(
                f"CiteSeer, {name}: best F1",
                f"{f1:.4f}",
                theirs=f"the book {BOOK[name]:.3f}",
                goal=f"at least {GOAL[name]:.3f}" + (", no less than A*" if name == "CR" else ""),
                reached=f1 >= GOAL[name] and above,
                remark=("" if name in ("A", "A*") else f"At alpha {alpha:.1f}. ")
                + (f"At threshold {at[0]:.3f}. " if at else "")
                + (f'With linkage="max" {found["by_max"][0]:.4f}. ' if name == "CR" else "")
                + f"Defaults, without the truth: {found['defaults'][name]:.4f}.",
                missed="Average linkage loses one record, `lin_long-li`, of an author of 44: its second "
                "given name is not the j of `lin_l-j`.",
            )
        )
    rows.append(
        verdict(
            "CiteSeer, CR as it comes, without the truth: F1",
            f"{found['defaults']['CR']:.4f}",
            goal=f"at least {DEFAULT_GOAL}",
            reached=found["defaults"]["CR"] >= DEFAULT_GOAL,
            raw=rounded(found),
        )
    )
    rows += [
        verdict(
            f"CiteSeer, {name}: CPU of a fit, least of {REPEATS}",
            f"{found['seconds'][name]:.3f} s",
            theirs=f"the book {seconds} s",
            ratio=seconds / found["seconds"][name],
            remark="Theirs on a Xeon of 3.2 GHz." if name == "A" else "",
        )
        for name, seconds in BOOK_SECONDS.items()
    ]
    return rows


# ---- made references --------------------------------------------------------------------------------------


def closeness(one: float, other: float) -> float:
    return math.exp(-((one - other) ** 2) / 8.0)


def made(neighbours: float, seed: int, **given: float) -> tuple[Any, dict[str, Any]]:
    """References, and what a fit takes beside the numbers."""
    found = make_references(ENTITIES, round(neighbours * ENTITIES / 2), random_state=seed, **given)
    return found, {"candidates": KDTree(found.data).query_pairs(4.0, output_type="ndarray")}


def resolver(method: str = "collective", bootstrap_threshold: float = 0.9, **given: Any) -> Any:
    return EntityResolver(method, columns={0: closeness}, bootstrap_threshold=bootstrap_threshold, **given)


def by_neighbours(family: str, seed: int) -> dict[str, list[float]]:
    """Figure 10.5: best F1 by method and number of related entities."""
    given, bootstrap, alphas = FAMILIES[family]
    told: dict[str, list[float]] = {"A": [], "A*": [], "CR": []}
    for neighbours in NEIGHBOURS:
        found, beside = made(neighbours, seed, **given)
        pairs = scored(resolver("attribute", threshold=0.0).fit(found.data, **beside))
        alone, closed = best_of_pairs(pairs, found.target)
        told["A"].append(alone)
        told["A*"].append(closed)
        beside["contexts"] = found.contexts
        best = []
        for alpha in alphas:
            model = resolver(bootstrap_threshold=bootstrap, alpha=alpha, threshold=0.0)
            best.append(best_of_labels(model.fit(found.data, **beside), found.target)[0])
        told["CR"].append(max(best))
    return told


def by_threshold(neighbours: float, p_ambiguous_relation: float, seed: int) -> list[Any]:
    """Figure 10.6: precision and recall by threshold."""
    found, beside = made(neighbours, seed, p_ambiguous_relation=p_ambiguous_relation)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # without relations no two records share a context
        model = resolver(threshold=0.0).fit(found.data, contexts=found.contexts, **beside)
    return [list(pair_scores(found.target, model.labels_at(cut))[:2]) for cut in CUTS]


def by_level(p_ambiguous_relation: float, seed: int) -> list[Any]:
    """Figure 10.7: precision and recall by level, over the pairs of records like those asked for."""
    found, beside = made(2.0, seed, p_ambiguous_relation=p_ambiguous_relation)
    asked = np.random.default_rng(seed).choice(len(found.target), QUERIES, replace=False)
    model, told = resolver(), []
    for level in LEVELS:
        counts = np.zeros(3)
        for row in asked.tolist():
            answer = model.resolve_around(found.data, [row], level, contexts=found.contexts, **beside)
            labels, y = answer.labels, found.target[answer.rows]
            together, same = labels[:, None] == labels, y[:, None] == y
            counts += [(together & same).sum() - len(y), together.sum() - len(y), same.sum() - len(y)]
        told.append([counts[0] / max(counts[1], 1.0), counts[0] / max(counts[2], 1.0)])
    return told


def figures(seed: int) -> dict[str, Any]:
    return {
        "neighbours": {family: by_neighbours(family, seed) for family in FAMILIES},
        "identifying": [by_threshold(neighbours, 0.0, seed) for neighbours in IDENTIFYING],
        "ambiguous": [by_threshold(2.0, share, seed) for share in AMBIGUOUS],
        "levels": [by_level(share, seed) for share in (0.0, 0.5)],
    }


def neighbour_rows(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Claims of Figure 10.5, for the references as they come; what relations gain in the other family."""
    f1, less = (
        {name: np.array([one["neighbours"][family][name] for one in found]) for name in ("A", "A*", "CR")}
        for family in FAMILIES
    )

    def pair(name: str, one: float, other: float, **band: float) -> Comparison:
        at = [NEIGHBOURS.index(place) for place in (one, other)]
        values = [f1[name][:, place].tolist() for place in at]
        return Comparison(f"{name}, {one:g} less {other:g} neighbours", *values, **band)

    flat = [
        pair(name, place, NEIGHBOURS[0], low=-FLAT, high=FLAT)
        for name in ("A", "A*")
        for place in NEIGHBOURS[1:]
    ]
    last = Comparison("A less CR, 8 neighbours", f1["A"][:, -1].tolist(), f1["CR"][:, -1].tolist())
    what = "Figure 10.5: best F1 by related entities"
    trial = "An earlier trial, 3 seeds: A {}; CR {}.".format(
        *("/".join(f"{value:.2f}" for value in TRIAL[name]) for name in ("A", "CR"))
    )
    return [
        finding(what, f"A and A* are flat, to {FLAT}", flat),
        finding(what, "CR rises to about 2", [pair("CR", 2, 0.5)], trial),
        finding(what, "its top is at 2: above 1 and 4", [pair("CR", 2, 1), pair("CR", 2, 4)]),
        finding(what, "it falls to 8", [pair("CR", 2, 8)]),
        finding(what, "at 8 it is below A", [last]),
        finding(
            "The same, less ambiguous (the trial's first family)",
            f"no gain: CR is A, to {FLAT}",
            [
                Comparison(
                    f"CR less A, {place:g} neighbours",
                    less["CR"][:, k].tolist(),
                    less["A"][:, k].tolist(),
                    -FLAT,
                    FLAT,
                )
                for k, place in enumerate(NEIGHBOURS)
            ],
            "So it was in the trial, with 5 seeds.",
        ),
    ]


def threshold_rows(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Claims of Figure 10.6: between neighbouring settings, at all thresholds."""

    def steps(kind: str, places: Sequence[float], column: int, rises: bool) -> list[Comparison]:
        values = np.array([one[kind] for one in found])[..., column]  # seeds, settings, thresholds
        told = []
        for k in range(len(places) - 1):
            more, fewer = (k + 1, k) if rises else (k, k + 1)
            for t, cut in enumerate(CUTS):
                what = f"{places[more]:g} less {places[fewer]:g}, threshold {cut:.1f}"
                told.append(Comparison(what, values[:, more, t].tolist(), values[:, fewer, t].tolist()))
        return told

    return [
        finding(
            "Figure 10.6 (a): recall, more identifying relations",
            "rises at all thresholds",
            steps("identifying", IDENTIFYING, 1, True),
            "At low thresholds merges that are wrong keep right ones from being made: larger contexts keep "
            "more records apart.",
        ),
        finding(
            "Figure 10.6 (b): precision, more ambiguous relations",
            "falls at all thresholds",
            steps("ambiguous", AMBIGUOUS, 0, False),
        ),
    ]


def level_rows(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Claims of Figure 10.7."""
    rows, band = [], {"low": -LEVEL_FLAT, "high": LEVEL_FLAT}
    for k, kind in enumerate(("no relation ambiguous", "half of the relations ambiguous")):
        precision, recall = np.moveaxis(np.array([one["levels"][k] for one in found]), 2, 0)
        gain, loss = recall[:, -1] - recall[:, 0], precision[:, 0] - precision[:, -1]
        what = f"Figure 10.7, {kind}"
        flat = [
            Comparison(f"{name}, level 3 less 2", one[:, 3].tolist(), one[:, 2].tolist(), **band)
            for name, one in (("precision", precision), ("recall", recall))
        ]
        rows += [
            finding(
                what,
                "recall rises with the level",
                [Comparison("level 3 less 0", recall[:, 3].tolist(), recall[:, 0].tolist())],
            ),
            finding(
                what,
                "precision falls with it",
                [Comparison("level 0 less 3", precision[:, 0].tolist(), precision[:, 3].tolist())],
            ),
            finding(
                what,
                "recall gains more than precision loses",
                [Comparison("gain less loss", gain.tolist(), loss.tolist())],
            ),
            finding(what, f"both are flat by level 3, to {LEVEL_FLAT}", flat),
        ]
    return rows


def curve(values: NDArray[Any]) -> list[tuple[float, float]]:
    """Mean and error over the seeds, which come first, at each place."""
    return [mean_se(column.tolist()) for column in values.T]


def curve_rows(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the pictures are drawn from."""
    curves: list[tuple[str, str, NDArray[Any]]] = [
        (f"10.5, {family}", name, np.array([one["neighbours"][family][name] for one in found]))
        for family in FAMILIES
        for name in ("A", "A*", "CR")
    ]
    kinds = (("10.6 (a)", "identifying", IDENTIFYING, 1), ("10.6 (b)", "ambiguous", AMBIGUOUS, 0))
    for figure, kind, places, column in kinds:
        values = np.array([one[kind] for one in found])[..., column]
        curves += [(figure, f"{place:g}", values[:, k]) for k, place in enumerate(places)]
    levels = np.array([one["levels"] for one in found])  # seeds, kinds, levels, scores
    for k, kind in enumerate(("none", "half")):
        curves += [
            ("10.7", f"{name}, {kind} ambiguous", levels[:, k, :, column])
            for column, name in enumerate(("precision", "recall"))
        ]
    return [
        verdict(
            f"Figure {figure}, {name}",
            " / ".join(f"{mean:.3f}" for mean, _ in curve(values)),
            remark=f"Errors up to {max(error for _, error in curve(values)):.3f}.",
            figure=figure,
            name=name,
            curve=rounded(curve(values)),
        )
        for figure, name, values in curves
    ]


def main() -> None:
    rows = citeseer_rows()
    found = list(side_by_side(__name__, "figures", [(seed,) for seed in range(SEEDS)]))
    rows += [*neighbour_rows(found), *threshold_rows(found), *level_rows(found), *curve_rows(found)]
    save(
        __name__,
        TITLE,
        rows,
        citeseer=f'normalised names, "person-name", blocking auto; alpha 0 to {ALPHAS[-1]:.1f}',
        figures=f"seeds 0 to {SEEDS - 1}; 10.5: best of three alphas; 10.6, 10.7: alpha .5; "
        f"10.7: threshold auto, {QUERIES} records asked for a seed",
    )
    draw_pictures()


# ---- pictures ---------------------------------------------------------------------------------------------


def draw_pictures(result: Path = RESULTS / "papers-ch10.json", folder: Path = IMAGES) -> None:
    """Out of the result file alone."""
    rows = [row for row in json.loads(result.read_text())["rows"] if "curve" in row]

    def lines(figure: str, **names: str) -> list[pictures.Line]:
        return [
            pictures.Line(
                names.get(row["name"], row["name"]),
                [mean for mean, _ in row["curve"]],
                [error for _, error in row["curve"]],
                plain=row["name"] == "A",
            )
            for row in rows
            if row["figure"] == figure
        ]

    source = f"Mean of {SEEDS} draws; band: standard error. Source: benchmarks/papers/ch10.py"
    places = [f"{one:g}" for one in NEIGHBOURS]
    titles = dict(zip(FAMILIES, ("half of the numbers shared", "30 % shared, smaller contexts"), strict=True))
    pictures.small_multiples(
        folder / "who-is-who-neighbours.png",
        [
            [
                pictures.Panel(title, places, lines(f"10.5, {family}"), "best F1 over pairs")
                for family, title in titles.items()
            ]
        ],
        heading="What relations add, by how many there are",
        across="related entities, on average",
        note=source,
    )
    cuts = [f"{cut:.1f}" for cut in CUTS]
    pictures.small_multiples(
        folder / "who-is-who-relations.png",
        [
            [
                pictures.Panel("recall, by related entities", cuts, lines("10.6 (a)"), "share of pairs"),
                pictures.Panel("precision, by share of ambiguous relations", cuts, lines("10.6 (b)"), ""),
            ]
        ],
        heading="What identifying and ambiguous relations do",
        across="threshold",
        note=source,
    )
    of_levels = lines("10.7")
    panels = []
    for kind, title in (("none", "no relation ambiguous"), ("half", "half of the relations ambiguous")):
        own = [
            pictures.Line(line.name.partition(",")[0], line.values, line.errors)
            for line in of_levels
            if f" {kind} " in line.name
        ]
        panels.append(pictures.Panel(title, list(LEVELS), own, "share of pairs"))
    pictures.small_multiples(
        folder / "who-is-who-levels.png",
        [panels],
        heading="How far to look around a question",
        across="level",
        note=source,
    )
