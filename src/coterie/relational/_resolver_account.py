"""What a fitted resolver says of itself: the largest entities, the weakest merges, and what nearly merged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from coterie._arrays import Index
from coterie._words import count_of, short_number
from coterie.base import Account, Listing, Price, Section, Trace
from coterie.relational._records import Records

_MOST_ENTITIES, _MOST_SPELLINGS, _MOST_MERGES = 20, 8, 20
_PARTS = ("Similarity", "What they say", "Who is beside them")
_HOW = {
    "attribute": "Pairs of records are decided one by one, by what they say",
    "naive": "Pairs of records are decided one by one, by what they say and by the names beside them",
    "collective": "The most similar two merge first, and who they are then counts for those beside them",
}


def account_of_resolver(model: Any, found: Account) -> Account:
    """The account of a resolver, from what the contract says of it."""
    known: Any = found.known
    records: Records = model._records

    def called(record: int) -> str:
        return f"{spelling(records, int(records.row[record]))} ({known.item_name(record)})"

    def row(merge: Any) -> tuple[str, ...]:
        left, right = called(int(merge["left"])), called(int(merge["right"]))
        parts = ("similarity", "attribute", "relational")
        return left, right, *(f"{float(merge[part]):.3f}" for part in parts)

    merges, near = model.merges_, model.near_merges_
    size = np.bincount(model.labels_, minlength=found.n_clusters)
    several = int((size > 1).sum())
    weakest = merges[np.argsort(merges["similarity"], kind="stable")[:_MOST_MERGES]]
    why = [model.why_apart(int(one["left"]), int(one["right"])) for one in near[:_MOST_MERGES]]
    largest = Listing(
        "The largest entities",
        tuple(_entities(records, model.labels_, size)),
        "With the spellings of their records, and how many have each.",
        columns=("", "Records", "Spellings"),
        numbers=frozenset({"Records"}),
        n_left_out=several - min(several, _MOST_ENTITIES),
        noun="entities of several records",
    )
    weak = Listing(
        "The weakest merges",
        tuple(map(row, weakest)),
        "Look at these first: if some are wrong, state a cannot-link or raise the threshold.",
        columns=("One", "Other", *_PARTS),
        numbers=frozenset(_PARTS),
        n_left_out=len(merges) - len(weakest),
        noun="merges",
    )
    nearly = Listing(
        "What nearly merged",
        tuple((*row(one), reason) for one, reason in zip(near, why, strict=False)),
        "If some belong together, state a must-link or lower the threshold.",
        columns=("One", "Other", *_PARTS, "Kept apart by"),
        numbers=frozenset(_PARTS),
        n_left_out=len(near) - len(why),
        noun="near merges",
    )
    n_alone = int((size == 1).sum())
    kept = f"{count_of(several, 'entity')} of several records, {count_of(n_alone, 'record')} alone"
    course = (
        f"{count_of(len(merges), 'merge')} by similarity, down to {short_number(float(model.threshold_))}"
    )
    how = _HOW[model.method.removesuffix("-closure")]
    section = Section(
        "entities",
        "Who is who",
        f"{how}. {kept}. {course}; equal records and must-links are joined before.",
        trace=_falling(merges["similarity"]),
        lists=(largest, weak, nearly),
    )
    return replace(
        found,
        nouns=("record", "entity"),
        trace=None,
        price=Price(tells=False),
        sections=(section,),
        figures={
            "threshold": float(model.threshold_),
            "n_merges": len(merges),
            "n_near_merges": len(near),
            "n_alone": n_alone,
            "largest": int(size.max()),
        },
        remarks=(f"{kept}; the largest has {size.max():,} records.", f"{course}."),
    )


def spelling(records: Records, row: int) -> str:
    """What a distinct row says, in the columns that are compared."""
    found = (str(one.values[one.code[row]]) for one in records.columns if one.code[row] >= 0)
    return " | ".join(found) or "(blank)"


def _entities(records: Records, labels: Index, size: Index) -> Iterable[tuple[str, str, str]]:
    """Number, size and spellings of the largest entities of several records."""
    order = np.argsort(labels, kind="stable")
    stop = np.cumsum(size)
    for entity in np.argsort(-size, kind="stable")[:_MOST_ENTITIES].tolist():
        if size[entity] < 2:
            return
        members = order[stop[entity] - size[entity] : stop[entity]]
        rows, count = np.unique(records.row[members], return_counts=True)
        most = np.argsort(-count, kind="stable")[:_MOST_SPELLINGS]
        told = [
            f"{spelling(records, row)} ({n:,})"
            for row, n in zip(rows[most].tolist(), count[most], strict=True)
        ]
        more = len(rows) - len(most)
        yield (
            f"Entity {entity}",
            f"{size[entity]:,}",
            " · ".join(told) + (f" · and {more:,} more" if more else ""),
        )


def _falling(similarity: Any) -> Trace | None:
    """The similarity of each merge, in their order."""
    if len(similarity) < 2:
        return None
    ends = ("first merge", "last merge")
    return Trace(
        similarity, "The similarity of each merge", step="merge", value="similarity", first=1.0, stride=1.0,
        ends=ends, picture="merges.png",
    )  # fmt: skip
