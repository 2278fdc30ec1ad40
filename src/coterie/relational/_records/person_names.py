"""Names of persons: what is surname and what given name, and how alike two names are.

`A. Aamodt`, `Aamodt, A.`, `Aamodt A` and `aamodt_a` are one name. Case, accents, dots, titles after the name
(Jr.), numbers and particles (van, de la) do not count. A given name with a hyphen (Long-Ji) is one word, as
others write it (Longji), but initials (L.-J.) are two; a surname with one is two words. An initial agrees
with every given name that begins with it. Two or three capitals beside small letters are initials
(`Aamodt AB`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coterie._arrays import Floats, Index
from coterie.relational._records.pairs import numbered, on_distinct
from coterie.relational._records.strings import jaro_winkler

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_INITIALS = re.compile(r"(?<![^\W_])[A-Z]{2,3}(?![^\W_])")
_PARTICLES = frozenset([
    "van", "von", "der", "den", "de", "la", "del", "della", "di", "da", "dos", "du", "des", "le",
    "ter", "ten",
])  # fmt: skip
_SUFFIXES = frozenset(["jr", "sr", "ii", "iii", "iv", "phd", "md"])
_MOST_GIVEN = 8  # given names that are compared; a text that is no name has hundreds

# The constants of the comparator, as measured for the chapter on CiteSeer: set once by hand, not tuned.
_SAME_INITIAL = 0.97
_INITIAL_AGREES = 0.95
_GIVEN_MISSING = 0.85
_NO_GIVEN_NAME = 0.7
_FIRST_COUNTS = 0.7
_CLEARLY_ALIKE = 0.8


class PersonName(NamedTuple):
    """A name in small letters without accents."""

    surname: str
    given: tuple[str, ...]


def parse_name(text: str) -> PersonName:
    """Surname and given names of a name in any of the usual forms."""
    if not text.isupper():  # `Aamodt AB` has two initials
        text = _INITIALS.sub(lambda found: " ".join(found[0]), text)
    plain = text.casefold()
    if not plain.isascii():
        plain = "".join(c for c in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(c))
    plain = plain.replace("'", "").replace("\u2019", "")
    before, comma, after = plain.partition(",")
    if comma and not _words(after):  # a suffix only: `John Smith, Jr.`
        before, comma = before, ""
    if not comma:
        before, comma, after = before.partition("_")
    if comma:
        surname, given = _words(before), _words(after)
    else:
        words = _words(before)
        surname, given = words[-1:], words[:-1]
        if given and len(surname[0]) == 1 and len(given[0]) > 1:  # `Aamodt A`
            initials = next(at for at in range(len(words), 0, -1) if len(words[at - 1]) > 1)
            surname, given = words[:initials], words[initials:]
    if not surname:
        surname, given = (given[-1:], given[:-1]) if given else ([plain.strip()], [])
    given = [word for one in given for word in _given_words(one)]
    return PersonName(" ".join(surname).replace("-", " "), tuple(given[:_MOST_GIVEN]))


def compare_names(names: Sequence[PersonName], left: Index, right: Index) -> Floats:
    """How alike two names are: half the surname, half the given names; 1 if they are equal."""
    surnames = [name.surname for name in names]
    given, givens = numbered([name.given for name in names])
    by_surname = jaro_winkler(surnames, left, right)
    by_given = on_distinct(given[left], given[right], lambda a, b: _compare_given(givens, a, b))
    equal = (by_surname == 1) & (given[left] == given[right])
    return np.where(equal, 1.0, (by_surname + by_given) / 2)


def _compare_given(givens: Sequence[tuple[str, ...]], left: Index, right: Index) -> Floats:
    """Given names position by position; the first counts most, and must agree."""
    how_many = np.array([len(given) for given in givens])
    fewest, most = np.sort([how_many[left], how_many[right]], axis=0)
    width = max(1, *how_many)
    code, words = numbered([word for given in givens for word in (*given, *[""] * width)[:width]])
    code = code.reshape(-1, width)
    length, initial = np.array([len(word) for word in words]), np.array([word[:1] for word in words])
    scores = np.zeros((width, len(left)))
    for position in range(width):
        at = np.flatnonzero(position < most)
        a, b = code[left[at], position], code[right[at], position]
        score = np.where(initial[a] == initial[b], _INITIAL_AGREES, 0.0)
        full = np.flatnonzero((length[a] > 1) & (length[b] > 1))
        alike = jaro_winkler(words, a[full], b[full])
        score[full] = np.where(alike > _CLEARLY_ALIKE, alike, alike / 2)
        score[a == b] = np.where(length[a[a == b]] == 1, _SAME_INITIAL, 1.0)
        score[(length[a] == 0) | (length[b] == 0)] = _GIVEN_MISSING
        scores[position, at] = score
    first, others = scores[0], scores[1:].sum(axis=0) / np.maximum(most - 1, 1)
    mean = np.where(first > 0, _FIRST_COUNTS * first + (1 - _FIRST_COUNTS) * others, 0.0)
    return np.where(fewest == 0, _NO_GIVEN_NAME, np.where(most == 1, first, mean))


def _given_words(word: str) -> list[str]:
    """A given name with hyphens as one word, initials by themselves."""
    parts = word.split("-")
    return parts if min(map(len, parts)) == 1 else ["".join(parts)]


def _words(text: str) -> list[str]:
    """The words of a part of a name, without suffixes, and without particles if anything else is there."""
    words = [word for word in _WORD.findall(text) if word not in _SUFFIXES]
    return [word for word in words if word not in _PARTICLES] or words
