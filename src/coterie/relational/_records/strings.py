"""Similarities of strings, for many pairs at once: Jaro, Jaro-Winkler, TF-IDF and soft TF-IDF.

All are symmetric: the greedy matching of Jaro may depend on which string comes first, so the lesser one does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from coterie._arrays import Floats, Index
from coterie.relational._records.pairs import numbered, on_distinct, parts_of

_WORD = re.compile(r"[^\W_]+")
_PREFIX_WEIGHT, _MOST_PREFIX = 0.1, 4
_CLOSE = 0.9  # two words are close above this
# Jaro of words that are close is not below this: a prefix adds at most .4 of what lacks to 1
_LEAST_JARO = (_CLOSE - _PREFIX_WEIGHT * _MOST_PREFIX) / (1 - _PREFIX_WEIGHT * _MOST_PREFIX) - 1e-9


def words_of(text: str) -> list[str]:
    """The words of a text, in small letters; one without letters and digits is a word itself."""
    return _WORD.findall(text.casefold()) or [text]


def jaro(strings: Sequence[str], left: Index, right: Index, kind: str = "Jaro") -> Floats:
    """Jaro similarity of pairs of strings, in this order; or another similarity of rapidfuzz."""
    process, distance = _rapidfuzz()
    one, other = [strings[at] for at in left.tolist()], [strings[at] for at in right.tolist()]
    found: Floats = process.cpdist(one, other, scorer=getattr(distance, kind).similarity, dtype=np.float64)
    return found


def jaro_winkler(strings: Sequence[str], left: Index, right: Index) -> Floats:
    """Jaro-Winkler similarity of pairs of strings; each distinct pair is compared once."""
    code, distinct = numbered(strings)

    def compare(a: Index, b: Index) -> Floats:
        # the prefix counts at every Jaro similarity, with rapidfuzz's own Jaro-Winkler above .7 only
        score, prefix = jaro(distinct, a, b), jaro(distinct, a, b, "Prefix")
        return score + _PREFIX_WEIGHT * np.minimum(prefix, _MOST_PREFIX) * (1 - score)

    return on_distinct(code[left], code[right], compare)


def _rapidfuzz() -> tuple[Any, Any]:
    try:
        return import_module("rapidfuzz.process"), import_module("rapidfuzz.distance")
    except ImportError:
        raise ImportError(
            'comparing strings needs rapidfuzz: pip install "coterie[records]". '
            'The comparators "exact", "tokens" and "number" do without.'
        ) from None


class WordWeights:
    """TF-IDF of the words of texts, of length 1 for each; `counts` says how many records have each text."""

    def __init__(self, texts: Sequence[str], counts: Index) -> None:
        counter = CountVectorizer(analyzer=words_of, dtype=np.float64)
        weights = counter.fit_transform(texts)
        self.words = counter.get_feature_names_out().tolist()  # sorted
        idf = np.log(counts.sum() / ((weights > 0).T @ counts))
        weights.data = np.log1p(weights.data) * idf[weights.indices]
        self.weights = normalize(weights)
        self.bag = numbered([tuple(sorted(words_of(text))) for text in texts])[0]

    def cosine(self, left: Index, right: Index) -> Floats:
        """Cosine of the weights; 1 for texts of the same words."""
        product = self.weights[left].multiply(self.weights[right]).sum(axis=1)
        return self._checked(np.asarray(product).ravel(), left, right)

    def soft_cosine(self, left: Index, right: Index) -> Floats:
        """Soft TF-IDF: words that are close count as far as they are alike; the mean of both directions."""
        close = self._close_words(np.unique(self.weights[np.union1d(left, right)].indices))
        score = np.empty(len(left))
        sizes = np.diff(self.weights.indptr)
        for start, stop in parts_of(np.maximum(sizes[left], sizes[right])):
            one, other = left[start:stop], right[start:stop]
            score[start:stop] = (self._one_way(close, one, other) + self._one_way(close, other, one)) / 2
        return self._checked(score, left, right)

    def _close_words(self, some: Index) -> Any:
        """Jaro-Winkler of some of the words where it is above the limit, as a symmetric matrix."""
        process, distance = _rapidfuzz()
        words, found = [self.words[at] for at in some.tolist()], []
        for start, stop in parts_of(np.full(len(words), len(words))):
            rows, columns = words[start:stop], words[start:]  # the lesser word comes first
            near = process.cdist(rows, columns, scorer=distance.Jaro.similarity, score_cutoff=_LEAST_JARO)
            found.append(start + np.argwhere(np.triu(near, 1)))
        left, right = np.concatenate(found).T
        score = jaro_winkler(words, left, right)
        keep = score > _CLOSE
        shape = (len(self.words), len(self.words))
        half = sparse.csr_matrix((score[keep], (some[left[keep]], some[right[keep]])), shape=shape)
        return (half + half.T + sparse.identity(len(self.words))).tocsr()

    def _one_way(self, close: Any, own: Index, other: Index) -> Floats:
        """Sum over the words of one text: weight, times weight and closeness of the closest in the other."""
        n_words = len(self.words)
        mine = self.weights[own]
        pair = np.repeat(np.arange(len(own)), np.diff(mine.indptr))
        near = close[mine.indices]
        at = np.repeat(np.arange(len(pair)), np.diff(near.indptr))
        # the close words that the other text has
        texts = np.repeat(np.arange(self.weights.shape[0]), np.diff(self.weights.indptr))
        present = texts * n_words + self.weights.indices
        wanted = other[pair[at]] * n_words + near.indices
        place = np.minimum(np.searchsorted(present, wanted), len(present) - 1)
        hit = np.flatnonzero(present[place] == wanted)
        at, alike, theirs = at[hit], near.data[hit], self.weights.data[place[hit]]
        order = np.lexsort((-theirs, -alike, at))
        best = order[np.diff(at[order], prepend=-1) > 0]
        product = mine.data[at[best]] * theirs[best] * alike[best]
        return np.bincount(pair[at[best]], product, minlength=len(own)).astype(np.float64)

    def _checked(self, score: Floats, left: Index, right: Index) -> Floats:
        return np.where(self.bag[left] == self.bag[right], 1.0, np.clip(score, 0.0, 1.0))
