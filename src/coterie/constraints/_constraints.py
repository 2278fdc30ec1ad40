"""`Constraints`: one immutable value that says everything known about pairs and labels of n items.

Constraints are stored as they were made (pairs as pairs, groups as groups); components, the contracted graph,
feasibility and explanations are worked out from them on demand and kept. The work is in the neighbouring
modules; this one is the surface.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie._notebook import as_html
from coterie._words import count_of
from coterie.constraints._feasible import feasible as _feasible
from coterie.constraints._model import algebra as _algebra
from coterie.constraints._model import violations as _broken
from coterie.constraints._model.closure import Contracted, contract, find_components
from coterie.constraints._model.statements import (
    CANNOT_LINK,
    GROUP_KINDS,
    MUST_LINK,
    Group,
    IntArray,
    Pairs,
    find_rows,
    frozen,
)
from coterie.constraints._reading import build as _build
from coterie.constraints._reading.buildable import Buildable
from coterie.constraints._reading.files import write_file
from coterie.constraints._reading.frames import build_frame
from coterie.constraints._reading.inputs import Ids, first_three, infer_n_items, read_pairs, whole_number

if TYPE_CHECKING:
    from coterie.constraints._feasible.explain import Explanation

DEFAULT_BUDGET = 1_000_000


class Constraints(Buildable):
    """What is known about pairs and labels of n items; immutable.

    Parameters
    ----------
    must_link, cannot_link : sequence of pairs or array of shape (m, 2), optional
        Items that belong together, and items that do not. Row numbers from 0, or ids where `ids` is given.
    n_items : int, optional
        Number of items. By default the number of ids, else one more than the largest item named.
    weight : float or array, default 1
        Strength of each pair, finite and not negative; a soft pair of weight 0 is kept without effect. This
        and the next three take one value for all pairs or one per pair, the must-links' first.
    confidence : float or array, optional
        Probability that the constraint is true, above 0.5 and at most 1.
    hard : bool or array, default False
        Whether soft methods must obey the pair too. (Hard methods obey every pair.)
    source : str or sequence of str, optional
        Who or what said it.
    ids : sequence, optional
        Your own name for each item, in row order; messages and tables use them, and a data frame whose index
        holds them is matched by them, whatever its order.

    Notes
    -----
    Pairs are kept as i < j, sorted. Duplicates add up: weights sum, confidences sum as
    log-odds, hard wins. A must-link of an item with itself is dropped; a cannot-link of an item with itself
    is an error. Sources and ids are remarks: `==` and `hash` look at the constraints alone.

    Examples
    --------
    >>> from coterie import Constraints
    >>> c = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(2, 3)], n_items=5)
    >>> c
    Constraints(5 items: 2 must-links (0-1, 1-2), 1 cannot-link (2-3))
    >>> c.components
    array([0, 0, 0, 1, 2])
    >>> bool(c.check(n_clusters=1)), bool(c.check(n_clusters=2))
    (False, True)
    >>> print((c | Constraints(cannot_link=[(0, 2)], n_items=5)).explain())
    0 must join 2 (0-1-2), yet 0 and 2 are cannot-linked.
    Drop any one of: must-link 0-1, must-link 1-2, cannot-link 0-2.
    Cheapest way out: drop 1 pair: cannot-link 0-2 (weight 1). The rest can be met.
    """

    # ---- what it says ---------------------------------------------------------------------------------

    @property
    def n_pairs(self) -> int:
        """Number of stated pairs; groups are not counted."""
        return self._must.n + self._cannot.n

    @property
    def must_link(self) -> IntArray:
        """The must-links, shape (m, 2), i < j, sorted."""
        return self._must.ij

    @property
    def cannot_link(self) -> IntArray:
        """The cannot-links, shape (m, 2), i < j, sorted."""
        return self._cannot.ij

    @property
    def must_table(self) -> Pairs:
        """The must-links with weight, confidence, hardness and source."""
        return self._must

    @property
    def cannot_table(self) -> Pairs:
        """The cannot-links with weight, confidence, hardness and source."""
        return self._cannot

    @property
    def _tables(self) -> tuple[tuple[str, Pairs], tuple[str, Pairs]]:
        return (MUST_LINK, self._must), (CANNOT_LINK, self._cannot)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is legal, but perhaps not meant: pairs that were stated more than once as the same kind."""
        again = [(kind, table.take(table.times > 1)) for kind, table in self._tables]
        named = [
            f"{kind} {self.item_name(i)}-{self.item_name(j)} ({times} times)"
            for kind, table in again
            for (i, j), times in zip(table.ij[:4].tolist(), table.times[:4].tolist(), strict=True)
        ]
        n = sum(table.n for _, table in again)
        are = f"{n:,} {'pair is' if n == 1 else 'pairs are'} stated more than once"
        return (f"{are}: {first_three(named)}. Their weights add up.",) if n else ()

    @property
    def groups(self) -> tuple[Group, ...]:
        """The label, distinct and across constraints."""
        return self._groups

    @property
    def kinds(self) -> frozenset[str]:
        """Which kinds of constraint occur."""
        pairs = {kind for kind, table in self._tables if table.n}
        return frozenset(pairs | {group.kind for group in self._groups})

    @cached_property
    def constrained_items(self) -> IntArray:
        """The items that any constraint names, sorted."""
        named = [self._must.ij.ravel(), self._cannot.ij.ravel(), *(group.items for group in self._groups)]
        if sum(map(len, named)) < self._n_items // 20:
            return frozen(np.unique(np.concatenate(named)))
        seen = np.zeros(self._n_items, dtype=bool)
        for items in named:
            seen[items] = True
        return frozen(np.flatnonzero(seen))

    @cached_property
    def components(self) -> IntArray:
        """Component of each item under must-links and equal labels, numbered by first appearance."""
        return frozen(find_components(self._n_items, self._must, self._groups))

    @cached_property
    def contracted(self) -> Contracted:
        """The cannot-links and groups between components; never written out pair by pair."""
        return contract(self.components, self._cannot, self._groups)

    def __bool__(self) -> bool:
        """Whether anything is stated."""
        return bool(self.kinds)

    def __repr__(self) -> str:
        phrases = []
        for kind, table in self._tables:
            if table.n:
                hard = f", {int(table.hard.sum()):,} hard" if table.hard.any() else ""
                first = [f"{self.item_name(i)}-{self.item_name(j)}" for i, j in table.ij[:4].tolist()]
                phrases.append(f"{count_of(table.n, kind)}{hard} ({first_three(first)})")
        for kind in GROUP_KINDS:
            groups = [group for group in self._groups if group.kind == kind]
            if len(groups) > 2:
                phrases.append(f"{len(groups):,} sets of {kind} constraints")
                continue
            for group in groups:
                n, codes = len(group.items), group.n_codes
                phrase_of = {
                    "label": f"{n:,} labelled in {codes:,} {'class' if codes == 1 else 'classes'}",
                    "distinct": f"{n:,} in {count_of(codes, 'distinct group')}",
                    "across": f"{n:,} across {count_of(codes, 'group')}",
                }
                stated = zip(group.items[:4].tolist(), group.codes[:4].tolist(), strict=True)
                first = [f"{self.item_name(item)}: {group.names[code]}" for item, code in stated]
                phrases.append(f"{phrase_of[group.kind]} ({first_three(first)})")
        return f"Constraints({count_of(self._n_items, 'item')}: {', '.join(phrases) or 'nothing known'})"

    def _repr_html_(self) -> str:
        rows = [row for table in self._tables for row in _broken.pair_rows(*table, self._ids)]
        return as_html("\n".join([repr(self), *self.remarks]), [_broken.HEAD, *rows] if rows else ())

    # ---- what follows from it -------------------------------------------------------------------------

    def check(
        self, n_clusters: int, *, nonempty: bool = False, budget: int = DEFAULT_BUDGET
    ) -> _feasible.Feasibility:
        """Can all constraints be met with at most `n_clusters` clusters?

        Parameters
        ----------
        n_clusters : int
            Number of clusters.
        nonempty : bool
            Whether all of them must be used.
        budget : int
            Steps that the exact search may take on what the fast steps leave open.

        Returns
        -------
        Feasibility
            `status` is "feasible" (with a labelling as `witness`), "infeasible" (with a `certificate`) or
            "undecided". Its `bool()` raises when undecided.
        """
        asked = (whole_number(n_clusters, "n_clusters", 1), bool(nonempty), whole_number(budget, "budget", 0))
        last: Any = self.__dict__.get("_last_check")  # a fit asks the same question more than once
        if last is None or last[0] != asked:
            found = _feasible.check(self, asked[0], nonempty=asked[1], budget=asked[2])
            last = asked, replace(found, remarks=self.remarks)
            self.__dict__["_last_check"] = last
        return last[1]

    def explain(self, n_clusters: int | None = None, *, budget: int = DEFAULT_BUDGET) -> Explanation:
        """Say which constraints collide and what can be dropped; `print` the answer.

        Without `n_clusters`, only contradictions that hold for any number of clusters are looked for.
        """
        k = None if n_clusters is None else whole_number(n_clusters, "n_clusters", 1)
        from coterie.constraints._feasible.explain import explain

        return explain(self, k, budget=whole_number(budget, "budget", 0))

    def violations(self, labels: Any) -> _broken.Violations:
        """Which constraints a labelling breaks (-1: in no cluster); false if none, prints as a table."""
        return _broken.find_violations(self, labels)

    def informativeness(self, labels: Any) -> float:
        """Share of the stated pairs that an unconstrained labelling breaks; NaN if there are none."""
        from coterie.constraints._model.diagnose import informativeness

        return informativeness(self, labels)

    def coherence(self, X: Any, *, max_products: int = 10_000_000, random_state: Any = 0) -> float:
        """Share of (must-link, cannot-link) pairs that do not pull against each other.

        Two pull against each other if one, projected on the line of the other, overlaps it (Davidson,
        Wagstaff and Basu 2006). Stated pairs only; NaN without both kinds. In many dimensions nearly all
        overlap: compare sets on the same data. Above `max_products` a random part of each kind is used.
        """
        from coterie.constraints._model.diagnose import coherence

        return coherence(self, X, max_products, random_state)

    def closure(self, max_pairs: int = 10_000_000) -> Constraints:
        """All pairs that follow, written out; refused above `max_pairs`, since this is quadratic."""
        from coterie.constraints._model.explicit import closure

        return closure(self, max_pairs)

    # ---- other constraints out of it ------------------------------------------------------------------

    def __getitem__(self, rows: Any) -> Constraints:
        """The constraints among the given rows (numbers, mask or slice), renumbered."""
        return _algebra.take_rows(self, rows)

    def __or__(self, other: Any) -> Constraints:
        """Both: duplicates keep the stronger weight (idempotent), hard wins."""
        return _algebra.combine(self, other, "max") if isinstance(other, Constraints) else NotImplemented

    def __add__(self, other: Any) -> Constraints:
        """Both: the evidence of duplicates adds up, hard wins."""
        return _algebra.combine(self, other, "sum") if isinstance(other, Constraints) else NotImplemented

    def split(
        self, n_folds: int = 5, *, random_state: Any = None
    ) -> Iterator[tuple[Constraints, Constraints]]:
        """Hold out pairs: yields (kept, held out) for each fold.

        Held-out pairs that the kept ones entail are left out, since predicting them proves nothing. Groups
        stay in the kept part.
        """
        return _algebra.split(self, n_folds, random_state)

    def drop(
        self,
        other: Constraints | None = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        source: str | None = None,
    ) -> Constraints:
        """Leave out the constraints of another `Constraints`, the pairs listed, or all of a source.

        A constraint that several sources made is kept when one of them is dropped.
        """
        if other is not None:
            if not isinstance(other, Constraints):
                raise TypeError(f"drop takes a Constraints, or must_link= and cannot_link=; got {other!r}.")
            _algebra.check_same_items(self, other)
        if source is not None and source not in self._sources():
            raise ValueError(f"nothing was stated by source {source!r}; there are {sorted(self._sources())}.")
        tables = []
        also = (None, None) if other is None else (other.must_link, other.cannot_link)
        for (name, table), pairs, others in zip(self._tables, (must_link, cannot_link), also, strict=True):
            listed = [read_pairs(pairs, name, self._ids), read_pairs(others, name, None)]
            wanted = np.sort(np.concatenate(listed), axis=1)
            rows = find_rows(table, wanted)
            if (rows < 0).any():
                i, j = (self.item_name(item) for item in wanted[np.argmin(rows)].tolist())
                raise ValueError(f"there is no {name} {i}-{j} to drop.")
            keep = np.ones(table.n, dtype=bool)
            keep[rows] = False
            if source is not None:
                keep &= np.array([own_source != source for own_source in table.source_names()], dtype=bool)
            tables.append(table.take(keep))
        unwanted = set() if other is None else {group.digest for group in other.groups}
        absent = unwanted - {group.digest for group in self._groups}
        if absent:
            raise ValueError(
                "a group to be dropped is not there; groups are dropped whole, as they were stated."
            )
        groups = [
            g for g in self._groups if g.digest not in unwanted and (source is None or g.source != source)
        ]
        return self._from_parts(self._n_items, tables[0], tables[1], groups, self._ids)

    def _sources(self) -> set[str]:
        return {*self._must.sources, *self._cannot.sources, *(g.source for g in self._groups if g.source)}

    def only_hard(self) -> Constraints:
        """The hard constraints alone."""
        must, cannot = (table.take(table.hard) for table in (self._must, self._cannot))
        groups = [group for group in self._groups if group.weight is None]
        return self._from_parts(self._n_items, must, cannot, groups, self._ids)

    def with_ids(self, ids: Any) -> Constraints:
        """The same constraints, with your own name for each item."""
        names = Ids(ids)
        infer_n_items(self._n_items, names)
        return self._from_parts(self._n_items, self._must, self._cannot, self._groups, names)

    # ---- out of the program ---------------------------------------------------------------------------

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame that `from_frame` reads; `library` is "pandas", "polars" or "pyarrow"."""
        return build_frame(self._columns(), library)

    def write(self, path: Any) -> None:
        """Write a file that `read` reads: .csv, .json (with ids and number of items) or .parquet."""
        write_file(path, self._columns(), self._ids, self._n_items)

    def _columns(self) -> dict[str, list[Any]]:
        return _build.to_columns(self._must, self._cannot, self._groups, self._ids)

    @cached_property
    def _digest(self) -> bytes:
        digest = hashlib.sha256(str(self._n_items).encode())
        for table in (self._must, self._cannot):
            for column in (table.ij, table.weight, table.confidence, table.hard):
                digest.update(str(column.shape).encode() + column.tobytes())
        for group in self._groups:
            digest.update(group.digest + repr(group.weight).encode())
        return digest.digest()

    def __eq__(self, other: object) -> bool:
        return self._digest == other._digest if isinstance(other, Constraints) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._digest)


def as_constraints(
    value: Any, n_items: int, *, counted: str = "X has {} rows", like: Any = None
) -> Constraints:
    """Turn what a method was given into `Constraints` on `n_items` items.

    None says nothing; a vector is read as partial labels (-1: unknown); a bare list of pairs is refused,
    since a fold of a cross-validation would link the wrong rows. `counted` says in a complaint what has
    `n_items` items. `like` is what has these items as its rows: where its index names them, and the
    constraints have ids, they are put in its order; names that do not match are refused.
    """
    if value is None:
        return Constraints(n_items=n_items)
    if not isinstance(value, Constraints):
        if np.ndim(value) != 1 or isinstance(value, str):
            raise TypeError(
                "constraints must be a Constraints or one partial label per row (-1: unknown); got "
                f"{type(value).__name__}. Build one with "
                f"Constraints(must_link, cannot_link, n_items={n_items})."
            )
        value = Constraints.from_labels(value)
    value = value.in_order_of(like, counted.split()[0])
    if value.n_items != n_items:
        raise ValueError(
            f"the constraints speak of {value.n_items} items, but {counted.format(n_items)}. Give the "
            "number with n_items=, or pass constraints[rows] along with X[rows]."
        )
    return value
