"""Comparisons: the score against a count by hand, what is seen and what is not, who is chosen."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import coterie
from coterie import Constraints, COPKMeans, PCKMeans, compare
from coterie.comparison import best, in_words
from coterie.methods import Task, suitable_methods
from tests.comparison.entrants import FIGURES, SlowAtFirst, Told, blobs, rows_of

UNTIMED = ["method", *FIGURES, "status", "behind", "behind_error", "chosen"]


@pytest.fixture(autouse=True)
def empty_log():
    Told.log = []


# ---- the score ----------------------------------------------------------------------------------------


def test_score_of_fixed_labels_is_a_count_by_hand(seed):
    """Disjoint pairs entail nothing, so each is asked in every repeat: the score is that of all pairs."""
    for number in range(5):
        rng = np.random.default_rng((seed, number))
        pairs = rng.permutation(60).reshape(-1, 2)
        together, apart = pairs[: 8 + number], pairs[8 + number :]
        labels = rng.integers(0, 3, size=60) - (number == 4)  # the last time -1: in no cluster
        known = Constraints(together, apart, n_items=60)
        frame = compare(
            rng.normal(size=(60, 2)), known, 3, methods=Told(labels), n_repeats=2, random_state=number
        )
        row = rows_of(frame)["Told"]
        met = [float(labels[i] == labels[j] >= 0) for i, j in together]
        kept_apart = [float(labels[i] != labels[j] or labels[i] < 0) for i, j in apart]
        assert row["must_met"] == pytest.approx(np.mean(met))
        assert row["cannot_met"] == pytest.approx(np.mean(kept_apart))
        assert row["score"] == pytest.approx((np.mean(met) + np.mean(kept_apart)) / 2)
        variance = np.var(met, ddof=1) / len(met) + np.var(kept_apart, ddof=1) / len(kept_apart)
        assert row["error"] == pytest.approx(np.sqrt(variance) / 2)
        assert (row["n_must"], row["n_cannot"]) == (len(met), len(kept_apart))
        assert row["n_clusters"] == len(set(labels[labels >= 0]))


def test_difference_and_its_error_are_those_of_paired_answers(seed):
    rng = np.random.default_rng(seed)
    pairs = np.arange(60).reshape(-1, 2)
    known = Constraints(pairs[:15], pairs[15:], n_items=60)
    answers = [rng.integers(0, 2, size=60), rng.integers(0, 2, size=60)]
    frame = compare(
        rng.normal(size=(60, 2)), known, 2, methods=[("a", Told(answers[0])), ("b", Told(answers[1]))]
    )
    rows = rows_of(frame)
    chosen, other = ("a", "b") if rows["a"]["chosen"] else ("b", "a")
    met = {
        name: [
            float((answer[i] == answer[j]) == (number < 15)) for number, (i, j) in enumerate(pairs.tolist())
        ]
        for name, answer in zip("ab", answers, strict=True)
    }
    less = np.array(met[chosen]) - np.array(met[other])
    assert rows[other]["behind"] == pytest.approx((less[:15].mean() + less[15:].mean()) / 2)
    variance = less[:15].var(ddof=1) / 15 + less[15:].var(ddof=1) / 15
    assert rows[other]["behind_error"] == pytest.approx(np.sqrt(variance) / 2)
    assert rows[chosen]["behind"] == rows[chosen]["behind_error"] == 0


def test_score_of_hidden_labels_is_a_count_by_hand(seed):
    """Every label is hidden once a repeat: is the item with its class, is it apart from the others?"""
    rng = np.random.default_rng(seed)
    y = np.full(40, -1)
    items = rng.choice(40, size=16, replace=False)
    y[items] = np.array([0] * 9 + [1] * 6 + [2])  # the last class has one item: nobody to be with
    labels = rng.integers(-1, 3, size=40)
    frame = compare(rng.normal(size=(40, 2)), y, 3, methods=Told(labels), random_state=0)
    row = rows_of(frame)["Told"]
    together, apart, by_item = [], [], {}
    for i in items.tolist():
        alike = [labels[i] == labels[j] >= 0 for j in items.tolist() if j != i and y[j] == y[i]]
        others = [labels[i] != labels[j] or labels[i] < 0 for j in items.tolist() if y[j] != y[i]]
        together += [np.mean(alike)] if alike else []
        apart.append(np.mean(others))
        by_item[i] = (np.mean(alike) if alike else None, np.mean(others))
    assert (row["n_must"], row["n_cannot"]) == (15, 16)
    assert row["must_met"] == pytest.approx(np.mean(together))
    assert row["cannot_met"] == pytest.approx(np.mean(apart))
    influence = [
        (0 if a is None else (a - np.mean(together)) / np.sqrt(15 * 14))
        + (b - np.mean(apart)) / np.sqrt(16 * 15)
        for a, b in by_item.values()
    ]
    assert row["error"] == pytest.approx(np.sqrt(np.square(influence).sum()) / 2)


def test_one_kind_of_pairs_is_scored_alone():
    X, _, y = blobs()
    apart = [(i, j) for i, j in itertools.combinations(range(12, 28), 2) if y[i] != y[j]][:30]
    rows = rows_of(compare(X, Constraints(None, apart, n_items=60), 3, methods="COPKMeans", random_state=0))
    assert np.isnan(rows["COPKMeans"]["must_met"])
    assert rows["COPKMeans"]["score"] == rows["COPKMeans"]["cannot_met"]


def test_error_is_not_known_from_a_single_pair():
    pairs = np.arange(40).reshape(-1, 2)
    labels = np.arange(40) % 2
    known = Constraints(pairs[:1], pairs[1:], n_items=40)
    frame = compare(np.eye(40), known, 2, methods=Told(labels), random_state=0)
    assert np.isnan(rows_of(frame)["Told"]["error"])
    assert best(frame) == "Told"  # and an unknown error makes nothing clear
    assert "Told is chosen" in in_words(frame)


# ---- what is seen -------------------------------------------------------------------------------------


def test_held_out_pairs_are_not_seen_and_each_is_held_out_once_a_repeat(seed):
    X, known, _ = blobs(n_pairs=33, random_state=seed % 1000)
    compare(X, known, 3, methods=Told(np.zeros(60, int)), n_folds=4, n_repeats=3, random_state=0)
    stated = [("m", *pair) for pair in known.must_link.tolist()]
    stated += [("c", *pair) for pair in known.cannot_link.tolist()]
    assert Told.log.pop(0)[0] == known  # one fit with everything, about which nothing is asked
    assert len(Told.log) == 12
    seen = [
        {("m", *pair) for pair in kept.must_link.tolist()}
        | {("c", *pair) for pair in kept.cannot_link.tolist()}
        for kept, _ in Told.log
    ]
    for repeat in range(3):
        hidden = [set(stated) - one for one in seen[4 * repeat : 4 * repeat + 4]]
        assert sorted(itertools.chain(*hidden)) == sorted(stated)
        assert all(8 <= len(one) <= 9 for one in hidden)
    assert len({frozenset(one) for one in seen}) == 12  # the repeats are dealt anew
    assert len({state for _, state in Told.log}) == 12  # and every fold has a seed of its own


def test_hidden_labels_are_not_seen():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(60) < 0.5, rng.integers(0, 3, size=60), -1)
    known = Constraints.from_labels(y) | Constraints.distinct(np.where(y < 0, np.arange(60) // 2, -1))
    compare(np.eye(60), known, 3, methods=Told(np.zeros(60, int)), n_folds=3, n_repeats=1, random_state=0)
    hidden = []
    assert Told.log.pop(0)[0] == known
    for kept, _ in Told.log:
        by_kind = {group.kind: group for group in kept.groups}
        assert set(by_kind) == {"label", "distinct"}
        label = by_kind["label"]
        assert [label.names[code] for code in label.codes] == y[label.items].tolist()
        hidden.append(set(np.flatnonzero(y >= 0).tolist()) - set(label.items.tolist()))
        for code in range(3):  # classes are dealt out evenly
            n = int((y == code).sum())
            assert n // 3 <= sum(y[i] == code for i in hidden[-1]) <= n // 3 + 1
    assert sorted(itertools.chain(*hidden)) == np.flatnonzero(y >= 0).tolist()


def test_pairs_that_the_rest_entails_are_not_asked():
    """In a triangle of must-links two entail the third, unless another of it is hidden too."""
    triangles = [(0, 1), (1, 2), (0, 2)]
    rest = [(i, i + 1) for i in range(4, 30, 2)]
    known = Constraints(triangles, rest, n_items=40)
    frame = compare(np.eye(40), known, 3, methods=Told(np.arange(40)), n_folds=16 // 2, n_repeats=1)
    assert rows_of(frame)["Told"]["n_must"] in (0, 2, 3)
    all_known = Constraints.from_labels(np.arange(40) % 2) | Constraints(
        [(i, i + 2) for i in range(20)], n_items=40
    )
    with pytest.raises(ValueError, match=r"none of the 20 pairs can be held out.*follows"):
        compare(np.eye(40), all_known, 2)


def test_pairs_without_weight_are_not_asked():
    pairs = np.arange(60).reshape(-1, 2)
    weight = np.where(np.arange(30) < 5, 0.0, 1.0)
    known = Constraints(pairs[:15], pairs[15:], n_items=60, weight=weight)
    frame = compare(np.eye(60), known, 2, methods=Told(np.zeros(60, int)))
    assert rows_of(frame)["Told"]["n_must"] == 10


def test_plain_is_told_nothing_and_does_not_depend_on_the_statements():
    X, known, _ = blobs()
    row = rows_of(compare(X, known, 3, methods="PCKMeans", n_repeats=1, random_state=0))["plain"]
    assert row["status"] == "ok"
    wrong = Constraints(known.cannot_link, known.must_link, n_items=60)
    other = rows_of(compare(X, wrong, 3, methods="PCKMeans", n_repeats=1, random_state=0))["plain"]
    assert row["score"] > 0.95
    assert other["score"] < 0.05
    assert row["n_clusters"] == other["n_clusters"] == 3


# ---- who is chosen ------------------------------------------------------------------------------------


def planted(seed=0):
    """Clusters along the second feature, which is weak; the first, strong one says nothing."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(scale=3.0, size=90), np.repeat([0.0, 4.0], 45) + rng.normal(size=90)])
    return X, np.repeat([0, 1], 45)


def test_statements_that_help_beat_plain():
    X, y = planted()
    frame = compare(X, Constraints.sample(y, 120, random_state=1), 2, n_repeats=1, random_state=0)
    rows = rows_of(frame)
    assert best(frame) != "plain"
    assert rows[best(frame)]["score"] > rows["plain"]["score"] + 0.2
    assert "they help" in in_words(frame)
    assert frame["score"].is_monotonic_decreasing
    assert frame["chosen"].sum() == 1


def test_wrong_pairs_do_less_harm_where_they_have_a_price():
    X, y = make_blobs(120, 2, centers=[[0, 0], [8, 0], [0, 8]], cluster_std=1.0, random_state=0)
    known = Constraints.sample(y, 100, noise=0.2, random_state=3)
    frame = compare(X, known, 3, methods=[COPKMeans(3), ("light", PCKMeans(3, weight=1.0))], random_state=0)
    rows = rows_of(frame)
    assert best(frame) == "light"
    if rows["COPKMeans"]["status"] == "ok":
        assert rows["COPKMeans"]["score"] < rows["light"]["score"] - 0.1


def test_of_equal_scores_the_first_named_is_chosen():
    X, known, y = blobs()
    for order in (["first", "second"], ["second", "first"]):
        frame = compare(X, known, 3, methods=[(name, Told(y)) for name in order], random_state=0)
        assert best(frame) == order[0]
        assert frame["method"].tolist()[:2] == order
    # plain is as good, and loses the tie
    assert rows_of(frame)["plain"]["score"] == rows_of(frame)["first"]["score"]
    assert "change nothing" in in_words(frame)


def test_of_close_scores_the_best_is_chosen_and_the_others_are_told():
    """One pair of 30 is no clear difference."""
    pairs = np.arange(60).reshape(-1, 2)
    known = Constraints(pairs[:15], pairs[15:], n_items=60)
    right = np.array([number % 2 if number >= 30 else 0 for number in range(60)])
    close, worse = right.copy(), right.copy()
    close[1] = worse[[1, 3, 5]] = 1
    methods = [("close", Told(close)), ("right", Told(right)), ("worse", Told(worse))]
    frame = compare(np.eye(60), known, 2, methods=methods, random_state=0)
    rows = rows_of(frame)
    assert best(frame) == "right"
    assert rows["close"]["behind"] == pytest.approx(1 / 30)
    assert rows["close"]["behind_error"] == pytest.approx(1 / 30)
    assert "Within one standard error of it: close." in in_words(frame)


# ---- the same again -----------------------------------------------------------------------------------


def test_same_seed_same_frame_whatever_the_order_of_methods():
    X, known, _ = blobs(noise=0.1)
    names = ["COPKMeans", "PCKMeans", "KMedoids"]
    first = compare(X, known, 3, methods=names, n_repeats=2, random_state=5)
    again = compare(X, known, 3, methods=names, n_repeats=2, random_state=5)
    turned = compare(X, known, 3, methods=names[::-1], n_repeats=2, random_state=5)
    assert set(first.columns) == {*UNTIMED, "seconds"}
    assert first[UNTIMED].equals(again[UNTIMED])
    for name, row in rows_of(first).items():
        for figure in [*FIGURES, "status"]:
            assert row[figure] == rows_of(turned)[name][figure]
    with_generator = compare(X, known, 3, methods=names, n_repeats=1, random_state=np.random.RandomState(5))
    assert with_generator["status"].eq("ok").all()


def test_seed_of_an_estimator_stays_if_it_has_one():
    X, known, y = blobs()
    compare(X, known, 3, methods=Told(y, random_state=77), random_state=0)
    assert {state for _, state in Told.log} == {77}


def test_default_is_every_suitable_method_and_plain():
    X, known, y = blobs()
    rows = rows_of(compare(X, known, 3, n_repeats=1, random_state=0))
    assert set(rows) == {m.name for m in suitable_methods(Task(60, 3, known))} | {"plain"}
    labels = np.where(np.arange(60) % 2, y, -1)
    rows = rows_of(compare(X, labels, 3, n_repeats=1, random_state=0))
    assert {"SeededKMeans", "ConstrainedSeedKMeans", "COPKMeans", "plain"} <= set(rows)
    assert all(row["status"] == "ok" for row in rows.values())
    assert coterie.compare is compare


def test_repeats_follow_the_number_of_pairs():
    X, known, y = blobs(n_pairs=40)
    compare(X, known, 3, methods=Told(y))
    assert len(Told.log) == 1 + 5 * 8
    Told.log.clear()
    compare(X, Constraints.sample(y, 12, random_state=0), 3, methods=Told(y))
    assert len(Told.log) == 1 + 5 * 10
    Told.log.clear()
    X, y = np.tile(X, (10, 1)), np.tile(y, 10)  # 400 pairs about 60 items would leave nothing to ask
    compare(X, Constraints.sample(y, 400, random_state=0), 3, methods=Told(y))
    assert len(Told.log) == 1 + 5


def test_seconds_leave_out_the_first_fit():
    X, known, y = blobs()
    frame = compare(X, known, 3, methods=[("slow", SlowAtFirst(y))], n_repeats=1, random_state=0)
    assert len(Told.log) == 6
    assert rows_of(frame)["slow"]["seconds"] < 0.1


def test_progress_counts_up_to_the_end():
    X, known, y = blobs()
    calls = []
    compare(
        X,
        known,
        3,
        methods=[("a", Told(y)), "SeededKMeans"],
        n_repeats=2,
        progress=lambda *c: calls.append(c),
    )
    assert [done for done, _, _ in calls] == list(range(34))
    assert {total for _, total, _ in calls} == {33}
    assert {words for _, _, words in calls[:-1]} == {"a", "SeededKMeans", "plain"}


def test_a_bar_on_request(capsys):
    X, known, y = blobs()
    compare(X, known, 3, methods=[("a", Told(y))], n_repeats=2, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-1] == "compare 100% done"
    assert {line.split()[-1] for line in lines[:-1]} <= {"a", "plain"}
