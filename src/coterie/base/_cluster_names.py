"""Known labels name clusters: those that share the most items first, each once."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.constraints import Constraints


def cluster_names(known: Constraints | None, labels: Any, k: int) -> tuple[str | None, ...]:
    """The name of each cluster, None for one without a label; empty where there is nothing to tell."""
    groups = [] if known is None else [one for one in known.groups if one.kind == "label" and one.active]
    if not groups:
        return ()
    group = max(groups, key=lambda one: len(one.items))
    both = np.column_stack([np.asarray(labels)[group.items], group.codes])
    pairs, shared = np.unique(both[both[:, 0] >= 0], axis=0, return_counts=True)
    found: dict[int, int] = {}
    used: set[int] = set()
    for cluster, code in pairs[np.argsort(-shared, kind="stable")].tolist():
        if cluster not in found and code not in used:
            found[cluster] = code
            used.add(code)
    names = tuple(str(group.names[found[h]]) if h in found else None for h in range(k))
    return names if any(name not in (None, str(h)) for h, name in enumerate(names)) else ()
