"""Similarities of strings, for many pairs at once: Jaro, Jaro-Winkler, TF-IDF and soft TF-IDF.

All are symmetric: the greedy matching of Jaro may depend on which string comes first, so the lesser one does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from coterie._arrays import Floats, Index

_WORD = re.compile(r"[^\W_]+")
_PREFIX_WEIGHT, _MOST_PREFIX = 0.1, 4
_CLOSE = 0.9  # two words are close above this
_MOST_WORD_PAIRS = 2_000_000  # at once
_BITS = np.array([number.bit_count() for number in range(1 << 16)], dtype=np.uint8)

Key = TypeVar("Key", bound=Any)


def words_of(text: str) -> list[str]:
    """The words of a text, in small letters; one without letters and digits is a word itself."""
    return _WORD.findall(text.casefold()) or [text]


def numbered(keys: Sequence[Key]) -> tuple[Index, list[Key]]:
    """The number of each key among the distinct ones, which are sorted."""
    distinct = sorted(set(keys))
    number = {key: at for at, key in enumerate(distinct)}
    return np.fromiter((number[key] for key in keys), dtype=np.int64, count=len(keys)), distinct


def on_distinct(left: Index, right: Index, compare: Callable[[Index, Index], Floats]) -> Floats:
    """Call `compare` for each distinct pair once, the lesser number first."""
    if len(left) == 0:
        return np.empty(0)
    low, high = np.minimum(left, right), np.maximum(left, right)
    width = int(high.max()) + 1
    pairs, inverse = np.unique(low * width + high, return_inverse=True)
    return compare(pairs // width, pairs % width)[inverse]


def jaro(strings: Sequence[str], left: Index, right: Index, *, cutoff: float | None = None) -> Floats:
    """Jaro similarity of pairs of strings; 0 for what is below the cutoff."""
    try:
        from rapidfuzz.distance import Jaro
        from rapidfuzz.process import cpdist
    except ImportError:
        raise ImportError(
            'comparing strings needs rapidfuzz: pip install "coterie[records]". '
            'The comparators "exact", "tokens" and "number" do without.'
        ) from None
    one, other = [strings[at] for at in left.tolist()], [strings[at] for at in right.tolist()]
    found: Floats = cpdist(one, other, scorer=Jaro.similarity, score_cutoff=cutoff, dtype=np.float64)
    return found


def jaro_winkler(strings: Sequence[str], left: Index, right: Index, *, cutoff: float | None = None) -> Floats:
    """Jaro-Winkler similarity: the prefix counts at every Jaro similarity, not above .7 only.

    `strings` are sorted, or the lesser number is not the lesser string. Below the cutoff, which is one of
    Jaro similarities, the similarity is too low.
    """
    score = jaro(strings, left, right, cutoff=cutoff)
    starts = np.array([string[:_MOST_PREFIX] for string in strings], dtype=f"U{_MOST_PREFIX}")
    letters = starts.view(np.uint32).reshape(len(strings), _MOST_PREFIX)
    same = (letters[left] == letters[right]) & (letters[left] != 0)
    prefix = np.logical_and.accumulate(same, axis=1).sum(axis=1)
    return score + _PREFIX_WEIGHT * prefix * (1 - score)


class WordWeights:
    """Words of texts, and their weights: TF-IDF, of length 1 for each text; words in all texts weigh nothing.

    Parameters
    ----------
    texts : sequence of str
    counts : array
        How many records have each text.
    """

    def __init__(self, texts: Sequence[str], counts: Index) -> None:
        words = [words_of(text) for text in texts]
        sizes = np.array([len(one) for one in words], dtype=np.int64)
        code, self.words = numbered([word for one in words for word in one])
        text = np.repeat(np.arange(len(texts)), sizes)
        shape = (len(texts), len(self.words))
        frequency = sp.csr_matrix((np.ones(len(code)), (text, code)), shape=shape)
        frequency.sum_duplicates()
        n_records = counts.sum()
        in_records = (frequency > 0).T @ counts
        weights = frequency.log1p() @ sp.diags(np.log(n_records / np.maximum(in_records, 1)))
        norm = np.sqrt(np.asarray(weights.multiply(weights).sum(axis=1)).ravel())
        self.weights = (sp.diags(1 / np.where(norm > 0, norm, 1)) @ weights).tocsr()
        self.weights.sort_indices()
        self._length = np.array([len(word) for word in self.words], dtype=np.int64)
        letters = [sum(1 << at for at in {ord(letter) % 16 for letter in word}) for word in self.words]
        self._letters = np.array(letters, dtype=np.uint16)  # 16 classes of letters, a bit each
        bags = [tuple(sorted(one)) for one in words]
        self.bag = numbered(bags)[0]  # texts of the same words are equal

    def cosine(self, left: Index, right: Index) -> Floats:
        """Cosine of the weights; 1 for texts of the same words."""
        product = self.weights[left].multiply(self.weights[right]).sum(axis=1)
        return self._checked(np.asarray(product).ravel(), left, right)

    def soft_cosine(self, left: Index, right: Index) -> Floats:
        """Soft TF-IDF: words that are close count as far as they are alike; the mean of both directions."""
        sizes = np.diff(self.weights.indptr)
        total = np.concatenate([[0], np.cumsum(sizes[left] * sizes[right])])
        score = np.empty(len(left))
        start = 0
        while start < len(left):
            stop = max(start + 1, int(np.searchsorted(total, total[start] + _MOST_WORD_PAIRS)))
            score[start:stop] = self._soft(left[start:stop], right[start:stop])
            start = stop
        return self._checked(score, left, right)

    def _soft(self, left: Index, right: Index) -> Floats:
        """Soft TF-IDF of some pairs, by all pairs of their words."""
        start, sizes = self.weights.indptr.astype(np.int64), np.diff(self.weights.indptr).astype(np.int64)
        n_of_pair = sizes[left] * sizes[right]
        pair = np.repeat(np.arange(len(left)), n_of_pair)
        within = np.arange(len(pair)) - np.repeat(np.cumsum(n_of_pair) - n_of_pair, n_of_pair)
        at_left = start[left][pair] + within // sizes[right][pair]
        at_right = start[right][pair] + within % sizes[right][pair]
        close = self._closeness(self.weights.indices[at_left], self.weights.indices[at_right])
        keep = np.flatnonzero(close > _CLOSE)
        pair, at_left, at_right, close = pair[keep], at_left[keep], at_right[keep], close[keep]
        weight = self.weights.data
        forth = _best_matches(pair, at_left, close, weight[at_left], weight[at_right], len(left))
        back = _best_matches(pair, at_right, close, weight[at_right], weight[at_left], len(left))
        return (forth + back) / 2

    def _closeness(self, left: Index, right: Index) -> Floats:
        """Jaro-Winkler of pairs of words where it may be above the limit, 0 elsewhere."""
        # Jaro must be at least 5/6, since a prefix adds at most .4 of what lacks to 1; so of s and t letters
        # at least 3/2 s t / (s + t) match, and few stand in one word only
        least = (_CLOSE - _PREFIX_WEIGHT * _MOST_PREFIX) / (1 - _PREFIX_WEIGHT * _MOST_PREFIX)
        s, t = self._length[left], self._length[right]
        matches = (3 * least - 1) * s * t / (s + t) - 1e-9
        own, other = self._letters[left], self._letters[right]
        may = (left != right) & (_BITS[own & ~other] <= s - matches) & (_BITS[other & ~own] <= t - matches)
        score = (left == right).astype(np.float64)
        score[may] = on_distinct(
            left[may].astype(np.int64),
            right[may].astype(np.int64),
            lambda a, b: jaro_winkler(self.words, a, b, cutoff=least - 1e-9),
        )
        return score

    def _checked(self, score: Floats, left: Index, right: Index) -> Floats:
        return np.where(self.bag[left] == self.bag[right], 1.0, np.clip(score, 0.0, 1.0))


def _best_matches(
    pair: Index, word: Index, close: Floats, own: Floats, other: Floats, n_pairs: int
) -> Floats:
    """Sum over the words of one side: its weight, times weight and closeness of the closest word there."""
    order = np.lexsort((-other, -close, word, pair))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(pair[order]) != 0) | (np.diff(word[order]) != 0)
    best = order[first]
    product = own[best] * other[best] * close[best]
    return np.bincount(pair[best], product, minlength=n_pairs).astype(np.float64)
