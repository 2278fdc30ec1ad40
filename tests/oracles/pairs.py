"""Pair scores the slow and obvious way: look at every pair of items."""

import math
from itertools import combinations


def pair_counts(y_true, y_pred):
    """Return how many pairs are together in both, in the truth, and in the clustering."""
    both = in_truth = in_clustering = 0
    for i, j in combinations(range(len(y_true)), 2):
        same_class = y_true[i] == y_true[j]
        same_cluster = y_pred[i] == y_pred[j]
        both += same_class and same_cluster
        in_truth += same_class
        in_clustering += same_cluster
    return both, in_truth, in_clustering


def pair_scores(y_true, y_pred):
    """Return (precision, recall, F1), F1 from its definition as a harmonic mean; nothing of nothing is 1."""
    both, in_truth, in_clustering = pair_counts(y_true, y_pred)
    precision = both / in_clustering if in_clustering else 1.0
    recall = both / in_truth if in_truth else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return precision, recall, f1


def balance_scores(sizes):
    """Standard deviation, least and largest over the mean, and entropy over its most, of cluster sizes."""
    k, total = len(sizes), sum(sizes)
    mean = total / k
    deviation = math.sqrt(sum((size - mean) ** 2 for size in sizes) / k)
    bits = sum(size / total * math.log(total / size) for size in sizes if size)
    return deviation, min(sizes) / mean, max(sizes) / mean, bits / math.log(k) if k > 1 else 1.0
