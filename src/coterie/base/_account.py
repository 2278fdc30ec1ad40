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
    """What things cost in the objective of a model.

    Attributes
    ----------
    power, objective_factor : float
        An item at distance x of its cluster costs `objective_factor * x**power`.
    statement : float or None
        What a broken statement of strength 1 costs; None if statements have no price, or no common one.
    stated : float or None
        The same for a pair with a confidence; None: as `statement`. Of a mixture its log-odds are all it
        costs, and these are in its strength already.
    tells : bool
        Whether costs of items follow from distances to clusters; not where a method only knows pairs.
    """

    power: float = 1.0
    objective_factor: float = 1.0
    statement: float | None = None
    stated: float | None = None
    tells: bool = True

    def of(self, distance: Floats) -> Floats:
        """What distances cost."""
        return self.objective_factor * distance**self.power


@dataclass(frozen=True)
class Trace:
    """A number that was followed through the fit, and the words around its drawing.

    Attributes
    ----------
    values : array
        The values, in order.
    title, text : str
        What they are: in a line, and in a paragraph.
    step, value : str
        Names of the axes.
    first, stride : float
        Where the first value stands on the axis of the steps, and how far apart two of them are.
    ends : tuple of str
        What the first and the last value are called.
    picture : str
        The file of the picture.
    mark : float or None
        A step to point at.
    """

    values: Floats
    title: str = "The objective after each half-step"
    text: str = ""
    step: str = "iteration"
    value: str = "objective"
    first: float = 0.0
    stride: float = 0.5
    ends: tuple[str, str] = ("start", "end")
    picture: str = "objective.png"
    mark: float | None = None


@dataclass(frozen=True)
class Section:
    """A part of the page that only this family has.

    Attributes
    ----------
    key, title : str
        Its place on the page, and its heading.
    text : str
        A paragraph, in small print.
    trace : Trace or None
        A drawing below it.
    remark : str or None
        A paragraph below that.
    heading, note : str
        Above the list that ends it.
    listed : tuple of str
        The list; empty: there is none.
    n_left_out : int
        How many more there would be.
    """

    key: str
    title: str
    text: str
    trace: Trace | None = None
    remark: str | None = None
    heading: str = ""
    note: str = ""
    listed: tuple[str, ...] = ()
    n_left_out: int = 0


@dataclass(frozen=True)
class Certainty:
    """How probable the clusters are, where a model knows.

    Attributes
    ----------
    probabilities : array of shape (n_items, n_clusters)
        Of each cluster for each item.
    agreement : array of shape (n_pairs,) or None
        How probable it is that the ends of a stated pair are together: must-links, then cannot-links.
    inference : str or None
        How the probabilities were found.
    dropped : Constraints or None
        Statements that could not be counted in them.
    collapsed : tuple of int
        Clusters that shrank to almost nothing in some direction.
    remark : str or None
        What else to know about them.
    """

    probabilities: Floats
    agreement: Floats | None = None
    inference: str | None = None
    dropped: Constraints | None = None
    collapsed: tuple[int, ...] = ()
    remark: str | None = None

    def own(self, labels: Index) -> Floats:
        """The probability of the cluster that each item is in; most often, but not always, the largest."""
        found = np.asarray(self.probabilities, dtype=np.float64)
        return np.clip(found[np.arange(len(labels)), labels], 0.0, 1.0)


@dataclass(frozen=True)
class Bounds:
    """Bounds on sizes, and what they cost.

    Attributes
    ----------
    read : SizeBounds
        In numbers, with the loads and groups of the fit; a last cluster more is for what is left out.
    prices, group_prices : array or None
        What a bound costs: by cluster; by cluster and group. None: nobody knows.
    """

    read: Any
    prices: Floats | None = None
    group_prices: Floats | None = None


@dataclass(frozen=True, kw_only=True)
class Account:
    """What there is to know of a fitted model.

    Attributes
    ----------
    what, source : str or None
        What the method does with what the user knows, and where it comes from.
    obeys : {"all", "hard", "none"}
        Which statements hold in the outcome.
    known : Constraints or None
        What the fit was told.
    asked : int or None
        How many clusters were asked for.
    n_clusters : int
        How many there are, those that hold nothing included.
    n_features, features : int, names or None
        What the columns of the fit were.
    weighted : bool
        Whether the fit was given weights of items.
    metric : {"euclidean", "cosine", "precomputed"}
        How items are compared where `distances` are missing; "precomputed": the rows of X are distances.
    distances : callable or None
        A function of some rows of X to their distances to all clusters; None: it has none of its own, and the
        means of the clusters stand for them.
    centre : str
        What the centre of a cluster is, where the method itself has none.
    measure, cost : str, callable or None
        What the method adds up, and ``cost(X, labels, sample_weight)``: the sum with the best centres for
        these labels, so that two labellings are compared like with like. None: nobody knows, or it takes
        too long.
    gain : str
        Why less may be added up with statements than without, where that happens.
    price : Price
        What a broken statement costs, beside the distances.
    trace : Trace or None
        How the objective fell.
    certainty : Certainty or None
        Probabilities, where there are some.
    names : tuple of str or None
        What the clusters are called after known labels (None: no label); empty: they have numbers alone.
    sizes : array of shape (n_clusters,) or None
        Sizes of the clusters, where items do not count one each.
    bounds : Bounds or None
        Bounds on sizes, where some were given.
    graph : csr_array or None
        The neighbours along which clusters are connected.
    feature_weights : array of shape (n_features,) or None
        How much each feature counts, where that was learned.
    sections : tuple of Section
        Parts of the page of its own.
    figures : mapping
        More numbers and words of the outcome, for machines (`run.json`).
    remarks : tuple of str
        What the command line says beside what it says of every fit.
    """

    what: str | None = None
    source: str | None = None
    obeys: str = "hard"
    known: Constraints | None = None
    asked: int | None = None
    n_clusters: int = 0
    n_features: int | None = None
    features: Any = None
    weighted: bool = False
    metric: str = "euclidean"
    distances: Callable[[Any], Floats] | None = None
    centre: str = ""
    measure: str = "distance"
    cost: Callable[[Any, Index, Floats | None], float | None] | None = None
    gain: str = "it may have led to a better start, or this is chance"
    price: Price = Price()
    trace: Trace | None = None
    certainty: Certainty | None = None
    names: tuple[str | None, ...] = ()
    sizes: Floats | None = None
    bounds: Bounds | None = None
    graph: Any = None
    feature_weights: Floats | None = None
    sections: tuple[Section, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


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
        obeys=getattr(model, "obeys", "hard"),
        known=known,
        asked=asked,
        n_clusters=n_clusters,
        names=cluster_names(known, model.labels_, n_clusters),
        n_features=getattr(model, "n_features_in_", None),
        features=getattr(model, "feature_names_in_", None),
        weighted=bool(getattr(model, "_weighted", False)),
        metric=metric,
        distances=transform,
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
    """A weight as the price of every statement; None if it is none, or not one number."""
    return float(weight) if isinstance(weight, int | float) and np.isfinite(weight) else None


def _trace(model: Any) -> Trace | None:
    values = np.asarray(getattr(model, "history_", ()), dtype=np.float64).ravel()
    values = values[np.isfinite(values)]
    return Trace(values, text=objective_words(model)) if len(values) else None


def objective_words(model: Any, counted: str = "distances to the centres", prices: bool | None = None) -> str:
    """What an objective counts, and how the best start ended; `prices`: whether statements cost something."""
    if prices is None:
        prices = _price(model, True).statement is not None
    known = getattr(model, "constraints_", None)
    if prices and known:
        counted += ", and what broken statements cost"
    at_rest = "the last step gained nothing"
    if getattr(model, "tol", 0.0) > 0:
        at_rest = "the centres moved no more than tol, so little was left to gain"
    message = f"What the method makes small, after each half-step: {counted}."
    return f"{message} {ending_words(model, at_rest)}".rstrip()


def ending_words(model: Any, at_rest: str) -> str:
    """How many steps there were, and whether they came to rest."""
    words = []
    n_iter, converged = getattr(model, "n_iter_", None), getattr(model, "converged_", None)
    if n_iter is not None:
        words.append(f"{count_of(int(n_iter), 'iteration')} of the best start.")
    if converged is not None:
        stopped = f"It stopped by itself: {at_rest}."
        words.append(stopped if converged else "It was stopped before it came to rest (max_iter).")
    return " ".join(words)
