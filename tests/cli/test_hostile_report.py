"""Markup in names, ids, values and titles stays text in the report."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tests.cli.hostile_cases import Sheet

HURT = "document.title='hurt'"
MARKUP = (
    f"<script>{HURT}</script>", f'"><img src=x onerror="{HURT}">', f"'><svg onload={HURT}>",
    "</style><b>bold</b>", "</title></head><body>", "</script><i>", "<!--", "-->", "]]>", "&lt;b&gt;",
    "&amp;amp;", "{{7*7}}", "javascript:alert(1)",
)  # fmt: skip


class Elements(HTMLParser):
    """Which elements and attributes a page has, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.made: set[tuple[str, str]] = set()
        self.tags: Counter[str] = Counter()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.made |= {(tag, ""), *((tag, name) for name, _ in attributes)}
        self.text += "".join(f" {value} " for _, value in attributes if value)

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        self.made.add(("comment", ""))


def report_of(main, folder: Path, names: Sequence[str], file: str) -> str:
    """The report of a run in which everything that can have a name has one of these."""
    folder.mkdir()
    n = 40
    rng = np.random.default_rng(0)
    column = iter(names)
    first, second, word, text = (next(column) for _ in range(4))
    rows = [
        [f"{names[at % len(names)]}{at}", *np.round(rng.normal(size=2) + at % 2 * 5, 2)] for at in range(n)
    ]
    for at, row in enumerate(rows):
        row += [names[at % 3], f"{names[at % 5]} story number{at % 4} of {names[5]} words"]
    table = Sheet(["id", first, second, word, text], [[str(cell) for cell in row] for row in rows])
    stated = [
        [rows[at][0], rows[at + 1][0], "cannot-link" if at % 3 else "must-link", names[at % len(names)]]
        for at in range(0, 20, 2)
    ]
    stated.append([rows[0][0], rows[1][0], "cannot-link", names[0]])
    (folder / file).write_text(table.csv())
    (folder / "pairs.csv").write_text(Sheet(["i", "j", "kind", "source"], stated).csv())
    words = ["cluster", str(folder / file), "-k", "2", "--id", "id", "--pairs", str(folder / "pairs.csv")]
    words += ["--category", word, "--text", text, "--title", names[1], "-o", str(folder / "out")]
    assert main(words) == 0
    return (folder / "out" / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory):
    """A report in which names are markup, and the same with plain names."""
    from coterie.cli import main

    folder = tmp_path_factory.mktemp("page")
    plain = report_of(main, folder / "a", [f"name {at:02}" for at in range(len(MARKUP))], "plain.csv")
    hurtful = report_of(main, folder / "b", MARKUP, "<script>.csv")
    return plain, hurtful, folder / "b" / "out" / "report.html"


def test_markup_of_the_user_stays_text(hostile_page):
    plain, hurtful = Elements(hostile_page[0]), Elements(hostile_page[1])
    assert hurtful.made - plain.made <= {(tag, "title") for tag in hurtful.tags}  # long names are cut
    assert not [name for _, name in hurtful.made if name.startswith("on")]
    for tag in (
        "html",
        "head",
        "body",
        "title",
        "style",
        "script",
        "img",
        "iframe",
        "link",
        "object",
        "form",
    ):
        assert hurtful.tags[tag] == plain.tags[tag], tag
    for name in MARKUP[:2]:
        assert name in hurtful.text


def test_markup_of_the_user_does_nothing_in_a_browser(hostile_page):
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium on this machine")
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    ]
    answer = subprocess.run(
        [chromium, *flags, "--virtual-time-budget=2000", "--dump-dom", hostile_page[2].as_uri()],
        capture_output=True,
        text=True,
        timeout=1800,
    )
    if answer.returncode or "</html>" not in answer.stdout:
        pytest.skip(f"{chromium} does not start: {answer.stderr[-200:]}")
    page = Elements(answer.stdout)
    assert "<title>hurt" not in answer.stdout
    assert page.tags["img"] == Elements(hostile_page[0]).tags["img"]
    assert page.tags["script"] == Elements(hostile_page[0]).tags["script"]
