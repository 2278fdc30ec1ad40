"""Every registered method, every shape of data: a page comes out, and it says only what is so."""

import itertools
import re
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from coterie import (
    BalancedCut,
    BalancedKMeans,
    Constraints,
    COPKMeans,
    FrequencySensitiveKMeans,
    KMedoids,
    OnlineBalancedKMeans,
    PCKMeans,
    SizeConstrainedBisection,
    SizeConstrainedKMeans,
)
from coterie.exceptions import ViolatedConstraintsWarning
from coterie.methods import METHODS
from coterie.report import constraint_outcomes, plain_labels, write_report
from coterie.report._facts.cards import MOST_CARDS
from coterie.testing._problems import pairs_of
from tests.contract.toy import ToyHard
from tests.marks import outvoted
from tests.report.pages import Page

# what no page may say: numbers that are none, and Python's own words
UNWANTED = re.compile(
    r"\bnan\b|\binf\b|-inf|\bnumpy\b(?!\s*\d)|np\.|array\(|dtype|Traceback|<class", re.IGNORECASE
)


def problem(method, seed, n=60, k=3):
    """Data of k clumps, and something known of a kind that the method takes, if it takes any."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = np.abs(rng.normal(size=(k, 5)))[y] * 5 + 0.3 * rng.uniform(size=(n, 5))
    if not method.kinds:
        known = Constraints(n_items=n)
    elif method.kinds == {"label"}:
        known = Constraints.from_labels(np.where(rng.uniform(size=n) < 0.2, y, -1))
    else:
        known = Constraints.sample(y, n_pairs=20, random_state=seed)
        known = pairs_of(method.kinds, known.must_link, known.cannot_link, n_items=n)
    return X, known


def written(tmp_path, model, X, **words):
    page = Page(write_report(tmp_path / "report.html", model, X, **words))
    found = UNWANTED.search(page.text.replace("random_state None", "").replace("NumPy", ""))
    assert found is None, page.text[max(0, found.start() - 60) : found.end() + 60]
    assert page.count("script") == 0
    assert page.count("h1") == page.count("main") == page.count("style") == 1
    return page


def methods_and_forms():
    """Every method with every form of rows that it takes."""
    for method in (one for one in METHODS if one.wants == "rows"):
        sparse_too = get_tags(method.estimator()).input_tags.sparse
        for form in ["dense", "float32", "frame", *(["sparse"] if sparse_too else [])]:
            yield pytest.param(method, form, id=f"{method.name}-{form}")


@outvoted
@pytest.mark.parametrize(("method", "form"), list(methods_and_forms()))
def test_every_method(tmp_path, method, form, seed):
    X, known = problem(method, seed)
    given = {
        "dense": lambda: X,
        "sparse": lambda: sparse.csr_matrix(np.where(X > 1, X, 0)),
        "float32": lambda: X.astype(np.float32),
        "frame": lambda: pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c", "d", "é"]),
    }[form]()
    model = method.build(3, random_state=0)
    model.fit(given, constraints=known)
    page = written(tmp_path, model, given)
    assert method.name in page.text
    assert method.about.source in page.text
    assert page.count("article", "card") == (3 if method.takes_k else model.n_clusters_)
    course = "merging" if hasattr(model, "linkage_") else "objective"
    # where the base meets every pair there are no rounds, and eigenvectors have no course
    has_course = model.n_iter_ > 0 and not hasattr(model, "embedding_")
    parts = [
        "map", "clusters", *["sure"] * hasattr(model, "responsibilities_"), "sizes",
        *["certificate"] * hasattr(model, "approx_ratio_"), *[course] * has_course,
        *["statements", "comparison"] * bool(method.kinds), "made",
    ]  # fmt: skip
    assert [section["id"] for section in page.all("section")] == parts
    if form == "frame":
        assert "feature 0" not in page.text
    assert (len(constraint_outcomes(model, given)["kind"]) > 0) == bool(method.kinds)


@pytest.mark.parametrize(
    ("model", "told", "not_told"),
    [
        (COPKMeans(3), "iterations of the best start. It", "on the sample"),
        (COPKMeans(3, n_init=1), "iterations. It", "best start"),
        (COPKMeans(3, init=np.eye(3, 5)), "iterations. It", "best start"),
        (SizeConstrainedBisection(3), "tree", "best start"),
        (SizeConstrainedBisection(3, refine=False), "The tree alone", "iterations. It stopped"),
        (BalancedKMeans(3, sample_size=30), "on the sample is not counted", "best start"),
        (BalancedKMeans(3, sample_size=60), "of the best start", "is not counted"),
        (FrequencySensitiveKMeans(3), "from the best start of k-means", "of the best start"),
        (OnlineBalancedKMeans(3), "each pass", "best start"),
        (BalancedCut(3), "of the best start", "on the sample"),
    ],
)
def test_what_is_said_of_starts_is_so(tmp_path, model, told, not_told):
    rows = np.random.default_rng(0).normal(size=(60, 5))
    page = written(tmp_path, clone(model).set_params(random_state=0).fit(rows), rows)
    assert told in page.text
    assert not_told not in page.text


def test_the_mixin_writes_the_same_page(tmp_path, wine):
    model, X, _ = wine
    path = model.report(X, tmp_path / "deep" / "report.html", title="by hand")
    assert path == tmp_path / "deep" / "report.html"
    assert "by hand" in Page(path).text


@pytest.mark.parametrize(
    ("X", "k"),
    [
        (np.array([[1.0, 2.0]]), 1), (np.array([[1.0]]), 1), (np.array([[1.0], [2.0], [5.0]]), 2),
        (np.ones((5, 3)), 1), (np.eye(4), 4), (np.arange(40.0).reshape(20, 2), 1),
        (np.array([[1e-150, 0.0], [0.0, 1e-150], [1e-150, 1e-150]]) * 1e120, 2),
        (np.array([[1e30, 0.0], [0.0, 1e30], [3e30, 1e30]]), 2),
    ],
    ids=["one item", "one number", "one feature", "all alike", "k = n", "k = 1", "tiny", "huge"],
)  # fmt: skip
def test_edges(tmp_path, X, k):
    model = COPKMeans(k, random_state=0).fit(X)
    page = written(tmp_path, model, X)
    assert page.count("article", "card") == k
    assert "Nothing was stated." in page.text
    assert not any(section["id"] in ("statements", "comparison") for section in page.all("section"))


def test_lists_are_rows_too(tmp_path):
    X = [[0.0, 1.0], [1.0, 0.0], [9.0, 9.0]]
    known = Constraints(must_link=[(0, 1)], n_items=3)
    page = written(tmp_path, COPKMeans(2, random_state=0).fit(X, constraints=known), X)
    assert "The constraint holds." in page.text


def test_an_empty_cluster_has_a_card(tmp_path):
    X = np.array([[0.0], [0.0], [0.0], [1.0]])
    with pytest.warns(UserWarning, match="distinct clusters"):
        model = COPKMeans(3, random_state=0).fit(X)
    page = written(tmp_path, model, X)
    assert page.count("article", "card") == 3
    assert "empty" in page.text


@pytest.mark.parametrize("kind", ["label", "distinct", "across"])
def test_groups_only(tmp_path, kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    codes = ["x", "y"] * 3 + ["z"] * 2 + [-1] * 22
    known = {
        "label": Constraints.from_labels,
        "distinct": Constraints.distinct,
        "across": Constraints.across,
    }[kind](codes)
    model = COPKMeans(4, random_state=0).fit(X, constraints=known)
    page = written(tmp_path, model, X)
    assert kind in page.text
    assert ("8 of 8 labels hold" if kind == "label" else "3 of 3 groups hold") in page.text


def test_broken_groups_are_named(tmp_path):
    X = np.array([[0.0], [0.1], [5.0], [5.1], [0.2], [5.2]])
    known = Constraints.from_labels(["a", "a", "b", "b", "a", "a"], weight=0.001).with_ids(list("uvwxyz"))
    with pytest.warns(ViolatedConstraintsWarning):
        model = PCKMeans(2, random_state=0, weight=1.0).fit(X, constraints=known)
    page = written(tmp_path, model, X)
    assert "a: 4 items in clusters" in page.text
    assert "Ringed: breaks a group" in page.text
    assert page.count("circle", "ring") == len({i for g in model.violations_.groups for i in g.items})


def test_bounds_loads_groups_and_outliers(tmp_path, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    X[0] = 100.0
    load = rng.integers(1, 4, size=80)
    groups = rng.choice(["<m>", "w"], size=80)
    model = SizeConstrainedKMeans(
        3, size_min=20, group_min={"w": 5}, outlier_cost=1000.0, random_state=0
    ).fit(X, size_weight=load, groups=groups)
    page = written(tmp_path, model, X, size_weight=load, groups=groups)
    assert "load of the items" in page.text
    assert "Group <m>" in page.text
    assert "left out" in page.text
    assert "price" in page.text
    # the same without what fit was given: the model knows it
    assert "Group <m>" in written(tmp_path, model, X, plain=None).text


def test_a_clusterer_outside_the_registry(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(40, 2))
    known = Constraints(must_link=[(0, 1)], n_items=40)
    model = ToyHard(3).fit(X, constraints=known)
    page = written(tmp_path, model, X)
    assert "ToyHard" in page.text
    assert plain_labels(model, X) is not None


def test_many_clusters(tmp_path, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(70, 2)).repeat(4, axis=0) * 50 + rng.normal(size=(280, 2))
    model = COPKMeans(70, random_state=0, n_init=1).fit(X)
    page = written(tmp_path, model, X)
    assert page.count("article", "card") == MOST_CARDS
    assert f"The {MOST_CARDS} largest of 70 clusters." in page.text
    assert "and 10 smaller ones" in page.text
    assert "colours repeat with another marker" in page.text
    assert {marker for marker in ("dot", "square", "cross") if page.count("span", marker)} == {
        "dot",
        "square",
        "cross",
    }


def test_many_points_are_one_path_a_cluster(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(3000, 2))
    page = written(tmp_path, COPKMeans(12, random_state=0, n_init=1).fit(X), X)
    assert page.count("circle") == 0
    assert page.count("path", "many") == 12
    drawn = sum(path["d"].count("M") for path in page.all("path", "many"))
    assert drawn == 3000


def test_pictures_are_within_the_page_and_beside_it_where_wanted(tmp_path, wine, monkeypatch):
    model, X, _ = wine
    (tmp_path / "map.png").write_text("the user's own")
    page = Page(model.report(X, tmp_path / "a.html"))
    assert {path.name for path in tmp_path.iterdir()} == {"a.html", "map.png"}
    assert page.count("svg") >= 2  # the map and the objective
    write_report(tmp_path / "b.html", model, X, title="$x^{2$ _ \\frac \U0001f600", pictures=True)
    drawn = [f"b-{name}.png" for name in ("map", "objective", "sizes")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", *drawn, "b.html", "map.png"]
    for name in drawn:
        data = (tmp_path / name).read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) > 5_000
    assert (tmp_path / "map.png").read_text() == "the user's own"
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    page = written(tmp_path / "missing", model, X, pictures=True)
    assert "No pictures were drawn: matplotlib is not installed" in page.text
    assert [path.name for path in (tmp_path / "missing").iterdir()] == ["report.html"]


def test_wrong_input(tmp_path, wine):
    model, X, _ = wine
    target = tmp_path / "report.html"
    with pytest.raises(ValueError, match="must end in"):
        write_report(tmp_path / "report.pdf", model, X)
    with pytest.raises(ValueError, match="not fitted"):
        write_report(target, COPKMeans(3), X)
    with pytest.raises(ValueError, match="X has 10 rows, but the model was fitted on 178"):
        write_report(target, model, X[:10])
    with pytest.raises(ValueError, match="ids must be 178 names"):
        write_report(target, model, X, ids=["a"])
    with pytest.raises(ValueError, match='plain must be "auto"'):
        write_report(target, model, X, plain="no")
    with pytest.raises(ValueError, match="plain must be 178 labels"):
        write_report(target, model, X, plain=[0, 1])
    assert not list(tmp_path.iterdir())


def test_the_same_seed_gives_the_same_page(tmp_path, wine):
    model, X, _ = wine
    pages = []
    for name in ("a", "b"):
        text = write_report(tmp_path / f"{name}.html", model, X).read_text(encoding="utf-8")
        pages.append(re.sub(r"Made [^.]*\.", "", text))
    assert pages[0] == pages[1]


def test_what_was_passed_in_is_there(tmp_path, wine):
    model, X, data = wine
    page = written(
        tmp_path,
        model,
        X,
        features=data.feature_names,
        title="Wines",
        command="coterie cluster wine.csv -k 3",
        notes=["13 numeric columns standardised"],
        seconds=1.25,
    )
    for text in ("Wines", "coterie cluster wine.csv -k 3", "13 numeric columns standardised", "1.2 s"):
        assert text in page.text
    assert "proline" in page.text
    assert all(th.get("scope") in ("col", "row") for th in page.all("th"))
    assert page.all("html")[0]["lang"] == "en"
    levels = [int(name[1]) for name, _ in page.elements if re.fullmatch("h[1-6]", name)]
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


def test_a_thousand_rows_take_less_than_a_second(tmp_path, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(5, size=1000)
    X = rng.normal(size=(5, 10))[y] * 3 + rng.normal(size=(1000, 10))
    model = COPKMeans(5, random_state=0).fit(
        X, constraints=Constraints.sample(y, n_pairs=200, random_state=0)
    )
    write_report(tmp_path / "first.html", model, X)  # imports
    times = []
    for _ in range(2):
        start = time.process_time()
        write_report(tmp_path / "report.html", model, X)
        times.append(time.process_time() - start)
    assert min(times) < 12.0  # about 0.6 s; the rest is room for a busy machine


def test_medoids_of_given_distances(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(40, 2))
    far = np.linalg.norm(X[:, None] - X, axis=2)
    known = Constraints(must_link=[(0, 1)], cannot_link=[(0, 2)], hard=True, n_items=40)
    model = KMedoids(3, metric="precomputed", random_state=0).fit(far, constraints=known)
    page = written(tmp_path, model, far)
    assert "scaled distances" in page.text


@outvoted
@pytest.mark.slow
def test_a_million_rows(tmp_path, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(10, size=1_000_000)
    X = rng.normal(size=(10, 10))[y] * 4 + rng.normal(size=(1_000_000, 10))
    known = Constraints.sample(y, n_pairs=2000, noise=0.02, random_state=0)
    model = PCKMeans(10, random_state=0, n_init=1).fit(X, constraints=known)
    start = time.process_time()
    path = write_report(tmp_path / "report.html", model, X, plain=y)
    took = time.process_time() - start
    assert took < 60.0  # about 5 s; the rest is room for a busy machine
    assert path.stat().st_size < 3_000_000
    assert "50,000 of 1,000,000 items are shown" in Page(path).text


def test_outcomes_of_many_pairs_are_quick(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=40_000)
    X = rng.normal(size=(4, 3))[y] * 3 + rng.normal(size=(40_000, 3))
    known = Constraints.sample(y, n_pairs=100_000, noise=0.3, random_state=0)
    with pytest.warns(ViolatedConstraintsWarning):
        model = PCKMeans(4, random_state=0, n_init=1, max_iter=2, weight=1e-3).fit(X, constraints=known)
    start = time.process_time()
    table = constraint_outcomes(model, X, known, y)
    assert time.process_time() - start < 12.0  # about 0.6 s; the rest is room for a busy machine
    assert table["outcome"].count("broken") == model.violations_.n_broken > 10_000
