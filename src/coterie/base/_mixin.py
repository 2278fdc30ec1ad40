"""What every estimator shares that takes constraints; a clusterer also recounts them after the fit.

A clusterer lists its parameters' rules and the kinds of constraint it takes, and decorates its `fit`:

    class MyKMeans(ConstrainedClusterMixin, BaseEstimator):
        parameter_rules = {"n_clusters": whole(1)}
        obeys = "all"

        @constrained_fit
        def fit(self, X, y=None, *, constraints=None):
            X, known = self._begin_fit(X, constraints, n_clusters=self.n_clusters)
            ...
            self.labels_ = ...
            return self

The decorator checks the parameters first, runs callbacks, and afterwards counts all constraints against
`labels_` into `violations_`, so that no class can forget to report; `constraints_` keeps what was known.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import validate_data

from coterie.base._about import About
from coterie.base._account import Account, read_account
from coterie.base._parameters import Rule, check_parameters
from coterie.base._progress import CallbackSupportMixin, with_callbacks
from coterie.base._same_rows import mark_rows
from coterie.base._warn import warn_user
from coterie.constraints import ALL_KINDS, Constraints, Violations, as_constraints
from coterie.exceptions import (
    InfeasibleConstraintsError,
    ParameterError,
    UnsupportedConstraintError,
    ViolatedConstraintsWarning,
)

__all__ = [
    "CHECKS_OF_DISTANCES",
    "CHECKS_OF_ROWS",
    "ConstrainedClusterMixin",
    "TakesConstraints",
    "constrained_fit",
]

# How X is checked, as `validate_data` of scikit-learn takes it: a table of distances, or rows of features.
CHECKS_OF_DISTANCES: dict[str, Any] = {"dtype": [np.float64, np.float32]}
CHECKS_OF_ROWS: dict[str, Any] = {**CHECKS_OF_DISTANCES, "accept_sparse": "csr", "order": "C"}

Fit = TypeVar("Fit", bound=Callable[..., Any])


def constrained_fit(method: Fit) -> Fit:
    """Wrap the `fit` of a constrained clusterer; see the module's first paragraphs."""
    with_progress = with_callbacks(method)

    @functools.wraps(method)
    def fit(self: Any, X: Any, y: Any = None, **kwargs: Any) -> Any:
        if "_fitting" in self.__dict__:  # called by the fit of a subclass, which does the rest
            return method(self, X, y, **kwargs)
        check_parameters(self)
        self._fitting = True
        try:
            with_progress(self, X, y, **kwargs)
            if "_known" not in self.__dict__:
                raise RuntimeError(f"fit of {type(self).__name__} must call self._begin_fit(X, constraints).")
            self.constraints_ = self._known
            self.violations_ = self._recount(self._known)
        finally:
            self.__dict__.pop("_fitting", None)
            self.__dict__.pop("_known", None)
        self._report(self.violations_)
        return self

    return fit  # type: ignore[return-value]


class TakesConstraints:
    """What clusterers and learned distances share: rules for parameters, and reading X with its constraints.

    Attributes
    ----------
    about : About
        What the method is for, in words: for the registry, the README and the report.
    parameter_rules : dict
        A rule for each parameter of the constructor.
    constraint_kinds : frozenset of str
        The kinds of constraint that the method makes use of.
    exempt : dict of str
        Checks of `coterie.testing` that theory does not allow the class to pass, each with the reason.
    """

    about: ClassVar[About | None] = None
    parameter_rules: ClassVar[Mapping[str, Rule]] = {}
    constraint_kinds: ClassVar[frozenset[str]] = ALL_KINDS
    exempt: ClassVar[Mapping[str, str]] = {}

    # every class asks for `constraints` in `fit`, so that pipelines and searches pass them on
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"constraints": True}

    def _read_rows(self, X: Any, constraints: Any, **checks: Any) -> tuple[Any, Constraints]:
        """Check X (keywords as in `validate_data` of scikit-learn) and what is known about its rows.

        Where X has an index and the constraints have ids they are matched by name: pass X as it was given.
        """
        given, X = X, validate_data(self, X, **checks)
        return X, as_constraints(constraints, X.shape[0], like=given)

    def _forget(self) -> None:
        """Leave nothing of an earlier fit but the form of X."""
        for name in vars(self).keys() - {"n_features_in_", "feature_names_in_"}:
            if name.endswith("_"):
                delattr(self, name)

    def _refuse_other_kinds(self, known: Constraints) -> None:
        refused = known.kinds - self.constraint_kinds
        if refused:
            raise UnsupportedConstraintError(
                f"{type(self).__name__} cannot honour constraints of kind {', '.join(sorted(refused))}; "
                f"it takes {', '.join(sorted(self.constraint_kinds)) or 'none'}."
            )

    def _warn_of_outvoted(self, broken: Violations, more: str = "") -> None:
        """Warn once of constraints that the outcome breaks; `more` is told at the end."""
        if broken.n_broken:
            some = ", ".join(f"{kind} {items}" for kind, items, *_ in broken.first_rows()[:3])
            warn_user(
                f"{broken.n_broken:,} of {broken.n_stated:,} constraints were outvoted, e.g. {some}; "
                f"see violations_.{more}",
                ViolatedConstraintsWarning,
            )


class ConstrainedClusterMixin(TakesConstraints, CallbackSupportMixin, ClusterMixin):
    """Mixin of every constrained clusterer; stands left of `BaseEstimator`.

    It refuses constraints of other kinds than `constraint_kinds` by name.

    Attributes
    ----------
    obeys : {"all", "hard", "none"}
        Whether every constraint holds in the outcome (a hard method), the hard ones only (a soft one), or
        none: the constraints guide what `about.guides` says, such as the start. They may then contradict
        each other, and what the outcome breaks is reported with a warning, hard or not.
    wants : {"rows", "weights", "graph", "labels", "records"}
        What X holds: rows of features, weights of pairs (n by n), a graph, a clustering of the items in each
        column, or records (strings and numbers). The registry offers a method only where there is what it
        wants.
    scale_invariant : bool
        Whether the labels stay the same under x -> a x + b; if not, the docstring says why.
    monotone : bool
        Whether `history_` never rises; if not, the docstring says why.
    works_on_pairs : bool
        Whether the method holds all pairs of items, so that large data are out of its reach.
    """

    obeys: ClassVar[Literal["all", "hard", "none"]] = "hard"
    wants: ClassVar[Literal["rows", "weights", "graph", "labels", "records"]] = "rows"
    scale_invariant: ClassVar[bool] = True
    monotone: ClassVar[bool] = True
    works_on_pairs: ClassVar[bool] = False

    labels_: Any
    constraints_: Constraints
    violations_: Violations
    _known: Constraints

    def _begin_fit(
        self,
        X: Any,
        constraints: Any,
        *,
        n_clusters: int | None = None,
        word: str = "n_clusters",
        **checks: Any,
    ) -> tuple[Any, Constraints]:
        """Read X and its constraints, and refuse kinds that the class does not take.

        With `n_clusters` it also raises when the constraints that the class obeys cannot be met; `word` is
        what the class calls it.
        """
        X, known = self._read_rows(X, constraints, **checks)
        self._refuse_other_kinds(known)
        if n_clusters is not None:
            if n_clusters > X.shape[0]:
                raise ParameterError(f"{word}={n_clusters}, but X has n_samples={X.shape[0]} rows.", word)
            self._require_feasible(known, n_clusters)
        self._known, self._row_marks = known, mark_rows(X)
        return X, known

    def _require_feasible(self, known: Constraints, n_clusters: int, nonempty: bool = True) -> None:
        if self.obeys == "none":
            return
        obeyed = known if self.obeys == "all" else known.only_hard()
        if not obeyed:
            return
        # the budget of the class where it has one, so that its solver finds the answer kept
        budget = {"budget": self.budget} if hasattr(self, "budget") else {}
        answer = obeyed.check(n_clusters, nonempty=nonempty, **budget)
        if answer.certificate is not None:
            message = f"{answer.certificate} {answer.certificate.what_to_drop()}"
            raise InfeasibleConstraintsError(message, answer.certificate)

    def account(self) -> Account:
        """What the report, the command line and `compare` know of this fit; a family replaces what differs.

        Returns
        -------
        Account
            What was measured and what a broken constraint costs, the trace, sections of its own.
        """
        return read_account(self)

    def report(self, X: Any, path: Any, **words: Any) -> Any:
        """Write what came out as a page (HTML, one file, pictures within).

        Parameters
        ----------
        X : array, sparse matrix or data frame
            The rows of the fit.
        path : path
            The file to write; it ends in .html.
        **words
            `ids`, `features`, `title` and others: see `coterie.report.write_report`.

        Returns
        -------
        Path
            The file.
        """
        from coterie.report import write_report

        return write_report(path, self, X, **words)

    def _recount(self, known: Constraints) -> Violations:
        """What `labels_` break."""
        return known.violations(self.labels_)

    def _report(self, broken: Violations) -> None:
        """Warn once of what was outvoted; a broken promise is an error of ours, and says so."""
        promised = {"all": broken.n_broken, "hard": broken.n_hard, "none": 0}[self.obeys]
        if promised:
            raise RuntimeError(
                f"{type(self).__name__} broke constraints that it promises to obey; please report this. "
                f"{broken}"
            )
        self._warn_of_outvoted(broken)
