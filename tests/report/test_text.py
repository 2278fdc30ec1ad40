"""Elements, names and numbers: what is text stays text, and every number reads well."""

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie._words import count_of, listed
from coterie.report._page.html import LONGEST_NAME, Markup, cut, name_of, shown, tag, together
from coterie.report._page.numbers import beside, number, percent, seconds, signed, value_of, whole
from tests.report.pages import Page


@pytest.mark.parametrize("text", ["<b>", "</style>", "&amp;", '"', "'", "a < b && c > d", "<!--", "]]>"])
def test_text_is_escaped_in_elements_and_attributes(tmp_path, text):
    path = tmp_path / "page.html"
    path.write_text(tag("p", text, title=text), encoding="utf-8")
    page = Page(path)
    assert page.elements == [("p", {"title": text})]
    assert "".join(page.texts) == text
    assert page.source.count("<") == page.source.count(">") == 2


@given(st.text(st.characters(), max_size=60))
def test_any_text_comes_back_from_the_page(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("page", numbered=True) / "page.html"
    path.write_text(tag("p", name_of(text)), encoding="utf-8")
    assert "".join(Page(path).texts).strip() == (cut(text).strip() or "(empty)")


def test_only_markup_is_taken_as_it_is():
    assert tag("p", tag("b", "x")) == "<p><b>x</b></p>"
    assert tag("p", str(tag("b", "x"))) == "<p>&lt;b&gt;x&lt;/b&gt;</p>"
    assert isinstance(together("a", tag("i", "b")), Markup)
    assert together("<", [tag("i"), None, ["&"]]) == "&lt;<i></i>&amp;"


def test_attributes():
    assert tag("a", class_="x", aria_label="y", hidden=True, title=None, open=False) == (
        '<a class="x" aria-label="y" hidden></a>'
    )
    assert tag("meta", name="a") == '<meta name="a"/>'
    assert tag("circle", r=1) == '<circle r="1"/>'
    assert tag("circle", tag("title", "t"), r=1) == '<circle r="1"><title>t</title></circle>'


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\x00b", "a\u2400b"), ("a\nb\tc", "a\u240ab\u2409c"), ("\x7f", "\u2421"),
        ("\x85", "\u27e8U+0085\u27e9"), ("evil\u202etxt", "evil\u27e8U+202E\u27e9txt"),
        ("zero\u200bwidth", "zero\u27e8U+200B\u27e9width"), ("\udc80", "\u27e8U+DC80\u27e9"),
        ("naïve 日本 🙂", "naïve 日本 🙂"),
    ],
)  # fmt: skip
def test_what_cannot_be_seen_is_made_visible(text, seen):
    assert shown(text) == seen
    tag("p", text).encode("utf-8")


def test_every_character_can_be_written():
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if not character.isprintable():
            shown(character).encode("utf-8")


def test_long_names_are_cut_with_the_full_text_on_hovering():
    name = "x" * 100
    made = name_of(name)
    assert cut(name) == "x" * (LONGEST_NAME - 1) + "…"
    assert f'title="{name}"' in made
    assert "title" not in name_of("x" * LONGEST_NAME)
    assert len(name_of("y" * 10**6)) < 2000
    assert "(empty)" in name_of(" ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (1.0, "1"), (3.4567, "3.46"), (-3.4567, "\u22123.46"), (12345.6, "12,346"),
        (0.00123, "0.00123"), (1e-7, "1e\u221207"), (2.5e12, "2.5e+12"), (None, "\u2013"),
        (math.nan, "\u2013"), (math.inf, "\u2013"),
    ],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (13.744, 0.81, "13.7"), (5.05, 2.3, "5.0"), (746.9, 314.0, "747"), (1985.24, 0.1, "1,985.24"),
        (-0.04, 1.0, "0.0"), (-3.0, 1.0, "\u22123.0"), (5.0, 0.0, "5"), (5e12, 1e11, "5e+12"),
        (math.nan, 1.0, "\u2013"),
    ],
)  # fmt: skip
def test_numbers_beside_a_spread(value, spread, text):
    assert beside(value, spread) == text


def test_other_words():
    assert [percent(x) for x in (0, 0.001, 0.356, 0.999, 1)] == [
        "0\u00a0%",
        "< 1\u00a0%",
        "36\u00a0%",
        "> 99\u00a0%",
        "100\u00a0%",
    ]
    assert percent(math.nan) == "\u2013"
    assert [whole(x) for x in (3, 1234567, 2.5, math.nan)] == ["3", "1,234,567", "2.50", "\u2013"]
    assert [signed(x) for x in (1.25, -0.9)] == ["+1.2", "\u22120.9"]
    assert [count_of(n, "item") for n in (0, 1, 2000)] == ["0 items", "1 item", "2,000 items"]
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert [seconds(x) for x in (0.123, 12.3, 75)] == ["0.12 s", "12 s", "1 min 15 s"]
    assert len(value_of("x" * 1000)) == 120
