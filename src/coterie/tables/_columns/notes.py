"""The sentences in which a plan says what becomes of the columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from coterie._words import count_of, listed
from coterie.tables._errors import shown
from coterie.tables._feature import ColumnUse

_MOST_USED = 10
_MOST_LEFT_OUT = 20


def notes_on(columns: Sequence[ColumnUse], *, in_days: Collection[str], scale: bool) -> list[str]:
    """What is done with which columns."""
    notes = []
    uses = {use: [one.name for one in columns if one.use == use] for use in ("numeric", "category", "text")}
    if names := uses["numeric"]:
        how, leaves = "not standardised (--no-scale)", ""
        if scale:
            how = "standardised (mean 0, deviation 1)"
            leaves = f"; --no-scale leaves {'it as it is' if len(names) == 1 else 'them as they are'}"
        notes.append(f"{count_of(len(names), 'numeric column')} {how}: {_some(names)}{leaves}.")
    if names := [name for name in uses["numeric"] if name in in_days]:
        notes.append(f"{count_of(len(names), 'column')} of dates or times, counted in days: {_some(names)}.")
    if names := uses["category"]:
        n = count_of(len(names), "category", "categories")
        notes.append(f"{n} as columns of 0 and 1: {_some(names)}.")
    if names := uses["text"]:
        notes.append(f"{count_of(len(names), 'text column')} as weights of words (TF-IDF): {_some(names)}.")
    notes += [f"{use.reason[0].upper()}{use.reason[1:]}." for use in columns if use.use == "matrix"]
    filled = [use for use in columns if use.use != "left out" and use.n_missing]
    if filled:
        n = count_of(sum(use.n_missing for use in filled), "missing value")
        where = listed((f"{shown(use.name)} ({use.n_missing:,})" for use in filled), _MOST_USED)
        notes.append(f"{n} filled: {where}.")
    notes += [f"{count_of(n, 'column')} left out: {names} ({why})." for n, names, why in left_out(columns)]
    return notes


def left_out(columns: Sequence[ColumnUse]) -> list[tuple[int, str, str]]:
    """For each reason: how many columns are left out for it, their names, and the reason."""
    groups: dict[str, list[ColumnUse]] = {}
    for use in columns:
        if use.use == "left out":
            groups.setdefault(use.common_reason or use.reason, []).append(use)
    return [
        (
            len(uses),
            listed((shown(use.name) for use in uses), _MOST_LEFT_OUT),
            uses[0].reason if len(uses) == 1 else common,
        )
        for common, uses in groups.items()
    ]


def _some(names: Sequence[str]) -> str:
    return listed(map(shown, names), _MOST_USED)
