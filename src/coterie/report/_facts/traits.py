"""What distinguishes a cluster: the features in which it differs most from all items, in the user's units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from coterie.report._facts.rows import Column, Floats, Ints, Rows, indicator
from coterie.report._page.numbers import beside, percent, signed

MOST_FEATURES = 5
MOST_WORDS = 10
MOST_WEIGHED = 8
# A difference below so many deviations distinguishes nothing.
_LEAST_EFFECT = 0.25


@dataclass(frozen=True)
class Trait:
    """One feature in which a cluster differs."""

    name: str
    here: str  # the cluster's value, and that of all items
    overall: str
    effect: float  # the difference in standard deviations, and in words
    text: str


@dataclass(frozen=True)
class Traits:
    """What distinguishes one cluster: features, and words where there is text."""

    features: tuple[Trait, ...] = ()
    words: tuple[str, ...] = ()


def read_columns(features: Any, rows: Rows, fitted: Any = None) -> tuple[Column, ...]:
    """Describe the columns of X.

    `features`, by default the names of X or of the fit (`fitted`), are descriptions with a `name` and a
    `kind`, or names alone; of a sparse X these are taken for words, since that is what most of them count.
    """
    if features is None:
        features = rows.columns or (fitted if rows.names is None else rows.names)
    if features is None:
        return tuple(Column(f"feature {j}", "matrix") for j in range(rows.d))
    listed = list(features)
    if len(listed) != rows.d:
        raise ValueError(f"features names {len(listed)} columns, but X has {rows.d}.")
    plain = "text" if rows.sparse else "numeric"
    found = []
    for one in listed:
        if hasattr(one, "kind"):
            found.append(Column(str(one.name), one.kind, float(one.offset), float(one.scale), one.level))
        else:
            found.append(Column(str(one), plain, level=str(one) if rows.sparse else None))
    return tuple(found)


def find_traits(
    rows: Rows, labels: Ints, clusters: list[int], columns: Sequence[Column]
) -> dict[int, Traits]:
    """What distinguishes each of some clusters."""
    if len(clusters) == 0 or rows.d == 0:
        return {}
    position = np.full(max(int(labels.max(initial=-1)), *clusters) + 2, -1, dtype=np.int64)
    position[list(clusters)] = np.arange(len(clusters))
    own = indicator(position[labels], len(clusters))  # a label of -1 finds the last entry, which is -1
    counts = np.asarray(own.sum(axis=1)).ravel()
    # columns of a sparse matrix are listed like words: in deviations, the emptiest would always win
    kinds = np.array([column.kind for column in columns])
    if rows.sparse:
        kinds[kinds == "matrix"] = "text"
    mean, deviation = _moments(rows)
    totals: Any = own @ rows.values
    known = counts[:, None]
    if not rows.sparse and np.isnan(totals).any():  # missing values count for nothing
        there = np.isfinite(rows.values)
        totals, known = own @ np.where(there, rows.values, 0.0), own @ there

    @cache
    def shares(j: int) -> tuple[Floats, float] | None:
        """Of yes: in each cluster, and in all; None if the user's column has other values than 0 and 1."""
        values, column = rows.values[:, [j]], columns[j]
        values = (values.toarray() if rows.sparse else values).ravel().astype(np.float64)
        values = column.offset + column.scale * values
        yes = np.abs(values) > 1e-9  # a category counts presence, however its column was scaled
        if column.kind != "category" and not (np.abs(values - yes) < 1e-9).all():
            return None
        return (own @ yes) / np.maximum(counts, 1), float(yes.mean())

    found = {}
    for at, cluster in enumerate(clusters):
        if counts[at] == 0:
            found[cluster] = Traits()
            continue
        row = totals[at].toarray().ravel() if sparse.issparse(totals) else totals[at]
        here = np.where(known[at] > 0, row / np.maximum(known[at], 1), mean)
        found[cluster] = _traits_of(here, mean, deviation, columns, kinds, shares, at)
    return found


def weighed_features(weights: Any, rows: Rows, columns: Sequence[Column]) -> tuple[tuple[str, float], ...]:
    """Features that a learned metric counts most, if it does: their share of weight times variance."""
    if np.shape(weights) != (rows.d,):
        return ()
    part = weights * _moments(rows)[1] ** 2
    if not part.sum() > 0:
        return ()
    best = np.argsort(-part, kind="stable")[:MOST_WEIGHED]
    shares = (part / part.sum())[best].tolist()
    names = [columns[j].level or columns[j].name for j in best.tolist()]
    return tuple((name, share) for name, share in zip(names, shares, strict=True) if share > 0)


def _moments(rows: Rows) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column, without what is missing; 0 where it is all rounding."""
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=not rows.sparse)
    for chunk in [slice(None)] if rows.sparse else rows.chunks(rows.d):
        scaler.partial_fit(rows.values[chunk])
    deviation = np.sqrt(scaler.var_)
    return scaler.mean_, np.where(scaler.scale_ == deviation, deviation, 0.0)  # a scale of 1: constant


def _traits_of(
    here: Floats, mean: Floats, deviation: Floats, columns: Sequence[Column], kinds: Any, shares: Any, at: int
) -> Traits:
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(deviation > 0, (here - mean) / deviation, 0.0)
    text = kinds == "text"
    words: list[str] = []
    if text.any():
        # of words the difference itself counts: in deviations, the rarest would always win
        gain = np.where(text, here - mean, 0.0)
        best = np.argsort(-gain, kind="stable")[:MOST_WORDS]
        words = [columns[j].level or columns[j].name for j in best.tolist() if gain[j] > 0]
    strength = np.where(text, 0.0, np.abs(effect))
    best = np.argsort(-strength, kind="stable")[:MOST_FEATURES]
    features = []
    for j in best.tolist():
        if strength[j] < _LEAST_EFFECT:
            break
        column, size = columns[j], float(effect[j])
        found = shares(j)
        if found is not None:
            share, overall = float(found[0][at]), found[1]
            message = "more often" if share > overall else "less often"
            yes = percent(share) + (" yes" if column.level is None else "")
            features.append(Trait(column.name, yes, percent(overall), size, message))
            continue
        spread = abs(column.scale) * float(deviation[j])
        a, b = (column.offset + column.scale * float(value) for value in (here[j], mean[j]))
        size = size if column.scale >= 0 else -size
        features.append(Trait(column.name, beside(a, spread), beside(b, spread), size, f"{signed(size)} sd"))
    return Traits(tuple(features), tuple(words))
