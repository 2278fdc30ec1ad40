"""Certainty of the model, where it has probabilities: of the cluster of each item, and of stated pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from coterie._words import count_of, listed
from coterie.base import Account, Certainty
from coterie.constraints import Constraints
from coterie.report._facts.rows import Floats, Ints
from coterie.report._facts.statements import strength_of
from coterie.report._page.html import cut

# Below the first an item (or a constraint) is in doubt; below the second it might as well be elsewhere.
IN_DOUBT, WIDE_OPEN = 0.9, 0.6
MOST_ITEMS = 15
MOST_PAIRS = 20
_MOST_NAMED = 3
_BANDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0)


@dataclass(frozen=True)
class DoubtfulItem:
    """An item, the cluster it is in, and its two most probable clusters with their probabilities."""

    item: int
    cluster: int
    likely: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class DoubtfulPair:
    """A stated pair, what was said of its strength, how probable it is, and whether it holds in the end."""

    kind: str
    i: int
    j: int
    strength: str
    probability: float
    met: bool


@dataclass(frozen=True)
class CertaintyFacts:
    """What a model doubts."""

    own: Floats  # the probability of the cluster that each item is in
    rival: Ints  # the most probable other cluster (-1: there is none), and its probability
    other: Floats
    bands: tuple[tuple[str, int], ...]  # how many items have which probability
    items: tuple[DoubtfulItem, ...]  # those most in doubt, the worst first
    pairs: tuple[DoubtfulPair, ...]
    n_pairs: int  # how many have a probability, and how many of these are in doubt
    n_pairs_in_doubt: int
    text: tuple[str, ...]  # how the probabilities were found, and what is wrong with them

    def below(self, limit: float) -> int:
        """How many items are less probable than this where they are."""
        return int((self.own < limit).sum())


def read_certainty(
    account: Account, labels: Ints, names: Any = str, called: Any = str
) -> CertaintyFacts | None:
    """What a model doubts; None if it has no probabilities."""
    certainty = account.certainty
    if certainty is None:
        return None
    found = np.asarray(certainty.probabilities, dtype=np.float64)
    own = certainty.own(labels)
    others = found.copy()
    others[np.arange(len(labels)), labels] = -1.0
    rival = others.argmax(axis=1)
    other = others[np.arange(len(labels)), rival]
    del others
    worst = np.argsort(own, kind="stable")[:MOST_ITEMS]
    worst = worst[own[worst] < IN_DOUBT]
    likely = np.argsort(-found[worst], axis=1, kind="stable")[:, :2].tolist()
    pairs, n_pairs, n_in_doubt = _pairs(certainty.agreement, account.known, labels)
    return CertaintyFacts(
        own=own,
        rival=np.where(other < 0, -1, rival),
        other=np.maximum(other, 0.0),
        bands=_bands(own),
        items=tuple(
            DoubtfulItem(item, int(labels[item]), tuple((h, float(found[item, h])) for h in first))
            for item, first in zip(worst.tolist(), likely, strict=True)
        ),
        pairs=pairs,
        n_pairs=n_pairs,
        n_pairs_in_doubt=n_in_doubt,
        text=(
            *_inference(certainty),
            *_dropped(certainty.dropped, labels, names),
            *_collapsed([called(h) for h in certainty.collapsed]),
        ),
    )


def _bands(own: Floats) -> tuple[tuple[str, int], ...]:
    counts = np.histogram(own, _BANDS)[0].tolist()
    words = [f"{low:g} to {high:g}" for low, high in pairwise(_BANDS)]
    words[0], words[-1] = f"below {_BANDS[1]:g}", f"{_BANDS[-2]:g} and above"
    bands = list(zip(words, counts, strict=True))
    return tuple(bands if counts[0] else bands[1:])  # with two clusters hardly anything is below one half


def _pairs(
    agreement: Any, known: Constraints | None, labels: Ints
) -> tuple[tuple[DoubtfulPair, ...], int, int]:
    if agreement is None or known is None:
        return (), 0, 0
    must, cannot = known.must_table, known.cannot_table
    agreement = np.asarray(agreement, dtype=np.float64)
    true = np.concatenate([agreement[: must.n], 1.0 - agreement[must.n :]])
    active = np.concatenate([must.active, cannot.active]) & np.isfinite(true)
    in_doubt = np.flatnonzero(active & (true < IN_DOUBT))
    chosen = in_doubt[np.argsort(true[in_doubt], kind="stable")[:MOST_PAIRS]]
    pairs = []
    for row in chosen.tolist():
        kind, table = ("must-link", must) if row < must.n else ("cannot-link", cannot)
        at = row if row < must.n else row - must.n
        i, j = table.ij[at].tolist()
        met = (labels[i] == labels[j]) == (kind == "must-link")
        pairs.append(DoubtfulPair(kind, i, j, strength_of(table, at), float(true[row]), bool(met)))
    return tuple(pairs), int(active.sum()), len(in_doubt)


def _inference(certainty: Certainty) -> Iterator[str]:
    if certainty.inference is not None:
        yield f"How the probabilities were found: {certainty.inference.removesuffix('.')}."
    if certainty.remark:
        yield certainty.remark


def _dropped(dropped: Constraints | None, labels: Ints, names: Any) -> list[str]:
    if not dropped:
        return []
    n_must, n_cannot = len(dropped.must_link), len(dropped.cannot_link)
    pairs = [*dropped.must_link.tolist(), *dropped.cannot_link.tolist()]
    named = ", ".join(f"{cut(names(i))} and {cut(names(j))}" for i, j in pairs[:_MOST_NAMED])
    more = f", and {len(pairs) - _MOST_NAMED:,} more" if len(pairs) > _MOST_NAMED else ""
    broken = dropped.violations(labels).n_broken
    held = f"{broken:,} of them {'is' if broken == 1 else 'are'} broken" if broken else "they all hold"
    if len(pairs) == 1:
        held = "it is broken" if broken else "it holds"
    kinds = [count_of(n, kind) for n, kind in ((n_must, "must-link"), (n_cannot, "cannot-link")) if n]
    counted = f"{' and '.join(kinds)} could not be counted in the probabilities"
    return [f"{counted} ({named}{more}); in the clusters {held}."]


def _collapsed(found: list[str]) -> list[str]:
    if not found:
        return []
    which = f"Cluster {found[0]} has" if len(found) == 1 else f"Clusters {listed(found)} have"
    return [
        f"{which} shrunk to almost nothing in some direction, where only reg_covar holds "
        f"{'it' if len(found) == 1 else 'them'} open: do not trust probabilities there. Fewer clusters, "
        'covariance_type="diag" or "tied", or a covariance_prior help.'
    ]
