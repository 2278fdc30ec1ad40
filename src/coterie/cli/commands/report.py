"""`coterie report`: write the page of a finished run again, from what the run left."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from coterie.cli._job.output_folder import MARK
from coterie.cli._job.request import Request, coordinates_of
from coterie.cli._job.run_account import RUN_FORMAT, fingerprint
from coterie.cli._job.saved import load_model
from coterie.cli._speak.screen import Screen
from coterie.cli._speak.trouble import DONE, Trouble
from coterie.cli.commands.cluster import write_page

_NEEDED = {"data", "command", "features", "method", "reason", "warnings", "map", "title"}


def report(run: Path, screen: Screen, *, map_columns: str | None, title: str | None, pictures: bool) -> int:
    """Make `report.html` anew, with `pictures` its pictures too."""
    facts = _read_facts(run)
    with screen.stage("reading the run"):
        bundle, notes = load_model(run)
    for note in notes:
        screen.say(note)
    with screen.stage("reading the rows"):
        table = _read_rows(run, facts, bundle)
    with screen.stage("preparing the columns"):
        X = bundle["plan"].transform(table)
    place = coordinates_of(Request(run, map_columns=map_columns or facts["map"]), table)
    n_rows = len(bundle["model"].labels_)
    if n_rows != table.n_rows:
        raise Trouble(f"{table.path} has {table.n_rows:,} rows, but the run had {n_rows:,}")
    facts["title"] = title or facts["title"]
    # written beside the old ones and moved into place one by one: what is there is always whole
    hidden = tempfile.TemporaryDirectory(dir=run, prefix=".report-")
    with hidden as folder, screen.stage("writing the report"):
        written = write_page(Path(folder), bundle, X, table, facts, pictures=pictures, **place)
        for name in written:
            os.replace(Path(folder) / name, run / name)
    screen.say(f"Wrote {', '.join(str(run / name) for name in written)}")
    screen.finish({"out": str(run), "files": written})
    return DONE


def _read_facts(run: Path) -> dict[str, Any]:
    if not run.is_dir():
        raise Trouble(f"{run}: no such folder; give the folder that `coterie cluster` wrote")
    try:
        facts = json.loads((run / MARK).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Trouble(f"{run} holds no run of coterie ({MARK} is missing)") from None
    except ValueError:
        raise Trouble(f"{run / MARK}: damaged; cluster again") from None
    if isinstance(facts, dict) and "entity_column" in facts:
        raise Trouble(
            f"{run} is of `coterie resolve`, whose page is made with it; again: {facts.get('command')}"
        )
    if not isinstance(facts, dict) or facts.get("format") != RUN_FORMAT or not set(facts) >= _NEEDED:
        raise Trouble(f"{run / MARK}: not a whole run of coterie; cluster again")
    return facts


def _read_rows(run: Path, facts: dict[str, Any], bundle: dict[str, Any]) -> Any:
    """The rows of the run: its labels file holds the user's columns; a matrix is read again."""
    from coterie.tables import TableError, read_table

    if bundle["plan"].is_matrix:
        path = Path(facts["data"]["path"])
        try:
            table = read_table(path)
        except TableError as error:
            raise Trouble(f"the matrix of the run is needed again: {error}") from None
        if fingerprint(path) != facts["data"].get("blake2b"):
            raise Trouble(f"{path} has changed since the run; cluster again")
        return table
    return read_table(run / bundle["labels_file"])
