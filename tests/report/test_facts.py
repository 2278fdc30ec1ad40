"""What the page says, against plain NumPy."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from coterie import Constraints, COPKMeans, KMedoids, MPCKMeans, PCKMeans, SeededKMeans
from coterie.base import account_of
from coterie.exceptions import ViolatedConstraintsWarning
from coterie.report import constraint_outcomes, plain_labels
from coterie.report._facts.drawn_links import MOST_LINES
from coterie.report._facts.gather import gather
from coterie.report._facts.rows import Rows, distance_function, nearness
from coterie.report._facts.traits import Column, find_traits, read_columns
from tests.report.data import blobs

# ---- distances ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse", "float32", "frame"])
def test_nearness(seed, kind, monkeypatch):
    monkeypatch.setattr("coterie.report._facts.rows._BLOCK_CELLS", 40)  # several blocks
    X, _ = blobs(seed)
    model = COPKMeans(3, random_state=0)
    given = X
    if kind == "sparse":
        given = sparse.csr_matrix(X)
    elif kind == "float32":
        given = X = X.astype(np.float32)
    elif kind == "frame":
        given = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    model.fit(given)
    rows, labels = Rows(given), model.labels_.astype(np.int64)
    found = nearness(distance_function(model.account(), rows, labels), rows, labels, 3)
    far = np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2)
    own = far[np.arange(len(X)), labels]
    far[np.arange(len(X)), labels] = np.inf
    np.testing.assert_allclose(found.own, own, rtol=1e-4)
    np.testing.assert_allclose(found.other, far.min(axis=1), rtol=1e-4)
    assert (found.rival == far.argmin(axis=1)).mean() > 0.99


def test_without_transform_the_means_stand_for_the_clusters(seed):
    X, y = blobs(seed)
    bare = account_of(SimpleNamespace(labels_=y))
    means = np.array([X[y == h].mean(axis=0) for h in range(3)])
    far = np.linalg.norm(X[:, None] - means, axis=2)
    for rows in (Rows(X), Rows(sparse.csr_matrix(X))):
        np.testing.assert_allclose(distance_function(bare, rows, y)(slice(None)), far, rtol=1e-6)
    # a cluster that holds nothing is near to nobody
    assert np.isinf(distance_function(replace(bare, n_clusters=4), Rows(X), y)(slice(None))[:, 3]).all()


# ---- features -----------------------------------------------------------------------------------------


def test_features_are_told_in_the_users_units(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 100)
    age = np.where(y == 0, 30.0, 60.0) + rng.normal(size=200)
    north = (rng.uniform(size=200) < np.where(y == 0, 0.9, 0.1)).astype(float)
    noise = rng.normal(size=200)
    X = np.column_stack([(age - age.mean()) / age.std(), north / np.sqrt(2), noise - noise[y == 0].mean()])
    columns = (
        Column("age", "numeric", age.mean(), age.std()),
        Column("region = north", "category", level="north"),
        Column("noise", "numeric"),
    )
    for values in (X, sparse.csr_matrix(X), X.astype(np.float32)):
        found = find_traits(Rows(values), y, [0, 1], columns)
        first, second = found[0].features
        assert (first.name, second.name) == ("age", "region = north")
        assert first.here == f"{age[y == 0].mean():.0f}"
        assert first.overall == f"{age.mean():.0f}"
        assert first.effect == pytest.approx((age[y == 0].mean() - age.mean()) / age.std(), rel=1e-4)
        assert second.here == f"{100 * north[y == 0].mean():.0f}\u00a0%"
        assert second.overall == f"{100 * north.mean():.0f}\u00a0%"
        assert second.text == "more often"
        assert found[1].features[1].text == "less often"


def test_words_of_a_cluster():
    X = sparse.csr_matrix(np.array([[1.0, 0, 0, 0.5], [1, 0, 0, 0.5], [0, 1, 0, 0.5], [0, 1, 0.1, 0.5]]))
    rows, y = Rows(X), np.array([0, 0, 1, 1])
    columns = read_columns(["cheap", "dear", "rare", "the"], rows)
    found = find_traits(rows, y, [0, 1], columns)
    assert found[0].words == ("cheap",)
    assert found[1].words == ("dear", "rare")
    assert not found[0].features


def test_a_constant_column_distinguishes_nothing():
    X = np.column_stack([np.full(6, 1e9 + 0.1), np.array([0.0, 0, 0, 1, 1, 1])])
    found = find_traits(Rows(X), np.array([0, 0, 0, 1, 1, 1]), [0, 1], (Column("a"), Column("b")))
    assert [trait.name for trait in found[0].features] == ["b"]


def test_features_must_fit_the_columns(seed):
    X, _ = blobs(seed)
    with pytest.raises(ValueError, match="names 2 columns, but X has 4"):
        gather(COPKMeans(2, random_state=0).fit(X), X, features=["a", "b"])


# ---- constraints ---------------------------------------------------------------------------------------


def test_outcomes_and_prices_by_hand(wine):
    model, X, _ = wine
    known = model.constraints_
    plain = plain_labels(model, X)
    table = constraint_outcomes(model, X, plain=plain)
    assert len(table["kind"]) == known.n_pairs
    rows = {name: row for row, name in enumerate(known.ids)}
    cost = 0.5 * np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2) ** 2
    labels, seen = model.labels_, set()
    for kind, a, b, outcome, reason in zip(
        *(table[name] for name in ("kind", "i", "j", "outcome", "reason")), strict=True
    ):
        i, j = rows[a], rows[b]
        wanted = kind == "must-link"
        assert (outcome == "met") == ((labels[i] == labels[j]) == wanted)
        if outcome == "met":
            held = (plain[i] == plain[j]) == wanted
            assert reason == ("holds without being said" if held else "holds because it was said")
        else:
            moves = []
            for item, partner in ((i, j), (j, i)):
                away = cost[item] - cost[item, labels[item]]
                allowed = [labels[partner]] if wanted else [h for h in range(3) if h != labels[item]]
                target = min(allowed, key=lambda h, away=away: away[h])
                moves.append((away[target], item, target))
            price, item, target = min(moves)
            assert reason.startswith(f"moving {known.ids[item]} into cluster {target} would cost {price:.3g}")
            assert reason.endswith("the constraint weighs 4" if price > 4 else "speak against it")
        seen.add((outcome, reason.split(" ")[0]))
    assert ("broken", "moving") in seen
    assert ("met", "holds") in seen


def test_counts_are_those_of_the_recount(wine):
    model, X, _ = wine
    facts = gather(model, X)
    broken = model.violations_
    assert (facts.n_stated, facts.n_broken) == (60, broken.n_broken)
    assert facts.verdict == (
        f"178 items in 3 clusters. {60 - broken.n_broken} of 60 constraints hold; "
        f"{broken.n_broken} were outvoted."
    )
    outcomes = [pair.outcome for pair in facts.statements.pairs]
    assert outcomes == sorted(outcomes)  # broken before met
    assert outcomes.count("broken") == broken.n_broken


def test_a_pair_of_weight_zero_has_no_effect(seed):
    X, _ = blobs(seed)
    known = Constraints(must_link=[(0, 1)], cannot_link=[(0, 2)], weight=[0.0, 1.0], n_items=len(X))
    model = COPKMeans(3, random_state=0).fit(X, constraints=known)
    table = constraint_outcomes(model, X)
    assert table["outcome"] == ["no effect", "met"]
    assert table["reason"][0] == "weight 0: it has no effect"
    facts = gather(model, X)
    assert facts.n_stated == 1
    assert "The constraint holds." in facts.verdict


def test_a_notebook_shows_the_page(seed, tmp_path):
    X, _ = blobs(seed)
    page = COPKMeans(3, random_state=0).fit(X).report(X, tmp_path / "a.html", pictures=False)
    assert page == tmp_path / "a.html"
    shown = page._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert shown.count("<") == 2


def test_rows_in_another_order_are_refused(seed):
    pd = pytest.importorskip("pandas")
    X, y = blobs(seed)
    frame = pd.DataFrame(X, index=[f"row-{i}" for i in range(len(X))], columns=list("abcd"))
    known = Constraints.sample(y, 10, random_state=seed).with_ids(frame.index)
    model = COPKMeans(3, random_state=0).fit(frame, constraints=known)
    assert gather(model, frame).n_stated == 10
    with pytest.raises(ValueError, match="not what the model was fitted on"):
        gather(model, frame[::-1])


def test_groups_are_judged_item_by_item():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [0.2], [5.2]])
    label = Constraints.from_labels(["a", "a", "b", "b", "a", "a"])
    with pytest.warns(ViolatedConstraintsWarning):
        model = SeededKMeans(2, random_state=0).fit(X, constraints=label)
    table = constraint_outcomes(model, X)
    assert table["kind"] == ["label"] * 6
    assert table["group"] == ["a", "a", "b", "b", "a", "a"]
    at = int(np.flatnonzero(model.labels_ != model.labels_[0])[-1])
    assert at == 5
    assert table["outcome"][5] == "broken"
    assert "apart from most of its label" in table["reason"][5]
    facts = gather(model, X)
    (group,) = facts.statements.groups
    assert group.n_broken == model.violations_.n_broken == 1
    assert facts.n_stated == model.violations_.n_stated == group.n_stated == 6
    assert "5 of 6 constraints hold; 1 was outvoted" in facts.verdict
    assert set(facts.lines.ringed.tolist()) == {i for g in model.violations_.groups for i in g.items}


@pytest.mark.parametrize("make", [Constraints.distinct, Constraints.across])
def test_other_groups(make, seed):
    X, _ = blobs(seed, n=12)
    known = make([0, 0, 1, 1, 2, 2, -1, -1, -1, -1, -1, -1])
    model = COPKMeans(3, random_state=0).fit(X, constraints=known)
    table = constraint_outcomes(model, X, plain=np.zeros(12, dtype=int))
    assert set(table["outcome"]) == {"met"}
    assert "holds because it was said" in table["reason"]


def test_statements_that_the_fit_did_not_know(seed):
    X, _ = blobs(seed, gap=9.0)
    model = COPKMeans(3, random_state=0).fit(X)
    i, j = int(np.argmax(model.labels_ == 0)), int(np.argmax(model.labels_ == 1))
    table = constraint_outcomes(model, X, Constraints(must_link=[(i, j)], n_items=len(X)))
    assert table["outcome"] == ["broken"]
    assert table["reason"] == ["the fit did not know this constraint"]


def test_of_many_statements_some_are_drawn_and_listed(seed):
    X, y = blobs(seed, n=400)
    known = Constraints.sample(y, n_pairs=1500, noise=0.1, random_state=0)
    with pytest.warns(ViolatedConstraintsWarning):
        model = PCKMeans(3, random_state=0, weight=0.01).fit(X, constraints=known)
    facts = gather(model, X)
    broken = model.violations_.n_broken
    assert 0 < broken < MOST_LINES
    assert sum(line.broken for line in facts.lines.lines) == broken
    assert len(facts.lines.lines) == MOST_LINES
    assert [line.broken for line in facts.lines.lines] == sorted(line.broken for line in facts.lines.lines)
    assert f"Drawn are {broken}" in facts.lines.notes[0]
    assert facts.statements.n_left_out == known.n_pairs - len(facts.statements.pairs) > 0
    again = gather(model, X)
    assert again.lines.lines == facts.lines.lines


# ---- cards --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", [0.5, 4.0])
def test_typical_and_doubtful_items(seed, gap):
    X, _ = blobs(seed, n=300, gap=gap)
    model = COPKMeans(3, random_state=0).fit(X)
    far = np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2)
    for card in gather(model, X).cards:
        members = np.flatnonzero(model.labels_ == card.cluster)
        own = far[members, card.cluster]
        assert (card.size, card.share) == (len(members), len(members) / 300)
        assert list(card.typical) == members[np.argsort(own)[:3]].tolist()
        ratio = own / np.delete(far[members], card.cluster, axis=1).min(axis=1)
        worst = np.argsort(-ratio)[: min(3, int((ratio >= 0.8).sum()))]
        assert len(worst) == 3 or gap > 1  # in overlapping clumps there is always doubt
        assert [doubt.item for doubt in card.doubtful] == members[worst].tolist()
        assert all("as near" in doubt.why for doubt in card.doubtful)


def test_doubtful_items_say_what_holds_them():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [10.5], [0.5]])
    known = Constraints(must_link=[("a", "e")], ids=list("abcdef"))
    model = COPKMeans(2, random_state=0, init=[[0.0], [10.0]]).fit(X, constraints=known)
    assert model.labels_[4] == model.labels_[0]
    words = {doubt.item: doubt.why for card in gather(model, X).cards for doubt in card.doubtful}
    assert set(words) & {0, 4}
    for item, partner in ((0, "e"), (4, "a")):
        if item in words:
            assert words[item].endswith(f"is nearer; held here by the must-link with {partner}")


# ---- the map ------------------------------------------------------------------------------------------


def test_the_map_is_two_principal_components(wine):
    model, X, _ = wine
    found = gather(model, X).map
    centred = X - X.mean(axis=0)
    _, values, axes = np.linalg.svd(centred, full_matrices=False)
    by_hand = centred @ axes[:2].T
    for column in range(2):
        assert abs(np.corrcoef(found.xy[:, column], by_hand[:, column])[0, 1]) == pytest.approx(1.0)
    share = values[0] ** 2 / (values**2).sum()
    assert found.axes[0] == f"first principal component, {100 * share:.0f}\u00a0% of the variance"
    assert found.xy.min() >= 0
    assert found.xy.max() <= 1


def test_sparse_rows_are_centred_too(seed, monkeypatch):
    X, _ = blobs(seed)
    model = COPKMeans(3, random_state=0).fit(X)
    dense = gather(model, X).map
    for cells in (10**9, 0):
        monkeypatch.setattr("coterie.report._facts.map._FEW_CELLS", cells)
        found = gather(model, sparse.csr_matrix(X)).map
        np.testing.assert_allclose(found.xy, dense.xy, atol=1e-6)


def test_given_coordinates(seed):
    X, _ = blobs(seed, n=30)
    model = COPKMeans(2, random_state=0).fit(X)
    place = np.column_stack([np.arange(30.0), np.arange(30.0) ** 2])
    found = gather(model, X, coordinates=place, coordinate_names=("east", "north")).map
    assert found.axes == ("east", "north")
    np.testing.assert_allclose(found.xy[:, 0], np.arange(30) / 29)
    place[3, 0] = np.nan
    found = gather(model, X, coordinates=place).map
    assert 3 not in found.items
    assert "1 item without coordinates" in found.notes[0]
    frame = pytest.importorskip("pandas").DataFrame(place, columns=["x", "y"])
    assert gather(model, X, coordinates=frame).map.axes == ("x", "y")
    with pytest.raises(ValueError, match="two numbers for each of 30 items"):
        gather(model, X, coordinates=place[:, :1])


def test_one_far_item_does_not_squash_the_map(seed):
    X, _ = blobs(seed, n=400)
    X[0] = 1e6
    found = gather(COPKMeans(3, random_state=0).fit(X), X).map
    assert "far from all others: drawn at the edge" in found.notes[0]
    assert np.ptp(found.xy[1:, 1]) > 0.3


def test_a_sample_is_said_and_holds_the_statements(seed, monkeypatch):
    monkeypatch.setattr("coterie.report._facts.map.MOST_POINTS", 200)
    monkeypatch.setattr("coterie.report._facts.map._MOST_NAMED", 80)
    X, y = blobs(seed, n=1000)
    known = Constraints.sample(y, n_pairs=30, random_state=0)
    model = COPKMeans(3, random_state=0).fit(X, constraints=known)
    found = gather(model, X)
    assert len(found.map.items) == len(np.unique(found.map.items)) == 200
    assert set(known.constrained_items.tolist()) <= set(found.map.items.tolist())
    assert "200 of 1,000 items are shown" in found.map.notes[0]
    np.testing.assert_array_equal(found.map.items, gather(model, X).map.items)
    everything = Constraints.from_labels(y)  # all items are named
    model = COPKMeans(3, random_state=0).fit(X, constraints=everything)
    assert len(gather(model, X).map.items) == 200


def test_given_distances_are_scaled(seed):
    X, _ = blobs(seed, n=80, d=2)
    far = np.linalg.norm(X[:, None] - X, axis=2)
    model = KMedoids(3, metric="precomputed", random_state=0).fit(far)
    found = gather(model, far).map
    shown = np.linalg.norm((found.xy[:, None] - found.xy) * [1, found.ratio], axis=2)
    if 0.42 < found.ratio < 0.66:  # the map keeps distances
        assert np.corrcoef(shown.ravel(), far.ravel())[0, 1] == pytest.approx(1.0, abs=1e-6)
    assert np.corrcoef(shown.ravel(), far.ravel())[0, 1] > 0.8
    assert not gather(model, far).cards[0].traits.features


def test_what_a_learned_metric_counts_is_told(tmp_path, seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.repeat([0.0, 9.0], 30) + rng.normal(size=60), 1e3 * rng.normal(size=(60, 2))])
    for model, told in (
        (MPCKMeans(2, random_state=0), True),
        (MPCKMeans(2, learn="full", random_state=0), False),
        (MPCKMeans(2, learn="none", random_state=0), False),
        (COPKMeans(2, random_state=0), False),
    ):
        model.fit(X)
        facts = gather(model, X, features=["height", "noise", "<b>more"])
        assert bool(facts.weighed) == told
        page = model.report(X, tmp_path / "page.html", features=["height", "noise", "<b>more"]).read_text()
        assert ("The metric was learned" in page) == told
        assert "<b>more" not in page
        if told:
            part = model.metric_ * X.var(axis=0)
            assert dict(facts.weighed)["height"] == pytest.approx(part[0] / part.sum())
            assert facts.weighed[0][0] == ["height", "noise", "<b>more"][int(part.argmax())]
