"""`coterie apply`: labels for new rows, from the model of a finished run."""

from __future__ import annotations

from pathlib import Path

from coterie.cli._folder import whole_file
from coterie.cli._saved import load_model
from coterie.cli._screen import Screen
from coterie.cli._trouble import DONE, Trouble, told


def apply(model: Path, data: Path, screen: Screen, out: Path | None, *, impute: bool, force: bool) -> int:
    """Read new rows, treat their columns as the run did, and write them with their clusters."""
    from coterie.tables import TableError, free_name, read_table, write_table

    with screen.stage(f"reading {model}"):
        bundle, notes = load_model(model)
    for note in notes:
        screen.say(note)
    fitted, plan = bundle["model"], bundle["plan"]
    if not hasattr(fitted, "predict"):
        raise Trouble(f"{type(fitted).__name__} cannot label new rows; cluster them together with the old")
    try:
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
        for note in plan.notes_of_last:
            screen.say(note)
        try:
            with screen.stage("finding the nearest clusters"):
                labels = fitted.predict(X)
        except (ValueError, TypeError) as error:
            raise Trouble(told(error)) from None
        column = free_name(table, "cluster")
        with whole_file(out, force) as file, screen.stage("writing"):
            write_table(table, file, {column: labels})
    except TableError as error:
        raise Trouble(str(error)) from None
    import numpy as np

    sizes = np.bincount(labels[labels >= 0], minlength=len(fitted.cluster_centers_)).tolist()
    screen.say(f"{table.n_rows:,} rows in {len(sizes)} clusters: {', '.join(f'{n:,}' for n in sizes)}")
    screen.say(f"Wrote {out}, with the column {column}")
    screen.finish(
        {"out": str(out), "rows": table.n_rows, "sizes": sizes, "label_column": column, "notes": notes}
    )
    return DONE
