"""Known labels name clusters: the h-th class, in sorted order, is cluster h where one can tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._arrays import Index
from coterie.constraints import Constraints

__all__ = ["cluster_names", "labelled", "naming_group", "new_numbers", "numbers_by_label"]


def naming_group(known: Constraints) -> int | None:
    """Position of the set of labels whose classes name the clusters: the longest; None if there is none."""
    labels = [p for p, group in enumerate(known.groups) if group.kind == "label" and group.active]
    return max(labels, key=lambda p: len(known.groups[p].items), default=None)


def labelled(known: Constraints) -> tuple[Index, Index, tuple[str, ...]]:
    """The items of that constraint, the class of each, and the names of the classes in sorted order."""
    named = naming_group(known)
    if named is None:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), ()
    group = known.groups[named]
    ranks = group.ranks()
    return group.items, ranks[group.codes], tuple(str(group.names[code]) for code in np.argsort(ranks))


def new_numbers(found: Any, labelled: Any, label: Index, k: int) -> Index:
    """A number for each cluster, so that labelled items have their label; the others take what is left."""
    number = np.full(k, -1, dtype=np.int64)
    number[found[labelled]] = label
    number[number < 0] = np.setdiff1d(np.arange(k), number)
    return number


def numbers_by_label(known: Constraints, labels: Any, k: int) -> Index:
    """A new number for each of k clusters, so that they follow the classes, as far as labels are known."""
    match = _match(known, np.asarray(labels))
    clusters, classes = np.array(sorted(match.items()), dtype=np.int64).reshape(-1, 2).T
    if classes.max(initial=-1) >= k:  # more classes than clusters, of which some were outvoted
        classes = np.argsort(np.argsort(classes))
    return new_numbers(clusters, slice(None), classes, k)


def cluster_names(known: Constraints | None, labels: Any, k: int) -> tuple[str | None, ...]:
    """The name of each cluster, None for one without a label; empty where there is nothing to tell."""
    if known is None:
        return ()
    match, names = _match(known, np.asarray(labels)), labelled(known)[2]
    found = tuple(names[match[h]] if h in match else None for h in range(k))
    return found if any(name not in (None, str(h)) for h, name in enumerate(found)) else ()


def _match(known: Constraints, labels: Index) -> dict[int, int]:
    """Cluster and class: the two that share the most items first, each once."""
    items, classes, _ = labelled(known)
    both = np.column_stack([labels[items], classes])
    pairs, shared = np.unique(both[both[:, 0] >= 0], axis=0, return_counts=True)
    found: dict[int, int] = {}
    used: set[int] = set()
    for cluster, of_class in pairs[np.argsort(-shared, kind="stable")].tolist():
        if cluster not in found and of_class not in used:
            found[cluster] = of_class
            used.add(of_class)
    return found
