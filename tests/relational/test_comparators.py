"""Comparators against their slow and obvious versions, and the names of persons."""

import random
import sys

import numpy as np
import pytest

from coterie.exceptions import CoterieWarning
from coterie.relational._records import compare_rows, read_records
from coterie.relational._records.person_names import parse_name
from coterie.relational._records.strings import jaro, jaro_winkler
from tests.oracles import records as oracle

# strings of the specification: Jaro and Jaro-Winkler to four digits
KNOWN = [
    ("MARTHA", "MARHTA", 0.9444, 0.9611),
    ("DIXON", "DICKSONX", 0.7667, 0.8133),
    ("DWAYNE", "DUANE", 0.8222, 0.8400),
    ("ABROMS", "ABRAMS", 0.8889, 0.9222),
    ("HARDIN", "MARTINEZ", 0.7222, 0.7222),
]


def similarity(values, comparator, left, right):
    """Similarity of some pairs of values of one column; row i has value i."""
    records = read_records([[value] for value in values], {0: comparator})
    return compare_rows(records, records.row[np.atleast_1d(left)], records.row[np.atleast_1d(right)])[0]


def two(comparator, one, other, more=()):
    return similarity([one, other, *more], comparator, 0, 1)[0]


def every_pair(n):
    return np.triu_indices(n, 1)


@pytest.mark.parametrize(("one", "other", "by_jaro", "by_winkler"), KNOWN)
def test_known_strings(one, other, by_jaro, by_winkler):
    pair = sorted([one, other])
    left, right = np.array([0]), np.array([1])
    assert jaro(pair, left, right)[0] == pytest.approx(by_jaro, abs=5e-5)
    assert jaro_winkler(pair, left, right)[0] == pytest.approx(by_winkler, abs=5e-5)
    assert two("jaro-winkler", one, other) == pytest.approx(by_winkler, abs=5e-5)
    assert oracle.jaro(one, other) == pytest.approx(by_jaro, abs=5e-5)
    assert oracle.jaro_winkler(one, other) == pytest.approx(by_winkler, abs=5e-5)


def test_jaro_and_winkler_equal_their_definitions_on_random_strings():
    random.seed(1)
    strings = sorted({"".join(random.choices("abcde\u00e9", k=random.randint(0, 9))) for _ in range(120)})
    left, right = every_pair(len(strings))
    expected = [
        (oracle.jaro(strings[i], strings[j]), oracle.jaro_winkler(strings[i], strings[j]))
        for i, j in zip(left, right, strict=True)
    ]
    np.testing.assert_allclose(jaro(strings, left, right), [one for one, _ in expected], atol=1e-12)
    np.testing.assert_allclose(jaro_winkler(strings, left, right), [one for _, one in expected], atol=1e-12)


@pytest.mark.parametrize(
    ("comparator", "expected"), [("tokens", oracle.cosine), ("soft-tfidf", oracle.soft_tfidf)]
)
def test_words_equal_their_definitions_on_random_texts(comparator, expected):
    """Repeated records count in the inverse document frequency; words may be close to several."""
    random.seed(2)
    vocabulary = [
        "martha",
        "marhta",
        "marthas",
        "smith",
        "smyth",
        "smithe",
        "jon",
        "john",
        "a",
        "b",
        "\u00c9cole",
    ]
    texts = [" ".join(random.choices(vocabulary, k=random.randint(1, 5))) for _ in range(24)]
    texts += [*texts[:5], "the the end", "The end"]
    left, right = every_pair(len(texts))
    found = similarity(texts, comparator, left, right)
    wanted = [
        1.0 if texts[i] == texts[j] else expected(texts[i], texts[j], texts)
        for i, j in zip(left, right, strict=True)
    ]
    np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_long_texts_are_compared_in_parts(monkeypatch):
    texts = [f"alpha{i} beta{i % 3} gamma{i % 5} delta" for i in range(30)]
    left, right = every_pair(len(texts))
    whole = similarity(texts, "soft-tfidf", left, right)
    monkeypatch.setattr("coterie.relational._records.pairs._AT_ONCE", 50)
    np.testing.assert_array_equal(similarity(texts, "soft-tfidf", left, right), whole)


@pytest.mark.parametrize(
    ("text", "surname", "given"),
    [
        ("A. Aamodt", "aamodt", "a"),
        ("Aamodt, A.", "aamodt", "a"),
        ("aamodt_a", "aamodt", "a"),
        ("Aamodt A", "aamodt", "a"),
        ("AAMODT, Agnar", "aamodt", "agnar"),
        ("Smith JA", "smith", "j a"),
        ("JA Smith", "smith", "j a"),
        ("J.A. Smith", "smith", "j a"),
        ("lin_l-j", "lin", "l j"),
        ("Jean-Paul Sartre", "sartre", "jeanpaul"),
        ("J.-P. Sartre", "sartre", "j p"),
        ("J. Abu-Hakima", "abu hakima", "j"),
        ("Beek, Peter van", "beek", "peter"),
        ("Peter van der Beek", "beek", "peter"),
        ("beek_p_van", "beek", "p"),
        ("d'Ambrosio, B.", "dambrosio", "b"),
        ("G\u00f6del, K.", "godel", "k"),
        ("John Smith, Jr.", "smith", "john"),
        ("Smith, Jr., John", "smith", "john"),
        ("Le, Q.", "le", "q"),
        ("23 . K. Marriott", "marriott", "k"),
        ("Smith-Jones, Mary", "smith jones", "mary"),
        ("horvitz", "horvitz", ""),
        (", A.", "a", ""),
        ("???", "???", ""),
        ("_", "_", ""),
    ],
)
def test_names_in_many_forms(text, surname, given):
    assert parse_name(text) == (surname, tuple(given.split()))


NAMES = [
    ("aamodt", ("a",)), ("aamodt", ("agnar",)), ("aamodt", ()), ("aamodt", ("b",)), ("amodt", ("a", "b")),
    ("wang", ("w",)), ("wang", ("w", "w")), ("wang", ("wei", "w")), ("wang", ("wie", "x", "yi")),
    ("dietterich", ("thomas", "g")), ("dietterich", ("tomas", "glen")), ("dietrich", ("t",)),
]  # fmt: skip


def test_names_follow_the_table_of_the_specification():
    texts = [f"{surname}, {' '.join(given)}" for surname, given in NAMES]
    left, right = every_pair(len(texts))
    expected = [oracle.person_name(*NAMES[i], *NAMES[j]) for i, j in zip(left, right, strict=True)]
    np.testing.assert_allclose(similarity(texts, "person-name", left, right), expected, atol=1e-8)
    assert two("person-name", "A. Aamodt", "aamodt_a") == 1
    assert two("person-name", "A. Aamodt", "Agnar Aamodt") == pytest.approx(0.975)
    assert two("person-name", "A. Aamodt", "B. Aamodt") == 0.5  # exactly, so that they are not similar


def test_text_that_is_no_name_is_compared_all_the_same():
    assert 0 <= two("person-name", "word " * 5000, "another " * 4000) <= 1
    assert two("person-name", "???", "!!!") <= 0.85


def test_numbers_by_their_standard_deviation_over_the_records():
    values = [1.0, 2.0, 2.0, 5.0]
    expected = np.exp(-((4.0 / np.std(values)) ** 2) / 2)
    assert similarity(values, "number", 0, 3)[0] == pytest.approx(expected, abs=1e-8)
    assert similarity(values, "number", 1, 2)[0] == 1
    assert similarity([1e308, -1e308, 0.0], "number", 0, 1)[0] < 0.1  # nothing overflows
    assert 0 < similarity(["1", "2.5", " 3 "], "number", 0, 1)[0] < 1


def test_texts_without_letters_are_not_equal():
    for comparator in ("soft-tfidf", "tokens", "person-name", "jaro-winkler"):
        assert two(comparator, "\U0001f600", "???") < 0.9


def test_case_counts_for_exact_only():
    assert two("exact", "ab", "AB") == 0
    assert [two(name, "ab", "AB") for name in ("jaro-winkler", "soft-tfidf", "tokens", "person-name")] == [
        1
    ] * 4
    assert two("jaro-winkler", 12.0, "12") == 1  # a frame with a gap makes whole numbers decimal


@pytest.mark.parametrize("comparator", ["exact", "jaro-winkler", "soft-tfidf", "tokens", "person-name"])
def test_order_of_rows_and_of_a_pair_do_not_matter(comparator):
    texts = ["Ann B. Lee", "Lee, A. B.", "anne leigh", "b lee", "lee", "Anne Bo Lee", "A Lee"]
    left, right = every_pair(len(texts))
    one = similarity(texts, comparator, left, right)
    np.testing.assert_array_equal(one, similarity(texts, comparator, right, left))
    last = len(texts) - 1
    np.testing.assert_array_equal(one, similarity(texts[::-1], comparator, last - left, last - right))
    assert ((one >= 0) & (one <= 1)).all()
    np.testing.assert_array_equal(one * 2**30, np.round(one * 2**30))


def test_a_callable_sees_the_values_as_they_are():
    seen = []

    def same_length(one, other):
        seen.append((one, other))
        return float(len(one) == len(other))

    assert similarity(["a", "b", "cd", "a"], same_length, *every_pair(4)).tolist() == [1, 0, 1, 0, 1, 0]
    assert len(seen) == 6  # three pairs of distinct values, both ways


def test_a_callable_that_is_not_symmetric_is_averaged_with_a_warning():
    with pytest.warns(
        CoterieWarning, match=r"rows 0 and 2 \('b' and 'a'\) have similarity 0.25, and 0.75 the"
    ):
        assert similarity(["b", "b", "a"], lambda one, other: 0.75 if one < other else 0.25, 0, 2)[0] == 0.5


@pytest.mark.parametrize(
    ("returned", "kind", "words"),
    [
        (float("nan"), ValueError, r"returned nan for rows 0 and 1 \('x' and 'y'\)"),
        (1.5, ValueError, "returned 1.5 for rows 0 and 1"),
        (-0.1, ValueError, "from 0 to 1"),
        (None, TypeError, "returned None for rows 0 and 1"),
    ],
)
def test_a_callable_is_checked(returned, kind, words):
    with pytest.raises(kind, match=words):
        two(lambda one, other: returned, "x", "y")


def test_without_rapidfuzz_the_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    with pytest.raises(ImportError, match=r'pip install "coterie\[records\]"'):
        two("person-name", "A. Aamodt", "B. Aamodt")
    assert two("exact", "a", "b") == two("tokens", "a", "b") == 0
