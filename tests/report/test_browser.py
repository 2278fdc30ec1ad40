"""The page in a real browser: it fits, it can be read, it asks for nothing."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from coterie import Constraints, COPKMeans, SizeConstrainedKMeans
from coterie.exceptions import DeadEndWarning, ViolatedConstraintsWarning
from coterie.hierarchy import ConstrainedLinkage
from coterie.report import write_report
from tests.report.test_escaping import HOSTILE

SIZES = {"phone": (390, 844), "desk": (1280, 900)}

# Contrast of every element that holds text of its own, against the first opaque background below it.
CONTRAST = """
() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const part = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || element.closest('svg')) continue;
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    const style = getComputedStyle(element);
    let below = element, back = null;
    while (below) {
      const colour = parse(getComputedStyle(below).backgroundColor);
      if (colour.length === 3 || (colour.length === 4 && colour[3] === 1)) { back = colour; break; }
      below = below.parentElement;
    }
    const [a, b] = [light(parse(style.color)), light(back || [255, 255, 255])];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push([ratio, element.tagName, element.className, element.textContent.trim().slice(0, 40)]);
  }
  return found;
}
"""
# Contrast of the colours of marks against the card on which they stand.
MARKS = """
() => {
  const style = getComputedStyle(document.documentElement);
  const hex = name => style.getPropertyValue(name).trim();
  const clusters = Array.from({length: 10}, (_, at) => hex(`--c${at}`));
  return [hex('--card'), hex('--bg'), ...clusters, hex('--broken')];
}
"""


def wine_page(wine, folder):
    model, X, data = wine
    return write_report(
        folder / "report.html",
        model,
        X,
        features=data.feature_names,
        title="wine.csv: 3 clusters",
        command="coterie cluster wine.csv -k 3 --id id --pairs pairs.csv -o runs/wine --seed 0",
        notes=["13 numeric columns standardised (mean 0, deviation 1); --no-scale leaves them as they are"],
        seconds=0.12,
    )


def many_page(wine, folder):
    X, y = make_blobs(2100, 6, centers=24, random_state=3, cluster_std=2.0)
    known = Constraints.sample(y, n_pairs=600, noise=0.02, random_state=0)
    model = SizeConstrainedKMeans(
        24, size_min=60, size_max=100, weight=30.0, random_state=0, n_init=1, max_iter=5
    )
    with pytest.warns(ViolatedConstraintsWarning):
        model.fit(X, constraints=known)
    return write_report(folder / "report.html", model, X)


def hostile_page(wine, folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, len(HOSTILE)))
    ids = [HOSTILE[row % len(HOSTILE)] + "W" * (row % 7) * 30 + str(row) for row in range(60)]
    known = Constraints(
        must_link=[(ids[0], ids[1])], cannot_link=[(ids[2], ids[3])], source="x" * 300, ids=ids
    )
    labels = Constraints.from_labels(["L" * 200, "L" * 200, "M" * 200, *[-1] * 57])
    model = COPKMeans(3, random_state=0).fit(X, constraints=known | labels.with_ids(ids))
    names = [name + "N" * 200 for name in HOSTILE]
    words = "command " + "y" * 500
    return write_report(
        folder / "report.html",
        model,
        X,
        features=names,
        title="T" * 300,
        command=words,
        notes=["z" * 400],
        coordinates=X[:, :2],
        coordinate_names=("c" * 200, "d e f " * 40),
    )


def tree_page(wine, folder):
    """More clusters than asked for, and names of items in what keeps them apart."""
    rng = np.random.default_rng(0)
    ids = [HOSTILE[row % len(HOSTILE)] + "W" * (row % 5) * 30 + str(row) for row in range(40)]
    apart = Constraints(cannot_link=[(i, j) for i in range(4) for j in range(4, 9)], n_items=40).with_ids(ids)
    model = ConstrainedLinkage(5, connectivity=np.eye(40, k=1), size_max=8)
    X = rng.normal(size=(40, 3))
    with pytest.warns(DeadEndWarning):
        model.fit(X, constraints=apart)
    return write_report(folder / "report.html", model, X)


PAGES = {"wine": wine_page, "many": many_page, "hostile": hostile_page, "tree": tree_page}


@pytest.fixture(scope="module", params=PAGES)
def page_file(request, wine, tmp_path_factory):
    return PAGES[request.param](wine, tmp_path_factory.mktemp(request.param))


@pytest.fixture(
    scope="module", params=[(size, scheme) for size in SIZES for scheme in ("light", "dark")], ids="-".join
)
def opened(request, browser, page_file):
    """The page, all that it asked for, and all that it complained of."""
    size, scheme = request.param
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    asked, said = [], []

    def only_the_file(route):
        asked.append(route.request.url)
        if route.request.url == page_file.as_uri():
            route.continue_()
        else:
            route.abort()

    page.route("**/*", only_the_file)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.goto(page_file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(element => { element.open = true })")
    yield page, asked, said, width
    context.close()


def test_it_fits_and_asks_for_nothing(opened, page_file, tmp_path):
    page, asked, said, width = opened
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.body.scrollWidth") <= width
    # nothing sticks out of the page, but what scrolls in a box of its own
    wide = page.evaluate(
        """width => [...document.querySelectorAll('body *')].filter(element =>
        !element.closest('.scroll') && !element.closest('svg') &&
        (element.getBoundingClientRect().right > width + 1 || element.getBoundingClientRect().left < -1)
        ).map(element => element.outerHTML.slice(0, 100))""",
        width,
    )
    assert not wide
    assert asked == [page_file.as_uri()]
    assert not said
    picture = page.screenshot(path=tmp_path / "page.png", full_page="wine" in str(page_file))
    assert len(picture) > 10_000


def test_all_text_can_be_read(opened):
    page, *_ = opened
    measured = page.evaluate(CONTRAST)
    assert len(measured) > 50
    assert not [entry for entry in measured if entry[0] < 4.5]


def test_marks_stand_out(opened):
    page, *_ = opened
    card, ground, *colours = page.evaluate(MARKS)
    for colour in colours:
        for back in (card, ground):
            assert contrast(colour, back) >= 3, (colour, back)
    assert len(set(colours)) == 11


def test_legend_and_cards_are_there(opened):
    page, *_ = opened
    cards = page.query_selector_all("article.card")
    n_clusters = int(page.inner_text("ul.tiles li:nth-child(2) b").replace(",", ""))
    assert len(cards) == n_clusters
    legend = page.inner_text("ul.legend")
    for number, card in enumerate(cards):
        assert card.is_visible()
        box = card.bounding_box()
        assert box["width"] > 200
        assert box["height"] > 60
        assert f"Cluster {number}" in card.inner_text()
        assert f"Cluster {number}" in legend
    for entry in page.query_selector_all("ul.legend li"):
        assert entry.is_visible()
    for section in page.query_selector_all("section"):
        assert section.is_visible()
    drawing = page.query_selector(".map svg").bounding_box()
    assert drawing["width"] > 300
    assert drawing["height"] > 100


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_points_have_the_colour_of_their_cluster(browser, wine, tmp_path, scheme):
    page = browser.new_page(color_scheme=scheme)
    page.goto(wine_page(wine, tmp_path).as_uri())
    drawn = page.evaluate(
        """() => [...document.querySelectorAll('.map g.dots')].map(g => [
        getComputedStyle(g).fill, g.querySelectorAll('circle').length,
        getComputedStyle(document.querySelector(`ul.legend .mark.${g.classList[1]}`)).backgroundColor])"""
    )
    page.close()
    assert len(drawn) == 3
    assert sum(count for _, count, _ in drawn) == 178
    assert all(fill == chip for fill, _, chip in drawn)


def test_print_is_light(browser, page_file):
    page = browser.new_page(color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    page.goto(page_file.as_uri())
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.close()
    assert colour == "rgb(255, 255, 255)"


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    a, b = sorted((light(one), light(other)))
    return (b + 0.05) / (a + 0.05)
