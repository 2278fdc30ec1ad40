"""`coterie apply`, and the file of the model that it reads: safe, whatever stands in it."""

import io
import json
import os
import pickle
import shlex
import zipfile
from datetime import date

import numpy as np
import polars as pl
import pytest
import skops.io

from coterie.cli._job.saved import load_model
from coterie.methods import METHODS, find_method
from coterie.tables import read_table
from tests.tables.workbook import workbook


@pytest.fixture
def run_folder(coterie, people):
    words = ["--id", "name", "--pairs", "pairs.csv", "-o", "out", "--method", "PCKMeans", "--no-report"]
    assert coterie("cluster", "people.csv", "-k", 3, *words).code == 0
    return "out"


def test_apply_labels_new_rows_as_the_model_does(coterie, run_folder, tmp_path):
    table = pl.read_csv(tmp_path / "people.csv")
    table.sample(30, seed=0).with_columns(pl.col("age") + 1e-3).write_csv(tmp_path / "new.csv")
    answer = coterie("apply", "out", "new.csv")
    assert answer.code == 0, answer.err
    found = pl.read_csv(tmp_path / "new-clusters.csv")
    assert found.columns == [*table.columns, "cluster"]
    bundle, _ = load_model(tmp_path / "out")
    X = bundle["plan"].transform(read_table(tmp_path / "new.csv"))
    assert found["cluster"].to_list() == bundle["model"].predict(X).tolist()
    assert coterie("apply", "out", "new.csv").code == 2  # is there already
    assert coterie("apply", "out/model.skops", "new.csv", "--force").code == 0
    found = coterie("apply", "out", "new.csv", "-o", "sub/x.parquet", "--json").json
    assert sum(found["sizes"]) == 30
    assert len(pl.read_parquet(tmp_path / "sub" / "x.parquet")) == 30


def test_apply_refuses_what_does_not_fit(coterie, run_folder, tmp_path):
    table = pl.read_csv(tmp_path / "people.csv")
    table.drop("income").write_csv(tmp_path / "less.csv")
    answer = coterie("apply", "out", "less.csv")
    assert (answer.code, "income" in answer.err) == (2, True)
    holes = table.with_columns(
        pl.when(pl.col("name") == "p03").then(None).otherwise(pl.col("age")).alias("age")
    )
    holes.write_csv(tmp_path / "holes.csv")
    answer = coterie("apply", "out", "holes.csv")
    assert (answer.code, "age" in answer.err, "--impute" in answer.err) == (2, True, True)
    assert coterie("apply", "out", "holes.csv", "--impute").code == 0
    table.with_columns(region=pl.lit("mars")).write_csv(tmp_path / "far.csv")
    answer = coterie("apply", "out", "far.csv")
    assert answer.code == 0
    assert "90 rows of region with a value that is new" in answer.out


def stated(method, column):
    """Known labels, for methods that take any."""
    return ["--labels", column] if "label" in find_method(method).kinds else ["--drop", column]


@pytest.mark.parametrize("method", [m.name for m in METHODS if "cosine" in m.metrics])
def test_new_rows_of_text(coterie, tmp_path, method):
    text = [*["dogs and cats play in the garden"] * 9, *["stocks and bonds fell on monday"] * 9]
    known = ["a", *[None] * 16, "b"]
    pl.DataFrame({"text": text, "label": known}).write_csv(tmp_path / "t.csv")
    words = ["--text", "text", *stated(method, "label"), "--method", method, "--no-report", "-o", "out"]
    assert coterie("cluster", "t.csv", "-k", 2, *words).code == 0
    pl.DataFrame({"text": ["cats play", "bonds on monday", "zebra"]}).write_csv(tmp_path / "new.csv")
    answer = coterie("apply", "out", "new.csv", "--json")
    assert answer.code == 0, answer.out
    first, second, nothing = pl.read_csv(tmp_path / "new-clusters.csv")["cluster"].to_list()
    assert (first != second, nothing) == (True, -1)
    assert answer.json["n_in_none"] == 1
    assert any("nothing that is known (row 2)" in note for note in answer.json["notes"])


@pytest.mark.parametrize("method", [m for m in METHODS if m.wants == "rows"], ids=lambda method: method.name)
def test_every_method_labels_new_rows_and_knows_the_old(coterie, people, tmp_path, method):
    table = pl.read_csv(tmp_path / "people.csv")
    labels = [str(one) if at < 12 else None for at, one in enumerate(people.tolist())]
    table.with_columns(truth=pl.Series(labels)).write_csv(tmp_path / "known.csv")
    words = [
        "--id",
        "name",
        *stated(method.name, "truth"),
        "--method",
        method.name,
        "-o",
        "out",
        "--no-report",
    ]
    k = ["-k", 3] if method.takes_k else []
    assert coterie("cluster", "known.csv", *k, *words, "--columns", "age,income,height").code == 0
    given = pl.read_csv(tmp_path / "out" / "labels.csv")["cluster"]
    answer = coterie("apply", "out", "known.csv", "-o", "old.csv")
    assert answer.code == 0, answer.err
    assert "90 rows were clustered in the run" in answer.out
    assert pl.read_csv(tmp_path / "old.csv")["cluster"].to_list() == given.to_list()
    # a little beside an item is nearest to it, and in its cluster where clusters are blobs
    table.with_columns(pl.col("age") + 1e-6).write_csv(tmp_path / "new.csv")
    answer = coterie("apply", "out", "new.csv", "--json").json
    found = pl.read_csv(tmp_path / "new-clusters.csv")["cluster"]
    assert np.mean(found.to_numpy() == given.to_numpy()) > 0.9
    told = f"90 new rows in the cluster of the nearest item: {method.name} has no centres."
    is_tree = not hasattr(method.estimator, "predict")
    assert (told in answer["notes"]) == is_tree
    assert not is_tree or found.to_list() == given.to_list()


@pytest.mark.parametrize("with_ids", [True, False])
def test_rows_that_are_alike_keep_the_labels_that_part_them(coterie, tmp_path, with_ids):
    rows = pl.DataFrame(
        {"who": list("abcdef"), "x": [1.0, 1.0, 1.0, 5.0, 5.0, 9.0], "y": [0.0] * 3 + [2.0] * 3}
    )
    rows.write_csv(tmp_path / "t.csv")
    (tmp_path / "pairs.csv").write_text("i,j,kind\na,b,cl\nb,c,cl\na,c,cl\n")
    words = ["-k", 3, "--id", "who", "--pairs", "pairs.csv", "-o", "out", "--no-report"]
    assert coterie("cluster", "t.csv", *words).code == 0
    label = dict(pl.read_csv(tmp_path / "out" / "labels.csv").select("who", "cluster").rows())
    new = rows.reverse() if with_ids else rows.drop("who")
    new.write_csv(tmp_path / "new.csv")
    assert coterie("apply", "out", "new.csv").code == 0
    found = pl.read_csv(tmp_path / "new-clusters.csv")["cluster"].to_list()
    assert found == [label[name] for name in ("fedcba" if with_ids else "abcdef")]


def test_workbooks_all_the_way(coterie, people, tmp_path):
    """A table and pairs from Excel, with dates; what is written is a CSV, and can be reported and applied."""
    table = pl.read_csv(tmp_path / "people.csv")
    days = [date(2020, 1, 1 + at % 28) for at in range(90)]
    rows = [[*row, day] for row, day in zip(table.rows(), days, strict=True)]
    (tmp_path / "people.xlsx").write_bytes(workbook([[*table.columns, "since"], *rows]))
    pairs = pl.read_csv(tmp_path / "pairs.csv").select("i", "j", "kind")
    (tmp_path / "pairs.xlsx").write_bytes(workbook([pairs.columns, *pairs.rows()]))
    words = ["--id", "name", "--pairs", "pairs.xlsx", "-o", "out"]
    answer = coterie("cluster", "people.xlsx", "-k", 3, *words)
    assert answer.code == 0, answer.err
    assert "1 column of dates or times, counted in days: since." in answer.out
    assert coterie("report", "out").code == 0
    assert coterie("apply", "out", "people.xlsx").code == 0
    given = pl.read_csv(tmp_path / "out" / "labels.csv")["cluster"]
    assert pl.read_csv(tmp_path / "people-clusters.csv")["cluster"].to_list() == given.to_list()


# ---- the file of the model -----------------------------------------------------------------------------


class Mine:
    """A class of somebody else: the file would make one."""

    made = 0

    def __setstate__(self, state):
        Mine.made += 1

    def __getstate__(self):
        return {"a": 1}


def called(module, name, *words):
    """A file that calls something: skops writes none such, but reads them."""
    state = json.loads(
        zipfile.ZipFile(io.BytesIO(skops.io.dumps({"f": np.dtype(float)}))).read("schema.json")
    )
    content = json.loads(zipfile.ZipFile(io.BytesIO(skops.io.dumps({"f": words}))).read("schema.json"))
    state["content"]["f"] = {
        "__class__": name, "__module__": module, "__loader__": "ConstructorFromReduceNode",
        "content": content["content"]["f"],
    }  # fmt: skip
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        file.writestr("schema.json", json.dumps(state))
    return target.getvalue()


HOSTILE = {
    "os.system": (called("os", "system", "touch ran"), "asks for os.system"),
    "posix.system": (skops.io.dumps({"model": os.system}), "asks for posix.system"),
    "a class": (skops.io.dumps({"model": Mine()}), f"asks for {__name__}.Mine"),
    "numpy's exec": (
        called("numpy.testing._private.utils", "runstring", "open('ran', 'w')", {}),
        "asks for numpy.testing._private.utils.runstring",
    ),
    "our own function": (called("coterie.cli", "main", ["--version"]), "asks for coterie.cli.main"),
    "our own command": (called("coterie.cli.__main__", "main"), "asks for coterie.cli.__main__.main"),
    "passed on": (called("coterie.cli._job.saved", "Path", "ran"), "asks for coterie.cli._job.saved.Path"),
    "a pickle": (pickle.dumps(Mine()), "no model that we can read"),
    "nothing": (b"", "no model that we can read"),
    "other": (skops.io.dumps({"a": 1}), "no model that we can read"),
}  # fmt: skip


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_file_runs_nothing(coterie, people, tmp_path, how):
    content, told = HOSTILE[how]
    (tmp_path / "their.skops").write_bytes(content)
    answer = coterie("apply", "their.skops", "people.csv")
    assert (answer.code, answer.err.count("\n"), answer.out) == (2, 1, "")
    assert told in answer.err
    assert (Mine.made, (tmp_path / "ran").exists()) == (0, False)


def test_an_old_pickle_is_refused_with_the_way_out(coterie, run_folder, tmp_path):
    command = json.loads((tmp_path / "out" / "run.json").read_text())["command"]
    (tmp_path / "out" / "model.skops").rename(tmp_path / "out" / "model.joblib")
    for model in ("out", "out/model.joblib"):
        answer = coterie("apply", model, "people.csv")
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert "out/model.joblib is a pickle" in answer.err
        assert command in answer.err
    assert coterie(*shlex.split(command)[1:]).code == 0
    assert coterie("apply", "out", "people.csv").code == 0


def test_no_model_at_all(coterie, people, tmp_path):
    (tmp_path / "empty").mkdir()
    for model in ("empty", "missing", "people.csv"):
        answer = coterie("apply", model, "people.csv")
        assert (answer.code, answer.err.count("\n")) == (2, 1)
