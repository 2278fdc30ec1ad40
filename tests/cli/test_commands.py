"""The small commands: check, methods, apply, report; help and codes."""

import json
import re

import numpy as np
import polars as pl
import pytest

import coterie as package
from coterie.methods import METHODS


def test_help_names_every_command_and_the_codes(coterie):
    answer = coterie("--help")
    assert answer.code == 0
    for word in ("cluster", "resolve", "check", "compare", "methods", "apply", "report", "Exit codes"):
        assert word in answer.out
    assert coterie("-h").code == 0
    assert coterie().code == 2
    assert coterie("--version").out.strip() == package.__version__
    for command in ("cluster", "resolve", "check", "compare", "methods", "apply", "report"):
        assert coterie(command, "--help").code == 0
    answer = coterie("custer")
    assert (answer.code, "cluster" in answer.err) == (2, True)


def test_methods_lists_the_registry(coterie):
    answer = coterie("methods")
    assert all(method.name in answer.out for method in METHODS)
    assert "--method auto" in answer.out
    taken = {
        line.split()[0]: line.split()[1:]
        for line in answer.out.split("What each takes")[1].splitlines()
        if line.split()
    }
    assert taken["SeededKMeans"] == ["rows", "label", "sqeuclidean,", "cosine", "yes", "yes"]
    assert taken["ConstrainedLinkage"] == [
        "rows",
        "all",
        "--size-max",
        "--load",
        "yes",
        "sqeuclidean,",
        "cosine",
    ]
    assert taken["MeanFieldMixture"] == ["rows", "all", "sqeuclidean", "yes"]  # new rows, and no weights
    found = coterie("methods", "--json").json
    assert [entry["name"] for entry in found["methods"]] == [method.name for method in METHODS]


# ---- check ---------------------------------------------------------------------------------------------


def test_check_says_what_is_stated_and_that_it_can_be_met(coterie, people):
    answer = coterie("check", "people.csv", "--id", "name", "--pairs", "pairs.csv", "-k", 3)
    assert answer.code == 0
    assert "All constraints can be met with 3 clusters." in answer.out
    assert re.search(r"90 items; \d+ of them are named", answer.out)
    found = coterie("check", "people.csv", "--id", "name", "--pairs", "pairs.csv", "-k", 3, "--json").json
    assert (found["status"], found["n_must_link"] + found["n_cannot_link"]) == ("feasible", 20)


def test_a_pair_stated_twice_is_told_and_changes_no_method(coterie, people, tmp_path):
    lines = "i,j,kind\np00,p02,must-link\np02,p00,must-link\np00,p01,cannot-link\n"
    (tmp_path / "twice.csv").write_text(lines)
    words = ["people.csv", "--id", "name", "--pairs", "twice.csv", "-k", 3]
    assert "1 pair is stated more than once: must-link p00-p02" in coterie("check", *words).out
    assert "must-link p00-p02" in coterie("check", *words, "--json").json["remarks"][0]
    assert "COPKMeans (all" in coterie("cluster", *words, "-o", "out").out


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


def test_pairs_with_columns_of_other_names(coterie, people, tmp_path):
    text = (tmp_path / "pairs.csv").read_text()
    (tmp_path / "theirs.csv").write_text(text.replace("i,j,kind", "left,right,relation", 1).replace(",", ";"))
    words = ["people.csv", "--id", "name", "-k", 3, "--pairs", "theirs.csv"]
    answer = coterie("check", *words)
    assert answer.code == 2
    assert "lacks the columns i, j, kind" in answer.err
    assert "--pair-columns left=i,right=j" in answer.err
    words += ["--pair-columns", "left=i,right=j", "--pair-columns", "relation = kind"]
    assert coterie("check", *words, "--json").json["n_must_link"] > 0
    assert "constraints are met" in coterie("cluster", *words, "--no-report", "-o", "out").out
    for names, told in (
        ("left", "write NAME=i"),
        ("lift=i", "no column 'lift'"),
        ("left=x", "'x' is none of"),
    ):
        answer = coterie("check", *words[:-4], "--pair-columns", names)
        assert (answer.code, told in answer.err, "--pair-columns" in answer.err) == (2, True, True)
    assert coterie("check", *words[:5], "--pair-columns", "left=i").code == 2


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


def test_pictures_are_written_when_asked_for(coterie, run_folder, tmp_path):
    assert not list((tmp_path / "out").glob("*.png"))
    (tmp_path / "out" / "map.png").write_text("mine")
    answer = coterie("report", "out", "--pictures")
    assert answer.code == 0
    drawn = sorted(path.name for path in (tmp_path / "out").glob("report-*.png"))
    assert drawn == ["report-map.png", "report-objective.png", "report-sizes.png"]
    assert all(name in answer.out for name in drawn)
    assert (tmp_path / "out" / "map.png").read_text() == "mine"


def test_the_page_shows_texts_and_names_of_labels(coterie, tmp_path):
    kinds = {"space": "the rocket flew to the moon", "ice": "the puck slid on the ice"}
    rows = [f"{number},{kind},{kinds[kind]} again {number}" for number in range(15) for kind in kinds]
    (tmp_path / "notes.csv").write_text("\n".join(["row,kind,note", *rows]), encoding="utf-8")
    words = ["-k", 2, "--labels", "kind", "--text", "note", "--drop", "row", "-o", "out"]
    assert coterie("cluster", "notes.csv", *words).code == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("the rocket flew to the moon again") == 3
    for name in kinds:
        assert len(re.findall(rf"<h3>Cluster \d \({name}\)</h3>", page)) == 1
    (tmp_path / "out" / "report.html").unlink()
    assert coterie("report", "out").code == 0
    assert "the rocket flew to the moon again" in (tmp_path / "out" / "report.html").read_text()


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
    found = coterie(*words, "--folds", 2, "--json").json
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
