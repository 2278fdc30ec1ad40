"""Slow, obvious reference implementations of frequency sensitive k-means, from chapter 8 of the book.

Items choose one after the other, in plain loops over rows; nothing is kept that could be added up anew.
"""

import math

import numpy as np


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def near(x, centre, cosine):
    """Cosine + 1, to be large; or the squared distance, to be small. Rows come at unit length."""
    return x @ centre + 1.0 if cosine else float(((x - centre) ** 2).sum())


def score(x, centre, count, gamma, cosine):
    """What the greatest of wins an item."""
    value = near(x, centre, cosine)
    return value / count**gamma if cosine else -value * count**gamma


def mean_of(rows, weight, before, cosine):
    """Means of rows, of unit length by cosine; where nothing weighs, as before."""
    if not weight.sum() > 0:
        return before
    total = weight @ rows
    return total / (np.linalg.norm(total) if cosine else weight.sum())


def means_of(X, labels, weight, before, cosine):
    return np.array(
        [mean_of(X[labels == h], weight[labels == h], one, cosine) for h, one in enumerate(before)]
    )


def potential(X, labels, centres, gamma, cosine):
    """(S3), for items that weigh one each."""
    found = 0.0
    for x, h in zip(X, labels, strict=True):
        value = near(x, centres[h], cosine)
        found += math.log(value) if cosine else -math.log(value)
    counts = np.bincount(labels, minlength=len(centres))
    return found - gamma * sum(math.lgamma(n + 1.0) for n in counts)


def one_pass(X, labels, weight, centres, gamma, cosine, *, moving=False, moved=None):
    """Each item leaves, then takes the best cluster with a mean item more; `moving`: means follow (fifs).

    Calls `moved(labels)` after every change. Returns how many there were; `labels` change in place.
    """
    k, changed, unit = len(centres), 0, weight[weight > 0].mean()
    for i, x in enumerate(X):
        counts = [weight[(labels == h) & (np.arange(len(X)) != i)].sum() + unit for h in range(k)]
        scores = [score(x, centres[h], counts[h], gamma, cosine) for h in range(k)]
        best, old = int(np.argmax(scores)), labels[i]
        if best != old and scores[best] > scores[old] + 1e-12 * abs(scores[old]):
            labels[i] = best
            changed += 1
            if moving:
                centres = means_of(X, labels, weight, centres, cosine)
            if moved is not None:
                moved(labels)
    return changed


def fit(X, labels, weight, centres, gamma, cosine, variant, n_iter):
    """From labels and centres of k-means on; "fs" makes passes until nothing moves."""
    X = unit(X) if cosine else X
    labels, centres = labels.copy(), centres.copy()
    for _ in range(n_iter):
        while one_pass(X, labels, weight, centres, gamma, cosine, moving=variant == "fifs"):
            if variant != "fs":
                break
        centres = means_of(X, labels, weight, centres, cosine)
    return labels, centres


def literal_batch(C, labels, gamma, n_iter):
    """The literal rule of `fs`: all items choose by the counts of the iteration before."""
    for _ in range(n_iter):
        counts = np.maximum(np.bincount(labels, minlength=C.shape[1]), 1)
        labels = np.argmax(C / counts**gamma, axis=1)
        yield labels


class Stream:
    """FSCL and sfs, item by item; see 3.3, (8.8) to (8.10)."""

    def __init__(self, k, cosine, gamma=1.0, memory=None, decay="winner", log_term="none"):
        self.k, self.cosine, self.gamma, self.decay, self.log_term = k, cosine, gamma, decay, log_term
        self.memory, self.keep = memory, 1.0 if memory is None else 1.0 - 1.0 / memory
        self.centres, self.counts, self.seen = [], [], 0

    def choose(self, x):
        if len(self.centres) < self.k:
            for h, centre in enumerate(self.centres):
                if np.allclose(x, centre, rtol=1e-9, atol=0):
                    return h
            return len(self.centres)
        d, scores = len(x), []
        for centre, n in zip(self.centres, self.counts, strict=True):
            found = score(x, centre, n, self.gamma, self.cosine)
            if self.log_term != "none" and self.cosine:
                found -= math.log(n) / ((self.memory or self.seen + 1) * d)
            elif self.log_term != "none":
                found -= {"book": 1, "model": -1}[self.log_term] * d * math.log(n)
            scores.append(found)
        return int(np.argmax(scores))

    def take(self, x):
        x = x / np.linalg.norm(x) if self.cosine else x
        h = self.choose(x)
        self.seen += 1
        if h == len(self.centres):
            self.centres.append(np.zeros_like(x))
            self.counts.append(0.0)
        for g in range(len(self.counts)):
            if g == h or self.decay == "all":
                self.counts[g] *= self.keep
        self.counts[h] += 1.0
        self.centres[h] = self.centres[h] + (x - self.centres[h]) / self.counts[h]
        if self.cosine:
            self.centres[h] = self.centres[h] / np.linalg.norm(self.centres[h])
        return h
