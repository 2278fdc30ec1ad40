"""The registry of methods: what there is, what each takes, and the rule by which one is chosen.

The command line, `coterie.compare` and the report know the methods through this list only, so a new class
is offered everywhere once it stands here. Nothing of scikit-learn is imported until a method is built.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from coterie.exceptions import InfeasibleConstraintsError

if TYPE_CHECKING:
    from coterie.constraints import Constraints

__all__ = ["AUTO_RULE", "METHODS", "Choice", "Method", "Task", "choose", "find_method", "suitable_methods"]

_PLAIN = {"sqeuclidean": "sqeuclidean", "cosine": "cosine"}
_BOUNDS = frozenset({"sizes", "loads", "groups"})
_ALL_KINDS = frozenset({"must-link", "cannot-link", "label", "distinct", "across"})

AUTO_RULE = """\
1. Bounds on sizes: SizeConstrainedKMeans; every statement holds too, or is weighed where 4 says so.
2. Known labels and nothing else: ConstrainedSeedKMeans.
3. Nothing stated, or statements that can all be met and of which none is doubtful: COPKMeans.
4. Otherwise (a confidence or different strengths are stated, some pairs are marked hard and others not,
   they cannot all be met, or nobody found out in time): PCKMeans, which weighs them.

Text changes the distance (cosine), not the method. Above 100,000 items one start is made, not four."""

# With more rows than this one start is made instead of four, unless the user asks for more.
ONE_START_ABOVE = 100_000


@dataclass(frozen=True)
class Method:
    """A clusterer, and what it is for.

    Attributes
    ----------
    name : str
        Name of the class.
    module : str
        Where the class lives.
    what : str
        What it does with what the user knows, in one sentence.
    when : str
        When to take it.
    source : str
        Where it comes from.
    statements : {"hold", "priced", "start"}
        What happens with statements: all hold; a broken one has a price, hard ones hold; they only guide the
        start.
    kinds : frozenset of str
        Kinds of statements that it takes.
    bounds : frozenset of str
        Of "sizes" (bounds on sizes), "loads" (counted by a load), "groups" (bounds for each group).
    metrics : mapping
        Our words for a distance, and the value of the class's parameter `metric` for it; None: it has none.
    max_items : int or None
        Above this many items it is out of its depth.
    plain : mapping
        Parameters that switch off what is beyond statements, for a fit to compare with.
    twin : str or None
        The method that does the same where no bounds are given.
    """

    name: str
    module: str
    what: str
    when: str
    source: str
    statements: Literal["hold", "priced", "start"]
    kinds: frozenset[str] = _ALL_KINDS
    bounds: frozenset[str] = frozenset()
    metrics: Mapping[str, str | None] = field(default_factory=lambda: _PLAIN)
    max_items: int | None = None
    plain: Mapping[str, Any] = field(default_factory=dict)
    twin: str | None = None

    @property
    def estimator(self) -> type[Any]:
        """The class."""
        return getattr(importlib.import_module(self.module), self.name)

    def build(self, n_clusters: int, *, metric: str = "sqeuclidean", **parameters: Any) -> Any:
        """Make an estimator; `metric` is one of `metrics`."""
        if metric not in self.metrics:
            raise ValueError(
                f"{self.name} has no distance {metric!r}; it has {', '.join(sorted(self.metrics))}."
            )
        word = self.metrics[metric]
        if word is not None:
            parameters["metric"] = word
        return self.estimator(n_clusters, **parameters)

    def refuses(self, task: Task) -> str | None:
        """Why it cannot do `task`, in a few words; None if it can."""
        odd = task.kinds - self.kinds
        if odd:
            return f"takes no {', '.join(sorted(odd))} statements"
        if task.bounds - self.bounds:
            return f"takes no bounds on {', '.join(sorted(task.bounds - self.bounds))}"
        if task.metric not in self.metrics:
            return f"has no {task.metric} distance"
        if self.max_items is not None and task.n_items > self.max_items:
            return f"is made for at most {self.max_items:,} items"
        return None


@dataclass(frozen=True)
class Task:
    """What a method has to deal with, as far as the choice depends on it.

    Attributes
    ----------
    n_items, n_clusters : int
        How many.
    constraints : Constraints or None
        What is known.
    bounds : frozenset of str
        As in `Method.bounds`.
    metric : str
        "sqeuclidean" or "cosine" (text).
    """

    n_items: int
    n_clusters: int
    constraints: Constraints | None = None
    bounds: frozenset[str] = frozenset()
    metric: str = "sqeuclidean"

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of statements that there are."""
        return frozenset() if self.constraints is None else self.constraints.kinds


@dataclass(frozen=True)
class Choice:
    """A method, why it was taken, and parameters that go with the choice."""

    method: Method
    reason: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


METHODS: tuple[Method, ...] = (
    Method(
        "COPKMeans",
        "coterie.kmeans",
        what="k-means in which every statement holds",
        when="you trust what you state; with no statement it is plain k-means",
        source="Wagstaff et al. 2001; Constrained Clustering, chapter 1",
        statements="hold",
    ),
    Method(
        "PCKMeans",
        "coterie.kmeans",
        what="k-means in which a broken statement has a price; those marked hard hold",
        when="some statements may be wrong, or contradict each other",
        source="Basu, Banerjee and Mooney 2004; chapter 1",
        statements="priced",
    ),
    Method(
        "MPCKMeans",
        "coterie.kmeans",
        what="learns which features matter; a broken statement costs a distance, and teaches",
        when="features differ in worth or in unit, and pairs should carry over to items that none names",
        source="Bilenko, Basu and Mooney 2004; chapter 1",
        statements="priced",
        metrics={"sqeuclidean": None},
    ),
    Method(
        "HMRFKMeans",
        "coterie.kmeans",
        what="learns which features (words) matter; what follows from statements counts too",
        when="text with pairs, and wide tables; counts, by I-divergence, from Python",
        source="Basu, Bilenko and Mooney 2004 (KDD)",
        statements="priced",
    ),
    Method(
        "CVQEKMeans",
        "coterie.kmeans",
        what="a broken statement costs what it would take to mend it, and pulls the centres",
        when="you have many pairs, and no wish to choose a price",
        source="Pelleg and Baras 2007; Davidson and Ravi 2005; chapter 1",
        statements="priced",
        metrics={"sqeuclidean": None},
    ),
    Method(
        "KernelPCKMeans",
        "coterie.kmeans",
        what="kernel k-means in which a broken statement has a price",
        when="clusters that are not round, up to 20,000 items; similarities and graphs, from Python",
        source="Kulis, Basu, Dhillon and Mooney 2005",
        statements="priced",
        metrics={"sqeuclidean": None},
        max_items=20_000,
    ),
    Method(
        "SeededKMeans",
        "coterie.kmeans",
        what="known labels start the clusters, and may be outvoted",
        when="a few items have labels that may be wrong",
        source="Basu, Banerjee and Mooney 2002",
        statements="start",
        kinds=frozenset({"label"}),
    ),
    Method(
        "ConstrainedSeedKMeans",
        "coterie.kmeans",
        what="known labels start the clusters, and stay",
        when="a few items have labels that you trust",
        source="Basu, Banerjee and Mooney 2002",
        statements="hold",
        kinds=frozenset({"label"}),
    ),
    Method(
        "SizeConstrainedKMeans",
        "coterie.kmeans",
        what="sizes keep to bounds, by number, load or group, and every statement holds",
        when="sizes matter: at least, at most, equal",
        source="Demiriz, Bennett and Bradley; chapter 9",
        statements="hold",
        bounds=_BOUNDS,
        plain={"size_min": None, "size_max": None, "group_min": None, "group_max": None},
        twin="COPKMeans",
    ),
    Method(
        "SizeConstrainedKMedians",
        "coterie.kmeans",
        what="sizes keep to bounds and every statement holds, with absolute distances and medians",
        when="sizes matter, and a few values are far off",
        source="chapter 9",
        statements="hold",
        bounds=_BOUNDS,
        metrics={"sqeuclidean": None},
        plain={"size_min": None, "size_max": None, "group_min": None, "group_max": None},
    ),
    Method(
        "KMedoids",
        "coterie.kmeans",
        what="clusters around items of the data; a broken statement has a price",
        when="up to 20,000 items, of which one shall stand for each cluster",
        source="Park and Jun 2009; start as in EMC",
        statements="priced",
        metrics={"sqeuclidean": "euclidean", "cosine": "cosine"},
        max_items=20_000,
    ),
)


def find_method(name: str) -> Method:
    """The method of that name; upper and lower case, hyphens and underscores do not matter."""

    def plain(word: str) -> str:
        return word.casefold().replace("-", "").replace("_", "")

    by_name = {plain(method.name): method for method in METHODS}
    if plain(name) in by_name:
        return by_name[plain(name)]
    near = difflib.get_close_matches(plain(name), by_name, n=1, cutoff=0.5)
    hint = f" Did you mean {by_name[near[0]].name}?" if near else ""
    raise ValueError(
        f"There is no method {name!r}.{hint} There are: {', '.join(method.name for method in METHODS)}."
    )


def suitable_methods(task: Task) -> tuple[Method, ...]:
    """All methods that take the statements, bounds and distance of `task`, in the order of the list.

    Without bounds a method that then does the same as another one is left out.
    """
    fitting = (method for method in METHODS if method.refuses(task) is None)
    return tuple(method for method in fitting if task.bounds or method.twin is None)


def choose(task: Task, *, budget: int = 1_000_000) -> Choice:
    """Choose a method by a written rule, `AUTO_RULE`.

    Parameters
    ----------
    task : Task
        What there is.
    budget : int, default 1,000,000
        Steps for the question whether all statements can be met.

    Returns
    -------
    Choice
        The method and the reason, and parameters that go with it.

    Raises
    ------
    InfeasibleConstraintsError
        If statements that are marked hard (labels and groups are) collide: then no method can meet them.
    """
    found = _by_rule(task, budget)
    if task.n_items > ONE_START_ABOVE:
        more = f"; one start, since there are more than {ONE_START_ABOVE:,} items"
        return Choice(found.method, found.reason + more, {**found.parameters, "n_init": 1})
    return found


def _by_rule(task: Task, budget: int) -> Choice:
    def take(name: str, reason: str) -> Choice:
        return Choice(find_method(name), reason)

    known = task.constraints
    only_labels = known is not None and known.kinds == {"label"} and not task.bounds
    if known and only_labels and all(group.weight is None for group in known.groups):
        return take("ConstrainedSeedKMeans", "labels of some items are known, and nothing else")
    doubt = _doubt(known, task.n_clusters, budget) if known else None
    if task.bounds:
        given = f"bounds on {' and '.join(sorted(task.bounds))} are given"
        if doubt is None:
            return take("SizeConstrainedKMeans", given)
        return Choice(find_method("SizeConstrainedKMeans"), f"{given}; {doubt}", {"weight": "auto"})
    if not known:
        return take("COPKMeans", "nothing is stated, so it is plain k-means")
    if doubt is not None:
        return take("PCKMeans", doubt)
    return take("COPKMeans", "all statements can be met, and none is marked as doubtful")


def _doubt(known: Constraints, n_clusters: int, budget: int) -> str | None:
    """Why the statements are weighed and not all obeyed; None if they can be obeyed."""
    weighed = "so they are weighed against each other"
    tables = [table.take(table.active) for table in (known.must_table, known.cannot_table)]
    if any((table.confidence == table.confidence).any() for table in tables):  # NaN: not stated
        return f"confidences are stated, {weighed}"
    if len({weight for table in tables for weight in table.weight[~table.hard].tolist()}) > 1:
        return f"strengths differ (a pair that is stated twice counts double), {weighed}"
    if len({hard for table in tables for hard in table.hard.tolist()}) > 1:
        return f"some pairs are marked hard and others not, {weighed}"
    answer = known.check(n_clusters, budget=budget)
    if answer.status == "undecided":
        return "nobody found out in time whether all statements can be met, so they are weighed"
    if answer.certificate is None:
        return None
    hard = known.only_hard()
    collision = hard.check(n_clusters, budget=budget).certificate if hard else None
    if collision is not None:
        raise InfeasibleConstraintsError(f"{collision} {collision.what_to_drop()}", collision)
    return f"the statements cannot all be met, {weighed}"
