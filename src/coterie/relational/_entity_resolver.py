"""EntityResolver: which records are one person, household or product, by what they say and by their links."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from coterie._arrays import Index, Labels, by_first_occurrence
from coterie.base import (
    About,
    Account,
    ConstrainedClusterMixin,
    anything,
    check_parameters,
    constrained_fit,
    one_of,
    progress,
    real,
    warn_user,
    whole,
)
from coterie.constraints import Constraints, as_constraints
from coterie.exceptions import ParameterError
from coterie.relational._merging.around import Neighbourhood, Proposed, neighbourhood
from coterie.relational._merging.bootstrap import ROUNDING, bootstrap
from coterie.relational._merging.collective import MergeList, Merging
from coterie.relational._merging.contexts import Contexts, read_contexts, rules_with_contexts
from coterie.relational._merging.naive import Decisions, between_records, decide_pairs, pairs_within
from coterie.relational._records import Records, Similar, find_similar, read_records
from coterie.relational._resolver_account import account_of_resolver

_SURE = 0.94  # what attributes alone need, by default, to merge two records
_FIELDS = [(name, "i8" if name in ("left", "right") else "f8") for name in MergeList._fields]
_NAIVE = ("attribute", "naive")


class EntityResolver(ConstrainedClusterMixin, BaseEstimator):
    """Records that mean the same entity, by their attributes and by the records that stand beside them.

    Two people with one name are told apart by whom they write with, and one person under two names is found
    by it. Each merge changes what is known of the records beside it, so one pair is merged at a time, the
    most similar first. How many entities there are is found.

    Parameters
    ----------
    method : {"collective", "attribute", "naive", "attribute-closure", "naive-closure"}, default "collective"
        "collective": as above; relations are counted between entities found so far. "attribute": each pair by
        itself, by its attributes. "naive": also by how well the records beside the two match. With
        "-closure" what follows from the decided pairs is decided, too (`matched_pairs_`).
    columns : dict, optional
        What is compared: ``{column: comparator}`` or ``{column: (comparator, weight)}``, columns by name or
        number; all of them by default. A comparator is "exact", "jaro-winkler", "soft-tfidf", "tokens",
        "person-name", "number", or a function of two values.
    blocking : {"auto", "keys", "sorted", "canopy"}, object or None, default "auto"
        Which records are compared at all; None: all pairs. See `KeyBlocking`, `SortedNeighbourhood`,
        `CanopyBlocking`.
    alpha : float, default 0.5
        What relations count, from 0 to 1: the similarity is ``(1 - alpha) attributes + alpha relations``.
    threshold : float or "auto", default "auto"
        The least similarity of a merge; "auto" is .94 (1 - alpha): attributes alone suffice where they agree
        nearly.
    linkage : {"average", "max", "min"}, default "average"
        What the attributes of two entities agree in, of all their pairs of records.
    bootstrap : {"relational", "exact"} or None, default "relational"
        Which records are one before anything else: those whose attributes agree to `bootstrap_threshold`, and
        for "relational" also those of `bootstrap_k` records beside each.
    bootstrap_threshold, bootstrap_k : float, int, defaults 1.0 and 1
        See `bootstrap`. Where names are shared by many people, raise `bootstrap_k`.
    contexts_apart : bool, default True
        Whether records of one context are different entities, unless all their compared values are equal.
    missing_context : {"zero", "fallback"}, default "zero"
        What relations say of two records that both have none: 0, or nothing (attributes alone count, as they
        are; a threshold must then be given).
    max_context : int, default 1000
        Larger contexts are no evidence; they keep records apart all the same.
    verbose : int, default 0
        1 shows a bar.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The entity of each record, numbered by first occurrence.
    n_clusters_ : int
        How many entities there are.
    threshold_ : float
        The threshold.
    merges_ : structured array
        Merges in order, after the bootstrap: first record of each side (`left`, `right`), `similarity`, and
        its parts `attribute` and `relational`.
    near_merges_ : structured array
        The same of pairs that did not merge: kept apart, or below the threshold; see `why_apart`.
    n_compared_ : int
        How many pairs of different values were compared.
    violations_, n_iter_, converged_
        As everywhere; `n_iter_` counts the merges.
    history_, objective_ : array, float
        One less the similarity of each merge, and that of the last; it may rise and fall.

    See Also
    --------
    ConstrainedLinkage : merges by distances, without contexts.
    CorrelationClustering : entities from `pair_scores_`, or from scores of your own.

    Notes
    -----
    All constraints hold: must-linked records are one before the bootstrap. A must-link wins over a shared
    context, with a warning. A pair that blocking proposes is similar if its attributes agree by more than
    half; of `candidates`, if they agree at all. Distinct values are compared once, and equal records never
    become pairs. A merge costs about the square of the numbers of neighbours; memory is linear in the similar
    pairs of distinct records and in the pairs of records that share a context.

    References
    ----------
    Bhattacharya and Getoor, chapter 10 of Constrained Clustering, and Collective entity resolution in
    relational data, TKDD 2007.

    Examples
    --------
    One A. Ansari is known; so the two Wangs who write with A. Ansari are one, the third is not.

    >>> from coterie import Constraints, EntityResolver
    >>> names = ["W. Wang", "A. Ansari", "C. Chen", "W. W. Wang", "A. Ansari", "W. Wang", "L. Li"]
    >>> papers = [1, 1, 1, 2, 2, 3, 3]
    >>> known = Constraints(must_link=[(1, 4)], n_items=7)
    >>> model = EntityResolver(columns={0: "person-name"}, threshold=0.6)
    >>> model.fit(names, contexts=papers, constraints=known).labels_
    array([0, 1, 2, 0, 1, 3, 4], dtype=int32)
    >>> model.why_apart(0, 5)
    'below the threshold'
    """

    about = About(
        what="finds records that mean one entity, by attributes and shared contexts; all constraints hold",
        when="records of people, households or products, spelt differently, and linked",
        source="Bhattacharya and Getoor, chapter 10",
        measure="given",
    )
    obeys = "all"
    wants: ClassVar[Any] = "records"
    monotone = False
    parameter_rules: ClassVar[Any] = {
        "method": one_of("collective", "attribute", "naive", "attribute-closure", "naive-closure"),
        "columns": anything("a dict of columns"),
        "blocking": anything("a blocking"),
        "alpha": real(0.0, 1.0),
        "threshold": real(0.0, 1.0) | one_of("auto"),
        "linkage": one_of("average", "max", "min"),
        "bootstrap": one_of("relational", "exact", None),
        "bootstrap_threshold": real(0.0, 1.0, above=True),
        "bootstrap_k": whole(1),
        "contexts_apart": one_of(True, False),
        "missing_context": one_of("zero", "fallback"),
        "max_context": whole(1),
        "verbose": whole(0),
    }

    def __init__(
        self,
        method: str = "collective",
        *,
        columns: Any = None,
        blocking: Any = "auto",
        alpha: float = 0.5,
        threshold: Any = "auto",
        linkage: str = "average",
        bootstrap: str | None = "relational",
        bootstrap_threshold: float = 1.0,
        bootstrap_k: int = 1,
        contexts_apart: bool = True,
        missing_context: str = "zero",
        max_context: int = 1000,
        verbose: int = 0,
    ) -> None:
        # scikit-learn reads the names from here
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    @constrained_fit
    def fit(
        self, X: Any, y: Any = None, *, constraints: Any = None, contexts: Any = None, candidates: Any = None
    ) -> Any:
        """Find the entities.

        Parameters
        ----------
        X : data frame, array of strings or numbers, or list of strings
            One row a record; None, NaN and blank strings are missing.
        y : ignored
            Present for the API.
        constraints : Constraints or array of partial labels, optional
            What is known; all of it holds.
        contexts : array, list or sparse matrix, optional
            Which records stand together: one group id a record (None, NaN, -1 or blank: no group), lists of
            row numbers, or a matrix of a row a record and a column a context.
        candidates : array of shape (n_pairs, 2) or matrix of shape (n_samples, n_samples), optional
            The pairs of records to compare, and no others; `blocking` then plays no part.

        Returns
        -------
        self
        """
        records = self._records = read_records(X, self.columns)
        table = X
        if np.ndim(X) == 1:  # a list or a series of strings, which may have an index
            table = X.to_frame() if hasattr(X, "to_frame") else np.asarray(X, dtype=object)[:, None]
        _, known = self._begin_fit(table, constraints, dtype=None, ensure_all_finite=False)
        together = read_contexts(contexts, len(records.row))
        if known:
            self._require_feasible(known, known.n_items, nonempty=False)
        similar = find_similar(records, self.blocking, candidates)
        self.threshold_ = self._least()
        with progress(self, X, max_steps=100, name="part") as starts, starts() as step:
            kinds, evidence = _kinds(records), together.up_to(self.max_context)
            self._problem = self._prepare(similar, together, evidence, known, kinds)
            self._warn_of_scale(evidence)
            made, near = self._problem.run(self.threshold_ - ROUNDING, step)
        self._similar, self._contexts, self._kinds = similar, together, kinds
        self._tree, self._until = made, self.threshold_
        self.merges_, self.near_merges_ = _as_table(made), _as_table(near)
        self.labels_ = _labels(self._problem.bootstrapped, made)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.n_compared_ = similar.n_compared
        self.n_iter_ = len(made.left)
        self.history_ = 1.0 - made.similarity if self.n_iter_ else np.zeros(1)
        self.objective_ = float(self.history_[-1])
        self.converged_ = True
        return self

    # ---- parts of a fit -------------------------------------------------------------------------------

    @property
    def _relations(self) -> float:
        """What relations count; nothing for the methods that look at attributes alone."""
        return 0.0 if self.method.startswith("attribute") else float(self.alpha)

    def _least(self) -> float:
        if self.threshold != "auto":
            return float(self.threshold)
        if self._relations == 1.0:
            raise ParameterError(
                "alpha=1 leaves attributes out, so that nothing says which relations are enough: give a "
                "threshold, or a lesser alpha.",
                *("alpha", "threshold"),
            )
        if self._relations and self.missing_context == "fallback":
            raise ParameterError(
                'missing_context="fallback" takes attributes as they are where there is no context, and '
                f"{1.0 - self._relations:g} times elsewhere: no threshold follows from alpha. Give one.",
                *("missing_context", "threshold"),
            )
        return _SURE * (1.0 - self._relations)

    def _warn_of_scale(self, evidence: Contexts) -> None:
        """Relations that say nothing only make similarities smaller."""
        speak = (np.diff(evidence.begin) > 1).any() or self.missing_context == "fallback"
        if self._relations and not speak and self.threshold != "auto":
            warn_user(
                "no two records share a context that is evidence, so relations say nothing: a similarity is "
                f"{1.0 - self._relations:g} times that of the attributes. Give contexts, or "
                'threshold="auto".',
                UserWarning,
            )

    def _prepare(
        self, similar: Similar, contexts: Contexts, evidence: Contexts, known: Constraints, kinds: Index
    ) -> Merging | Decisions:
        """What is to be merged: everything but the merges, and the comparisons, which were made."""
        rules = rules_with_contexts(known, contexts if self.contexts_apart else None, kinds)
        collective = self.method == "collective"
        if self._relations or (collective and self.bootstrap == "relational"):
            beside = evidence.neighbours()
        else:
            beside = sparse.csr_matrix((len(kinds),) * 2, dtype=bool)
        if self.method.startswith("naive"):
            return decide_pairs(similar, evidence, beside, rules, self._relations, self.missing_context)
        if collective and self.bootstrap is not None:
            n_matches = self.bootstrap_k if self.bootstrap == "relational" else 0
            words = {"threshold": self.bootstrap_threshold, "n_matches": n_matches}
            cluster, n_clusters = bootstrap(similar, rules, beside, **words)
        else:
            first = np.unique(rules.unit, return_index=True)[1]
            cluster, n_clusters = np.argsort(np.argsort(first)), len(first)
        linkage = self.linkage if collective else "max"
        return Merging(
            similar, rules, cluster, n_clusters, beside, self._relations, linkage, self.missing_context
        )

    # ---- what was found -------------------------------------------------------------------------------

    def labels_at(self, threshold: float) -> Labels:
        """The labels of a fit with another threshold, without comparing anything again.

        Parameters
        ----------
        threshold : float
            From `threshold_` on it costs nothing; below, the merges are made again.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        if not real().holds(threshold):
            raise ParameterError(f"threshold must be a finite number; got {threshold!r}.", "threshold")
        if threshold < self._until:
            self._tree = self._problem.run(threshold - ROUNDING, lambda *_: False)[0]
            self._until = threshold
        some = self._tree.until(threshold - ROUNDING)
        return _labels(self._problem.bootstrapped, self._tree.only(slice(some)))

    @property
    def pair_scores_(self) -> Any:
        """Scores of similar pairs of records, as a symmetric CSR matrix, made when asked for.

        Attributes alone, but with "naive" relations, too. Zero: not compared, or not similar.
        """
        check_is_fitted(self)
        if not isinstance(self._problem, Decisions):
            return between_records(self._similar)
        found, n = self._problem, len(self.labels_)
        half = sparse.coo_matrix((found.score, (found.i, found.j)), shape=(n, n))
        return (half + half.T).tocsr()

    @property
    def matched_pairs_(self) -> Index:
        """Pairs of records that are the same, one a row, made when asked for.

        With "attribute" and "naive" the pairs decided for, and nothing that follows from them; else all pairs
        of one entity.
        """
        check_is_fitted(self)
        if self.method in _NAIVE:
            decided = self._decisions().decided(self.threshold_ - ROUNDING)
            return np.unique(np.concatenate([decided, pairs_within(self._problem.rules.unit)]), axis=0)
        return pairs_within(self.labels_)

    def _decisions(self) -> Decisions:
        if isinstance(self._problem, Decisions):
            return self._problem
        problem = self._problem
        return decide_pairs(self._similar, self._contexts, problem.beside, problem.rules, 0.0, "zero")

    def why_apart(self, left: int, right: int) -> str:
        """Why two records are different entities, in a sentence.

        Parameters
        ----------
        left, right : int
            Two rows.

        Returns
        -------
        str
        """
        check_is_fitted(self)
        last = len(self.labels_) - 1
        for name, row in (("left", left), ("right", right)):
            if not whole(0, last).holds(row):
                raise ParameterError(f"{name} must be a row number from 0 to {last}; got {row!r}.", name)
        a, b = int(self.labels_[left]), int(self.labels_[right])
        if a == b:
            return "they are one entity"
        one, other = (np.flatnonzero(self.labels_ == label) for label in (a, b))
        if self.contexts_apart:
            of, record = self._contexts.of, self._contexts.record
            for h in np.intersect1d(of[np.isin(record, one)], of[np.isin(record, other)]).tolist():
                here = record[of == h]
                mine, yours = here[np.isin(here, one)], here[np.isin(here, other)]
                if len(np.unique(self._kinds[np.concatenate([mine, yours])])) > 1:
                    return f"both in context {self._contexts.names[h]!r}"
        joined = np.where(self.labels_ == b, a, self.labels_)
        for kind, items, *_ in self.constraints_.violations(joined).first_rows():
            return f"{kind} {items.partition(':')[0]}"
        mine, yours = (
            np.isin(np.arange(self._similar.n_groups), self._similar.group[rows]) for rows in (one, other)
        )
        ends = self._similar.left, self._similar.right
        compared = (mine[ends[0]] & yours[ends[1]]) | (mine[ends[1]] & yours[ends[0]])
        close = compared.any() or (mine & yours & self._similar.alike).any()
        return "below the threshold" if close else "not compared, or not alike"

    def resolve_around(
        self,
        X: Any,
        rows: Any,
        level: int = 1,
        *,
        constraints: Any = None,
        contexts: Any = None,
        candidates: Any = None,
    ) -> Neighbourhood:
        """Resolve some records only, looking no further than a few steps around them; no fit is needed.

        Parameters
        ----------
        X, constraints, contexts, candidates
            As in `fit`.
        rows : array of int
            The records that are asked about.
        level : int, default 1
            How far to look: a step goes to the records beside those found so far, and to those similar to
            these.

        Returns
        -------
        Neighbourhood
            `rows` (those asked about and those similar to them), their `labels`, and `n_records` looked at.
        """
        check_parameters(self)
        if not whole(0).holds(level):
            raise ParameterError(f"level must be a whole number of at least 0; got {level!r}.", "level")
        records = read_records(X, self.columns)
        n = len(records.row)
        asked = np.unique(np.atleast_1d(np.asarray(rows)))
        if not len(asked) or asked.dtype.kind not in "iu" or asked[0] < 0 or asked[-1] >= n:
            raise ParameterError(f"rows must be row numbers from 0 to {n - 1}; got {rows!r}.", "rows")
        known, together = as_constraints(constraints, n, like=X), read_contexts(contexts, n)
        if known:
            self._require_feasible(known, n, nonempty=False)
        evidence = together.up_to(self.max_context)
        proposed = Proposed(records, self.blocking, candidates)
        component = np.asarray(known.components)
        first, around = neighbourhood(proposed, evidence, component, asked.astype(np.int64), level)
        near = together.among(around), evidence.among(around)
        problem = self._prepare(proposed.among(around), *near, known[around], _kinds(records)[around])
        made, _ = problem.run(self._least() - ROUNDING, lambda *_: False)
        labels = _labels(problem.bootstrapped, made)[np.searchsorted(around, first)]
        looked = proposed.looked[proposed.group]
        looked[around] = True
        return Neighbourhood(
            first, by_first_occurrence(labels).astype(np.int32), int(looked.sum()), proposed.n_compared
        )

    def account(self) -> Account:
        """What was merged and what was not; see `ConstrainedClusterMixin.account`."""
        return account_of_resolver(self, super().account())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags


def _kinds(records: Records) -> Index:
    """Numbers that are equal for records with equal values; blank records are equal to nobody."""
    n = len(records.row)
    return np.where(records.blank[records.row], len(records.first) + np.arange(n), records.row)


def _labels(start: Index, made: MergeList) -> Labels:
    """Labels after merges, numbered by first occurrence; a merge names the first record of each side."""
    first = np.unique(start, return_index=True)[1]
    into = np.arange(len(start))
    into[made.right] = made.left
    while True:
        further = into[into]
        if (further == into).all():
            return by_first_occurrence(into[first][start]).astype(np.int32)
        into = further


def _as_table(merges: MergeList) -> Any:
    """Merges as users read them: similarities are kept as binary fractions, .96 as .9599999999627471."""
    table = np.empty(len(merges.left), dtype=_FIELDS)
    for name, values in merges._asdict().items():
        table[name] = np.round(values, 8)
    return table
