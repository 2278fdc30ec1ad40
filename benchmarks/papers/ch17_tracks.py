"""Chapter 17, its surveillance video in digits: tracks, pairs of tracks to ask about, annotators who err.

Tracks. Its film is lost. Here a track shows one of six digits: six images on the way from one image of the
digit to another, a quarter of it, with noise. 63 tracks follow each other and overlap in time, never two of
one digit. As in the chapter they are split in time order: one image of each digit is labelled and all pairs
are about tracks of the first half, the second half is the test. Pairs speak of the tracks that were asked
about and of those with a label, as there. "All at hand" is the other way to use such a film: every track may
be asked about, and the images without a label are the test. The settings (six digits, a labelled image each,
the gap between tracks) were chosen once, on other seeds.

Annotators. Five people of accuracy .6 to 1 share the 200 pairs of the digits of section 7.2, and each has
answered 20 questions about labelled images, ten of them about images of one digit, of which the confidence is
estimated; who is at .5 or below is left out.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from benchmarks.measure import in_fresh_process, verdict
from benchmarks.protocol import mean_se, rounded
from coterie import RCA, Constraints, PairwiseLogisticRegression, PairwiseSVC
from coterie.datasets import estimate_confidence
from coterie.exceptions import ViolatedConstraintsWarning
from coterie.semisupervised import predict_tracks, select_pairs, track_rows

# the kernel of the chapter; alpha and weight are ours as they come, and its own
KERNEL = {"gamma": 0.08}
Numbers = dict[str, list[float]]


def models(**words: Any) -> dict[str, Any]:
    """The classifiers of the chapter."""
    return {
        "CPKLR": PairwiseLogisticRegression(**words),
        "NPKLR": PairwiseLogisticRegression(loss="nonconvex", **words),
        "CPSVM": PairwiseSVC(**words),
    }


def percent(values: Any) -> str:
    """Mean and standard error of shares, in percent."""
    mean, error = mean_se(list(values))
    return f"{100 * mean:.1f} +- {100 * error:.1f}"


def gap(above: Any, below: Any) -> tuple[str, str]:
    """How much higher the one error is than the other, in points, and what that says; draws are paired."""
    mean, error = mean_se((np.asarray(above) - np.asarray(below)).tolist())
    word = "neither" if abs(mean) <= 2 * error else "confirmed" if mean > 0 else "denied"
    return word, f"{100 * mean:+.1f} +- {100 * error:.1f} points"


class Drawn(NamedTuple):
    """Rows with few labels (-1: none) and pairs, and a test."""

    X: Any
    y: NDArray[Any]
    known: Constraints
    test: Any
    truth: NDArray[Any]


def digits(seed: int) -> Drawn:
    """The draw of section 7.2: 900 rows, two labels a digit, 100 must-links and 100 random pairs."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    train, test = np.split(rng.permutation(len(X)), [900])
    truth, told = y[train], np.full(900, -1)
    for digit in range(10):
        told[rng.choice(np.flatnonzero(truth == digit), size=2, replace=False)] = digit
    free, pairs = np.flatnonzero(told < 0), set()
    while len(pairs) < 100:
        i = rng.choice(free)
        pairs.add(tuple(sorted((int(i), int(rng.choice(free[(truth[free] == truth[i]) & (free != i)]))))))
    while len(pairs) < 200:
        pairs.add(tuple(sorted(rng.choice(900, size=2, replace=False).tolist())))
    ends = np.array(sorted(pairs))
    same = truth[ends[:, 0]] == truth[ends[:, 1]]
    known = Constraints(ends[same], ends[~same], n_items=900)
    return Drawn(X[train] / 16.0, told, known, X[test] / 16.0, y[test])


# ---- tracks -----------------------------------------------------------------------------------------------

DIGITS, TRACKS, LENGTH, SEEN, NOISE, DRIFT, WAIT = 6, 63, 6, 31, 0.15, 0.25, 3.0
ASKED = (4, 8, 12, 16, 20)
STRATEGIES = ("min", "max", "com")
FILMS = 40


class Film(NamedTuple):
    """Images, the track and time of each, and the digit of each track."""

    X: NDArray[Any]
    tracks: NDArray[Any]
    times: NDArray[Any]
    digits: NDArray[Any]


def film(seed: int) -> Film:
    """Tracks in the order of time; no digit is seen twice at once."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    images, times, digits, now, last = [], [], [], 0.0, np.full(DIGITS, -np.inf)
    way = np.linspace(0.0, DRIFT, LENGTH)[:, None]
    for _ in range(TRACKS):
        now += float(rng.exponential(WAIT))
        now = max(now, float(last.min()) + 0.5)  # until one of the digits is free
        digit = int(rng.choice(np.flatnonzero(last < now)))
        last[digit] = now + LENGTH - 1
        begin, end = X[rng.choice(np.flatnonzero(y == digit), size=2, replace=False)] / 16.0
        images.append(begin + way * (end - begin) + rng.normal(scale=NOISE, size=(LENGTH, X.shape[1])))
        times.append(now + np.arange(LENGTH))
        digits.append(digit)
    tracks = np.repeat(np.arange(TRACKS), LENGTH)
    return Film(np.vstack(images), tracks, np.concatenate(times), np.array(digits))


def about(seen: Film, chosen: Any, pairs: Any, y: Any) -> tuple[Any, Any, Constraints, Constraints]:
    """Rows and labels; what time tells of the chosen tracks, and what was answered about these pairs."""
    only = np.where(np.isin(seen.tracks, chosen), seen.tracks, -1)
    told = track_rows(seen.X, only, seen.times)
    row = {track: len(seen.X) + at for at, track in enumerate(told.tracks.tolist())}
    ends = np.array([[row[track] for track in pair] for pair in pairs], dtype=np.int64).reshape(-1, 2)
    digit = seen.digits[np.asarray(pairs, dtype=np.int64).reshape(-1, 2)]
    same = digit[:, 0] == digit[:, 1]
    answers = Constraints(ends[same], ends[~same], n_items=len(told.X))
    return told.X, np.append(y, np.full(len(told.tracks), -1)), told.constraints, answers


def first_tracks(whole: Film, n_tracks: int) -> Film:
    """The first tracks of a film."""
    kept = whole.tracks < n_tracks
    return Film(whole.X[kept], whole.tracks[kept], whole.times[kept], whole.digits[:n_tracks])


def one_film(seed: int, n_seen: int) -> dict[str, float]:
    """Errors by what was told: of images alone, and ("..., by track") of tracks as a whole."""
    whole = film(seed)
    seen, rng = first_tracks(whole, n_seen), np.random.default_rng(100_000 + seed)
    y = np.full(len(seen.X), -1)
    labelled = [
        int(rng.choice(np.flatnonzero(seen.digits[:SEEN] == d))) for d in np.unique(seen.digits[:SEEN])
    ]
    for track in labelled:
        y[rng.choice(np.flatnonzero(seen.tracks == track))] = seen.digits[track]
    test = whole.tracks >= n_seen if n_seen < TRACKS else y < 0
    rows, tracks, truth = whole.X[test], whole.tracks[test], whole.digits[whole.tracks[test]]
    found: dict[str, float] = {}

    def judge(name: str, model: Any, change: Any = None) -> None:
        test_rows = rows if change is None else change(rows)
        found[name] = float(np.mean(model.predict(test_rows) != truth))
        found[f"{name}, by track"] = float(np.mean(predict_tracks(model, test_rows, tracks) != truth))

    plain = {name: model.fit(seen.X, y) for name, model in models(**KERNEL).items()}
    judge("KLR", plain["CPKLR"])
    judge("SVM", plain["CPSVM"])
    for strategy in STRATEGIES:
        asked = select_pairs(plain["CPKLR"], seen.X, seen.tracks, labelled, max(ASKED), strategy).tracks
        for n in ASKED if strategy == "min" else ASKED[-1:]:
            pairs = asked[:n]
            chosen = np.union1d(pairs, labelled)
            X, told, temporal, answers = about(seen, chosen, pairs, y)
            both = temporal | answers
            for name, model in models(**KERNEL).items():
                if strategy == "min":
                    judge(f"{name}, temporal, {n}", model.fit(X, told, constraints=temporal))
                judge(f"{name}, {strategy}, {n}", model.fit(X, told, constraints=both))
            if strategy == "min":
                must = Constraints(both.must_link, n_items=len(X))
                judge(f"CPKLR, must-links, {n}", models(**KERNEL)["CPKLR"].fit(X, told, constraints=must))
                rca = RCA().fit(X, constraints=must)
                scale = X.std() / rca.transform(X).std()

                def change(rows: Any, rca: Any = rca, scale: float = scale) -> Any:
                    return scale * rca.transform(rows)

                judge(f"RCA, {n}", models(**KERNEL)["CPKLR"].fit(change(X), told), change)
    return found


def films(n_films: int, n_seen: int) -> Numbers:
    """Errors of many films."""
    warnings.simplefilter("ignore", ViolatedConstraintsWarning)
    found = [one_film(seed, n_seen) for seed in range(n_films)]
    return {name: [one[name] for one in found] for name in found[0]}


TRIAL = {"KLR": "22", "temporal": "19", "min": "5; the chapter's NPKLR 18 to 6"}
LOOSE = (
    "The trial's film is described in one sentence, and this one was not tuned towards it; with MIN the "
    "error falls by more than half all the same."
)


def track_rows_of_page(n_films: int = FILMS) -> tuple[list[dict[str, Any]], Numbers]:
    """The rows, and the errors of the chapter's split."""
    rows, split = [], {}
    last = ASKED[-1]
    for n_seen, place in ((SEEN, "first half seen"), (TRACKS, "all at hand")):
        found = in_fresh_process(__name__, "films", args=(n_films, n_seen))["answer"]
        split = split or found
        told = {
            "KLR": "KLR",
            "temporal": f"CPKLR, temporal, {last}",
            **{strategy: f"CPKLR, {strategy}, {last}" for strategy in STRATEGIES},
        }
        for what, name in told.items():
            rows.append(
                verdict(
                    f"tracks, {place}, {last} asked: {what}; error %, each image alone; by track",
                    f"{percent(found[name])}; {percent(found[f'{name}, by track'])}",
                    theirs=f"trial {TRIAL[what]}" if what in TRIAL else "trial: MAX gains nothing",
                    goal="5" if what == "min" else "",
                    reached=np.mean(found[f"{name}, by track"]) < 0.055 if what == "min" else None,
                    missed=LOOSE,
                    raw=rounded({name: found[name], "by track": found[f"{name}, by track"]}),
                )
            )
        for way in (*models(), "CPKLR, must-links", "RCA"):
            names = [f"{way}{'' if ',' in way or way == 'RCA' else ', min'}, {n}" for n in ASKED]
            rows.append(
                verdict(
                    f"tracks, {place}: {way}, MIN, {', '.join(map(str, ASKED))} asked; error %, by track",
                    " ".join(f"{100 * np.mean(found[f'{name}, by track']):.1f}" for name in names),
                    remark="Nothing asked: "
                    f"{100 * np.mean(found['SVM, by track' if way == 'CPSVM' else 'KLR, by track']):.1f}. "
                    + (
                        "Temporal alone: "
                        + " ".join(
                            f"{100 * np.mean(found[f'{way}, temporal, {n}, by track']):.1f}" for n in ASKED
                        )
                        if way in models()
                        else ""
                    ),
                )
            )
    return rows, split


def track_claims(found: Numbers) -> list[dict[str, Any]]:
    """What the chapter says of tracks, on the split of the chapter; errors by track, 20 asked."""
    at = {name.removesuffix(", by track"): values for name, values in found.items() if "by track" in name}
    last = ASKED[-1]
    rows = []

    def claim(what: str, above: str, below: str, remark: str = "") -> None:
        word, told = gap(at[above], at[below])
        rows.append(verdict(f"claim, tracks: {what}", f"{word}: {told}", remark=remark, claim=word))

    claim("NPKLR is best: below CPKLR (MIN)", f"CPKLR, min, {last}", f"NPKLR, min, {last}", "Six classes.")
    claim("CPKLR is a little better than CPSVM (MIN)", f"CPSVM, min, {last}", f"CPKLR, min, {last}")
    claim("temporal constraints alone help (one day)", "KLR", f"CPKLR, temporal, {last}")
    for strategy in STRATEGIES:
        claim(f"{strategy.upper()} is better than no pairs", "KLR", f"CPKLR, {strategy}, {last}")
        claim(
            f"{strategy.upper()} is better than temporal constraints alone",
            f"CPKLR, temporal, {last}",
            f"CPKLR, {strategy}, {last}",
            "Of other tracks for each strategy; these are MIN's." if strategy != "min" else "",
        )
    for strategy in ("min", "max"):
        claim(f"{strategy.upper()} is better than COM", f"CPKLR, com, {last}", f"CPKLR, {strategy}, {last}")
    claim("CPKLR, must-links alone, is better than RCA + KLR", f"RCA, {last}", f"CPKLR, must-links, {last}")
    return rows


# ---- annotators -------------------------------------------------------------------------------------------

ACCURACY = np.array([0.6, 0.7, 0.8, 0.9, 1.0])
QUESTIONS = 20


def stated(pairs: Any, same: Any, who: Any, n_items: int, confidence: Any = None) -> Constraints:
    """What annotators said; `confidence` by annotator."""
    order = np.concatenate([np.flatnonzero(same), np.flatnonzero(~same)])
    return Constraints(
        pairs[same],
        pairs[~same],
        n_items=n_items,
        source=[f"annotator {number}" for number in who[order]],
        confidence=None if confidence is None else confidence[who[order]],
    )


def questions(y: Any, rng: Any) -> tuple[Any, Any]:
    """Pairs of labelled items, half of them of one class, and which those are."""
    items = np.flatnonzero(y >= 0)
    i, j = np.triu_indices(len(items), 1)
    same = y[items[i]] == y[items[j]]
    half = QUESTIONS // 2
    drawn = [
        rng.choice(np.flatnonzero(kind), size=min(half, kind.sum()), replace=False) for kind in (same, ~same)
    ]
    chosen = np.concatenate(drawn)
    return items[np.column_stack([i[chosen], j[chosen]])], same[chosen]


def trusted(y: Any, rng: Any) -> NDArray[Any]:
    """The confidence of each annotator, from the answers about labelled items."""
    sure = []
    for number, accuracy in enumerate(ACCURACY):
        pairs, same = questions(y, rng)
        said = same ^ (rng.random(len(same)) >= accuracy)
        known = stated(pairs, said, np.full(len(same), number), len(y))
        (share,) = estimate_confidence(known, y, by_source=True).values()
        sure.append(share)
    return np.array(sure)


def annotated(n_draws: int) -> Numbers:
    """Errors by what is done about wrong pairs."""
    warnings.simplefilter("ignore", ViolatedConstraintsWarning)
    found: Numbers = {}
    for seed in range(n_draws):
        case, rng = digits(seed), np.random.default_rng(200_000 + seed)
        n = len(case.y)
        pairs = np.vstack([case.known.must_link, case.known.cannot_link])
        same = np.arange(len(pairs)) < len(case.known.must_link)
        who = rng.integers(len(ACCURACY), size=len(pairs))
        said = same ^ (rng.random(len(pairs)) >= ACCURACY[who])
        sure = trusted(case.y, rng)
        kept = sure[who] > 0.5
        ways = {
            "no pairs": None,
            "true pairs": case.known,
            "unweighted": stated(pairs, said, who, n),
            "estimated": stated(pairs[kept], said[kept], who[kept], n, sure),
            "known": stated(pairs, said, who, n, ACCURACY),
        }
        for name, model in models(**KERNEL).items():
            for way, known in ways.items():
                wrong = model.fit(case.X, case.y, constraints=known).predict(case.test) != case.truth
                found.setdefault(f"{name}, {way}", []).append(float(wrong.mean()))
    return found


def annotator_rows(n_draws: int = 20) -> list[dict[str, Any]]:
    """Digits whose pairs come from people who err."""
    found = in_fresh_process(__name__, "annotated", args=(n_draws,))["answer"]
    ways = ("no pairs", "unweighted", "estimated", "known", "true pairs")
    rows = []
    for name in models():
        word, told = gap(found[f"{name}, unweighted"], found[f"{name}, estimated"])
        _, how_much = gap(found[f"{name}, unweighted"], found[f"{name}, no pairs"])
        rows.append(
            verdict(
                f"annotators of accuracy .6 to 1, {name}: error % with no pairs; as said; weighted by "
                "estimate; by true accuracy; true pairs",
                "; ".join(percent(found[f"{name}, {way}"]) for way in ways),
                theirs="trial 25.6 as said, 23 weighted" if name == "CPKLR" else "",
                remark=f"Weights gain {told}; wrong pairs cost {how_much} beside none.",
                raw=rounded({way: found[f"{name}, {way}"] for way in ways}),
            )
        )
        if name == "CPKLR":
            rows += [
                verdict(
                    "claim, noise: weighted pairs are better than unweighted ones (CPKLR)",
                    f"{word}: {told}",
                    claim=word,
                ),
                verdict(
                    "claim, noise: weighted pairs are better than none (WPKLR .7375 -> .8125)",
                    ": ".join(gap(found["CPKLR, no pairs"], found["CPKLR, estimated"])),
                    theirs=".8125, of .7375 without pairs (accuracy, 140 pairs)",
                    remark="Its nine annotators were right in 88.9 % of 180 pairs; these five in 80 %.",
                ),
            ]
    return rows
