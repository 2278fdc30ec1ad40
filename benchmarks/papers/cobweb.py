"""COPCobweb on vote and on standardised iris: agreement with the classes under 100 pairs, and without any.

"Theirs" is the same class without pairs, on the same random orders of the items. The goal is that no pair is
broken; agreement and the number of clusters, which is an outcome, are reported. A missing vote is a value of
its own ("?"). The default acuity follows from a rule (a number counts at most as much as a nominal attribute)
and was not chosen by these tables; the other acuities show what it does. On standardised features 1.0 finds
next to nothing by definition: no spread within a cluster counts as less than that of the whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import save, verdict
from benchmarks.protocol import draw, mean_se, rounded, scores
from coterie import Constraints
from coterie.datasets import load_table
from coterie.hierarchy import COPCobweb

TITLE = "COPCobweb: agreement with the classes under 100 pairs, 20 draws"
QUICK = True
DRAWS, PAIRS = 20, 100
ACUITIES = ("auto", 0.5, 1.0)


def tables() -> dict[str, tuple[Any, Any, Any]]:
    """Name of the table: features, classes, nominal columns."""
    vote = load_table("vote", missing="keep")
    votes = np.where(vote.data == vote.data, vote.data, "?")  # what is not equal to itself is missing
    X, y = load_table("iris", return_X_y=True)
    return {
        "vote, nominal": (votes, vote.target, vote.categorical_features),
        "iris, standardised": (StandardScaler().fit_transform(X), y, None),
    }


def measure(X: Any, y: Any, nominal: Any, acuity: Any, n_pairs: int) -> dict[str, float]:
    """Means over the draws of pairs and orders."""
    found: dict[str, list[float]] = {name: [] for name in ("ari", "held_out_ari", "n_clusters", "broken")}
    for seed in range(DRAWS):
        pairs = draw(y, PAIRS, seed)
        known = pairs if n_pairs else Constraints(n_items=len(y))
        model = COPCobweb(categorical_features=nominal, acuity=acuity, shuffle=True, random_state=seed)
        model.fit(X, constraints=known)
        got = scores(y, model.labels_, pairs)  # held out of the same pairs, given or not
        found["ari"].append(got["ari"])
        found["held_out_ari"].append(got["held_out_ari"])
        found["n_clusters"].append(model.n_clusters_)
        found["broken"].append(known.violations(model.labels_).n_broken)
    told = {}
    for name, values in found.items():
        told[name], told[f"{name}_se"] = mean_se(values)
    return told


def main() -> None:
    rows = []
    for name, (X, y, nominal) in tables().items():
        for acuity in ACUITIES if nominal is None else ACUITIES[:1]:
            plain, under_pairs = (measure(X, y, nominal, acuity, n_pairs) for n_pairs in (0, PAIRS))
            tag = "" if nominal is not None else f", acuity {acuity}" + " (default)" * (acuity == "auto")
            rows.append(
                verdict(
                    name + tag,
                    _shown(under_pairs),
                    theirs=_shown(plain),
                    goal="no pair broken",
                    reached=under_pairs["broken"] == 0,
                    **rounded({"pairs": under_pairs, "plain": plain}),
                )
            )
    save(
        __name__,
        TITLE,
        rows,
        seeds=f"0 to {DRAWS - 1}",
        pairs=f"{PAIRS}, drawn at random from all pairs, true kinds",
        order="drawn, the same for both",
    )


def _shown(got: dict[str, float]) -> str:
    ari = f"ARI {got['ari']:.2f} +- {got['ari_se']:.2f}, held-out {got['held_out_ari']:.2f}"
    return f"{ari}, {got['n_clusters']:.1f} clusters"
