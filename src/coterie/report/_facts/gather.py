"""Everything that the page says, in numbers and words, before it becomes a page."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from coterie._words import count_of
from coterie.base import Account, account_of, check_sample_weight
from coterie.constraints import Constraints, as_constraints
from coterie.distance import LearnedDistance
from coterie.methods import learned_words
from coterie.report._facts.cards import Card, largest_clusters, make_cards
from coterie.report._facts.doubt import CertaintyFacts, read_certainty
from coterie.report._facts.drawn_links import DrawnLinks, choose_lines
from coterie.report._facts.map import Map, draw_map, read_coordinates
from coterie.report._facts.outcomes import Outcomes
from coterie.report._facts.rows import Floats, Ints, Rows, distance_function, nearness, rows_of_fit
from coterie.report._facts.sizes import SizeFacts, read_sizes
from coterie.report._facts.statements import StatementFacts, list_statements
from coterie.report._facts.traits import find_traits, read_columns, weighed_features
from coterie.report._facts.without import Comparison, compare_with, plain_labels, price_of_connectivity
from coterie.report._page.numbers import value_of

_NO_WEIGHT = (
    "The fit used sample_weight, which this page was not given: what constraints cost and {} need it, and "
    "are left out."
)


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
    names: Callable[[int], str]  # of items, and of clusters
    called: Callable[[int], str]
    map: Map | None  # None: nothing says where items stand
    lines: DrawnLinks
    cards: tuple[Card, ...]
    weighed: tuple[tuple[str, float], ...]
    sizes: SizeFacts
    certainty: CertaintyFacts | None
    learned: str | None  # what taught the distance that was learned before the model, in a sentence
    texts: Sequence[str] | None
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
    texts: Any = None,
    items: Any = None,
    seed: int = 0,
    **message: Any,
) -> Facts:
    """Work out what the page says; parameters as in `write_report`, `message` are those of `_made`."""
    model, before = _take_apart(model)
    own = step_names = learned = None
    if before is not None:
        steps = ", ".join(type(step).__name__ for step in before)
        message["notes"] = [*message.get("notes", ()), f"Steps before the model: {steps}."]
        with suppress(AttributeError, ValueError):  # a step may have no names to give
            step_names = before.get_feature_names_out()
        own, X = X, before.transform(X)
        taught = (learned_words(step) for step in before if isinstance(step, LearnedDistance))
        learned = " ".join(taught) or None
    account = account_of(model)
    if learned is not None:  # its features are not the user's
        centre = f"{account.centre} Near and far are told by the learned distance.".lstrip()
        account = replace(account, feature_weights=None, centre=centre)
    if chosen_k is not None:
        account = replace(account, sections=(chosen_k.section(), *account.sections))
    labels = np.asarray(model.labels_).astype(np.int64)
    rows = rows_of_fit(account, labels, X, step_names, nearly=own is not None)
    # what the user sees: their own rows, or what the steps made of them where only that is a table of numbers
    table = rows if own is None or getattr(own, "ndim", 2) > 2 else Rows(own)
    has_rows = account.wants == "rows"
    if not has_rows:  # only what the user adds tells items apart
        rows = table = Rows(np.empty((rows.n, 0)) if items is None else items)
        account = replace(account, features=None)
    elif items is not None:
        raise ValueError(f"items describes what has no features; {type(model).__name__} was given rows in X.")
    if rows.n != len(labels):
        raise ValueError(f"items has {rows.n} rows, but the model was fitted on {len(labels)} items.")
    texts = table.texts if texts is None else texts
    if texts is not None and len(texts) != rows.n:
        raise ValueError(f"texts must be {rows.n}, one per row of X; got {len(texts)}.")
    table = table if table.d and table.n == rows.n else rows
    known = as_constraints(account.known if constraints is None else constraints, rows.n)
    names = _names(known.ids if ids is None else ids, rows.n)
    k = account.n_clusters
    counts = np.bincount(labels[labels >= 0], minlength=k)
    weight = check_sample_weight(sample_weight, rows.values)

    distances = distance_function(account, rows, labels)
    near = nearness(distances if has_rows else None, rows, labels, k)
    # where nothing is known both clusterings are the same
    to_compare = plain is not None and (bool(known) or account.bounds is not None)
    if isinstance(plain, str) and account.wants == "records":  # the contexts of the fit are not known here
        to_compare = False
    untold = _without_distances(before, own) if learned and to_compare and isinstance(plain, str) else X
    without = _plain(plain, model, untold, known, weight) if to_compare else None
    outcomes = Outcomes(account, known, labels, distances, without, weight, names)
    sizes = read_sizes(account, labels, counts, size_weight)
    lines = choose_lines(outcomes, seed)
    placed = None if coordinates is None else read_coordinates(coordinates, coordinate_names, rows.n)
    precomputed = account.metric == "precomputed"
    cards_of = largest_clusters(counts)
    seen = () if precomputed else read_columns(features if table is rows else None, rows, account.features)
    columns = seen if table is rows else read_columns(features, table)
    traits = {} if precomputed else find_traits(table, labels, cards_of, columns)
    violations = outcomes.violations
    certainty = read_certainty(account, labels, names, outcomes.called)
    comparison = None
    if without is not None:
        # sums in another space than that of the plain labels say nothing of these
        cost = None if outcomes.lacks_weight or learned else account.cost
        comparison = compare_with(without, labels, known, k, cost, (rows.values, weight))
    price = None if plain is None else price_of_connectivity(account, rows, labels, weight)
    if price is not None:
        account = replace(account, sections=(*account.sections, price))
    what = "this comparison" if comparison is None else "the summed distances"
    more = account.asked is not None and k > account.asked
    return Facts(
        account=account,
        made=_made(model, count_of(k, account.nouns[1]), **message),
        verdict=_verdict(account, rows.n, account.asked if more else None, sizes, outcomes),
        all_well=not violations.n_broken and not sizes.missed and not more,
        n_items=rows.n,
        n_clusters=k,
        n_features=rows.d,
        labels=labels,
        counts=counts,
        n_stated=violations.n_stated,
        n_broken=violations.n_broken,
        names=names,
        called=outcomes.called,
        map=None
        if placed is None and not has_rows
        else draw_map(
            (rows, account),
            (table, columns),
            placed,
            (lines.items, known.constrained_items),
            seed,
            "principal component" if learned is None else "direction of the learned space",
        ),
        lines=lines,
        cards=make_cards(labels, counts, cards_of, traits, near, outcomes, sizes, account.graph, certainty),
        weighed=() if precomputed else weighed_features(account.feature_weights, rows, seen),
        sizes=sizes,
        certainty=certainty,
        learned=learned,
        texts=texts,
        statements=list_statements(outcomes),
        comparison=comparison,
        left_out=_NO_WEIGHT.format(what) if outcomes.lacks_weight and to_compare else None,
    )


def _take_apart(model: Any) -> tuple[Any, Any]:
    """Of a pipeline its last step, and those before it as one pipeline; None where there are none."""
    from sklearn.pipeline import Pipeline

    before: list[Any] = []
    while isinstance(model, Pipeline):
        before += [step for _, step in model.steps[:-1]]
        model = model[-1]
    return model, Pipeline([(str(at), step) for at, step in enumerate(before)]) if before else None


def _without_distances(before: Any, X: Any) -> Any:
    """What the steps make of X where no distance is learned, which is then left as it is."""
    from sklearn.base import clone

    kept = [(name, step) for name, step in before.steps if not isinstance(step, LearnedDistance)]
    return clone(type(before)([*kept, ("rows", "passthrough")])).fit_transform(X)


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


def _verdict(account: Account, n: int, asked: int | None, sizes: SizeFacts, outcomes: Outcomes) -> str:
    """One or two sentences that say how it went; `asked` where fewer clusters were asked for."""
    violations, missed = outcomes.violations, sizes.missed
    item, cluster = account.nouns
    message = [f"{count_of(n, item)} in {count_of(account.n_clusters, cluster)}."]
    if sizes.n_outliers:
        message[0] = f"{message[0][:-1]}, {sizes.n_outliers:,} left out."
    if asked is not None:
        message[0] = f"{message[0][:-1]}; {asked:,} were asked for."
    stated, broken = violations.n_stated, violations.n_broken
    if not stated:
        given = {"weights": "scores", "records": "records"}.get(account.wants)
        nothing = f"No constraints were stated beside the {given}." if given else "Nothing was stated."
        message.append("" if sizes.bounded else nothing)
    elif not broken:
        message.append("The constraint holds." if stated == 1 else f"All {stated:,} constraints hold.")
    else:
        lost = "was outvoted" if broken == 1 else "were outvoted"
        message.append(f"{stated - broken:,} of {count_of(stated, 'constraint')} hold; {broken:,} {lost}.")
    if sizes.bounded:
        are = "bound on sizes is missed" if len(missed) == 1 else "bounds on sizes are missed"
        message.append(f"{len(missed):,} {are}." if missed else "All bounds on sizes hold.")
    return " ".join(part for part in message if part)


def _made(
    model: Any,
    found: str,
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
    title = title or f"{name}: {found}"
    return Made(title, name, parameters, versions, command, notes, date, seconds)
