"""Two commits side by side: labels of all estimators, objectives that may move, CPU time of the races.

    HOUSE_BASE=155abcb HOUSE_NEW=HEAD HOUSE_PARTS=labels,objectives,races python -m benchmarks scale house

shows the defaults; see `benchmarks.commits`. Each part has a result file of its own.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

import coterie
from benchmarks.commits import Tree, both, keep
from benchmarks.measure import show, verdict
from benchmarks.protocol import draw, first_centers, overlapping_blobs
from coterie import Constraints

TITLE = "two commits: labels of all estimators, objectives that may move, CPU time of the races"
QUICK = False
TABLES = {"iris": load_iris, "wine": load_wine, "digits": load_digits, "cancer": load_breast_cancer}
ITEMS, PAIRS, SEEDS, DRAWS = 300, (60, 120, 240), 3, 20  # pairs by seed
WORSE, SLOWER = 0.001, 0.05  # relative: what the mean objective, and a race, may lose
SECONDS, ROUNDS = 2.0, (5, 40)  # of a side of a race; fewest, and most where it is short or seems slower

# Settings that take another path. `known` names the statements, `X` a form of the table, `groups` and
# `sample_weight` go to `fit`, the rest to the estimator; a function is called with X and k.
SOFT, FORMS = " | known='noisy' | known='hard'", " | X='sparse' | X='float32' | sample_weight=ramp"
COVARIANCES = "covariance_type='full' | covariance_type='tied' | covariance_type='diag'"
SETTINGS = {
    "COPKMeans": "| metric='cosine' | init='k-means++' | assignment='greedy', order='random' | known='labels'"
    "| strategy='wagstaff', n_init=1 | assignment='exact', n_init=1" + FORMS,
    "PCKMeans": "| metric='cosine' | init='neighborhoods' | weight=0.5, init='k-means++'" + SOFT + FORMS,
    "MPCKMeans": "| learn='full' | learn='none' | init='perturb'" + SOFT + FORMS,
    "HMRFKMeans": "closure=False | closure=False, metric='cosine' | closure=False, init='perturb'"
    "| closure=False, metric='idivergence', X='shifted' | closure=False, known='hard'"
    "| closure=False, metric='idivergence', rule='descent', X='shifted' | closure=False, known='noisy'",
    "SeededKMeans": "known='labels' | known='labels', metric='cosine'",
    "ConstrainedSeedKMeans": "known='labels' | known='labels', metric='cosine'",
    "KMedoids": "| metric='manhattan' | init='k-medoids++'" + SOFT,
    "KernelPCKMeans": "| kernel='linear' | kernel='cosine' | kernel='laplacian' | kernel='polynomial'"
    "| moves='batch' | kernel='linear', init='random'" + SOFT,
    "SizeConstrainedKMeans": "| size_min=part(0.8) | size_min=part(0.9), size_max=part(1.2), known=None"
    "| size_min=part(0.5), weight='auto', known='noisy' | size_min=part(0.8), metric='cosine'"
    "| size_min=part(0.5), outlier_cost=9.0, known=None | group_min={0: 1, 1: 2}, groups=thirds"
    "| size_min=part(0.8), X='sparse' | size_max=part(1.2), X='float32' | sample_weight=ramp",
    "SizeConstrainedKMedians": "| size_min=part(0.8) | size_max=part(1.2), known=None",
    "BalancedKMeans": "known=None | size_min=0.5 | populate='stable', refine='book', known=None"
    "| populate='greedy', refine='none', known=None | metric='cosine', sample_size=100, known=None",
    "FrequencySensitiveKMeans": "known=None | variant='fs', known=None | variant='fifs', known=None"
    "| metric='cosine', gamma=1.0, known=None",
    "OnlineBalancedKMeans": "known=None | metric='cosine', memory=100, known=None"
    "| metric='cosine', memory=1000, decay='all', known=None | log_term='model', known=None",
    "SizeConstrainedBisection": "known=None | size_min=part(0.8), known=None | split='largest', known=None",
    "BalancedCut": "known=None | size_min=1.0, size_max=1.0, known=None",
    "EMC": "| weight=0.0 | distance='shortest' | alpha=5.0, constraint_edges='both', norm='minmax'" + SOFT,
    "ConnectedKMeans": "| connectivity=near, known='apart' | connectivity=near, init='degree', known=None"
    "| connectivity=near, init='k-means', growth='rounds', known=None | metric='cosine', known=None"
    "| connectivity=near, size_min=part(0.8), size_max=part(1.2), known=None",
    "ConnectedKCenter": "known=None | connectivity=near, known=None"
    "| connectivity=near, algorithm='netscan', init='degree', growth='rounds', known=None",
    "ConstrainedGaussianMixture": COVARIANCES
    + "| covariance_type='spherical' | sampling='point' | weights_update='uniform'",
    "PenalizedGaussianMixture": COVARIANCES
    + "| covariance_type='spherical' | inference='mean-field' | inference='gibbs', n_init=1"
    + SOFT,
    "MeanFieldMixture": COVARIANCES
    + "| covariance_type='spherical' | emission='squared-error' | emission='multinomial', X='shifted'"
    "| annealing=False, e_start='warm'" + SOFT,
    "PairwiseClustering": "| metric='manhattan' | weight=0.5" + SOFT,
    "ConstrainedLinkage": "linkage='single' | linkage='complete' | linkage='average' | linkage='ward'"
    "| linkage='complete', connectivity=near, known='apart' | connectivity=near, known='apart'"
    "| linkage='single', connectivity=near, known='apart' | linkage='average', metric='manhattan'"
    "| size_max=part(1.5)",
    "COPCobweb": "| shuffle=True",
    "BoostCluster": "| estimator='ward' | estimator='spectral', n_rounds=5"
    "| scatter='difference', final='select' | round_weight='bound', center=False, smoothing=0.0" + SOFT,
    "SpectralLearning": "| normalization='symmetric' | affinity='nearest_neighbors'" + SOFT,
    # their labels may change
    "CVQEKMeans": "| form='original' | known='noisy' | form='original', known='hard'" + FORMS,
    "MPCKMeans by cluster": "per_cluster=True | per_cluster=True, learn='full'"
    "| per_cluster=True, known='noisy' | per_cluster=True, sample_weight=ramp",
    "HMRFKMeans with closure": "closure='auto' | closure='auto', metric='cosine' | closure=True, learn='none'"
    "| closure='auto', metric='idivergence', X='shifted' | closure='auto', known='hard'",
}
RACES: list[Any] = [["peers cop"], ["peers pck"], ["peers mpck"]]
SIZES = [(10_000, 20, 10, 400), (10_000, 100, 10, 80), (100_000, 20, 5, 4_000), (100_000, 20, 20, None)]
RACES += [["peers sizes", *one] for one in SIZES]  # n, k, iterations, size_min
RACES += [["peers linkage", kind] for kind in ("complete", "average", "ward", "single")]
RACES += [["peers mixture", kind] for kind in ("full", "tied", "diag", "spherical")]
RACES += [["scale kmeans", method, pairs] for method in ("PCKMeans", "COPKMeans") for pairs in (False, True)]
FREE = ("CVQEKMeans", "MPCKMeans by cluster", "HMRFKMeans with closure")


def part(share: float) -> Callable[[Any, int], int]:
    """A bound on sizes, as a share of n/k."""
    return lambda X, k: int(share * X.shape[0] / k)


def thirds(X: Any, k: int) -> Any:
    """Every third item is of group 1."""
    return (np.arange(X.shape[0]) % 3 == 0).astype(int)


def ramp(X: Any, k: int) -> Any:
    """Weights 1, 2 and 3 by turns."""
    return 1.0 + np.arange(X.shape[0]) % 3


def near(X: Any, k: int) -> Any:
    """A connected graph: ten neighbours each, and a path through all."""
    graph = kneighbors_graph(X, 10).tolil()
    graph[np.arange(len(X) - 1), np.arange(1, len(X))] = 1
    return graph.maximum(graph.T).tocsr()


def table(name: str) -> tuple[Any, Any]:
    """Standardised features and classes of at most 300 items."""
    X, y = TABLES[name](return_X_y=True)
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:ITEMS])
    return StandardScaler().fit_transform(X[rows]), y[rows]


def statements(y: Any, kind: str | None, seed: int) -> Constraints | None:
    """True pairs: a tenth wrong, or the cannot-links, or some hard; labels of a fifth; nothing."""
    if kind is None:
        return None
    if kind == "labels":
        return Constraints.from_labels(np.where(np.random.default_rng(seed).random(len(y)) < 0.2, y, -1))
    noise = 0.1 if kind == "noisy" else 0.0
    drawn = Constraints.sample(y, PAIRS[seed % len(PAIRS)], noise=noise, random_state=seed)
    if kind == "apart":
        return Constraints(None, drawn.cannot_link, n_items=len(y))
    if kind != "hard":
        return drawn
    number = np.arange(drawn.n_pairs)
    given = {"weight": 0.5 + number % 3, "hard": number % 4 == 0, "n_items": len(y)}
    return Constraints(drawn.must_link, drawn.cannot_link, **given)


def outcome(name: str, settings: str, X: Any, y: Any, seed: int) -> list[Any]:
    """One fit: a digest of the labels, the objective and the number of iterations; or what went wrong."""
    k = len(np.unique(y))
    given = eval(f"dict({settings})")
    known = statements(y, given.pop("known", "pairs"), seed)
    form = {"shifted": lambda: X - X.min(axis=0), "sparse": lambda: sparse.csr_matrix(X * (X > 0))}
    form |= {"float32": lambda: X.astype(np.float32), "": lambda: X}
    X = form[given.pop("X", "")]()
    given = {key: value(X, k) if callable(value) else value for key, value in given.items()}
    fit = {key: given.pop(key) for key in ("groups", "sample_weight") if key in given}
    number = () if name == "COPCobweb" else (k,)
    try:
        model = getattr(coterie, name.split()[0])(*number, random_state=seed, **given)
        model.fit(X, constraints=known, **fit)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"[:100], None, None]
    digest = hashlib.sha256(np.asarray(model.labels_, dtype=np.int64).tobytes()).hexdigest()[:12]
    return [digest, float(model.objective_), int(model.n_iter_)]


def record(names: list[str], seeds: int) -> dict[str, Any]:
    """Outcomes by estimator, settings and table, one a seed."""
    warnings.simplefilter("ignore")
    tables = {place: table(place) for place in TABLES}
    return {
        name: {
            settings.strip(): {
                place: [outcome(name, settings, *tables[place], seed) for seed in range(seeds)]
                for place in tables
            }
            for settings in SETTINGS[name].split("|")
        }
        for name in names
    }


def compared(trees: tuple[Tree, ...], names: list[str], seeds: int) -> dict[str, Any]:
    """By name, settings and table the outcomes of both commits, seed by seed."""
    base, new = (tree.call(__name__, "record", names, seeds) for tree in trees)
    return {
        name: {
            case or "default": {p: list(zip(found[p], new[name][case][p], strict=True)) for p in TABLES}
            for case, found in base[name].items()
        }
        for name in names
    }


def labels(*trees: Tree) -> list[dict[str, Any]]:
    """Whether labels are the same: a row an estimator."""
    rows = []
    for name, cases in compared(trees, list(SETTINGS), SEEDS).items():
        fits, remarks, digests = [], [], {}
        for settings, tables in cases.items():
            runs = [run for own in tables.values() for run in own]
            changed = [run for run in runs if run[0][0] != run[1][0]]
            failed = {other[0] for _, other in changed if other[1] is None}
            if any("unexpected keyword" in text for text in failed):
                remarks.append(f"{settings}: taken out")
                continue
            fits += runs
            digests[settings] = hashlib.sha256(json.dumps([run[0] for run in runs]).encode()).hexdigest()[:12]
            if changed:
                remarks.append(f"{settings}: {len(changed)} differ {' '.join(failed)}".strip())
        same, steps = (sum(one[i] == other[i] for one, other in fits) for i in (0, 2))
        apart = [abs(b / a - 1) for (_, a, _), (_, b, _) in fits if a and b is not None]
        if raised := sum(one[1] is None for one, _ in fits):
            remarks.append(f"base raises an error in {raised}")
        remarks.append(f"same n_iter_ in {steps}, objective_ apart by {max(apart, default=0):.0e} at most")
        goal: Any = {} if name in FREE else {"goal": "all", "reached": same == len(fits)}
        given = {"remark": "; ".join(remarks), "digests_of_base": digests, **goal}
        rows.append(verdict(f"{name}: fits with the same labels", f"{same} of {len(fits)}", **given))
    return rows


def objectives(*trees: Tree) -> list[dict[str, Any]]:
    """Where labels may change: how much higher the mean objective of the draws is, averaged over tables."""
    found, rows = compared(trees, list(FREE), DRAWS), []
    for name, settings in [(one, case) for one in FREE for case in found[one]]:
        change, lost = {}, 0
        for place, runs in found[name][settings].items():
            values = [(one[1], other[1]) for one, other in runs if None not in (one[1], other[1])]
            lost += sum(one[1] is not None for one, _ in runs) - len(values)
            first, second = np.mean(values, axis=0) if values else (1.0, 1.0)
            change[place] = float((second - first) / abs(first))
        mean = float(np.mean(list(change.values())))
        told = ", ".join(f"{place} {value:+.3%}" for place, value in change.items())
        told += f"; {lost} raise an error that base does not" * bool(lost)
        goal: Any = {"goal": f"at most {WORSE:+.1%}", "reached": mean <= WORSE and not lost, "remark": told}
        rows.append(verdict(f"{name}, {settings}: mean objective", f"{mean:+.3%}", **goal))
    return rows


def job(race: str, *which: Any) -> Callable[[], Any]:
    """The fit of our side of a race, from reading the statements to the labels; its problem is made here."""
    its: Any = import_module(f"benchmarks.{race.replace(' ', '.')}")
    method, k, given = "SizeConstrainedKMeans", getattr(its, "K", 0), {}
    if race == "peers linkage":
        X, _, known = its.problem(its.N, its.PAIRS)
        return lambda: its.fit(X, known, *which)
    if race == "peers mixture":
        X, means = its.points(its.N, its.D, its.K)
        return lambda: its.fit(coterie.ConstrainedGaussianMixture, X, means, *which, its.STEPS // 4)
    if race == "peers sizes":
        n, k, most, least = which
        X, known = its.mixture(n, its.D, its.COMPONENTS, its.SEED), Constraints(n_items=n)
        init, given = first_centers(X, k, its.SEED), {"size_min": least, "max_iter": most, "tol": 0.0}
    elif race == "scale kmeans":
        X, truth, init = its.points()
        known = its.pairs(truth, 1)[0] if which[1] else Constraints(n_items=len(X))
        method, given = which[0], {"max_iter": its.LONG, "tol": 0.0}
    elif race == "peers mpck":
        X, y = its.data()
        (known, init), method, given = its.jobs(X, y)[0], "MPCKMeans", {"weight": its.WEIGHT}
    elif race == "peers pck":
        X, y = overlapping_blobs(its.N, its.D, its.K, apart=0.8, seed=0)
        known, init, method = draw(y, its.PAIRS, 0).closure(), first_centers(X, k, 0), "PCKMeans"
        given = {"weight": its.WEIGHT, "max_iter": its.MOST, "tol": 0.0}
    else:
        X, y = overlapping_blobs(its.N, its.D, its.K, apart=1.0, seed=its.SEED)
        known, init, method = draw(y, its.PAIRS, its.SEED), first_centers(X, k, its.SEED), "COPKMeans"

    def fit() -> Any:
        read = Constraints(known.must_link, known.cannot_link, n_items=len(X))
        model = getattr(coterie, method)(k, init=init, n_init=1, random_state=0, **given)
        return model.fit(X, constraints=read)

    return fit


def racer(race: list[Any]) -> None:
    """Fit twice, then once for each line read, and write the CPU seconds of each."""
    warnings.simplefilter("ignore")
    fit = job(*race)
    for _ in range(2):  # may compile
        fit()
    print("ready", flush=True)
    for _ in sys.stdin:
        gc.collect()
        start = time.process_time()
        fit()
        print(time.process_time() - start, flush=True)


def races(*trees: Tree) -> list[dict[str, Any]]:
    """The least CPU time of each race: both commits by turns, each in its own warm process."""
    rows = []
    for race in RACES:
        sides = [tree.start(f"from {__name__} import racer; racer({race!r})") for tree in trees]
        for side in sides:
            side.stdout.readline()  # ready
        took: list[list[float]] = [[], []]
        done = fast = False
        while not done:
            for side, own in zip(sides, took, strict=True):
                side.stdin.write("go\n")
                side.stdin.flush()
                own.append(float(side.stdout.readline()))
            fast, rounds = min(took[1]) <= (1 + SLOWER) * min(took[0]), len(took[0])
            done = rounds == ROUNDS[1] or (rounds >= ROUNDS[0] and fast and sum(took[0]) > SECONDS)
        for side in sides:
            side.communicate()
        (base, new), (middle, later) = map(min, took), map(statistics.median, took)
        goal: Any = {"ratio": new / base, "goal": f"at most {1 + SLOWER}", "reached": fast}
        told = f"least of {rounds}; ratio of medians {later / middle:.3g}"
        what = ", ".join(map(str, race))
        rows.append(verdict(what, f"{new:.4g} s", theirs=f"{base:.4g} s", remark=told, **goal))
        show(rows[-1:])
    return rows


def main() -> None:
    trees = both()
    about = f"{len(TABLES)} tables of at most {ITEMS} items, {PAIRS[0]} to {PAIRS[-1]} pairs, "
    parts: dict[str, tuple[Callable[..., Any], str]] = {
        "labels": (labels, about + f"{SEEDS} seeds"),
        "objectives": (objectives, about + f"{DRAWS} draws"),
        "races": (races, "those of the races, our side alone; a mixture takes a quarter of its steps"),
    }
    for name in os.environ.get("HOUSE_PARTS", ",".join(parts)).split(","):
        compare, data = parts[name]
        keep(f"{__name__}.{name}", f"two commits, {name}", compare(*trees), *trees, data=data)
