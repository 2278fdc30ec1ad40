"""Similarities of strings the slow and obvious way, straight from their definitions."""

import math
import re


def jaro(s, t):
    """Characters match if equal and near; greedy from the left, each used once."""
    if not s and not t:
        return 1.0
    s, t = min(s, t), max(s, t)  # the greedy choice may depend on the order
    reach = max(0, max(len(s), len(t)) // 2 - 1)
    used, from_s = set(), []
    for i, letter in enumerate(s):
        for j in range(max(0, i - reach), min(len(t), i + reach + 1)):
            if j not in used and t[j] == letter:
                used.add(j)
                from_s.append(letter)
                break
    m = len(from_s)
    if m == 0:
        return 0.0
    from_t = [t[j] for j in sorted(used)]
    out_of_order = sum(a != b for a, b in zip(from_s, from_t, strict=True)) // 2
    return (m / len(s) + m / len(t) + (m - out_of_order) / m) / 3


def jaro_winkler(s, t):
    """Jaro, and .1 of what it lacks to 1 for each of the first four letters that agree."""
    prefix = 0
    for a, b in zip(s[:4], t[:4], strict=False):
        if a != b:
            break
        prefix += 1
    score = jaro(s, t)
    return score + 0.1 * prefix * (1 - score)


def words(text):
    return re.findall(r"[^\W_]+", text.casefold())


def tfidf(text, texts):
    """Weights of the words of a text, of length 1; `texts` are those of all records."""
    counts = {word: words(text).count(word) for word in words(text)}
    weights = {
        word: math.log(1 + count) * math.log(len(texts) / sum(word in words(one) for one in texts))
        for word, count in counts.items()
    }
    norm = math.sqrt(sum(weight**2 for weight in weights.values()))
    return {word: weight / norm if norm else 0.0 for word, weight in weights.items()}


def cosine(s, t, texts):
    if sorted(words(s)) == sorted(words(t)):
        return 1.0
    own, other = tfidf(s, texts), tfidf(t, texts)
    return sum(weight * other.get(word, 0.0) for word, weight in own.items())


def soft_tfidf(s, t, texts, limit=0.9):
    """The mean of both directions, at most 1; texts of the same words are equal."""
    if sorted(words(s)) == sorted(words(t)):
        return 1.0

    def one_way(own, other):
        total = 0.0
        for word, weight in own.items():
            best = max(((jaro_winkler(word, v), u) for v, u in other.items()), default=(0.0, 0.0))
            if best[0] > limit:
                total += weight * best[1] * best[0]
        return total

    own, other = tfidf(s, texts), tfidf(t, texts)
    return min(1.0, (one_way(own, other) + one_way(other, own)) / 2)


def person_name(surname, given, other_surname, other_given):
    """The comparator of names of the specification, on names that are split already."""
    if (surname, given) == (other_surname, other_given):
        return 1.0
    scores = []
    for at in range(max(len(given), len(other_given))):
        if at >= len(given) or at >= len(other_given):
            scores.append(0.85)
            continue
        a, b = given[at], other_given[at]
        if a == b:
            scores.append(1.0 if len(a) > 1 else 0.97)
        elif len(a) == 1 or len(b) == 1:
            scores.append(0.95 if a[0] == b[0] else 0.0)
        else:
            score = jaro_winkler(a, b)
            scores.append(score if score > 0.8 else score / 2)
    if not given or not other_given:
        by_given = 0.7
    elif len(scores) == 1:
        by_given = scores[0]
    else:
        by_given = 0.7 * scores[0] + 0.3 * sum(scores[1:]) / len(scores[1:]) if scores[0] else 0.0
    return (jaro_winkler(surname, other_surname) + by_given) / 2
