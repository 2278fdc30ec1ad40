"""The registry of methods and learned distances: what there is, what each takes, and how one is chosen.

The command line, `coterie.compare` and the report know them through these lists only. They hold names: what
is said of a method is read off its class, so that a new class is offered everywhere once its name stands
here. Nothing of scikit-learn is imported until somebody asks for more than words.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from coterie._lazy import find_home
from coterie._words import count_of
from coterie.base import About
from coterie.constraints import ALL_KINDS
from coterie.exceptions import InfeasibleConstraintsError

if TYPE_CHECKING:
    from coterie.constraints import Constraints

__all__ = [
    *("AUTO_RULE", "CLASSIFIERS", "DISTANCES", "METHODS", "Choice", "Distance", "Method", "Task"),
    *("choose", "find_distance", "find_method", "learned_words", "suitable_methods"),
    *("table_of_classifiers", "table_of_distances", "table_of_methods", "wrong_input"),
]

AUTO_RULE = """\
Scores of pairs: CorrelationClustering. Several clusterings of the same items: ConsensusClustering.
Rows of features:
1. Connected clusters (a graph of who is whose neighbour): with a least size ConnectedKMeans, which without
   a number of clusters makes as many as that allows; else ConstrainedLinkage. Every constraint holds.
2. Bounds on sizes: SizeConstrainedKMeans; every constraint holds too, or is weighed where 5 says so.
3. Known labels and nothing else: ConstrainedSeedKMeans.
4. Nothing stated, or constraints that can all be met and of which none is doubtful: COPKMeans.
5. Otherwise (a confidence or different strengths are stated, some pairs are marked hard and others not,
   they cannot all be met, or nobody found out in time): PCKMeans, which weighs them.

Constraints are taken at your word: true ones are worth more obeyed than weighed, wrong ones cost more. If
some may be wrong, give them a confidence, or take PCKMeans. Features are not weighed by the rule: to learn
that (MPCKMeans) won on some tables and lost on others, and no sign was found that tells beforehand;
`compare` tries it.

Text changes the distance (cosine), not the method; ConstrainedLinkage then takes average linkage, not Ward's.
Above 100,000 items one start is made, not four."""

# With more rows than this one start is made instead of four, unless the user asks for more.
ONE_START_ABOVE = 100_000

# What X can hold (`wants` of a class), in words, and the method to take for it where that is all to be said.
_INPUTS = {
    "rows": "rows of features",
    "weights": "scores of pairs",
    "graph": "a graph",
    "labels": "several clusterings",
    "records": "records and their contexts",
}
_BY_INPUT = {"weights": "CorrelationClustering", "labels": "ConsensusClustering"}


@dataclass(frozen=True)
class Listed:
    """What a method and a distance have in common: a class, and what it says of itself."""

    home: str  # where the class is found: "package:Class"

    @property
    def name(self) -> str:
        """Name of the class."""
        return self.home.partition(":")[2]

    @property
    def word(self) -> str:
        """What it is called on the command line."""
        return self.name

    @property
    def estimator(self) -> type[Any]:
        """The class."""
        return getattr(importlib.import_module(self.home.partition(":")[0]), self.name)

    @cached_property
    def _written(self) -> dict[str, Any]:
        """What the class defines and inherits, by name, as it is written: it need not be loaded."""
        return _written(*self.home.split(":"))

    @cached_property
    def about(self) -> About:
        """What the class says of itself."""
        words = self._written.get("about")
        if not isinstance(words, ast.Call):
            raise TypeError(f"{self.name} says nothing of itself: it needs `about = About(...)`.")
        return About(**{str(one.arg): ast.literal_eval(one.value) for one in words.keywords})

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of constraints that it takes; of a distance: that it learns from."""
        own = self._written["constraint_kinds"]
        return frozenset(*map(ast.literal_eval, own.args)) if isinstance(own, ast.Call) else ALL_KINDS

    @cached_property
    def sparse(self) -> bool:
        """Whether it takes rows of which most values are zero and not stored."""
        from sklearn.utils import get_tags

        return bool(get_tags(self.estimator()).input_tags.sparse)

    def facts(self) -> dict[str, Any]:
        """All of it, for machines."""
        own = {"sparse": self.sparse, "kinds": sorted(self.kinds)}
        return {"name": self.name, "module": self.estimator.__module__, **asdict(self.about), **own}


@dataclass(frozen=True)
class Distance(Listed):
    """A distance that is learned before a method, and what it is for."""

    @property
    def word(self) -> str:
        """What it is called on the command line; of `CannotLinkMetric` that is cannot-link."""
        return re.sub("(?<=[a-z])(?=[A-Z])", "-", self.name.removesuffix("Metric")).lower()

    def facts(self) -> dict[str, Any]:
        """All of it, for machines."""
        return {**super().facts(), "word": self.word}


@dataclass(frozen=True)
class Method(Listed):
    """A clusterer, and what it is for."""

    @cached_property
    def statements(self) -> Literal["hold", "priced", "start", "guide"]:
        """What happens: all hold; a broken one has a price and hard ones hold; they only guide the start,
        or all of the search.
        """
        start = self.about.guides == About.guides
        found: Any = {"all": "hold", "hard": "priced", "none": "start" if start else "guide"}
        return found[self.estimator().obeys]

    @cached_property
    def bounds(self) -> frozenset[str]:
        """Of "sizes" (bounds on sizes), "minima" (also from below), "loads" (counted by a load), "groups"."""
        marks = {"sizes": "size_max", "minima": "size_min", "loads": "size_weight", "groups": "group_min"}
        return frozenset(kind for kind, mark in marks.items() if mark in (*self._rules, *self._given))

    @cached_property
    def metrics(self) -> Mapping[str, str | None]:
        """Our words for a distance, and the value of the parameter `metric` for it; None: it has none."""
        if "metric" not in self._rules:
            return {"sqeuclidean": None}
        return {"sqeuclidean": ast.literal_eval(self._rules["metric"]), "cosine": "cosine"}

    @property
    def connectivity(self) -> bool:
        """Whether clusters can be kept connected along a graph."""
        return "connectivity" in self._rules

    @property
    def wants(self) -> Literal["rows", "weights", "graph", "labels", "records"]:
        """What X holds."""
        found: Any = ast.literal_eval(self._written["wants"])
        return found

    @property
    def takes_k(self) -> bool:
        """Whether the number of clusters can be said beforehand; otherwise the method finds it."""
        return bool({"n_clusters", "n_components"} & set(self._rules))

    @property
    def needs_k(self) -> bool:
        """Whether it must be said; where it is None by default the method finds it, too.

        But where another parameter tells it then, which nobody may have given.
        """
        if self.about.number_from in self._rules:
            return True
        written = [self._rules[name] for name in ("n_clusters", "n_components") if name in self._rules]
        return any(one is None or ast.unparse(one) != "None" for one in written)

    def finds_k(self, task: Task) -> bool:
        """Whether it finds the number of clusters, at least where `task` has bounds that tell it."""
        return not self.needs_k or self.about.number_from in task.bounds

    @property
    def starts(self) -> bool:
        """Whether it makes several starts (`n_init`)."""
        return "n_init" in self._rules

    @property
    def weighted(self) -> bool:
        """Whether items can have an importance (`sample_weight`)."""
        return "sample_weight" in self._given

    @property
    def new_rows(self) -> bool:
        """Whether it gives new rows a cluster."""
        return "predict" in self._written

    @cached_property
    def _rules(self) -> Mapping[str, Any]:
        """Parameters and their defaults, as they are written."""
        return _arguments(self._written["__init__"])

    @cached_property
    def _given(self) -> Mapping[str, Any]:
        return _arguments(self._written["fit"])

    def facts(self) -> dict[str, Any]:
        """All of it, for machines."""
        kept = ("statements", "wants", "connectivity", "takes_k", "needs_k", "starts", "weighted", "new_rows")
        listed = {name: sorted(getattr(self, name)) for name in ("bounds", "metrics")}
        return {**super().facts(), **{name: getattr(self, name) for name in kept}, **listed}

    def build(self, n_clusters: int | None, *, metric: str = "sqeuclidean", **parameters: Any) -> Any:
        """Make an estimator; `metric` is one of `metrics`. Without `takes_k` the number is not passed on."""
        if metric not in self.metrics:
            there = ", ".join(sorted(self.metrics))
            raise ValueError(f"{self.name} has no distance {metric!r}; it has {there}.")
        kwargs = {**self.about.with_metric.get(metric, {}), **parameters}
        if self.metrics[metric] is not None:
            kwargs["metric"] = self.metrics[metric]
        return self.estimator(n_clusters, **kwargs) if self.takes_k else self.estimator(**kwargs)

    def refuses(self, task: Task, parameters: Mapping[str, Any] | None = None) -> str | None:
        """Why it cannot do `task` (with these parameters), in a few words; None if it can."""
        if task.given != self.wants:
            return wrong_input(self.wants, task.given)
        odd = task.kinds - self.kinds
        if odd:
            return f"takes no {', '.join(sorted(odd))} constraints"
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
        about = self.about
        light = bool(about.light) and about.light.items() <= (parameters or {}).items()
        if about.max_features is not None and task.n_features > about.max_features and not light:
            return f"is made for at most {about.max_features:,} features"
        light = light or (task.connected and task.metric == "sqeuclidean")
        if about.max_items is not None and task.n_items > about.max_items and not light:
            return f"is made for at most {about.max_items:,} items"
        return None


@cache
def _written(package: str, name: str) -> dict[str, Any]:
    """The syntax trees of what stands in a class and in those of ours that it is made of."""
    module = find_home(package, name)
    loader: Any = importlib.util.find_spec(module).loader  # type: ignore[union-attr]
    body = ast.parse(loader.get_source(module)).body
    imports = [line for line in body if isinstance(line, ast.ImportFrom)]
    homes = {one.name: str(line.module) for line in imports for one in line.names}
    kind = next((line for line in body if isinstance(line, ast.ClassDef) and line.name == name), None)
    found: dict[str, Any] = {}
    if kind is None:  # made on the spot, as a stand-in for what scikit-learn lacks
        return found
    for base in reversed(list(map(ast.unparse, kind.bases))):
        home = homes.get(base, module)
        if home.split(".")[0] in ("coterie", module.split(".")[0]):
            found |= _written(home, base)
    for line in kind.body:
        if isinstance(line, ast.FunctionDef):
            found[line.name] = line
        elif isinstance(line, ast.Assign | ast.AnnAssign):
            target = line.targets[0] if isinstance(line, ast.Assign) else line.target
            found[ast.unparse(target)] = line.value
    return found


def _arguments(function: ast.FunctionDef) -> dict[str, Any]:
    """The arguments of a function, and their defaults as they are written; None: without one."""
    plain, named = function.args.args, function.args.kwonlyargs
    defaults = [None] * (len(plain) - len(function.args.defaults)) + function.args.defaults
    return dict(zip([one.arg for one in plain + named], defaults + function.args.kw_defaults, strict=True))


def wrong_input(wants: str, given: str = "rows") -> str | None:
    """That a method takes other input, in a few words; None if it is what it wants."""
    return None if wants == given else f"takes {_INPUTS[wants]}, not {_INPUTS[given]}"


def _bounded(bounds: frozenset[str]) -> list[str]:
    """What bounds are on; a minimum is one on sizes."""
    return sorted(bounds - {"minima"})


@dataclass(frozen=True)
class Task:
    """What a method has to deal with, as far as the choice depends on it."""

    n_items: int
    n_clusters: int | None  # None: that is to be found
    constraints: Constraints | None = None  # what is known
    bounds: frozenset[str] = frozenset()  # as in `Method.bounds`
    metric: str = "sqeuclidean"  # or "cosine" (text)
    connected: bool = False  # whether clusters must be connected along a graph
    weighted: bool = False  # whether items have an importance
    n_features: int = 0  # 0: not known yet
    sparse: bool = False  # whether most values are zero and not stored
    given: Literal["rows", "weights", "graph", "labels", "records"] = (
        "rows"  # what X holds, as in `Method.wants`
    )

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of constraints that there are."""
        return frozenset() if self.constraints is None else self.constraints.kinds


@dataclass(frozen=True)
class Choice:
    """A method, why it was taken, and parameters that go with the choice."""

    method: Method
    reason: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


METHODS = [
    Method(f"coterie:{name}")
    for name in (
        *("COPKMeans", "PCKMeans", "MPCKMeans", "HMRFKMeans", "CVQEKMeans", "KernelPCKMeans"),
        *("SeededKMeans", "ConstrainedSeedKMeans", "SizeConstrainedKMeans", "SizeConstrainedKMedians"),
        *("BalancedKMeans", "FrequencySensitiveKMeans", "OnlineBalancedKMeans"),
        "SizeConstrainedBisection",
        *("KMedoids", "ConstrainedLinkage", "COPCobweb", "BalancedCut"),
        *("ConnectedKMeans", "ConnectedKCenter", "EMC"),
        *("CorrelationClustering", "ClusterEditing", "ConsensusClustering", "EntityResolver"),
        *("ConstrainedGaussianMixture", "PenalizedGaussianMixture", "MeanFieldMixture", "PairwiseClustering"),
        *("BoostCluster", "SpectralLearning"),
    )
]


DISTANCES = [Distance(f"coterie:{name}") for name in ("RCA", "XingMetric", "CannotLinkMetric")]

# They learn from labels, too, so that nothing here runs them: they are listed for readers.
CLASSIFIERS = [Listed(f"coterie:{name}") for name in ("PairwiseLogisticRegression", "PairwiseSVC")]

_Found = TypeVar("_Found", bound=Listed)


def find_method(name: str) -> Method:
    """The method of that name; upper and lower case, hyphens and underscores do not matter."""
    return _find(name, "method", METHODS)


def find_distance(name: str) -> Distance:
    """The learned distance of that name, in the same way: `rca`, `RCA`."""
    return _find(name, "distance", DISTANCES)


def _find(name: str, what: str, listed: Iterable[_Found]) -> _Found:
    def plain(word: str) -> str:
        return word.casefold().replace("-", "").replace("_", "")

    by_name = {plain(word): one for one in listed for word in (one.name, one.word)}
    if plain(name) in by_name:
        return by_name[plain(name)]
    near = difflib.get_close_matches(plain(name), by_name, n=1, cutoff=0.5)
    hint = f" Did you mean {by_name[near[0]].word}?" if near else ""
    there = ", ".join(one.word for one in listed)
    raise ValueError(f"There is no {what} {name!r}.{hint} There are: {there}.")


def table_of_methods() -> str:
    """The methods as the README lists them, in Markdown: `python -m coterie.methods` prints it."""
    return _table(("method", "what it does with what you know"), METHODS)


def table_of_distances() -> str:
    """The learned distances in the same way."""
    return _table(("distance", "what it learns from what you know"), DISTANCES)


def table_of_classifiers() -> str:
    """The classifiers of labels and pairs in the same way."""
    return _table(("classifier", "what it learns from"), CLASSIFIERS)


def _table(head: tuple[str, str], listed: Iterable[Listed]) -> str:
    rows: list[Sequence[str]] = [(*head, "when to take it", "source"), ("---",) * 4]
    rows += [(f"`{one.name}`", one.about.what, one.about.when, one.about.source) for one in listed]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def learned_words(distance: Any) -> str:
    """What a fitted distance has learned from, in a sentence."""
    name, n_used = type(distance).__name__, distance.n_used_
    if not n_used:
        return f"Distance as it was: {name} was told nothing."
    return f"Distance learned by {name} from {count_of(n_used, 'constraint')}."


def suitable_methods(task: Task) -> tuple[Method, ...]:
    """All methods that take the constraints, bounds, graph and distance of `task`, in the order of the list.

    Those that cannot be told the number of clusters are left out where one is asked for, and those that have
    to be told where none is.
    A method that does the same as another one where no bounds, or no graph, are given is left out there; slow
    ones always are.
    """
    fitting = (method for method in METHODS if not method.about.slow and method.refuses(task) is None)
    no_k = task.n_clusters is None
    fitting = (method for method in fitting if (method.finds_k(task) if no_k else method.takes_k))
    # what a method with a twin is for
    asked = {True: task.connected, False: bool(task.bounds)}
    return tuple(one for one in fitting if one.about.twin is None or asked[one.connectivity])


def choose(task: Task, *, budget: int = 1_000_000) -> Choice:
    """Choose a method by a written rule, `AUTO_RULE`.

    Parameters
    ----------
    task : Task
        What there is.
    budget : int, default 1,000,000
        Steps for the question whether all constraints can be met.

    Returns
    -------
    Choice
        The method and the reason, and parameters that go with it.

    Raises
    ------
    InfeasibleConstraintsError
        If constraints that are marked hard (labels and groups are) collide: then no method can meet them.
    """
    found = _by_rule(task, budget)
    if task.n_items > ONE_START_ABOVE and found.method.starts:
        more = f"; one start, since there are more than {ONE_START_ABOVE:,} items"
        return Choice(found.method, found.reason + more, {**found.parameters, "n_init": 1})
    return found


def _by_rule(task: Task, budget: int) -> Choice:
    def take(name: str, reason: str) -> Choice:
        return Choice(find_method(name), reason)

    if task.given in _BY_INPUT:
        return take(_BY_INPUT[task.given], f"{_INPUTS[task.given]} are given")
    if task.connected and "minima" in task.bounds:
        most = "" if task.n_clusters is not None else ", as many as that allows"
        return take("ConnectedKMeans", f"clusters must be connected and have a least size{most}")
    if task.n_clusters is None:
        raise ValueError("the rule needs the number of clusters; name a method that finds it, or say it.")
    if task.connected:
        held = "; every constraint holds" if task.constraints else ""
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
    return take("COPKMeans", "all constraints can be met, and none is marked as doubtful")


def _doubt(known: Constraints, n_clusters: int, budget: int) -> str | None:
    """Why the constraints are weighed and not all obeyed; None if they can be obeyed."""
    weighed = "so they are weighed against each other"
    tables = [table.take(table.active) for table in (known.must_table, known.cannot_table)]
    if any((table.confidence == table.confidence).any() for table in tables):  # NaN: not stated
        return f"confidences are stated, {weighed}"
    # a pair that is stated twice weighs double, but nobody wrote that it shall
    soft = [table.take(~table.hard) for table in tables]
    if len({f"{weight:.9g}" for table in soft for weight in (table.weight / table.times).tolist()}) > 1:
        return f"strengths differ, {weighed}"
    if len({hard for table in tables for hard in table.hard.tolist()}) > 1:
        return f"some pairs are marked hard and others not, {weighed}"
    answer = known.check(n_clusters, budget=budget)
    if answer.status == "undecided":
        return "nobody found out in time whether all constraints can be met, so they are weighed"
    if answer.certificate is None:
        return None
    hard = known.only_hard()
    collision = hard.check(n_clusters, budget=budget).certificate if hard else None
    if collision is not None:
        raise InfeasibleConstraintsError(f"{collision} {collision.what_to_drop()}", collision)
    return f"the constraints cannot all be met, {weighed}"


if __name__ == "__main__":
    print(table_of_methods(), table_of_distances(), table_of_classifiers(), sep="\n\n")
