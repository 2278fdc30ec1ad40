"""The small commands: check, methods, apply, report; help and codes."""

import json
import re

import joblib
import numpy as np
import polars as pl
import pytest

import coterie as package
from coterie.methods import METHODS


def test_help_names_every_command_and_the_codes(coterie):
    answer = coterie("--help")
    assert answer.code == 0
    for word in ("cluster", "check", "compare", "methods", "apply", "report", "Exit codes"):
        assert word in answer.out
    assert coterie("-h").code == 0
    assert coterie().code == 2
    assert coterie("--version").out.strip() == package.__version__
    for command in ("cluster", "check", "compare", "methods", "apply", "report"):
        assert coterie(command, "--help").code == 0
    answer = coterie("custer")
    assert (answer.code, "cluster" in answer.err) == (2, True)


def test_methods_lists_the_registry(coterie):
    answer = coterie("methods")
    assert all(method.name in answer.out for method in METHODS)
    assert "--method auto" in answer.out
    found = coterie("methods", "--json").json
    assert [entry["name"] for entry in found["methods"]] == [method.name for method in METHODS]


# ---- check ---------------------------------------------------------------------------------------------


def test_check_says_what_is_stated_and_that_it_can_be_met(coterie, people):
    answer = coterie("check", "people.csv", "--id", "name", "--pairs", "pairs.csv", "-k", 3)
    assert answer.code == 0
    assert "All statements can be met with 3 clusters." in answer.out
    assert re.search(r"90 items; \d+ of them are named", answer.out)
    found = coterie("check", "people.csv", "--id", "name", "--pairs", "pairs.csv", "-k", 3, "--json").json
    assert (found["status"], found["n_must_link"] + found["n_cannot_link"]) == ("feasible", 20)


def test_check_explains_in_the_users_ids(coterie, people, tmp_path):
    lines = "i,j,kind\np00,p01,cannot-link\np01,p02,cannot-link\np00,p02,cannot-link\n"
    (tmp_path / "ring.csv").write_text(lines)
    words = ["check", "people.csv", "--id", "name", "--pairs", "ring.csv"]
    assert coterie(*words).code == 0
    assert coterie(*words, "-k", 3).code == 0
    answer = coterie(*words, "-k", 2)
    assert answer.code == 3
    assert "cannot all be met with 2 clusters" in answer.out
    assert "p00" in answer.out
    assert coterie(*words, "-k", 2, "--json").json["status"] == "infeasible"


def test_check_takes_columns_too(coterie, people):
    answer = coterie("check", "people.csv", "--id", "name", "--across", "region", "-k", 2)
    assert answer.code == 3
    answer = coterie("check", "people.csv", "--id", "name", "--across", "region", "-k", 3)
    assert answer.code == 0
    assert "90 items in 3 groups that stay apart." in answer.out


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("i,j,kind\np00,pxx,must-link\n", "line 2: unknown id 'pxx'"),
        ("i,j,kind\np00,p01,friends\n", "friends"), ("i,j\np00,p01\n", "kind"),
        ("i,j,kind\np00,p00,cannot-link\n", "p00"), ("i,j,kind\np00,p01\n", "line 2"), ("", "pairs.csv"),
    ],
)  # fmt: skip
def test_check_names_the_line_at_fault(coterie, people, tmp_path, lines, told):
    (tmp_path / "pairs.csv").write_text(lines)
    answer = coterie("check", "people.csv", "--id", "name", "--pairs", "pairs.csv", "-k", 3)
    assert answer.code == 2
    assert told in answer.err
    assert answer.err.count("\n") == 1


def test_ids_without_their_column(coterie, people):
    answer = coterie("check", "people.csv", "--pairs", "pairs.csv", "-k", 3)
    assert answer.code == 2
    assert "--id" in answer.err


# ---- apply ---------------------------------------------------------------------------------------------


@pytest.fixture
def run_folder(coterie, people):
    words = ["--id", "name", "--pairs", "pairs.csv", "-o", "out", "--method", "PCKMeans"]
    assert coterie("cluster", "people.csv", "-k", 3, *words).code == 0
    return "out"


def test_apply_labels_new_rows_as_the_model_does(coterie, run_folder, tmp_path):
    table = pl.read_csv(tmp_path / "people.csv")
    table.sample(30, seed=0).write_csv(tmp_path / "new.csv")
    answer = coterie("apply", "out", "new.csv")
    assert answer.code == 0, answer.err
    found = pl.read_csv(tmp_path / "new-clusters.csv")
    assert found.columns == [*table.columns, "cluster"]
    bundle = joblib.load(tmp_path / "out" / "model.joblib")
    from coterie.tables import read_table

    X = bundle["plan"].transform(read_table(tmp_path / "new.csv"))
    assert found["cluster"].to_list() == bundle["model"].predict(X).tolist()
    assert coterie("apply", "out", "new.csv").code == 2  # is there already
    assert coterie("apply", "out/model.joblib", "new.csv", "--force").code == 0
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


@pytest.mark.parametrize(
    "method", [m.name for m in METHODS if "cosine" in m.metrics and hasattr(m.estimator, "predict")]
)
def test_new_rows_of_text(coterie, tmp_path, method):
    text = [*["dogs and cats play in the garden"] * 9, *["stocks and bonds fell on monday"] * 9]
    known = ["a", *[None] * 16, "b"]
    pl.DataFrame({"text": text, "label": known}).write_csv(tmp_path / "t.csv")
    words = ["--text", "text", "--labels", "label", "--method", method, "--no-report", "-o", "out"]
    assert coterie("cluster", "t.csv", "-k", 2, *words).code == 0
    pl.DataFrame({"text": ["cats play", "bonds on monday", "zebra"]}).write_csv(tmp_path / "new.csv")
    answer = coterie("apply", "out", "new.csv", "--json")
    assert answer.code == 0, answer.out
    first, second, nothing = pl.read_csv(tmp_path / "new-clusters.csv")["cluster"].to_list()
    assert (first != second, nothing) == (True, -1)
    assert answer.json["n_in_none"] == 1
    assert any("nothing that is known (row 2)" in note for note in answer.json["notes"])


def test_a_model_that_is_none(coterie, people, tmp_path):
    (tmp_path / "junk.joblib").write_bytes(b"\x80junk")
    joblib.dump({"a": 1}, tmp_path / "other.joblib")
    (tmp_path / "empty").mkdir()
    for model in ("junk.joblib", "other.joblib", "empty", "missing"):
        answer = coterie("apply", model, "people.csv")
        assert answer.code == 2
        assert answer.err.count("\n") == 1


# ---- report --------------------------------------------------------------------------------------------


def test_report_writes_the_page_again(coterie, run_folder, tmp_path):
    page = tmp_path / "out" / "report.html"
    before = page.read_text()
    page.unlink()
    assert coterie("report", "out").code == 0
    assert len(page.read_text()) == pytest.approx(len(before), rel=0.02)
    answer = coterie("report", "out", "--map", "age,height", "--title", "People & places")
    assert answer.code == 0
    text = page.read_text()
    assert "People &amp; places" in text
    assert "height" in text
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


def test_report_keeps_the_map_and_title_of_the_run(coterie, people, tmp_path):
    words = ["--id", "name", "--map", "age,height", "--title", "My people", "-o", "out"]
    assert coterie("cluster", "people.csv", "-k", 3, *words).code == 0
    page = tmp_path / "out" / "report.html"
    before = re.sub(r"Made [^<]*", "", page.read_text())
    assert coterie("report", "out").code == 0
    assert re.sub(r"Made [^<]*", "", page.read_text()) == before


def test_report_of_a_matrix_that_has_changed(coterie, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    np.save(tmp_path / "x.npy", X)
    assert coterie("cluster", "x.npy", "-k", 2, "-o", "out").code == 0
    assert coterie("report", "out").code == 0
    np.save(tmp_path / "x.npy", X[::-1])
    answer = coterie("report", "out")
    assert (answer.code, "has changed since the run" in answer.err) == (2, True)


def test_report_of_what_is_no_run(coterie, run_folder, tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in ("empty", "missing", "people.csv"):
        answer = coterie("report", folder)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
    (tmp_path / "out" / "run.json").write_text("{")
    assert coterie("report", "out").code == 2


# ---- compare -------------------------------------------------------------------------------------------


def test_compare_ranks_and_names_the_next_command(coterie, people):
    words = ["compare", "people.csv", "-k", 3, "--id", "name", "--pairs", "pairs.csv"]
    found = coterie(*words, "--json").json
    chosen = [row for row in found["methods"] if row["chosen"]]
    assert len(chosen) == 1
    assert json.dumps(found)
    answer = coterie(*words, "--methods", "PCKMeans,COPKMeans")
    assert answer.code == 0, answer.err
    assert "COPKMeans" in answer.out
    assert "coterie cluster people.csv" in answer.out
    assert {row["method"] for row in found["methods"]} >= {"PCKMeans", "COPKMeans", "MPCKMeans"}
    assert coterie(*words, "--methods", "PKMeans").code == 2


def test_compare_without_statements(coterie, people):
    answer = coterie("compare", "people.csv", "-k", 3, "--id", "name")
    assert (answer.code, answer.err.count("\n")) == (2, 1)


# ---- faults --------------------------------------------------------------------------------------------


def test_a_fault_of_ours_is_one_line(coterie, people, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("of ours\nin two lines")

    monkeypatch.setattr("coterie.cli.commands.cluster.fit", fail)
    answer = coterie("cluster", "people.csv", "-k", 3, "--id", "name", "-o", "out")
    assert answer.code == 1
    assert answer.err.count("\n") == 1
    assert "ZeroDivisionError: of ours in two lines" in answer.err
    monkeypatch.setenv("COTERIE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        coterie("cluster", "people.csv", "-k", 3, "--id", "name", "-o", "out")


def test_a_full_disk_is_one_line(coterie, people, monkeypatch, tmp_path):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "labels.csv")

    monkeypatch.setattr("coterie.tables.write_table", full)
    answer = coterie("cluster", "people.csv", "-k", 3, "--id", "name", "-o", "out")
    assert (answer.code, answer.err) == (2, "coterie: labels.csv: no space left on device\n")
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "pairs.csv"}


def test_interrupted(coterie, people, monkeypatch, tmp_path):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("coterie.tables.write_table", stop)
    answer = coterie("cluster", "people.csv", "-k", 3, "--id", "name", "-o", "out")
    assert answer.code == 130
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "pairs.csv"}


def test_numbers_are_not_lost(coterie, tmp_path):
    """What the user's file says comes out as it went in."""
    rows = [f"00{n},{n / 3!r},x{n}" for n in range(12)]
    (tmp_path / "t.csv").write_text("code,value,name\n" + "\n".join(rows) + "\n")
    assert coterie("cluster", "t.csv", "-k", 2, "--id", "code", "-o", "out").code == 0
    written = (tmp_path / "out" / "labels.csv").read_text().splitlines()
    assert [line.rsplit(",", 1)[0] for line in written[1:]] == rows
    assert np.all([line.rsplit(",", 1)[1] in "01" for line in written[1:]])


@pytest.mark.parametrize(
    "ids",
    [
        ["a", "b", "c", "d"], ["7", "007", "70", "700"], ["1", "2", "3", "4"], ["1.0", "2.0", "3.0", "4.0"],
        ["1", "1.0", "2", "3"], ["a", "a", "c", "d"], ["a", "", "c", "d"], ["a", "NA", "c", "d"],
        ["x,y", 'say "hi"', "z\nz", "d"], [" a", "a", "b ", "c"],
    ],
)  # fmt: skip
@pytest.mark.parametrize("first", [0, 1, 2])
def test_the_short_way_of_check_says_what_the_long_way_says(coterie, tmp_path, monkeypatch, ids, first):
    table = {"id": ids, "x": range(4)}
    pairs = {"i": [ids[first], ids[0]], "j": [ids[3], ids[2]], "kind": ["cannot-link", "must-link"]}
    pl.DataFrame(table).write_csv(tmp_path / "t.csv")
    pl.DataFrame(pairs).write_csv(tmp_path / "p.csv")
    words = ["check", "t.csv", "--id", "id", "--pairs", "p.csv", "-k", 2]
    short = coterie(*words)
    monkeypatch.setattr("coterie.cli.commands.check._peeked", lambda request: None)
    assert short == coterie(*words)
