"""`coterie apply`: labels for new rows, from the model of a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie._words import count_of
from coterie.cli._job.output_folder import whole_file
from coterie.cli._job.saved import load_model, row_keys, rows_for
from coterie.cli._speak.screen import Screen
from coterie.cli._speak.trouble import DONE, Trouble, message_of
from coterie.cli.commands.cluster import new_columns

if TYPE_CHECKING:
    from coterie.base import Account
    from coterie.tables import Table


def apply(model: Path, data: Path, screen: Screen, out: Path | None, *, impute: bool, force: bool) -> int:
    """Read new rows, treat their columns as the run did, and write them with their clusters."""
    from coterie.tables import read_table, write_table

    with screen.stage(f"reading {model}"):
        bundle, notes = load_model(model)
    plan, account = bundle["plan"], bundle["model"].account()
    if account.wants != "rows":
        raise Trouble(
            f"{model}: its clusters come from --scores, and new rows have none; cluster all rows again"
        )
    with screen.stage(f"reading {data.name}"):
        table = read_table(data)
    if out is None:
        ending = ".csv" if table.frame is None or data.suffix.lower() == ".xlsx" else data.suffix
        if ending == ".gz":
            ending = data.suffixes[-2]
        out = Path(f"{data.name.split('.')[0] or 'table'}-clusters{ending}")
    if out.exists() and out.samefile(data):
        raise Trouble(f"{out} is the table itself; give another name with -o")
    with screen.stage("preparing the columns"):
        X = plan.transform(table, impute=impute)
    notes += [*table.notes, *plan.notes_of_last]
    with screen.stage("finding the clusters"):
        labels, probability, told = _labels(bundle, account, X, table)
    notes += told
    columns, added = new_columns(table, account, labels, probability)
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
    new = f"column{'s' if len(added) > 1 else ''} {' and '.join(added)}"
    screen.say(f"Wrote {out}, with the {new}")
    cells = {"label_column": None, "name_column": None, "probability_column": None, **columns}
    screen.finish(
        {"out": str(out), "rows": table.n_rows, "sizes": sizes, "n_in_none": left, **cells, "notes": notes}
    )
    return DONE


def _labels(bundle: dict[str, Any], account: Account, X: Any, table: Table) -> tuple[Any, Any, list[str]]:
    """Labels, their probabilities where the model knows some, and what to say of them."""
    import numpy as np

    model, notes = bundle["model"], []
    predict, certainty = account.predict, account.certainty
    row = _rows_of_the_run(bundle, X, table)
    new, old = np.flatnonzero(row < 0), np.flatnonzero(row >= 0)
    if len(old):
        was = "row was" if len(old) == 1 else "rows were"
        notes.append(f"{len(old):,} {was} clustered in the run: the clusters are those of then.")
    if len(new) and predict is None:
        rows = count_of(len(new), "new row")
        notes.append(f"{rows} in the cluster of the nearest item: {type(model).__name__} has no centres.")
    labels, probability = model.labels_[row], None
    try:
        if len(new):
            rows = rows_for(bundle, X[new])
            labels[new] = _nearest(bundle, rows) if predict is None else predict(rows)
        if certainty is not None and predict is not None:  # of a nearest item nobody knows
            probability = certainty.own(model.labels_)[row]
            if len(new):
                probability[new] = model.predict_proba(rows).max(axis=1)
    except (ValueError, TypeError) as error:
        raise Trouble(message_of(error)) from None
    if account.metric == "cosine":
        notes += _leave_out_empty(labels, X, new)
    return labels, probability, notes


def _rows_of_the_run(bundle: dict[str, Any], X: Any, table: Table) -> Any:
    """The row of the run that each row is, by its values and by its id where there are ids; -1: it is new.

    Of rows that are alike in all values the first stands for the first, and so on: what was known may have
    parted them.
    """
    import numpy as np

    then, now = bundle["rows"], row_keys(X)
    order, order_now = (np.argsort(keys, kind="stable") for keys in (then, now))
    first, behind = (np.searchsorted(then[order], now, side) for side in ("left", "right"))
    rank = np.empty(len(now), dtype=np.int64)
    rank[order_now] = np.arange(len(now)) - np.searchsorted(now[order_now], now[order_now])
    row = np.full(len(now), -1)
    old = behind > first
    row[old] = order[(first + rank % np.maximum(behind - first, 1))[old]]
    ids, column = bundle["model"].constraints_.ids, bundle["id_column"]
    if ids is not None and column in table.names:
        places = {str(name): at for at, name in enumerate(ids.tolist())}
        named = np.array([places.get(str(name), -1) for name in table.column(column).to_list()])
        same = (named >= 0) & (then[named] == now)
        row[same] = named[same]
    return row


def _nearest(bundle: dict[str, Any], X: Any) -> Any:
    """The cluster of the nearest item of the run, by the distance of the model."""
    from sklearn.metrics import pairwise_distances_argmin

    metric = bundle["model"].get_params().get("metric", "euclidean")
    return bundle["model"].labels_[pairwise_distances_argmin(X, bundle["items"], metric=metric)]


def _leave_out_empty(labels: Any, X: Any, new: Any) -> list[str]:
    """Rows in which nothing known occurs point nowhere: they get -1, and it is said."""
    import numpy as np

    empty = new[np.asarray(abs(X[new]).sum(axis=1)).ravel() == 0]
    if not len(empty):
        return []
    some = ", ".join(map(str, empty[:5].tolist())) + (", ..." if len(empty) > 5 else "")
    labels[empty] = -1
    return [f"{count_of(len(empty), 'row')} with nothing that is known (row {some}): no cluster, -1."]
