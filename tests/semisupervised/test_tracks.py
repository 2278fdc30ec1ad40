"""Tracks as rows and constraints, the class of a track, and which pairs to ask about, against plain loops."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from coterie import Constraints, PairwiseLogisticRegression, PairwiseSVC
from coterie.constraints._model import MOST_GROUP_PAIRS
from coterie.semisupervised import predict_tracks, select_pairs, track_rows
from tests.marks import outvoted

pytestmark = outvoted


def images(seed, n=40, n_tracks=12, k=3):
    """Rows of k classes, the class and the track of each (-1: of none), and when they were seen."""
    rng = np.random.default_rng(seed)
    tracks = rng.integers(-1, n_tracks, size=n)
    tracks[:n_tracks] = np.arange(n_tracks)
    y = np.where(tracks < 0, rng.integers(k, size=n), tracks % k)
    X = 2.0 * np.eye(k, 4)[y] + rng.normal(scale=0.7, size=(n, 4))
    return X, y, tracks, 10 * tracks + rng.integers(15, size=n)


# ---- rows and constraints ---------------------------------------------------------------------------------


def told_slowly(X, tracks, times):
    """Every image with its centroid, every two tracks by their first and last image."""
    names = sorted({name for name in tracks if name != -1})
    rows, must, cannot = list(X), [], []
    for number, name in enumerate(names):
        own = [i for i, track in enumerate(tracks) if track == name]
        rows.append(np.mean([X[i] for i in own], axis=0))
        must += [[i, len(X) + number] for i in own]
    for a, one in enumerate(names):
        for b in range(a + 1, len(names)):
            seen = [[t for t, track in zip(times, tracks, strict=True) if track == name]
                    for name in (one, names[b])]  # fmt: skip
            if min(seen[0]) <= max(seen[1]) and min(seen[1]) <= max(seen[0]):
                cannot.append([len(X) + a, len(X) + b])
    return np.array(rows), sorted(must), cannot


@pytest.mark.parametrize("seed", range(4))
def test_tracks_become_rows_and_pairs(seed):
    X, _, tracks, times = images(seed)
    rows, must, cannot = told_slowly(X, tracks.tolist(), times.tolist())
    told = track_rows(X, tracks, times)
    assert pytest.approx(rows) == told.X
    assert told.tracks.tolist() == list(range(12))
    assert told.constraints.must_link.tolist() == must
    assert told.constraints.cannot_link.tolist() == cannot
    assert 3 < len(cannot) < 40
    assert track_rows(X, tracks).constraints == Constraints(
        must, n_items=52, source="one track"
    )  # without times nothing is apart
    # each track is one component, each other image its own
    assert len(set(told.constraints.components[:40][tracks >= 0])) == 12
    dates = np.datetime64("2026-01-01T12:00") + times.astype("timedelta64[m]")
    assert track_rows(X, tracks, dates).constraints == told.constraints


def test_names_and_images_of_no_track():
    X, _, tracks, times = images(1)
    plain = track_rows(X, tracks, times)
    named = [None if track < 0 else f"person {track:02}" for track in tracks]
    told = track_rows(X, named, np.where(tracks < 0, np.nan, times))
    assert told.constraints == plain.constraints
    assert told.tracks.tolist() == [f"person {track:02}" for track in range(12)]
    assert track_rows(X, np.where(tracks < 0, np.nan, tracks), times).constraints == plain.constraints
    none = track_rows(X, np.full(40, -1), times)
    assert none.X.shape == X.shape
    assert not none.constraints
    assert none.constraints.n_items == 40
    sources = set(told.constraints.must_table.sources) | set(told.constraints.cannot_table.sources)
    assert sources == {"one track", "seen at one time"}


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
def test_sparse_and_single_precision_stay_what_they_are(form):
    X, _, tracks, times = images(2)
    X[X < 0] = 0
    plain = track_rows(X, tracks, times)
    told = track_rows(form(X.astype(np.float32)), tracks, times)
    assert sparse.issparse(told.X)
    assert told.X.dtype == np.float32
    assert told.X.toarray() == pytest.approx(plain.X, abs=1e-5)
    assert told.constraints == plain.constraints
    assert track_rows(X.astype(np.float32), tracks).X.dtype == np.float32


def test_tracks_that_touch_were_there_at_one_time():
    X = np.zeros((6, 1))
    for gap, expected in ((0, [[6, 7]]), (1, [])):
        times = np.array([1, 5, 5 + gap, 8, 2, 6])
        for given in (times, times.astype("m8[s]"), times.astype("M8[s]")):
            told = track_rows(X, [0, 0, 1, 1, -1, -1], given)
            assert told.constraints.cannot_link.tolist() == expected


@pytest.mark.parametrize(
    ("tracks", "times", "message"),
    [
        ([0, 0, 1], None, "tracks has 3 values, but X has 4 rows"),
        ([[0, 0, 1, 1]], None, r"tracks must have one value per item; got shape \(1, 4\)"),
        ([0.5, 0, 1, 1], None, r"tracks\[0\] is 0.5"),
        ([0, 0, 1, 1], [1, 2, 3], r"times must have a value for each of the 4 rows; got \(3,\)"),
        ([0, 0, 1, 1], [1, np.nan, 3, 4], r"times\[1\] is nan, but the image is of a track"),
        ([0, 0, 1, 1], np.array(["2026-01-01", "NaT", "NaT", "2026-01-02"], "M8[D]"), r"times\[1\] is NaT"),
    ],
)
def test_tracks_and_times_that_are_none(tracks, times, message):
    with pytest.raises(ValueError, match=message):
        track_rows(np.eye(4), tracks, times)


def test_more_than_can_be_told():
    with pytest.raises(TypeError, match=r"or dates without a time zone .*; got <U4"):
        track_rows(np.eye(2), [0, 1], ["noon", "late"])
    with pytest.raises(ValueError, match="NaN"):
        track_rows([[np.nan]], [0])
    n = 5_000
    with pytest.raises(
        ValueError, match=f"12,497,500 pairs of tracks were seen at one time, more than {MOST_GROUP_PAIRS:,}"
    ):
        track_rows(np.zeros((n, 1)), np.arange(n), np.zeros(n))


# ---- the class of a track ---------------------------------------------------------------------------------


def judged_slowly(f, tracks, classes, how, unknown=None):
    """Track by track; a class for the unknown, which never has more or less than 0."""
    found = []
    for i, track in enumerate(tracks):
        own = [i] if track == -1 else [j for j, other in enumerate(tracks) if other == track]
        scores = [[*([0.0] if unknown is not None else []), *f[j]] for j in own]
        total = np.sum(scores, axis=0).tolist()
        votes = np.bincount(np.argmax(scores, axis=1), minlength=len(total)).tolist()
        key = total if how == "sum" else list(zip(votes, total, strict=True))
        names = [unknown, *classes] if unknown is not None else classes
        found.append(names[max(range(len(total)), key=lambda s: key[s])])
    return found


@pytest.mark.parametrize("how", ["sum", "vote"])
@pytest.mark.parametrize("k", [2, 3])
def test_all_images_of_a_track_decide(how, k):
    X, y, tracks, _ = images(5, n=90, n_tracks=30, k=k)
    names = np.array(["ape", "bee", "cat"])[y]
    some = np.where(np.arange(90) % 9 < 2, names, None)
    ours = PairwiseLogisticRegression(gamma=0.1).fit(X, some)
    models = [
        ours,
        PairwiseSVC(unknown="?").fit(X, some),
        LogisticRegression().fit(X[:30], names[:30]),
        make_pipeline(StandardScaler(), PairwiseLogisticRegression(unknown="?", gamma=2.0)).fit(X, some),
        GridSearchCV(PairwiseLogisticRegression(unknown="?"), {"alpha": [0.1]}, cv=2).fit(X, names),
    ]
    changed = 0
    for model in models:
        f = model.decision_function(X)
        f = np.column_stack([-f, f]) if f.ndim == 1 else f
        unknown = None if model in (ours, models[2]) else "?"
        found = predict_tracks(model, X, tracks, how)
        assert found.tolist() == judged_slowly(f, tracks.tolist(), model.classes_, how, unknown)
        alone = predict_tracks(model, X, np.full(90, -1), how)
        assert (alone == model.predict(X)).all()
        changed += (alone != found).sum()
    assert changed > 3


def test_equal_votes_are_decided_by_the_sum():
    model = PairwiseLogisticRegression(kernel="linear").fit([[-1.0], [1.0]], ["low", "high"])
    X, tracks = [[-1.0], [3.0], [1.0], [-3.0], [-0.1], [-0.1], [9.0]], [1, 1, 2, 2, 3, 3, 3]
    assert predict_tracks(model, X, tracks, "vote").tolist() == ["high"] * 2 + ["low"] * 5
    assert predict_tracks(model, X, tracks, "sum").tolist() == ["high"] * 2 + ["low"] * 2 + ["high"] * 3
    K = np.array(X) @ [[-1.0, 1.0]]
    given = PairwiseLogisticRegression(kernel="precomputed").fit([[1.0, -1.0], [-1.0, 1.0]], ["low", "high"])
    assert (predict_tracks(given, K, tracks) == predict_tracks(model, X, tracks)).all()


def test_models_that_do_not_tell_classes_apart_are_refused():
    X, y, tracks, _ = images(0)
    with pytest.raises(ValueError, match="how must be 'sum' or 'vote'; got 'mean'"):
        predict_tracks(PairwiseSVC().fit(X, y), X, tracks, "mean")
    with pytest.raises(ValueError, match="tracks has 39 values, but X has 40 rows"):
        predict_tracks(PairwiseSVC().fit(X, y), X, tracks[1:])
    for odd in (LinearRegression().fit(X, y), PairwiseSVC()):
        with pytest.raises(TypeError, match="must be a fitted classifier with a decision_function"):
            predict_tracks(odd, X, tracks)
    votes = SVC(decision_function_shape="ovo").fit(images(0, k=4)[0], images(0, k=4)[1])
    with pytest.raises(ValueError, match="6 columns for 4 classes"):
        predict_tracks(votes, X, tracks)


# ---- pairs to ask about -----------------------------------------------------------------------------------


def loss_of(model, margin):
    return np.maximum(0, 1 - margin) if isinstance(model, PairwiseSVC) else np.logaddexp(0, -margin)


def asked_slowly(model, X, tracks, labelled, n_pairs, strategy, known, gamma):
    """From the definitions: (17.27), the kernel of centroids, and the closure written out."""
    names = sorted(set(tracks.tolist()) - {-1})
    f = model.decision_function(X)
    f = np.column_stack([-f, f]) if f.ndim == 1 else f
    ambiguity = {
        name: max(min(loss_of(model, z) for z in f[i]) for i in np.flatnonzero(tracks == name))
        for name in names
    }
    centre = {name: X[tracks == name].mean(axis=0) for name in names}

    def kernel(a, b):
        return np.exp(-gamma * ((centre[a] - centre[b]) ** 2).sum())

    row = {name: len(X) + number for number, name in enumerate(names)}
    closed = known.closure()
    must, cannot = (
        {frozenset(pair) for pair in table.tolist()} for table in (closed.must_link, closed.cannot_link)
    )
    same = {a: {a} | {b for b in names if frozenset((row[a], row[b])) in must} for a in names}
    done = {a for a in names if same[a] & set(labelled)}
    found = []
    for a in sorted(set(names) - done, key=lambda name: -ambiguity[name]):
        if len(found) == n_pairs or same[a] & {first for first, _ in found}:
            continue
        best = None
        for b in [name for name in names if name not in done] if strategy == "com" else labelled:
            pair = frozenset((row[a], row[b]))
            if b in same[a] or pair in cannot:
                continue
            if any(same[a] & same[d] and same[b] & same[c] for c, d in found):
                continue
            away = 2 - 2 * kernel(a, b)
            gain = {"min": -away, "max": away, "com": ambiguity[b] - kernel(a, b)}[strategy]
            if best is None or gain > best[0] + 1e-12:
                best = gain, b
        if best is not None:
            found.append((a, best[1]))
    return found, [ambiguity[a] for a, _ in found]


@pytest.mark.parametrize("strategy", ["min", "max", "com"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "model", [PairwiseLogisticRegression(gamma=0.2, alpha=0.1), PairwiseSVC(gamma=0.2, alpha=3.0)]
)
def test_pairs_are_those_of_the_chapter(model, seed, strategy):
    X, y, tracks, times = images(seed, n=60, n_tracks=20)
    told = track_rows(X, tracks, times)
    labelled, partial = [2, 3, 4, 10], np.full(80, -1)
    for track in labelled:
        partial[np.flatnonzero(tracks == track)[0]] = y[tracks == track][0]
    # some tracks are known to be the same, one of them with a labelled one
    more = Constraints([(60 + 5, 60 + 11), (60 + 2, 60 + 8)], [(60 + 5, 60 + 3)], n_items=80)
    known = told.constraints | more
    model = model.fit(told.X, partial)
    expected, ambiguity = asked_slowly(model, X, tracks, labelled, 9, strategy, known, 0.2)
    found = select_pairs(model, X, tracks, labelled, 9, strategy, constraints=known)
    assert [tuple(pair) for pair in found.tracks.tolist()] == expected
    assert found.ambiguity == pytest.approx(ambiguity)
    assert (np.diff(found.ambiguity) <= 1e-12).all()
    assert (found.rows == 60 + found.tracks).all()
    assert len(expected) == 9
    fewer = select_pairs(model, X, tracks, labelled, 4, strategy, constraints=known)
    assert (fewer.tracks == found.tracks[:4]).all()
    assert select_pairs(model, X, tracks, labelled, 0, strategy).tracks.shape == (0, 2)


def test_the_ambiguity_of_a_track_is_that_of_its_least_claimed_image():
    """(17.27): the largest least loss is the loss of the least largest f, for losses that fall."""
    X, y, tracks, _ = images(7)
    for model in (PairwiseLogisticRegression(), PairwiseSVC(alpha=1.0)):
        f = model.fit(X, np.where(np.arange(40) % 3 == 0, y, -1)).decision_function(X)
        found = select_pairs(model, X, tracks, [0], 11, "max")
        for (track, _), value in zip(found.tracks.tolist(), found.ambiguity.tolist(), strict=True):
            own = f[tracks == track]
            assert value == pytest.approx(loss_of(model, own.max(axis=1).min()))
            assert value == pytest.approx(loss_of(model, own).min(axis=1).max())


@pytest.mark.parametrize("strategy", ["min", "max", "com"])
def test_who_is_asked_until_all_is_known_is_never_asked_twice(strategy):
    """A person answers truly, round by round; each answer is news, and in the end nothing is left to ask."""
    X, y, tracks, _ = images(11, n=60, n_tracks=20)
    told = track_rows(X, tracks)
    of_track = np.array([y[tracks == track][0] for track in range(20)])
    labelled, known = [0, 1, 2], told.constraints
    model = PairwiseLogisticRegression().fit(X, np.where(np.isin(tracks, labelled), y, -1))
    asked, least = set(), 20
    for _ in range(200):
        pairs = select_pairs(model, X, tracks, labelled, 5, strategy, constraints=known)
        if not len(pairs.tracks):
            break
        for pair in pairs.tracks.tolist():
            assert frozenset(pair) not in asked
            asked.add(frozenset(pair))
        same = of_track[pairs.tracks[:, 0]] == of_track[pairs.tracks[:, 1]]
        known = known | Constraints(pairs.rows[same], pairs.rows[~same], n_items=80)
        groups = len(np.unique(known.components[60:]))
        assert groups <= least
        least = groups
    else:
        pytest.fail("it never ends")
    if strategy != "com":  # each unlabelled track has met the labelled ones
        assert least == 3
    assert len(asked) < 20 * 19 / 2


def test_models_in_pipelines_and_on_frames():
    pd = pytest.importorskip("pandas")
    X, y, tracks, _ = images(3)
    partial = np.where(np.arange(40) < 9, y, -1)
    scaled = StandardScaler().fit(X)
    alone = PairwiseLogisticRegression().fit(scaled.transform(X), partial)
    expected = select_pairs(alone, scaled.transform(X), tracks, [0, 1, 2], 5).tracks
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    pipeline = make_pipeline(StandardScaler(), PairwiseLogisticRegression()).fit(frame, partial)
    assert (select_pairs(pipeline, frame, tracks, [0, 1, 2], 5).tracks == expected).all()
    plain = PairwiseLogisticRegression().fit(frame, partial)
    assert len(select_pairs(plain, frame, tracks, [0, 1, 2], 5).tracks) == 5
    kernels = ("rbf", "laplacian", "polynomial", "linear", "cosine")
    for model in (PairwiseSVC(kernel=kernel) for kernel in kernels):
        dense = select_pairs(model.fit(X, partial), X, tracks, [0, 1, 2], 5)
        for rows in (sparse.csr_array(X), sparse.csc_matrix(X)):
            found = select_pairs(model.fit(X, partial), rows, tracks, [0, 1, 2], 5)
            assert (found.tracks == dense.tracks).all()
            found = select_pairs(model.fit(rows, partial), rows, tracks, [0, 1, 2], 5)
            assert (found.tracks == dense.tracks).all()


def test_labelled_tracks_in_any_form():
    X, y, tracks, _ = images(3)
    model = PairwiseLogisticRegression().fit(X, y)
    names = [[7, "b", -1][track % 2] if track >= 0 else None for track in tracks]
    mixed, one, two = (
        select_pairs(model, X, given, labelled, 3).tracks.tolist()
        for given, labelled in ((names, {"b"}), (np.where(tracks < 0, -1, tracks % 2), 1), (names, "b"))
    )
    assert mixed == two == [[7, "b"]]
    assert one == [[0, 1]]


def test_what_cannot_be_asked_is_refused():
    X, y, tracks, _ = images(3)
    model = PairwiseLogisticRegression().fit(X, y)
    for words, message in [
        ({"strategy": "random"}, "strategy must be one of 'min', 'max', 'com'; got 'random'"),
        ({"labelled": [0, 99]}, "labelled names the track 99, which no image is of"),
        ({"labelled": []}, 'labelled names no track, but strategy="min"'),
        ({"n_pairs": -1}, "n_pairs must be.*at least 0; got -1"),
        ({"tracks": tracks[:5]}, "tracks has 5 values, but X has 40 rows"),
        (
            {"constraints": Constraints(n_items=40)},
            "40 items, but the images and the centroids .* are 52 rows",
        ),
        ({"model": PairwiseSVC(kernel="precomputed").fit(X @ X.T, y)}, "a precomputed kernel has none"),
    ]:
        given = {"model": model, "X": X, "tracks": tracks, "labelled": [0], "n_pairs": 3, **words}
        with pytest.raises(ValueError, match=message):
            select_pairs(**given)
    assert len(select_pairs(model, X, tracks, [], 3, "com").tracks) == 3
    for odd, message in [
        (LogisticRegression().fit(X, y), "of LogisticRegression it knows none"),
        (LinearRegression().fit(X, y), "a fitted classifier with a decision_function"),
        (PairwiseSVC(), "a fitted classifier"),
    ]:
        with pytest.raises(TypeError, match=message):
            select_pairs(odd, X, tracks, [0], 3)
