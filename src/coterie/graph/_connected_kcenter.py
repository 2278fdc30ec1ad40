"""ConnectedKCenter: clusters that are connected on a graph and whose largest radius is small."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from coterie._compiled import one_blas_thread
from coterie._words import count_of, short_number
from coterie.adjacency import pieces
from coterie.base import (
    AUTO_STARTS,
    SEARCH_RULES,
    About,
    Account,
    ConstrainedClusterMixin,
    Price,
    Rule,
    Section,
    Step,
    TakesDistances,
    Trace,
    anything,
    best_of_starts,
    constrained_fit,
    ending_words,
    metric_rule,
    one_of,
    real,
    whole,
)
from coterie.constraints import Constraints, Violations
from coterie.graph._connected.disjoint import best_disjoint, refined
from coterie.graph._connected.growth import Growth
from coterie.graph._connected.netscan import (
    KCenterCriterion,
    Scan,
    degree_seeds,
    far_out,
    given_seeds,
    netscan,
)
from coterie.graph._connected.reach import certified, enumerated, farthest_first, sets_within
from coterie.graph._connected_functions import check_number, read_problem


class ConnectedKCenter(TakesDistances, ConstrainedClusterMixin, BaseEstimator):
    """Clusters that are connected on a graph, and in which nobody is far from the centre, which is an item.

    The largest distance to a centre is made small; a lower bound says how far from the best that is at most.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters; at least as many as the graph has islands.
    connectivity : graph or None, default None
        Which items are neighbours: a SciPy sparse matrix, a NetworkX or igraph graph, a frame or list of
        edges, or a function of X that returns one; see `coterie.adjacency.read_graph`. None: everybody is
        everybody's neighbour, which is plain k-center.
    metric : str or callable, default "euclidean"
        Any metric of `sklearn.metrics.pairwise_distances`, or "precomputed": X holds distances.
    algorithm : {"auto", "farthest-first", "enumerate", "netscan"}, default "auto"
        "farthest-first": centres far from each other along the graph; the connected sets around them overlap,
        and are made disjoint. "enumerate": the same from overlapping sets of least radius, for at most 400
        items. "netscan": clusters grow from seeds, take new centres, and grow again. "auto": the best of
        "farthest-first" and "netscan"; with given seeds "netscan".
    init : {"gonzalez", "degree"} or an array of items, one a cluster, default "gonzalez"
        Seeds of "netscan": each as far as can be from those before; or drawn by the number of neighbours.
    growth : {"continuous", "rounds"}, default "continuous"
        Of the items that touch a cluster the nearest to its centre comes next; or all within a radius that
        rises in steps, as in the source. Steps as large as there can flood the graph with the first cluster.
    radius_step : float or None, default None
        The step of "rounds"; None: the mean distance of the items, of a sample.
    lookahead : bool, default True
        Whether "rounds" give an item that several clusters could take to the one that suits who hangs on it.
    center_update : {"mean-nearest", "minimax"}, default "mean-nearest"
        New centres of "netscan": the member nearest to the mean (with given distances: of least squared
        distances), or the one whose farthest member is nearest. At the end it is the latter in any case.
    refine : bool, default True
        Move items at the rim of the largest cluster to others as long as that helps, if there is a graph.
    outliers : None, "auto" or float, default None
        Items to leave out, with the label -1: those that are reached last, if a wide gap parts them from the
        rest ("auto"), or this share. What is left of every cluster is connected.
    n_init : int or "auto", default "auto"
        Starts of "netscan"; "auto" is 4. With given seeds there is one.
    max_iter, verbose, random_state
        As in `COPKMeans`.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each item; -1 for an outlier.
    center_indices_ : array of shape (n_clusters,)
        The centre of each cluster, an item of it: its farthest member is nearest.
    radius_, radii_ : float, array of shape (n_clusters,)
        The largest distance of an item to its centre; that of each cluster.
    lower_bound_ : float
        No k connected clusters of all items have a smaller radius. It needs a distance that obeys the
        triangle inequality: given distances and functions are taken at their word; of "cosine" and others
        that do not it is nan, but with "enumerate", where it always holds.
    approx_ratio_ : float
        The radius over `lower_bound_`, outliers counted: so far from the best it is at most.
    assignment_radius_ : array of shape (n_samples,)
        How far from its centre its cluster must reach to hold an item, outliers counted.
    objective_, history_ : float, array
        `radius_`; the least radius so far, after each iteration of the best start and each move.
    violations_, n_iter_, converged_
        Nothing is stated; iterations of the best start, and whether its centres came back.

    See Also
    --------
    coterie.ConstrainedLinkage : connected clusters with constraints, and a tree.
    coterie.KMedoids : centres that are items, without a graph.

    Notes
    -----
    Farthest-first takes about 2 k passes over the edges, an iteration of NetScan one; a pass is O(E log E),
    less than a second for 1,000,000 cells of a grid. Memory is O(n + E), and n k for other metrics than
    Euclid's and cosine, for sparse rows and given distances.

    Lemma 12.1 (a factor of 3 from overlapping sets) is wrong for three clusters and more; 2 k - 1 holds, and
    no constant at all unless P = NP. So look at `approx_ratio_`, which is for your data.

    References
    ----------
    Ester, Ge, Gao, Hu and Ben-Moshe, chapter 12 of Constrained Clustering. Gonzalez 1985 (farthest first).

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import ConnectedKCenter
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0], [1.5]])  # the last is a neighbour of far ones alone
    >>> model = ConnectedKCenter(2, connectivity=[(0, 1), (1, 2), (2, 3), (3, 4)]).fit(X)
    >>> model.labels_, model.radius_
    (array([1, 1, 0, 0, 0], dtype=int32), 7.5)
    """

    about = About(
        what="clusters connected on a graph, the largest distance to a centre small; constraints are refused",
        when="nobody may be far from the centre of a connected part: districts, depots, sensors",
        source="Ester, Ge, Gao, Hu and Ben-Moshe, chapter 12",
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "all"
    constraint_kinds = frozenset()
    parameter_rules: ClassVar[Any] = {
        **SEARCH_RULES,
        "n_clusters": whole(1),
        "connectivity": anything("a graph over the items"),
        "metric": metric_rule(without={"precomputed", "nan_euclidean"}),
        "algorithm": one_of("auto", "farthest-first", "enumerate", "netscan"),
        "init": one_of("gonzalez", "degree")
        | Rule(lambda value: not isinstance(value, str) and value is not None, "an array of items"),
        "growth": one_of("continuous", "rounds"),
        "radius_step": one_of(None) | real(0.0),
        "lookahead": one_of(True, False),
        "center_update": one_of("mean-nearest", "minimax"),
        "refine": one_of(True, False),
        "outliers": one_of(None, "auto") | real(0.0, 1.0),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        connectivity: Any = None,
        metric: Any = "euclidean",
        algorithm: str = "auto",
        init: Any = "gonzalez",
        growth: str = "continuous",
        radius_step: float | None = None,
        lookahead: bool = True,
        center_update: str = "mean-nearest",
        refine: bool = True,
        outliers: Any = None,
        n_init: Any = "auto",
        max_iter: int = 50,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        # scikit-learn reads the names from here
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Any:
        """Find connected clusters.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or distances of shape (n_samples, n_samples)
            The items; `y` is ignored.
        constraints : None
            None are taken; ids of an empty `Constraints` name the items of the graph.

        Returns
        -------
        self
        """
        X, known = self._begin_fit(X, constraints, n_clusters=self.n_clusters, **self._checks)
        with one_blas_thread():
            growth = read_problem(
                X, self.connectivity, self.metric, known.ids,
                rounds=self.growth == "rounds", radius_step=self.radius_step, lookahead=self.lookahead,
            )  # fmt: skip
            check_number(growth, self.n_clusters, name=known.item_name)
            self._graph = growth.graph
            self._keep(growth, self._search(growth, X))
        return self

    def _search(self, growth: Growth, X: Any) -> Scan:
        """The best of all starts, and the bound."""
        n, k, rng = growth.space.n, self.n_clusters, check_random_state(self.random_state)
        seeds, far, self.lower_bound_ = certified(growth, k)
        sets = None
        if self.algorithm == "enumerate":
            sets = enumerated(growth, k, seeds, far)
            self.lower_bound_ = sets.lower_bound
        criterion = KCenterCriterion(growth.space, self.center_update == "minimax")
        drawn = isinstance(self.init, str)
        n_sets = int(self.algorithm != "netscan" and (drawn or self.algorithm != "auto"))
        n_scans = AUTO_STARTS if self.n_init == "auto" else int(self.n_init)
        n_scans = (n_scans if drawn else 1) if self.algorithm in ("auto", "netscan") else 0

        def run(number: int, step: Step) -> Scan:
            if number < n_sets:
                return best_disjoint(growth, sets or sets_within(growth, seeds, far, self.lower_bound_))
            begin = seeds if drawn else given_seeds(self.init, growth.graph, n, k)
            if drawn and self.init == "degree":
                begin = degree_seeds(growth.graph, n, k, rng)
            elif drawn and number > n_sets:  # from another item first
                begin = farthest_first(growth, k, int(rng.randint(n)))[0]
            return self._recentred(growth, netscan(growth, criterion, begin, self.max_iter, step))

        finish = partial(refined, growth) if self.refine and growth.graph is not None else None
        n_starts = n_sets + n_scans
        return best_of_starts(self, X, run, n_starts=n_starts, max_steps=self.max_iter, finish=finish)[0]

    def _recentred(self, growth: Growth, scan: Scan) -> Scan:
        """With the best centre of each cluster."""
        update = KCenterCriterion(growth.space, minimax=True)(scan.labels, self.n_clusters)
        if update.objective > scan.objective:  # where the search for a centre was cut short
            return scan
        lower = np.full(int(update.objective < scan.objective), update.objective)
        history = np.concatenate([scan.history, lower])
        return replace(scan, update=update, objective=update.objective, history=history)

    def _keep(self, growth: Growth, scan: Scan) -> None:
        """Keep the outcome; outliers are left out last."""
        update = scan.update
        self.assignment_radius_ = growth.within(scan.labels, update.seeds, update.centres)
        radius, bound = update.objective, self.lower_bound_
        self.approx_ratio_ = 1.0 if radius == 0 else np.inf if bound == 0 else radius / bound
        if self.outliers is not None:
            labels = scan.labels.copy()
            labels[far_out(self.assignment_radius_, self.outliers)] = -1
            scan = self._recentred(growth, replace(scan, labels=labels))
        self.labels_, self.center_indices_ = scan.labels, scan.update.seeds
        self.radii_, self.radius_ = scan.update.radii, scan.objective
        self.objective_, self.history_ = scan.objective, scan.history
        self.n_iter_, self.converged_ = scan.n_iter, scan.converged

    def _recount(self, known: Constraints) -> Violations:
        """Count everything again, and whether every cluster is connected."""
        if self._graph is not None:
            kept = self.labels_ >= 0
            n_pieces = pieces(self._graph[kept][:, kept], self.labels_[kept])[0]
            if n_pieces != self.n_clusters:
                message = f"broke the connectivity: {self.n_clusters} clusters lie in {n_pieces} pieces"
                raise RuntimeError(f"{type(self).__name__} {message}; please report this.")
        return known.violations(self.labels_)

    def account(self) -> Account:
        """The radius and how far from the best it can be; see `ConstrainedClusterMixin.account`."""
        radius, bound = short_number(self.radius_), short_number(self.lower_bound_)
        clusters = count_of(self.n_clusters, "connected cluster")
        text = f"Nobody is farther than {radius} from the centre of the cluster, which is an item of it."
        if np.isnan(self.lower_bound_):
            text += " How far that is from the best is not known: the distance is no metric."
        else:
            text += f" No {clusters} of all items can have less than {bound}, so this is at most "
            text += f"{short_number(self.approx_ratio_)} times the best."
        n_out = int((self.labels_ < 0).sum())
        if n_out:
            text += f" {count_of(n_out, 'item')} that would be reached last are left out, with the label -1."
        what = "What is made small, after each iteration and each move: the largest distance to a centre."
        words = f"{what} {ending_words(self, 'centres came back')}"
        trace = Trace(self.history_, "The largest radius", words, step="step", value="radius", stride=1.0)
        figures = {name: getattr(self, f"{name}_") for name in ("radius", "lower_bound", "approx_ratio")}
        return replace(
            super().account(),
            trace=trace,
            graph=self._graph,
            price=Price(tells=False),
            sections=(Section("certificate", "Certificate", text),),
            figures={**figures, "n_outliers": n_out},
        )
