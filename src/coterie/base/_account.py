"""What a fitted model says of itself: all that the report, the command line and `compare` know of it.

`ConstrainedClusterMixin.account` gives what follows from the contract. A family that differs replaces some of
it: `return replace(super().account(), trace=..., sections=(...,))`. Nobody else looks at a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie._arrays import Floats, Index
from coterie._words import count_of
from coterie.base._about import About
from coterie.base._cluster_names import cluster_names
from coterie.constraints import Constraints

BOUNDS = ("size_min", "size_max", "group_min", "group_max")


@dataclass(frozen=True)
class Price:
    """What things cost in the objective of a model: an item at distance x `objective_factor * x**power`."""

    power: float = 1.0
    objective_factor: float = 1.0
    # a broken constraint of strength 1; None if constraints have no price, or no common one
    statement: float | None = None
    # the same for a pair with a confidence, None: as `statement`. Of a mixture its log-odds are all it costs,
    # and these are in its strength already
    stated: float | None = None
    tells: bool = True  # whether costs follow from distances to clusters; not where a method only knows pairs

    def of(self, distance: Floats) -> Floats:
        """What distances cost."""
        return self.objective_factor * distance**self.power


@dataclass(frozen=True)
class Trace:
    """A number that was followed through the fit, and the words around its drawing."""

    values: Floats  # in order
    title: str = "The objective after each half-step"  # what they are: in a line, and in a paragraph
    text: str = ""
    step: str = "iteration"  # names of the axes
    value: str = "objective"
    first: float = 0.0  # where the first value stands on the axis of the steps, and how far apart two are
    stride: float = 0.5
    ends: tuple[str, str] = ("start", "end")  # what the first and the last value are called
    picture: str = "objective.png"  # the end of the name of its picture, as a file
    mark: float | None = None  # a step to point at


@dataclass(frozen=True)
class Listing:
    """A list in a section, or a table: then `columns` names them, and each line is a row of cells."""

    heading: str
    lines: tuple[Any, ...]
    note: str = ""  # in small print, above the lines
    columns: tuple[str, ...] = ()
    numbers: frozenset[str] = frozenset()  # the columns that hold numbers
    n_left_out: int = 0  # how many more lines there would be
    noun: str = "pairs"  # what they are


@dataclass(frozen=True)
class Section:
    """A part of the page that only this family has."""

    key: str  # its place on the page
    title: str
    text: str  # a paragraph, in small print
    trace: Trace | None = None  # a drawing below it, and a paragraph below that
    remark: str | None = None
    lists: tuple[Listing, ...] = ()  # those without lines are left out


@dataclass(frozen=True)
class Certainty:
    """How probable the clusters are, where a model knows."""

    probabilities: Floats  # of each cluster (columns) for each item (rows)
    # how probable it is that the ends of a stated pair are together: must-links, then cannot-links
    agreement: Floats | None = None
    inference: str | None = None  # how the probabilities were found
    dropped: Constraints | None = None  # constraints that could not be counted in them
    collapsed: tuple[int, ...] = ()  # clusters that shrank to almost nothing in some direction
    remark: str | None = None  # what else to know about them

    def own(self, labels: Index) -> Floats:
        """The probability of the cluster that each item is in; most often, but not always, the largest."""
        found = np.asarray(self.probabilities, dtype=np.float64)
        return np.clip(found[np.arange(len(labels)), labels], 0.0, 1.0)


@dataclass(frozen=True)
class Bounds:
    """Bounds on sizes, and what they cost."""

    # SizeBounds, in numbers, with loads and groups of the fit; a last cluster more is for what is left out
    read: Any
    prices: Floats | None = None  # what a bound costs: by cluster; by cluster and group. None: nobody knows
    group_prices: Floats | None = None
    always: bool = False  # whether the method has bounds of its own where none are given


@dataclass(frozen=True, kw_only=True)
class Account:
    """What there is to know of a fitted model."""

    what: str | None = None  # what the method does with what the user knows, and where it comes from
    source: str | None = None
    # what X holds: rows of features, "weights" of pairs, "labels" of clusterings, or "records"
    wants: str = "rows"
    nouns: tuple[str, str] = ("item", "cluster")  # what its items and clusters are called
    guides: str = "the start"  # what constraints guide where none is bound to hold
    obeys: str = "hard"  # which constraints hold in the outcome: "all", "hard" or "none"
    known: Constraints | None = None  # what the fit was told
    asked: int | None = None  # how many clusters were asked for
    n_clusters: int = 0  # how many there are, those that hold nothing included
    n_features: int | None = None  # of the fit, and their names
    features: Any = None
    row_marks: Floats | None = None  # by which the rows of the fit are known again: see `_same_rows`
    weighted: bool = False  # whether the fit was given weights of items
    # how items are compared where `distances` are missing: "euclidean", "cosine" or "precomputed" (in X)
    metric: str = "euclidean"
    # some rows of X to their distances to all clusters; None: the means of the clusters stand for these
    distances: Callable[[Any], Floats] | None = None
    # new rows to their clusters; None: there is no such rule, and they go with the nearest item
    predict: Callable[[Any], Index] | None = None
    centre: str = ""  # what the centre of a cluster is, where the method itself has none
    measure: str = "distance"  # what the method adds up
    # ``cost(X, labels, sample_weight)``: that sum with the best centres for these labels, so that labellings
    # are compared like with like. None: nobody knows, or it takes too long
    cost: Callable[[Any, Index, Floats | None], float | None] | None = None
    # why less may be added up with constraints than without, where that happens
    gain: str = "it may have led to a better start, or this is chance"
    price: Price = Price()  # what a broken constraint costs, beside the distances
    trace: Trace | None = None  # how the objective fell
    certainty: Certainty | None = None
    names: tuple[str | None, ...] = ()  # of the clusters, after known labels; empty: they have numbers alone
    sizes: Floats | None = None  # of the clusters, where items do not count one each
    bounds: Bounds | None = None  # on sizes, where some were given
    graph: Any = None  # the neighbours along which clusters are connected
    feature_weights: Floats | None = None  # how much each feature counts, where that was learned
    sections: tuple[Section, ...] = ()  # parts of the page of its own
    figures: Mapping[str, Any] = field(default_factory=dict)  # more of the outcome, for machines (`run.json`)
    remarks: tuple[str, ...] = ()  # what the command line says beside what it says of every fit


def account_of(model: Any) -> Account:
    """The account of a fitted model; of one that gives none, what its public attributes say."""
    if not hasattr(model, "labels_"):
        raise ValueError(f"this {type(model).__name__} is not fitted yet; call fit before report.")
    own = getattr(model, "account", None)
    return read_account(model) if own is None else own()


def read_account(model: Any) -> Account:
    """What follows from the attributes that the contract knows; a model may lack any of them."""
    about: About | None = getattr(model, "about", None)
    asked = getattr(model, "n_clusters", getattr(model, "n_components", None))
    asked = int(asked) if isinstance(asked, int | np.integer) else None
    found = getattr(model, "n_clusters_", asked) or 0
    metric = getattr(model, "metric", None)
    metric = metric if isinstance(metric, str) and metric in ("precomputed", "cosine") else "euclidean"
    transform = getattr(model, "transform", None)
    sizes = getattr(model, "sizes_", None)
    n_clusters = max(int(found), int(np.max(model.labels_, initial=-1)) + 1)
    known = getattr(model, "constraints_", None)
    return Account(
        what=None if about is None else about.what,
        source=None if about is None else about.source,
        wants=getattr(model, "wants", "rows"),
        guides=About.guides if about is None else about.guides,
        obeys=getattr(model, "obeys", "hard"),
        known=known,
        asked=asked,
        n_clusters=n_clusters,
        names=cluster_names(known, model.labels_, n_clusters),
        n_features=getattr(model, "n_features_in_", None),
        features=getattr(model, "feature_names_in_", None),
        row_marks=getattr(model, "_row_marks", None),
        weighted=bool(getattr(model, "_weighted", False)),
        metric=metric,
        distances=transform,
        predict=getattr(model, "predict", None),
        centre=CENTRES[metric] if transform is None else "",
        price=_price(model, transform is not None),
        trace=_trace(model),
        sizes=None if sizes is None else np.asarray(sizes, dtype=np.float64),
    )


CENTRES = {
    "precomputed": "Near to a centre means here: a small mean distance to the items of the cluster.",
    "cosine": "The centre of a cluster is here the mean direction of its items.",
    "euclidean": "The centre of a cluster is here the mean of its items.",
}


def _price(model: Any, has_distances: bool) -> Price:
    squared = getattr(model, "metric", None) == "sqeuclidean"
    weight = getattr(model, "weight_", None)
    weight = getattr(model, "weight", None) if weight is None else weight
    tells = squared or has_distances or not getattr(model, "works_on_pairs", False)
    return Price(2.0 if squared else 1.0, 1.0, common_price(weight), tells=tells)


def common_price(weight: Any) -> float | None:
    """A weight as the price of every constraint; None if it is none, or not one number."""
    return float(weight) if isinstance(weight, int | float) and np.isfinite(weight) else None


def _trace(model: Any) -> Trace | None:
    values = np.asarray(getattr(model, "history_", ()), dtype=np.float64).ravel()
    values = values[np.isfinite(values)]
    return Trace(values, text=objective_words(model)) if len(values) else None


def objective_words(model: Any, counted: str = "distances to the centres", prices: bool | None = None) -> str:
    """What an objective counts, and how it ended; `prices`: whether constraints cost."""
    if prices is None:
        prices = _price(model, True).statement is not None
    known = getattr(model, "constraints_", None)
    if prices and known:
        counted += ", and what broken constraints cost"
    at_rest = "the last step gained nothing"
    if getattr(model, "tol", 0.0) > 0:
        at_rest = "the centres moved no more than tol, so little was left to gain"
    message = f"What the method makes small, after each half-step: {counted}."
    return f"{message} {ending_words(model, at_rest)}".rstrip()


def ending_words(model: Any, at_rest: str, begun: str = "of the best start") -> str:
    """How many steps there were, `begun` where several starts were made, and whether they came to rest."""
    words = []
    n_iter, converged = getattr(model, "n_iter_", None), getattr(model, "converged_", None)
    if n_iter is not None:
        several = getattr(model, "_starts_made", 1) > 1
        words.append(f"{count_of(int(n_iter), 'iteration')}{f' {begun}' if several else ''}.")
    if converged is not None:
        stopped = f"It stopped by itself: {at_rest}."
        why = " (max_iter)" if n_iter is not None and n_iter >= getattr(model, "max_iter", np.inf) else ""
        words.append(stopped if converged else f"It was stopped before it came to rest{why}.")
    return " ".join(words)
