"""What distinguishes a cluster: the features in which it differs most from all items, in the user's units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coterie.report._facts.rows import Floats, Ints, Rows, indicator
from coterie.report._page.numbers import beside, percent, signed

MOST_FEATURES = 5
MOST_WORDS = 10
MOST_WEIGHED = 8
# A difference below so many deviations distinguishes nothing.
_LEAST_EFFECT = 0.25


@dataclass(frozen=True)
class Column:
    """One column of X: its name, what it is, and how to get back to the user's unit."""

    name: str
    kind: str = "numeric"
    offset: float = 0.0
    scale: float = 1.0
    level: str | None = None


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
        features = fitted if rows.names is None else rows.names
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
    rows: Rows, labels: Ints, clusters: Sequence[int], columns: Sequence[Column]
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
    # categories count presence, so that a share is a share however the column was scaled
    yes_no = np.flatnonzero(kinds == "category")
    totals: Any = own @ rows.values
    present = {} if not len(yes_no) else _shares_present(rows, own, counts, columns, yes_no)
    found = {}
    for at, cluster in enumerate(clusters):
        if counts[at] == 0:
            found[cluster] = Traits()
            continue
        row = totals[at].toarray().ravel() if sparse.issparse(totals) else totals[at]
        here = np.asarray(row, dtype=np.float64) / counts[at]
        found[cluster] = _traits_of(here, mean, deviation, columns, kinds, present, at)
    return found


def weighed_features(weights: Any, rows: Rows, columns: Sequence[Column]) -> tuple[tuple[str, float], ...]:
    """Features that a learned metric counts most: their share of weight times variance.

    Empty where there is no weight for each feature.
    """
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
    """Mean and standard deviation of each column, taken about a typical row."""
    if rows.sparse:
        mean = np.asarray(rows.values.mean(axis=0), dtype=np.float64).ravel()
        squares = rows.values.copy()
        squares.data = squares.data.astype(np.float64) ** 2
        variance = np.asarray(squares.mean(axis=0), dtype=np.float64).ravel() - mean**2
        return mean, np.sqrt(np.maximum(variance, 0.0))
    about = rows.dense(slice(0, 1))[0]
    total, squares = np.zeros(rows.d), np.zeros(rows.d)
    for chunk in rows.chunks(rows.d):
        away = rows.values[chunk].astype(np.float64) - about
        total += away.sum(axis=0)
        squares += np.einsum("ij,ij->j", away, away)
    shift = total / rows.n
    variance = squares / rows.n - shift**2
    # rounding alone does not make a column vary
    noise = np.finfo(rows.values.dtype).eps * (np.abs(about) + np.abs(shift))
    return about + shift, np.where(variance > noise**2, np.sqrt(np.maximum(variance, 0.0)), 0.0)


def _shares_present(
    rows: Rows, own: Any, counts: Floats, columns: Sequence[Column], yes_no: Ints
) -> dict[int, tuple[Floats, float]]:
    """Share of items with each category: by cluster, and of all."""
    found = {}
    table = rows.values[:, yes_no]
    table = table.tocsc() if rows.sparse else table
    for at, j in enumerate(yes_no.tolist()):
        column = table[:, [at]].toarray().ravel() if rows.sparse else table[:, at]
        has = np.abs(columns[j].offset + columns[j].scale * column.astype(np.float64)) > 1e-9
        found[j] = (own @ has.astype(np.float64)) / np.maximum(counts, 1), float(has.mean())
    return found


def _traits_of(
    here: Floats,
    mean: Floats,
    deviation: Floats,
    columns: Sequence[Column],
    kinds: Any,
    present: dict[int, tuple[Floats, float]],
    at: int,
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
        if column.kind == "category":
            shares, overall = present[j]
            share = float(shares[at])
            message = "more often" if share > overall else "less often"
            features.append(Trait(column.name, percent(share), percent(overall), size, message))
            continue
        spread = abs(column.scale) * float(deviation[j])
        a, b = (column.offset + column.scale * float(value) for value in (here[j], mean[j]))
        size = size if column.scale >= 0 else -size
        features.append(Trait(column.name, beside(a, spread), beside(b, spread), size, f"{signed(size)} sd"))
    return Traits(tuple(features), tuple(words))
