"""`coterie apply`: labels for new rows, from the model of a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coterie._words import count_of
from coterie.cli._job.output_folder import whole_file
from coterie.cli._job.saved import load_model
from coterie.cli._speak.screen import Screen
from coterie.cli._speak.trouble import DONE, Trouble, message_of


def apply(model: Path, data: Path, screen: Screen, out: Path | None, *, impute: bool, force: bool) -> int:
    """Read new rows, treat their columns as the run did, and write them with their clusters."""
    from coterie.tables import free_name, read_table, write_table

    with screen.stage(f"reading {model}"):
        bundle, notes = load_model(model)
    fitted, plan = bundle["model"], bundle["plan"]
    if not hasattr(fitted, "predict"):
        raise Trouble(f"{type(fitted).__name__} cannot label new rows; cluster them together with the old")
    account = fitted.account()
    with screen.stage(f"reading {data.name}"):
        table = read_table(data)
    if out is None:
        ending = ".csv" if table.frame is None else data.suffix
        if ending == ".gz":
            ending = data.suffixes[-2]
        out = Path(f"{data.name.split('.')[0] or 'table'}-clusters{ending}")
    if out.exists() and out.samefile(data):
        raise Trouble(f"{out} is the table itself; give another name with -o")
    with screen.stage("preparing the columns"):
        X = plan.transform(table, impute=impute)
    notes += [*table.notes, *plan.notes_of_last]
    try:
        with screen.stage("finding the nearest clusters"):
            labels = fitted.predict(X)
            probability = None if account.certainty is None else fitted.predict_proba(X).max(axis=1)
    except (ValueError, TypeError) as error:
        raise Trouble(message_of(error)) from None
    if account.metric == "cosine":
        labels, told_empty = _without_empty_rows(labels, X)
        notes += told_empty
    column = free_name(table, "cluster")
    added = {column: labels}
    if probability is not None:
        added[free_name(table, "probability")] = probability
    with whole_file(out, force) as file, screen.stage("writing"):
        write_table(table, file, added)
    import numpy as np

    from coterie.report._facts import IN_DOUBT

    sizes = np.bincount(labels[labels >= 0], minlength=account.n_clusters).tolist()
    left = int((labels < 0).sum())
    for note in notes:
        screen.say(note)
    in_none = f", {left:,} in none (-1)" if left else ""
    screen.say(
        f"{count_of(table.n_rows, 'row')} in {count_of(len(sizes), 'cluster')}: "
        f"{', '.join(f'{n:,}' for n in sizes)}{in_none}"
    )
    if probability is not None:
        screen.say(f"{int((probability < IN_DOUBT).sum()):,} in doubt (probability below {IN_DOUBT:g})")
    columns = f"column{'s' if len(added) > 1 else ''} {' and '.join(added)}"
    screen.say(f"Wrote {out}, with the {columns}")
    screen.finish(
        {
            "out": str(out),
            "rows": table.n_rows,
            "sizes": sizes,
            "n_in_none": left,
            "label_column": column,
            "probability_column": next(iter(set(added) - {column}), None),
            "notes": notes,
        }
    )
    return DONE


def _without_empty_rows(labels: Any, X: Any) -> tuple[Any, list[str]]:
    """Rows in which nothing known occurs point nowhere: they get -1, and it is said."""
    import numpy as np

    empty = np.flatnonzero(np.asarray(abs(X).sum(axis=1)).ravel() == 0)
    if not len(empty):
        return labels, []
    some = ", ".join(map(str, empty[:5].tolist())) + (", ..." if len(empty) > 5 else "")
    labels = labels.copy()
    labels[empty] = -1
    return labels, [f"{count_of(len(empty), 'row')} with nothing that is known (row {some}): no cluster, -1."]
