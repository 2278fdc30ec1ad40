"""`coterie check`: can the constraints all be met, what collides, what to drop; nothing is clustered.

Only the columns that are named are read, and neither scikit-learn nor, for a plain CSV, polars is loaded: the
answer comes at once.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from coterie.cli._job.quick_ids import peek
from coterie.cli._job.request import Request, prepare, read_data, read_statements
from coterie.cli._speak.screen import Screen
from coterie.cli._speak.trouble import DONE, INFEASIBLE, UNDECIDED, Trouble

if TYPE_CHECKING:
    from coterie.constraints import Constraints

_GROUPS = {
    "label": ("1 known label", "known labels"),
    "distinct": ("1 distinct group", "distinct groups"),
    "across": ("1 group that stays apart", "groups that stay apart"),
}
_CODES = {"feasible": DONE, "infeasible": INFEASIBLE, "undecided": UNDECIDED}


def check(request: Request, screen: Screen) -> int:
    """Say what is stated, and whether it can be met with k clusters."""
    k = request.n_clusters
    job = prepare(request, screen, features=False) if request.bounded else None
    known = _peeked(request) if job is None else job.known
    if known is None:
        table = read_data(request, screen, only=list(request.roles()))
        known = read_statements(request, table, screen)
    if k is not None and k > known.n_items:
        raise Trouble(f"-k {k}, but {request.data.name} has {known.n_items:,} rows; ask for fewer clusters")
    facts = diagnostics(known)
    for line in facts["lines"]:
        screen.say(line)
    with screen.stage("looking for what collides"):
        status, answer, explanation = _answer(known, k)
    if job is not None and status == "feasible":
        from coterie.cli._job.fit import rehearse

        with screen.stage("looking for what bounds leave"):
            rehearse(job)
        answer += " So can what is said of sizes and neighbours, as far as it does not hang on the features."
    screen.say(answer)
    if explanation:
        screen.say(explanation)
    screen.finish(
        {
            "status": status,
            "n_clusters": k,
            "answer": answer,
            "explanation": explanation or None,
            **{name: value for name, value in facts.items() if name != "lines"},
        }
    )
    return _CODES[status]


def _peeked(request: Request) -> Constraints | None:
    """The constraints of a plain case, without loading what reads tables; None: it is not plain."""
    if any(column is not None for column in (request.labels, request.distinct, request.across)):
        return None
    pairs = request.pairs
    if pairs is None or pairs.suffix.lower() != ".csv" or not pairs.is_file():
        return None  # others may hold ids as numbers
    found = peek(request.data, request.id_column)
    if found is None:
        return None
    from coterie.constraints import Constraints

    n_rows, ids = found
    try:
        n_items = n_rows if ids is None else None
        return Constraints.read(pairs, ids=ids, n_items=n_items, columns=request.pair_names())
    except (ValueError, TypeError, KeyError, OSError, csv.Error):
        return None  # and the long way says why


def _answer(known: Constraints, k: int | None) -> tuple[str, str, str]:
    """The status, a sentence, and what collides."""
    if k is None:
        found = known.explain()
        if found.status == "feasible":
            return "feasible", "Nothing contradicts; -k asks whether a number of clusters is enough.", ""
        return "infeasible", "The constraints contradict each other:", str(found)
    clusters = "1 cluster" if k == 1 else f"{k:,} clusters"
    answer = known.check(k)
    if answer.status == "feasible":
        return "feasible", f"All constraints can be met with {clusters}.", ""
    if answer.status == "undecided":
        return "undecided", f"Not decided whether {clusters} are enough: {answer.reason}.", ""
    return "infeasible", f"The constraints cannot all be met with {clusters}:", str(known.explain(k))


def diagnostics(known: Constraints) -> dict[str, Any]:
    """How much is stated and how it hangs together, in numbers and in lines to read."""
    import numpy as np

    from coterie._words import count_of

    must, cannot = known.must_table.n, known.cannot_table.n
    named = known.constrained_items
    sizes = np.bincount(known.components)
    together = sizes[sizes > 1]
    lines = [f"{known.n_items:,} items; {len(named):,} of them are named in a constraint."]
    if must or cannot:
        lines.append(f"{count_of(must, 'must-link')} and {count_of(cannot, 'cannot-link')}.")
    for group in known.groups:
        one, many = _GROUPS[group.kind]
        words = one if group.n_codes == 1 else f"{group.n_codes:,} {many}"
        none = known.n_items - len(group.items)
        rest = f"; {none:,} have no value" if none else ""
        lines.append(f"{count_of(len(group.items), 'item')} in {words}{rest}.")
    lines += known.remarks
    biggest: list[str] = []
    if len(together):
        members = np.flatnonzero(known.components == np.argmax(sizes))
        biggest = [known.item_name(int(item)) for item in members[:5]]
        more = ", ..." if len(members) > 5 else ""
        lines.append(
            f"Must-links tie {together.sum():,} items into {count_of(len(together), 'set')}; the largest has "
            f"{len(members):,}: {', '.join(biggest)}{more}."
        )
    return {
        "n_items": known.n_items,
        "n_named": len(named),
        "n_must_link": must,
        "n_cannot_link": cannot,
        "groups": [
            {"kind": group.kind, "n_items": len(group.items), "n_values": group.n_codes}
            for group in known.groups
        ],
        "n_tied_sets": len(together),
        "largest_tied_set": int(together.max()) if len(together) else 0,
        "remarks": list(known.remarks),
        "lines": lines,
    }
