"""Everything that came from the user stays text, wherever it stands."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from coterie import Constraints, COPKMeans, PCKMeans, SizeConstrainedKMeans
from coterie.exceptions import ViolatedConstraintsWarning
from coterie.report import write_report
from tests.report.pages import Page

HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)",
    "</style><script>alert(1)</script>", "</title><script>alert(1)</script>", "<!-- --><svg onload=alert(1)>",
    "&lt;script&gt;", "{{7*7}} ${7*7} javascript:alert(1)", "<a href=https://example.org/x>x</a>",
    "\x00\x1b[31m\u202e\u2028\n<b>",
]  # fmt: skip
ALLOWED = {
    "a", "article", "b", "body", "circle", "code", "dd", "details", "div", "dl", "dt", "figcaption", "figure",
    "footer", "g", "h1", "h2", "h3", "h4", "head", "header", "html", "i", "li", "line", "main", "meta", "nav",
    "p", "path", "polyline", "pre", "rect", "section", "span", "style", "summary", "svg", "table", "tbody",
    "td", "th", "thead", "title", "tr", "ul",
}  # fmt: skip


@dataclass
class Described:
    """A column as `coterie.tables` describes it."""

    name: str
    kind: str = "numeric"
    offset: float = 0.0
    scale: float = 1.0
    level: str | None = None


def assert_harmless(page: Page) -> None:
    assert {name for name, _ in page.elements} <= ALLOWED
    for name, attributes in page.elements:
        assert not any(key.startswith("on") for key in attributes), (name, attributes)
        assert name == "a" or "href" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
        assert "src" not in attributes
        style = attributes.get("style") or ""
        assert re.fullmatch(r"((left|width|bottom):(calc\()?-?[\d.]+%( - 1px\))?;?)*", style), style
    assert "alert" not in page.style
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", page.source)
    assert "url(" not in page.style
    assert "@import" not in page.style


@pytest.mark.parametrize("evil", HOSTILE)
def test_everything_at_once(tmp_path, evil, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 4)) + np.arange(40)[:, None] % 2 * 6
    ids = [f"{evil}{row}" for row in range(40)]
    known = Constraints(
        must_link=[(ids[0], ids[2]), (ids[0], ids[1])],
        cannot_link=[(ids[4], ids[5]), (ids[6], ids[8])],
        source=evil,
        ids=ids,
    )
    with pytest.warns(ViolatedConstraintsWarning):
        model = PCKMeans(2, weight=1e-3, random_state=0).fit(X, constraints=known)
    features = [
        Described(evil),
        Described(evil, "category", level=evil),
        Described(evil, "text", level=evil),
        Described(evil, "matrix"),
    ]
    path = write_report(
        tmp_path / "report.html",
        model,
        X,
        features=features,
        coordinates=X[:, :2],
        coordinate_names=(evil, evil),
        title=evil,
        command=evil,
        notes=[evil],
    )
    page = Page(path)
    assert_harmless(page)
    if "<" in evil:
        assert evil not in page.source
        assert "<" in page.text


@pytest.mark.parametrize("evil", HOSTILE)
def test_groups_labels_and_words(tmp_path, evil, seed):
    rng = np.random.default_rng(seed)
    X = sparse.csr_matrix(np.abs(rng.normal(size=(30, 3))))
    label = Constraints.from_labels([evil, evil, "b", "b", *[-1] * 26], source=evil, weight=1e-6)
    with pytest.warns(ViolatedConstraintsWarning):
        model = PCKMeans(3, random_state=3, weight=1e-6).fit(X, constraints=label)
    page = Page(write_report(tmp_path / "report.html", model, X, features=[evil, "b", evil]))
    assert_harmless(page)
    dense = X.toarray()
    groups = [evil if row % 2 else "other" for row in range(30)]
    sized = SizeConstrainedKMeans(2, group_min=3, random_state=0).fit(dense, groups=groups)
    page = Page(write_report(tmp_path / "sized.html", sized, dense, groups=groups))
    assert_harmless(page)


def test_a_frame_with_hostile_columns(tmp_path, seed):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(rng.normal(size=(30, len(HOSTILE))), columns=HOSTILE)
    model = COPKMeans(3, random_state=0).fit(frame)
    assert_harmless(Page(write_report(tmp_path / "report.html", model, frame)))


def test_long_names_do_not_fill_the_page(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(300, 2))
    ids = [f"{row:04d}" + "x" * 50_000 for row in range(300)]
    model = COPKMeans(2, random_state=0).fit(X)
    path = write_report(tmp_path / "report.html", model, X, ids=ids, title="y" * 100_000)
    assert path.stat().st_size < 500_000
    assert_harmless(Page(path))


def test_the_policy_forbids_everything_but_the_style(tmp_path, wine):
    model, X, _ = wine
    page = Page(write_report(tmp_path / "report.html", model, X))
    (policy,) = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv")]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    assert "http" not in page.source.replace("http-equiv", "")
