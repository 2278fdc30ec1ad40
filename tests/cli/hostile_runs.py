"""Hostile finished runs and new rows, for `apply` and `report`; the run has the columns id, x0, x1, word."""

import os
import pickle
from functools import partial

import skops.io

from tests.cli.hostile_cases import DONE, ENDINGS, FAILS, SCRIPT, Case, Rng, hostile, pick, saved, sheet

# ---- apply, report: the run is one of a table with the columns id, x0, x1, word ---------------------------


def new_rows(rng: Rng, n: int = 9) -> object:
    """Rows that the run of the tests takes."""
    table = sheet(rng, n, 2)
    table.add("word", [pick(rng, "red", "green") for _ in range(n)])
    return table


class Runs:
    """Pickled, it would end this process."""

    def __reduce__(self) -> tuple:
        return os._exit, (77,)


@hostile
def models_that_are_none(rng: Rng) -> Case:
    content = pick(
        rng,
        b"",
        b"\x80junk",
        rng.bytes(500),
        skops.io.dumps({"a": 1}),
        skops.io.dumps([1, 2]),
        skops.io.dumps({"format": "coterie-model"}),
        skops.io.dumps({"format": "coterie-model", "versions": None, "model": 1, "plan": 2}),
        skops.io.dumps({"format": "coterie-model", "model": partial(os._exit, 77)}),
        skops.io.dumps({"format": "coterie-model", "model": os.system}),
        pickle.dumps(Runs()),
        pickle.dumps({"format": "coterie-model"})[:-3],
        b"coterie",
        None,
        round(float(rng.random()), 3),
    )
    words = pick(rng, ["apply", "run", "new.csv"], ["apply", "run/model.skops", "new.csv"], ["report", "run"])
    return Case(words, {"new.csv": new_rows(rng).csv()}, FAILS, run={"model.skops": content})


@hostile
def models_of_before(rng: Rng) -> Case:
    words = pick(
        rng, ["apply", "run", "new.csv"], ["apply", "run/model.joblib", "new.csv"], ["report", "run"]
    )
    files = {"model.skops": None, "model.joblib": pickle.dumps(Runs())}
    told = ["run/model.joblib is a pickle", "coterie cluster"]
    return Case(words, {"new.csv": new_rows(rng).csv()}, FAILS, told, run=files)


@hostile
def models_in_odd_places(rng: Rng) -> Case:
    model = pick(
        rng, "none", "empty", "new.csv", "run/labels.csv", "run/run.json", "", ".", "/dev/null", "pipe"
    )
    words = [pick(rng, "apply", "report"), model]
    words += ["new.csv"] if words[0] == "apply" else []
    return Case(words, {"new.csv": new_rows(rng).csv()}, FAILS, folders=["empty"], pipes=["pipe"], run={})


@hostile
def new_rows_that_do_not_fit(rng: Rng) -> Case:
    table = new_rows(rng)
    how = pick(
        rng,
        "missing",
        "renamed",
        "words",
        "hole",
        "unseen",
        "order",
        "extra",
        "twice",
        "constant",
        "empty",
        "beyond",
        "fine",
    )
    ends = FAILS if how in ("missing", "renamed", "words", "hole", "twice", "empty", "beyond") else DONE
    if how == "missing":
        table.head.pop(1)
        table.rows = [[row[0], *row[2:]] for row in table.rows]
    elif how in ("renamed", "twice"):
        table.head[1] = "X0" if how == "renamed" else "x1"
    elif how in ("words", "hole", "beyond"):
        table.rows[3][1] = {"words": "many", "hole": "", "beyond": "1e400"}[how]
    elif how == "unseen":
        table.rows[3][3] = pick(rng, "mars", SCRIPT)
    elif how == "order":
        table.head, table.rows = table.head[::-1], [row[::-1] for row in table.rows]
    elif how == "extra":
        table.add(pick(rng, "cluster", "more"), ["z"] * len(table.rows))
    elif how == "constant":
        table.rows = [table.rows[0][:] for _ in table.rows]
    elif how == "empty":
        table.rows = []
    told = ["x0"] if how in ("missing", "renamed", "words", "hole", "beyond") else []
    return Case(
        ["apply", "run", "new.csv", "-o", "new.out.csv"], {"new.csv": table.csv()}, ends, told, run={}
    )


@hostile
def new_rows_in_other_formats(rng: Rng) -> Case:
    ending = pick(rng, *ENDINGS)
    name = f"new{ending}"
    ends = FAILS if ending in (".npy", ".npz", ".mtx") else DONE
    table = new_rows(rng) if ends == DONE else sheet(rng)
    return Case(["apply", "run", name], {name: saved(ending, table)}, ends, run={})


@hostile
def places_for_new_labels(rng: Rng) -> Case:
    place, ends = pick(
        rng,
        *[
            (place, DONE)
            for place in ("deep/er/x.csv", "x.parquet", "x.jsonl", "x.tsv", "a b.csv", "名.csv", "-x.csv")
        ],
        *[
            (place, FAILS)
            for place in (
                "x.xlsx",
                "x",
                "run",
                "new.csv",
                "new.csv/x.csv",
                "",
                "x" * 300 + ".csv",
                "/proc/x.csv",
                "x.npy",
            )
        ],
    )
    return Case(["apply", "run", "new.csv", "-o", place], {"new.csv": new_rows(rng).csv()}, ends, run={})


@hostile
def runs_with_parts_missing(rng: Rng) -> Case:
    changed, ends = pick(
        rng,
        ({"labels.csv": None}, FAILS),
        ({"run.json": None}, FAILS),
        ({"model.skops": None}, FAILS),
        ({"report.html": None}, DONE),
        ({"run.json": b"{"}, FAILS),
        ({"run.json": b"[]"}, FAILS),
        ({"run.json": b"\xff\xfe"}, FAILS),
        ({"run.json": b'{"format": "coterie-run"}'}, FAILS),
        ({"labels.csv": b"id,x0,x1,word,cluster\na,1,2,red,0\n"}, FAILS),
        ({"labels.csv": b"id,x0\n" + b"a,1\n" * 24}, FAILS),
        ({"labels.csv": b"\xff\xfe\x00"}, FAILS),
        ({"constraints.csv": None}, DONE),
    )
    more = pick(rng, [], ["--title", SCRIPT], ["--map", "x0,x1"])
    return Case(["report", "run", *more], {}, ends, run=changed)
