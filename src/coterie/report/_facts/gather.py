"""Everything that the page says, in numbers and words, before it becomes a page."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from coterie._words import count_of
from coterie.base import Account, account_of, check_sample_weight
from coterie.constraints import Constraints, as_constraints
from coterie.report._facts.cards import Card, largest_clusters, make_cards
from coterie.report._facts.doubt import CertaintyFacts, read_certainty
from coterie.report._facts.drawn_links import DrawnLinks, choose_lines
from coterie.report._facts.map import Map, draw_map
from coterie.report._facts.outcomes import Outcomes
from coterie.report._facts.rows import Floats, Ints, Rows, distance_function, nearness
from coterie.report._facts.sizes import SizeFacts, read_sizes
from coterie.report._facts.statements import StatementFacts, list_statements
from coterie.report._facts.traits import find_traits, read_columns, weighed_features
from coterie.report._facts.without import Comparison, compare_with, plain_labels
from coterie.report._page.numbers import value_of


@dataclass(frozen=True)
class Made:
    """How the page came about."""

    title: str
    method: str
    parameters: dict[str, str]
    versions: dict[str, str]
    command: str | None
    notes: Sequence[str]
    date: str
    seconds: float | None


@dataclass(frozen=True)
class Facts:
    """What the page says; see the modules that make the parts."""

    account: Account
    made: Made
    verdict: str
    all_well: bool
    n_items: int
    n_clusters: int
    n_features: int
    labels: Ints
    counts: Ints
    n_stated: int
    n_broken: int
    names: Callable[[int], str]
    map: Map
    lines: DrawnLinks
    cards: tuple[Card, ...]
    weighed: tuple[tuple[str, float], ...]
    sizes: SizeFacts
    certainty: CertaintyFacts | None
    statements: StatementFacts
    comparison: Comparison | None
    left_out: str | None


def gather(
    model: Any,
    X: Any,
    *,
    constraints: Any = None,
    ids: Any = None,
    features: Any = None,
    coordinates: Any = None,
    coordinate_names: Sequence[str] | None = None,
    plain: Any = "auto",
    chosen_k: Any = None,
    sample_weight: Any = None,
    size_weight: Any = None,
    groups: Any = None,
    seed: int = 0,
    **message: Any,
) -> Facts:
    """Work out what the page says; parameters as in `write_report`, `message` are those of `_made`."""
    rows, account = Rows(X), account_of(model)
    if chosen_k is not None:
        account = replace(account, sections=(chosen_k.section(), *account.sections))
    labels = np.asarray(model.labels_).astype(np.int64)
    if len(labels) != rows.n:
        raise ValueError(
            f"X has {rows.n} rows, but the model was fitted on {len(labels)}; pass the rows of the fit."
        )
    known = as_constraints(account.known if constraints is None else constraints, rows.n)
    names = _names(known.ids if ids is None else ids, rows.n)
    k = account.n_clusters
    counts = np.bincount(labels[labels >= 0], minlength=k)
    weight = check_sample_weight(sample_weight, rows.values)

    distances = distance_function(account, rows, labels)
    near = nearness(distances, rows, labels, k)
    # where nothing is known both clusterings are the same
    to_compare = plain is not None and (bool(known) or account.bounds is not None)
    without = _plain(plain, model, X, known, weight) if to_compare else None
    outcomes = Outcomes(account, known, labels, distances, without, weight, names)
    sizes = read_sizes(account, labels, counts, size_weight)
    lines = choose_lines(outcomes, seed)
    precomputed = account.metric == "precomputed"
    cards_of = largest_clusters(counts)
    columns = () if precomputed else read_columns(features, rows, account.features)
    traits = {} if precomputed else find_traits(rows, labels, cards_of, columns)
    violations = outcomes.violations
    certainty = read_certainty(account, labels, names)
    comparison = None
    if without is not None:

        def spread(some: Ints) -> float | None:
            known_cost = account.cost is not None and not outcomes.lacks_weight
            return account.cost(rows.values, some, weight) if known_cost else None  # type: ignore[misc]

        comparison = compare_with(without, labels, known, k, spread)
    more = account.asked is not None and k > account.asked
    return Facts(
        account=account,
        made=_made(model, k, **message),
        verdict=_verdict(rows.n, k, account.asked if more else None, sizes, outcomes),
        all_well=not violations.n_broken and not sizes.missed and not more,
        n_items=rows.n,
        n_clusters=k,
        n_features=rows.d,
        labels=labels,
        counts=counts,
        n_stated=violations.n_stated,
        n_broken=violations.n_broken,
        names=names,
        map=draw_map(
            rows,
            coordinates=coordinates,
            coordinate_names=coordinate_names,
            precomputed=precomputed,
            wanted=lines.items,
            named=known.constrained_items,
            seed=seed,
        ),
        lines=lines,
        cards=make_cards(
            labels, counts, cards_of, traits, near, outcomes, sizes, _reach(account.graph, labels), certainty
        ),
        weighed=() if precomputed else weighed_features(account.feature_weights, rows, columns),
        sizes=sizes,
        certainty=certainty,
        statements=list_statements(outcomes),
        comparison=comparison,
        left_out=_left_out(comparison) if outcomes.lacks_weight and to_compare else None,
    )


def _names(ids: Any, n: int) -> Callable[[int], str]:
    """What the user calls an item: the id, else the row number."""
    if ids is None:
        return str
    values = np.asarray(ids)
    if values.shape != (n,):
        raise ValueError(f"ids must be {n} names, one per row of X; got shape {values.shape}.")
    return lambda item: str(values[item])


def _plain(plain: Any, model: Any, X: Any, known: Constraints, weight: Floats | None) -> Ints | None:
    """The labels to compare with; None if the fit cannot be repeated."""
    if isinstance(plain, str):
        if plain != "auto":
            raise ValueError(f'plain must be "auto", labels or None; got {plain!r}.')
        return plain_labels(model, X, sample_weight=weight)
    labels = np.asarray(plain)
    if labels.shape != (known.n_items,) or labels.dtype.kind not in "iu":
        raise ValueError(f"plain must be {known.n_items} labels, whole numbers; got shape {labels.shape}.")
    return labels.astype(np.int64)


def _left_out(comparison: Comparison | None) -> str:
    """What the page does not say where the weights of the fit are missing."""
    what = "this comparison" if comparison is None else "the summed distances"
    return (
        "The fit used sample_weight, which this page was not given: what statements cost and "
        f"{what} need it, and are left out."
    )


def _reach(graph: Any, labels: Ints) -> Callable[[int, int], bool] | None:
    """Whether an item has a neighbour in a cluster; None where there are no neighbours."""
    if graph is None:
        return None

    def reaches(item: int, cluster: int) -> bool:
        near = graph.indices[graph.indptr[item] : graph.indptr[item + 1]]
        return bool((labels[near] == cluster).any())

    return reaches


def _verdict(n: int, k: int, asked: int | None, sizes: SizeFacts, outcomes: Outcomes) -> str:
    """One or two sentences that say how it went; `asked` where fewer clusters were asked for."""
    known, violations, missed = outcomes.known, outcomes.violations, sizes.missed
    message = [f"{count_of(n, 'item')} in {count_of(k, 'cluster')}."]
    if sizes.n_outliers:
        message[0] = f"{message[0][:-1]}, {sizes.n_outliers:,} left out."
    if asked is not None:
        message[0] = f"{message[0][:-1]}; {asked:,} were asked for."
    noun = "stated pair" if known.groups else "statement"
    stated, broken = violations.n_stated, violations.n_broken
    if not stated:
        message.append("Nothing was stated." if not sizes.bounded else "")
    elif not broken:
        message.append(f"The {noun} holds." if stated == 1 else f"All {count_of(stated, noun)} hold.")
    else:
        lost = "was outvoted" if broken == 1 else "were outvoted"
        message.append(f"{stated - broken:,} of {count_of(stated, noun)} hold; {broken:,} {lost}.")
    if sizes.bounded:
        are = "bound on sizes is missed" if len(missed) == 1 else "bounds on sizes are missed"
        message.append(f"{len(missed):,} {are}." if missed else "All bounds on sizes hold.")
    return " ".join(part for part in message if part)


def _made(
    model: Any,
    k: int,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
    seconds: float | None = None,
) -> Made:
    import sklearn

    import coterie

    name = type(model).__name__
    parameters = {key: value_of(value) for key, value in model.get_params(deep=False).items()}
    versions = {"coterie": coterie.__version__, "scikit-learn": sklearn.__version__, "NumPy": np.__version__}
    versions["Python"] = platform.python_version()
    versions["system"] = f"{platform.system()} {platform.machine()}".strip() or sys.platform
    date = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %z")
    title = title or f"{name}: {count_of(k, 'cluster')}"
    return Made(title, name, parameters, versions, command, notes, date, seconds)
