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
_BOUNDS = frozenset({"sizes", "minima", "loads", "groups"})
# What the Gaussian mixtures have in common. A full covariance of more features has too many numbers to learn.
_MIXTURE: Any = {
    "metrics": {"sqeuclidean": None},
    "measure": "log-likelihood",
    "max_features": 100,
    "light": {"covariance_type": "diag"},
    "weighted": False,
    "sparse": False,
    "doubt": True,
    "slow": True,
}
_ALL_KINDS = frozenset({"must-link", "cannot-link", "label", "distinct", "across"})

AUTO_RULE = """\
1. Connected clusters (a graph of who is whose neighbour): ConstrainedLinkage; every statement holds.
2. Bounds on sizes: SizeConstrainedKMeans; every statement holds too, or is weighed where 5 says so.
3. Known labels and nothing else: ConstrainedSeedKMeans.
4. Nothing stated, or statements that can all be met and of which none is doubtful: COPKMeans.
5. Otherwise (a confidence or different strengths are stated, some pairs are marked hard and others not,
   they cannot all be met, or nobody found out in time): PCKMeans, which weighs them.

Text changes the distance (cosine), not the method; ConstrainedLinkage then takes average linkage, not Ward's.
Above 100,000 items one start is made, not four."""

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
        Of "sizes" (bounds on sizes), "minima" (also from below), "loads" (counted by a load), "groups"
        (bounds for each group).
    metrics : mapping
        Our words for a distance, and the value of the class's parameter `metric` for it; None: it has none.
    with_metric : mapping
        Other parameters that go with a distance, unless the user sets them.
    measure : str
        What it measures where it has no parameter `metric`.
    max_items : int or None
        Above this many items it is out of its depth; clusters that grow along a graph need no such limit.
    max_features : int or None
        Above this many features it is out of its depth, or takes too long.
    light : mapping
        Parameters with which there are no such limits.
    connectivity : bool
        Whether clusters can be kept connected along a graph.
    takes_k : bool
        Whether the number of clusters is said beforehand; otherwise the method finds it.
    starts : bool
        Whether it makes several starts (`n_init`).
    weighted : bool
        Whether items can have an importance (`sample_weight`).
    sparse : bool
        Whether it takes rows of which most values are zero and not stored.
    doubt : bool
        Whether it says how probable each cluster is for each item (`responsibilities_`).
    slow : bool
        Whether a fit takes so long that comparisons leave it out unless it is named.
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
    with_metric: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    measure: str = "sqeuclidean"
    max_items: int | None = None
    max_features: int | None = None
    light: Mapping[str, Any] = field(default_factory=dict)
    connectivity: bool = False
    takes_k: bool = True
    starts: bool = True
    weighted: bool = True
    sparse: bool = True
    doubt: bool = False
    slow: bool = False
    plain: Mapping[str, Any] = field(default_factory=dict)
    twin: str | None = None

    @property
    def estimator(self) -> type[Any]:
        """The class."""
        return getattr(importlib.import_module(self.module), self.name)

    def build(self, n_clusters: int | None, *, metric: str = "sqeuclidean", **parameters: Any) -> Any:
        """Make an estimator; `metric` is one of `metrics`. Without `takes_k` the number is not passed on."""
        if metric not in self.metrics:
            raise ValueError(
                f"{self.name} has no distance {metric!r}; it has {', '.join(sorted(self.metrics))}."
            )
        words = {**self.with_metric.get(metric, {}), **parameters}
        if self.metrics[metric] is not None:
            words["metric"] = self.metrics[metric]
        return self.estimator(n_clusters, **words) if self.takes_k else self.estimator(**words)

    def refuses(self, task: Task, parameters: Mapping[str, Any] | None = None) -> str | None:
        """Why it cannot do `task` (with these parameters), in a few words; None if it can."""
        odd = task.kinds - self.kinds
        if odd:
            return f"takes no {', '.join(sorted(odd))} statements"
        if task.connected and not self.connectivity:
            return "cannot keep clusters connected"
        if task.bounds - self.bounds == {"minima"}:
            return "takes a largest size, but no least size"
        if task.bounds - self.bounds:
            return f"takes no bounds on {', '.join(_bounded(task.bounds - self.bounds))}"
        if task.metric not in self.metrics:
            return f"has no {task.metric} distance"
        if task.weighted and not self.weighted:
            return "takes no weights of items"
        if task.sparse and not self.sparse:
            return "takes no text, and no matrix in which only some values are stored"
        light = bool(self.light) and self.light.items() <= (parameters or {}).items()
        if self.max_features is not None and task.n_features > self.max_features and not light:
            return f"is made for at most {self.max_features:,} features"
        light = light or (task.connected and task.metric == "sqeuclidean")
        if self.max_items is not None and task.n_items > self.max_items and not light:
            return f"is made for at most {self.max_items:,} items"
        return None


def _bounded(bounds: frozenset[str]) -> list[str]:
    """What bounds are on; a minimum is one on sizes."""
    return sorted(bounds - {"minima"})


@dataclass(frozen=True)
class Task:
    """What a method has to deal with, as far as the choice depends on it.

    Attributes
    ----------
    n_items : int
        How many items.
    n_clusters : int or None
        How many clusters; None: that is to be found.
    constraints : Constraints or None
        What is known.
    bounds : frozenset of str
        As in `Method.bounds`.
    metric : str
        "sqeuclidean" or "cosine" (text).
    connected : bool
        Whether clusters must be connected along a graph.
    weighted : bool
        Whether items have an importance.
    n_features : int
        How many features; 0: not known yet.
    sparse : bool
        Whether most values are zero and not stored.
    """

    n_items: int
    n_clusters: int | None
    constraints: Constraints | None = None
    bounds: frozenset[str] = frozenset()
    metric: str = "sqeuclidean"
    connected: bool = False
    weighted: bool = False
    n_features: int = 0
    sparse: bool = False

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
        measure="learned",
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
        measure="kernel",
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
        measure="cityblock",
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
    Method(
        "ConstrainedLinkage",
        "coterie.hierarchy",
        what="merges the nearest clusters that no statement, lack of neighbours or largest size keeps apart",
        when="you want a tree, or clusters connected along neighbours (without these, up to 20,000 items)",
        source="Klein, Kamvar and Manning 2002; Constrained Clustering, chapter 1",
        statements="hold",
        bounds=frozenset({"sizes", "loads"}),
        metrics={"sqeuclidean": "euclidean", "cosine": "cosine"},
        with_metric={"cosine": {"linkage": "average"}},
        max_items=20_000,
        light={"linkage": "single"},
        connectivity=True,
        starts=False,
        weighted=False,
        plain={"size_max": None},
    ),
    Method(
        "COPCobweb",
        "coterie.hierarchy",
        what="places items one by one and finds the number of clusters itself; every statement holds",
        when="nobody knows how many clusters; categories from Python (here they are columns of 0 and 1)",
        source="Wagstaff and Cardie 2000; Fisher 1987; chapter 1",
        statements="hold",
        metrics={"sqeuclidean": None},
        measure="category utility",
        takes_k=False,
        starts=False,
        weighted=False,
        sparse=False,
    ),
    Method(
        "ConstrainedGaussianMixture",
        "coterie.mixture",
        what="a Gaussian mixture in which every statement holds; it says how probable each cluster is",
        when="you trust what you state, clusters are long or of unequal size, and doubt should be told",
        source="Shental, Bar-Hillel, Hertz and Weinshall 2004; chapter 3",
        statements="hold",
        **_MIXTURE,
    ),
    Method(
        "PenalizedGaussianMixture",
        "coterie.mixture",
        what="a Gaussian mixture that weighs each statement by how sure it is; those marked hard hold",
        when="statements may be wrong, and you can say how sure you are (confidence); doubt should be told",
        source="Lu and Leen 2005; chapter 4",
        statements="priced",
        **_MIXTURE,
    ),
    Method(
        "MeanFieldMixture",
        "coterie.mixture",
        what="a mixture found by annealing, in which strong statements steer the clusters; hard ones hold",
        when="many statements that hang together, or few that shall count (eta); counts, from Python",
        source="Lange, Law, Jain and Buhmann 2005; chapter 5",
        statements="priced",
        **_MIXTURE,
    ),
    Method(
        "PairwiseClustering",
        "coterie.mixture",
        what="small distances inside clusters, found by annealing; a broken statement has a price",
        when="up to 10,000 items that are known by their distances; given distances, from Python",
        source="Lange, Law, Jain and Buhmann 2005; chapter 5",
        statements="priced",
        metrics={"sqeuclidean": "sqeuclidean", "cosine": "cosine"},
        max_items=10_000,
        weighted=False,
        doubt=True,
        slow=True,
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
    """All methods that take the statements, bounds, graph and distance of `task`, in the order of the list.

    Those that find the number of clusters are left out where one is asked for, and the others where none is.
    Without bounds a method that then does the same as another one is left out; slow ones always are.
    """
    fitting = (method for method in METHODS if method.refuses(task) is None and not method.slow)
    fitting = (method for method in fitting if method.takes_k == (task.n_clusters is not None))
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
    if task.n_items > ONE_START_ABOVE and found.method.starts:
        more = f"; one start, since there are more than {ONE_START_ABOVE:,} items"
        return Choice(found.method, found.reason + more, {**found.parameters, "n_init": 1})
    return found


def _by_rule(task: Task, budget: int) -> Choice:
    def take(name: str, reason: str) -> Choice:
        return Choice(find_method(name), reason)

    if task.n_clusters is None:
        raise ValueError("the rule needs the number of clusters; name a method that finds it, or say it.")
    if task.connected:
        held = "; every statement holds" if task.constraints else ""
        linkage = "average linkage" if task.metric == "cosine" else "Ward's linkage"
        return take("ConstrainedLinkage", f"clusters must be connected{held}; {linkage}")
    known = task.constraints
    only_labels = known is not None and known.kinds == {"label"} and not task.bounds
    if known and only_labels and all(group.weight is None for group in known.groups):
        return take("ConstrainedSeedKMeans", "labels of some items are known, and nothing else")
    doubt = _doubt(known, task.n_clusters, budget) if known else None
    if task.bounds:
        given = f"bounds on {' and '.join(_bounded(task.bounds))} are given"
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
