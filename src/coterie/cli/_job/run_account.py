"""What the commands that leave a folder share: words about the table, files beside the labels, `run.json`."""

from __future__ import annotations

import hashlib
import shlex
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie._words import count_of
from coterie.cli._job.output_folder import MARK
from coterie.cli._job.saved import versions
from coterie.cli._speak.command_line import typed, with_options
from coterie.cli._speak.screen import Screen, as_json

if TYPE_CHECKING:
    from coterie.constraints import Constraints
    from coterie.tables import Table

RUN_FORMAT = "coterie-run"
# What a table is written as; matrices have no columns of their own and become a CSV of rows and labels.
_WRITTEN_AS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def say_table(table: Table, notes: tuple[str, ...], known: Constraints, screen: Screen) -> None:
    """Say what was read, with `notes` on it, and what is stated."""
    from coterie.cli.commands.check import diagnostics

    screen.say(f"{table.path.name}: {count_of(table.n_rows, 'row')}, {count_of(len(table.names), 'column')}")
    for note in (*table.notes, *notes):
        screen.say(f"  {note}")
    if known:
        for line in diagnostics(known)["lines"]:
            screen.say(f"  {line}")


def table_facts(table: Table, known: Constraints) -> dict[str, Any]:
    """The table and what is stated, for machines."""
    return {
        "data": {"path": str(table.path.resolve()), "rows": table.n_rows, "columns": len(table.names)},
        "statements": {
            "must_links": known.must_table.n,
            "cannot_links": known.cannot_table.n,
            "groups": [
                {"kind": group.kind, "items": len(group.items), "values": group.n_codes}
                for group in known.groups
            ],
        },
    }


def run_facts(seeded: bool = True) -> dict[str, Any]:
    """How and when the run was made; `seeded`: chance has a part in it."""
    return {
        "format": RUN_FORMAT,
        "command": _command_again(seeded),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
    }


def _command_again(seeded: bool) -> str:
    """The exact command that gives this run again."""
    words = typed()
    if seeded and not any(word == "--seed" or word.startswith("--seed=") for word in words):
        words = with_options(words, "--seed", "0")
    if "--force" not in words:
        words = with_options(words, "--force")
    return shlex.join(["coterie", *words])


def fingerprint(path: Path) -> str:
    """A number that tells whether a file is still the same."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def labels_name(table: Table) -> str:
    """Under which name the table is written with its labels: in its own format where that can be."""
    endings = [suffix.lower() for suffix in table.path.suffixes if suffix.lower() in _WRITTEN_AS]
    return f"labels.{_WRITTEN_AS[endings[-1]] if endings else 'csv'}"


def write_outcomes(
    folder: Path, model: Any, X: Any, known: Constraints, plain: Any, screen: Screen, weight: Any = None
) -> list[str]:
    """Write what became of the constraints, where there are any; the names of the files."""
    if not known:
        return []
    import polars as pl

    from coterie.report import constraint_outcomes

    with screen.stage("writing constraints"):
        outcomes = constraint_outcomes(model, X, known, plain, sample_weight=weight)
        pl.DataFrame(outcomes, strict=False).write_csv(folder / "constraints.csv")
    return ["constraints.csv"]


def mark_whole(folder: Path, facts: dict[str, Any], files: list[str], seconds: float, started: float) -> None:
    """Write the file that marks a whole run; it is the last."""
    facts["seconds"] = {"fit": round(seconds, 4), "all": round(time.perf_counter() - started, 4)}
    facts["files"] = [*files, MARK]
    (folder / MARK).write_text(as_json(facts) + "\n", encoding="utf-8")


def say_done(lines: list[str], target: Path, facts: dict[str, Any], screen: Screen) -> None:
    """Say what came out, where it is, and how to have it again."""
    for line in lines:
        screen.say(line)
    screen.say(f"\nWrote {target}/: {', '.join(facts['files'])} ({facts['seconds']['all']:.1f} s)")
    screen.say(f"Again: {facts['command']}")
    screen.finish({**facts, "out": str(target)})
