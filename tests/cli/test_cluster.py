"""`coterie cluster`: one command from files to labels, constraints with outcome, report and model."""

import json
import re
import shlex

import numpy as np
import polars as pl
import pytest
from scipy import io, sparse
from sklearn.datasets import make_blobs
from sklearn.preprocessing import scale

from coterie import Constraints, COPKMeans
from coterie.cli._job.saved import load_model

FILES = {"labels.csv", "constraints.csv", "model.skops", "report.html", "run.json"}


def labels_of(folder, name="labels.csv"):
    return pl.read_csv(folder / name)["cluster"].to_numpy()


def test_one_command_leaves_labels_statements_report_and_model(coterie, people, tmp_path):
    answer = coterie("cluster", "people.csv", "-k", 3, "--id", "name", "--pairs", "pairs.csv", "-o", "out")
    assert answer.code == 0
    assert answer.err == ""
    assert {path.name for path in (tmp_path / "out").iterdir()} >= FILES
    table = pl.read_csv(tmp_path / "out" / "labels.csv")
    given = pl.read_csv(tmp_path / "people.csv")
    assert table.columns == [*given.columns, "cluster"]
    assert table.drop("cluster").equals(given)
    known = Constraints.read(tmp_path / "pairs.csv", ids=given["name"].to_list())
    assert not known.violations(table["cluster"].to_numpy())
    outcomes = pl.read_csv(tmp_path / "out" / "constraints.csv")
    assert len(outcomes) == 20
    assert set(outcomes["outcome"]) == {"met"}
    assert "All 20 constraints are met." in answer.out
    assert "standardised" in answer.out
    assert "left out" in answer.out  # the id
    assert "COPKMeans (all constraints can be met" in answer.out


def test_the_labels_are_those_of_the_estimator(coterie, people, tmp_path):
    words = ["--id", "name", "--pairs", "pairs.csv", "--columns", "age,income,height", "--seed", 5]
    assert coterie("cluster", "people.csv", "-k", 3, *words, "-o", "out").code == 0
    given = pl.read_csv(tmp_path / "people.csv")
    known = Constraints.read(tmp_path / "pairs.csv", ids=given["name"].to_list())
    X = scale(given.select("age", "income", "height").to_numpy())
    model = COPKMeans(3, random_state=5).fit(X, constraints=known)
    assert labels_of(tmp_path / "out").tolist() == model.labels_.tolist()


def test_the_command_in_the_output_gives_the_run_again(coterie, people, tmp_path):
    first = coterie("cluster", "people.csv", "-k", 4, "--id", "name", "--pairs", "pairs.csv", "-o", "my out")
    before = labels_of(tmp_path / "my out").tolist()
    command = next(line for line in first.out.splitlines() if line.startswith("Again: "))
    words = shlex.split(command.removeprefix("Again: "))
    assert words[0] == "coterie"
    again = coterie(*words[1:])
    assert again.code == 0
    assert labels_of(tmp_path / "my out").tolist() == before
    assert command in again.out


def test_a_plan_does_nothing(coterie, people, tmp_path):
    answer = coterie("cluster", "people.csv", "-k", 3, "--id", "name", "--pairs", "pairs.csv", "--plan")
    assert answer.code == 0
    assert "COPKMeans" in answer.out
    assert "nothing was done" in answer.out
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "pairs.csv"}
    machine = coterie("cluster", "people.csv", "-k", 3, "--id", "name", "--plan", "--json").json
    assert machine["plan"]["method"] == "COPKMeans"
    uses = {column["name"]: column["use"] for column in machine["plan"]["columns"]}
    assert uses["age"] == "numeric"
    assert uses["region"] == "category"
    assert uses["name"] == "left out"


def test_json_is_one_document_and_that_of_the_folder(coterie, people, tmp_path):
    answer = coterie("cluster", "people.csv", "-k", 3, "--id", "name", "-o", "out", "--json")
    found = answer.json
    assert found.pop("out") == "out"
    assert found == json.loads((tmp_path / "out" / "run.json").read_text())
    assert sum(found["sizes"]) == 90
    assert found["converged"]
    assert "error" not in found


def test_without_an_id_items_are_row_numbers(coterie, people, tmp_path):
    (tmp_path / "rows.csv").write_text("i,j,kind\n0,1,must-link\n1,2,must-link\n3,0,cannot-link\n")
    answer = coterie("cluster", "people.csv", "-k", 3, "--drop", "name", "--pairs", "rows.csv", "-o", "out")
    assert answer.code == 0
    labels = labels_of(tmp_path / "out")
    assert labels[0] == labels[1] == labels[2] != labels[3]


# ---- what can be known ---------------------------------------------------------------------------------


def test_bounds_hold_and_the_reason_says_so(coterie, people, tmp_path):
    answer = coterie(
        "cluster",
        "people.csv",
        "-k",
        3,
        "--id",
        "name",
        "--pairs",
        "pairs.csv",
        "--size-min",
        28,
        "-o",
        "out",
    )
    assert answer.code == 0
    assert "SizeConstrainedKMeans (bounds on sizes are given)" in answer.out
    assert np.bincount(labels_of(tmp_path / "out")).min() >= 28


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        (["--size-min", "1.0", "--size-max", "1.0"], [30, 30, 30]),
        (["--size-min", "20,30,40", "--size-max", "20,30,40"], [20, 30, 40]),
    ],
)
def test_shares_and_one_bound_a_cluster(coterie, people, words, sizes):
    answer = coterie("cluster", "people.csv", "-k", 3, "--id", "name", *words, "-o", "out", "--json")
    assert answer.json["sizes"] == sizes


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--size-max", "110%"], 0, ["(each at most 33); all bounds hold."]),
        (["--size-max", 1.1], 0, ["at most 33", "all bounds hold"]),
        (["--size-max", "200%", "--load", "load"], 0, ["Load: 1", "(each at most 242)"]),
        (["--size-max", 29], 3, ["add up to 87, which is 3 less than the number of items, 90"]),
        (["--size-max", "90%"], 3, ["add up to 81"]),
        (["--size-max", 350.0, "--load", "load"], 2, ["Write 350 for a load of 350"]),
        (["--size-max", "350%"], 2, ["--size-max", "Write 350 for a size of 350"]),
        (["--size-max", "p00=20,p02=30"], 0, ["p00: 20 (at most 20), p02: ", "(at most 30), cluster 2: "]),
        (["--size-max", "p00=20,zz=30"], 2, ["no item is called 'zz'", "--labels"]),
        (["--size-max", "p00=20,30"], 2, ["name every cluster"]),
        (["--size-max", 5, "--pairs", "pairs.csv", "--load", "load"], 3, ["add up to 15"]),
        (["--group", "region", "--group-min", 20], 3, ["group 'east'"]),
        (["--load", "load"], 2, ["--size-min or --size-max"]),
        (["--load", "load", "--method", "SizeConstrainedKMeans"], 2, ["--size-min or --size-max"]),
        (["--load", "load", "--method", "BalancedKMeans"], 0, ["Load: 1", "(each at least 108.9); all b"]),
        (["--load", "load", "--method", "BalancedCut"], 0, ["Load: 1", "at most 124.63); all bo"]),
        (["--method", "COPKMeans", "--size-max", 50], 2, ["takes no bounds on sizes"]),
        (["--method", "COPKMeans", "--pairs", "knot.csv"], 3, ["p00", "p02"]),
    ],
    ids=lambda words: " ".join(map(str, words)) if isinstance(words, list) else "",
)
def test_run_plan_and_check_say_the_same_of_bounds(coterie, people, tmp_path, words, code, told):
    (tmp_path / "knot.csv").write_text(
        "i,j,kind\np00,p01,must-link\np01,p02,must-link\np00,p02,cannot-link\n"
    )
    words = ["people.csv", "-k", 3, "--id", "name", *words]
    run = coterie("cluster", *words, "-o", "out", "--no-report")
    assert run.code == code, run.err
    for word in told:
        assert word in run.out + run.err
    plan = coterie("cluster", *words, "-o", "none", "--plan")
    assert (plan.code, plan.err) == (run.code, run.err)
    assert not (tmp_path / "none").exists()
    if "--method" not in words:
        check = coterie("check", *words)
        assert check.code == run.code
        assert code == 0 or check.err == run.err
        assert code != 0 or "sizes and neighbours" in check.out


def test_clusters_have_the_names_of_labels(coterie, people, tmp_path):
    table = pl.read_csv(tmp_path / "people.csv")
    names = [["zoe", "ann", "kim"][one] if at < 30 else None for at, one in enumerate(people)]
    table.with_columns(team=pl.Series(names)).write_csv(tmp_path / "teams.csv")
    words = ["cluster", "teams.csv", "-k", 4, "--id", "name", "--labels", "team", "-o", "out"]
    for more in ([], ["--size-min", "ann=31,zoe=100%"], ["--method", "ConstrainedLinkage"]):
        answer = coterie(*words, *more, "--no-report", "--force")
        assert answer.code == 0, answer.err
        assert re.search(
            r"90 items in 4 clusters: ann: \d+, kim: \d+, zoe: \d+, cluster 3: \d+\n", answer.out
        )
        found = pl.read_csv(tmp_path / "out" / "labels.csv")
        called = dict(zip(found["cluster"], found["cluster_name"], strict=True))
        assert called == {0: "ann", 1: "kim", 2: "zoe", 3: "cluster 3"}
        known = found.filter(pl.col("team").is_not_null())
        assert known["team"].to_list() == known["cluster_name"].to_list()
        answer = coterie("apply", "out", "teams.csv", "-o", "new.csv", "--force")
        assert "with the columns cluster and cluster_name" in answer.out
        assert pl.read_csv(tmp_path / "new.csv")["cluster_name"].to_list() == found["cluster_name"].to_list()
    assert json.loads((tmp_path / "out" / "run.json").read_text())["names"] == ["ann", "kim", "zoe", None]
    again = coterie(
        "cluster", "out/labels.csv", "-k", 3, "--id", "name", "--drop", "team", "--plan", "-o", "x"
    )
    assert "2 columns left out: cluster, cluster_name" in again.out


def test_empty_clusters_are_fewer_than_asked_for(coterie, tmp_path):
    (tmp_path / "same.csv").write_text("a,b\n" + "1,2\n" * 8 + "5,6\n" * 8)
    answer = coterie("cluster", "same.csv", "-k", 3, "-o", "out", "--no-report")
    assert answer.code == 5
    assert "Asked for: 3 clusters; there are 2 that hold something." in answer.out
    assert "(-k 2), or for --size-min 1." in answer.out
    assert coterie("cluster", "same.csv", "-k", 3, "-o", "one", "--no-report", "--size-min", 1).code == 0


def test_loads_and_groups(coterie, people, tmp_path):
    words = ["--load", "load", "--size-min", 110, "--group", "region", "--group-min", 5]
    answer = coterie("cluster", "people.csv", "-k", 3, "--id", "name", *words, "-o", "out")
    assert answer.code == 0, answer.err
    table = pl.read_csv(tmp_path / "out" / "labels.csv")
    by_cluster = table.group_by("cluster").agg(pl.col("load").sum())
    assert by_cluster["load"].min() >= 110
    assert table.group_by("cluster", "region").agg(pl.col("load").sum())["load"].min() >= 5
    words = ["--group", "region", "--group-min", 8]
    assert coterie("cluster", "people.csv", "-k", 3, "--id", "name", *words, "-o", "items").code == 0
    table = pl.read_csv(tmp_path / "items" / "labels.csv")
    assert table.group_by("cluster", "region").len()["len"].min() >= 8


def test_known_labels_distinct_and_across(coterie, people, tmp_path):
    table = pl.read_csv(tmp_path / "people.csv")
    label = ["x", "y", *[None] * 88]
    frame = [None if number > 5 else f"f{number // 2}" for number in range(90)]
    site = ["a", "b", *[None] * 88]
    table.with_columns(label=pl.Series(label), frame=pl.Series(frame), site=pl.Series(site)).write_csv(
        tmp_path / "more.csv"
    )
    words = ["--labels", "label", "--drop", "frame,site"]
    answer = coterie("cluster", "more.csv", "-k", 3, "--id", "name", *words, "-o", "one")
    assert "ConstrainedSeedKMeans (labels of some items are known" in answer.out
    words = ["--labels", "label", "--distinct", "frame", "--across", "site"]
    answer = coterie("cluster", "more.csv", "-k", 3, "--id", "name", *words, "-o", "two")
    assert answer.code == 0, answer.err
    labels = labels_of(tmp_path / "two")
    assert labels[0] != labels[1]
    assert labels[2] != labels[3]
    assert labels[4] != labels[5]


def test_doubtful_statements_are_weighed(coterie, people, tmp_path):
    (tmp_path / "sure.csv").write_text(
        "i,j,kind,confidence\np00,p01,must-link,0.9\np02,p03,cannot-link,0.7\n"
    )
    answer = coterie("cluster", "people.csv", "-k", 3, "--id", "name", "--pairs", "sure.csv", "-o", "out")
    assert answer.code == 0
    assert "PCKMeans (confidences are stated" in answer.out


def test_statements_that_collide(coterie, people, tmp_path):
    lines = "i,j,kind\np00,p01,must-link\np01,p02,must-link\np00,p02,cannot-link\n"
    (tmp_path / "wrong.csv").write_text(lines)
    words = ["cluster", "people.csv", "-k", 3, "--id", "name", "--pairs", "wrong.csv"]
    answer = coterie(*words, "-o", "out")
    assert answer.code == 0
    assert "PCKMeans (the constraints cannot all be met" in answer.out
    assert "1 of 3 constraints are broken" in answer.out
    outcomes = pl.read_csv(tmp_path / "out" / "constraints.csv")
    assert sorted(outcomes["outcome"].to_list()) == ["broken", "met", "met"]
    answer = coterie(*words, "--method", "COPKMeans", "-o", "not")
    assert answer.code == 3
    assert "p00 must join p02 (p00-p01-p02)" in answer.err
    assert not (tmp_path / "not").exists()
    machine = coterie(*words, "--method", "COPKMeans", "-o", "not", "--json")
    assert machine.json["exit_code"] == 3
    assert "p00 must join p02" in machine.json["explanation"]


def test_what_nobody_could_decide(coterie, tmp_path):
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(300, size=(720, 2))), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    pl.DataFrame({"x": rng.normal(size=300), "y": rng.normal(size=300)}).write_csv(tmp_path / "t.csv")
    table = {"i": pairs[:, 0], "j": pairs[:, 1], "kind": ["cannot-link"] * len(pairs)}
    pl.DataFrame(table).write_csv(tmp_path / "p.csv")
    words = ["--pairs", "p.csv", "--method", "COPKMeans", "--set", "budget=1"]
    answer = coterie("cluster", "t.csv", "-k", 3, *words, "-o", "out")
    assert answer.code == 4
    assert "--set budget=" in answer.err
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_bounds_that_cannot_be_met(coterie, people, tmp_path):
    answer = coterie("cluster", "people.csv", "-k", 3, "--id", "name", "--size-min", 31, "-o", "out")
    assert answer.code in (2, 3)
    assert "93" in answer.err
    assert not (tmp_path / "out").exists()


# ---- methods and parameters ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cop-kmeans", "PCKMeans", "kmedoids", "size_constrained_kmedians"])
def test_a_method_is_found_by_name(coterie, people, name):
    answer = coterie(
        "cluster", "people.csv", "-k", 3, "--id", "name", "--method", name, "-o", "out", "--json"
    )
    assert answer.code == 0
    assert answer.json["method"].casefold() == name.replace("-", "").replace("_", "").casefold()


def test_parameters_of_the_method(coterie, people, tmp_path):
    words = ["cluster", "people.csv", "-k", 3, "--id", "name"]
    assert coterie(*words, "--set", "n_init=2", "--set", "init=random", "-o", "out").code == 0
    model = load_model(tmp_path / "out")[0]["model"]
    assert (model.n_init, model.init) == (2, "random")
    for setting, told in (
        ("n_int=2", "did you mean n_init?"),
        ("n_init", "name=value"),
        ("n_clusters=5", "with -k"),
        ("metric=what", "with --metric"),
        ("verbose=1", "has no parameter 'verbose' to set"),
        ("n_init=0", "n_init"),
    ):
        answer = coterie(*words, "--set", setting, "-o", "other")
        assert (answer.code, answer.out.count("Wrote")) == (2, 0)
        assert told in answer.err
        assert answer.err.count("\n") == 1


def test_parameters_that_other_commands_have_an_option_for(coterie, people, tmp_path):
    words = ["cluster", "people.csv", "-k", 3, "--id", "name", "--method", "BoostCluster"]
    assert coterie(*words, "--set", "n_folds=0", "--set", "n_components=2", "-o", "out").code == 0
    model = load_model(tmp_path / "out")[0]["model"]
    assert (model.n_clusters, model.n_components, model.n_folds) == (3, 2, 0)
    answer = coterie(*words, "--set", "n_folds=1", "-o", "other")
    assert "--set n_folds of BoostCluster must be a whole number, at least 2 or 0; got 1" in answer.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--method", "copkmean"], "Did you mean COPKMeans?"),
        (["--method", "SeededKMeans", "--pairs", "pairs.csv"], "takes no cannot-link, must-link constraints"),
        (["--method", "PCKMeans", "--size-min", "5"], "takes no bounds on sizes"),
        (["--id", "nam"], "name"),
        (["--columns", "age,incme"], "income"),
        (["--drop", "hight"], "height"),
        (["--size-min", "many"], "'many' is not a number"),
        (["--size-min", "nan"], "out of all bounds"),
        (["--load", "load"], "--size-min or --size-max"),
        (["--group", "region"], "--group-min"),
        (["--group-min", "2"], "--group"),
        (["--map", "age"], "two columns"),
        (["--map", "age,hight"], "height"),
        (["--metric", "manhattan"], "sqeuclidean or cosine"),
        (["--pairs", "no.csv"], "no.csv"),
        (["--seed", "-1"], "0"),
        (["--seed", "x"], "--seed"),
        (["--colour", "red"], "--colour"),
    ],
)
def test_what_is_typed_wrongly_is_told_in_one_line(coterie, people, words, told, tmp_path):
    given = words if "--id" in words else [*words, "--id", "name"]
    answer = coterie("cluster", "people.csv", "-k", 3, *given, "-o", "out")
    assert answer.code == 2
    assert told in answer.err
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("coterie: ")
    assert not (tmp_path / "out").exists()


def test_more_clusters_than_rows(coterie, people):
    answer = coterie("cluster", "people.csv", "-k", 91, "--id", "name")
    assert (answer.code, answer.err) == (
        2,
        "coterie: -k 91, but people.csv has 90 rows; ask for fewer clusters\n",
    )


# ---- formats -------------------------------------------------------------------------------------------


def as_format(table, X, path):
    ending = path.suffix
    if ending == ".tsv":
        table.write_csv(path, separator="\t")
    elif ending == ".parquet":
        table.write_parquet(path)
    elif ending == ".jsonl":
        table.write_ndjson(path)
    elif ending == ".npy":
        np.save(path, X)
    elif ending == ".npz":
        np.savez(path, X)
    elif ending == ".mtx":
        io.mmwrite(path, sparse.csr_matrix(X))


@pytest.mark.parametrize("ending", [".tsv", ".parquet", ".jsonl", ".npy", ".npz", ".mtx"])
def test_every_format_gives_the_same_clusters(coterie, tmp_path, ending):
    X, _ = make_blobs(60, 3, centers=3, random_state=0)
    X += 100.0
    table = pl.DataFrame(X, schema=["a", "b", "c"])
    path = tmp_path / f"data{ending}"
    as_format(table, X, path)
    table.write_csv(tmp_path / "data.csv")
    words = ["-k", 3, "--metric", "sqeuclidean", "--no-report"]
    if ending == ".mtx":  # taken as it is
        words += ["--no-scale"]
    assert coterie("cluster", "data.csv", *words, "-o", "from-csv").code == 0
    answer = coterie("cluster", path.name, *words, "-o", "out", "--json")
    assert answer.code == 0, answer.out
    name = answer.json["files"][0]
    written = tmp_path / "out" / name
    if ending in (".tsv", ".parquet", ".jsonl"):
        assert name == f"labels{ending}"
        read = {".tsv": lambda p: pl.read_csv(p, separator="\t"), ".parquet": pl.read_parquet,
                ".jsonl": pl.read_ndjson}[ending](written)  # fmt: skip
        assert read.columns == ["a", "b", "c", "cluster"]
    else:
        read = pl.read_csv(written)
        assert read.columns == ["row", "cluster"]
    assert read["cluster"].to_list() == labels_of(tmp_path / "from-csv").tolist()
    again = coterie("report", "out")
    assert again.code == 0, again.err


def test_groups_that_collide_are_told_before_a_method_is_named(coterie, people, tmp_path):
    words = ["cluster", "people.csv", "-k", 2, "--id", "name", "--across", "region", "-o", "out"]
    answer = coterie(*words)
    assert answer.code == 3
    assert "PCKMeans" not in answer.out


def test_labels_of_an_earlier_run_are_no_feature(coterie, people, tmp_path):
    words = ["-k", 3, "--id", "name", "--no-report"]
    assert coterie("cluster", "people.csv", *words, "-o", "out").code == 0
    answer = coterie("cluster", "out/labels.csv", *words, "-o", "again", "--json")
    uses = {column["name"]: column for column in answer.json["columns"]}
    assert uses["cluster"]["use"] == "left out"
    assert "earlier run" in uses["cluster"]["reason"]
    answer = coterie("cluster", "out/labels.csv", *words, "--category", "cluster", "-o", "third", "--json")
    assert {column["name"]: column["use"] for column in answer.json["columns"]}["cluster"] == "category"


def test_a_column_called_cluster_stays(coterie, tmp_path):
    (tmp_path / "t.csv").write_text("cluster,x\n" + "".join(f"{n % 2},{n * n}\n" for n in range(10)))
    answer = coterie("cluster", "t.csv", "-k", 2, "-o", "out", "--json")
    table = pl.read_csv(tmp_path / "out" / "labels.csv")
    assert table.columns == ["cluster", "x", answer.json["label_column"]]
    assert table["cluster"].to_list() == [n % 2 for n in range(10)]


def test_text_is_clustered_by_its_words(coterie, tmp_path):
    dogs = [f"the dog barks at the cat number {n % 3}" for n in range(20)]
    stocks = [f"stocks and bonds fell on day {n % 3}" for n in range(20)]
    pl.DataFrame({"text": dogs + stocks}).write_csv(tmp_path / "news.csv")
    answer = coterie("cluster", "news.csv", "-k", 2, "-o", "out", "--text", "text", "--json")
    assert answer.json["metric"] == "cosine"
    assert sorted(answer.json["sizes"]) == [20, 20]


# ---- the folder ----------------------------------------------------------------------------------------


def test_a_run_is_replaced_only_when_asked(coterie, people, tmp_path):
    words = ["cluster", "people.csv", "-k", 3, "--id", "name", "-o", "out"]
    assert coterie(*words).code == 0
    before = (tmp_path / "out" / "run.json").read_text()
    answer = coterie(*words)
    assert (answer.code, "--force replaces it" in answer.err) == (2, True)
    assert (tmp_path / "out" / "run.json").read_text() == before
    (tmp_path / "out" / "mine.txt").write_text("notes")
    assert coterie(*words, "--force").code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "pairs.csv", "out"}


def test_a_folder_that_is_not_ours_is_never_replaced(coterie, people, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "1.jpg").write_text("")
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "photos")
    for place in ("photos", "file", "link", ".", "..", "/"):
        answer = coterie("cluster", "people.csv", "-k", 3, "--id", "name", "-o", place, "--force")
        assert answer.code == 2, place
    assert (tmp_path / "photos" / "1.jpg").exists()
    (tmp_path / "empty").mkdir()
    assert coterie("cluster", "people.csv", "-k", 3, "--id", "name", "-o", "empty").code == 0


def test_without_a_report(coterie, people, tmp_path):
    assert coterie("cluster", "people.csv", "-k", 3, "--id", "name", "--no-report", "-o", "out").code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"labels.csv", "model.skops", "run.json"}
    assert coterie("report", "out").code == 0
    assert (tmp_path / "out" / "report.html").exists()


def test_names_with_commas(coterie, tmp_path):
    table = {"a,b": range(12), "c": [n % 5 for n in range(12)], "d": [n * n for n in range(12)]}
    pl.DataFrame(table).write_csv(tmp_path / "t.csv")

    def used(*words):
        answer = coterie("cluster", "t.csv", "-k", 2, "--plan", "--json", *words)
        assert answer.code == 0, answer.out
        return [column["name"] for column in answer.json["plan"]["columns"] if column["use"] != "left out"]

    assert used("--columns", "a,b", "--numeric", "a,b") == ["a,b"]
    assert used("--columns", '"a,b", d', "--numeric", "a,b") == ["a,b", "d"]
    assert used("--drop", "d,c", "--numeric", "a,b") == ["a,b"]
    assert coterie("cluster", "t.csv", "-k", 2, "--map", "c,c").code == 2
    assert coterie("cluster", "t.csv", "-k", 2, "--map", '"a,b",c', "-o", "out").code == 0


@pytest.mark.parametrize(
    "words", [["-k", 3, "-o", "out", "--", "people.csv"], ["people.csv", "--clusters=3", "-o", "out"]]
)
def test_the_command_again_also_after_a_double_dash(coterie, people, words):
    answer = coterie("cluster", "--no-report", "--id", "name", *words)
    command = next(line for line in answer.out.splitlines() if line.startswith("Again: "))
    assert coterie(*shlex.split(command)[2:]).code == 0


def test_minus_one_is_a_group_like_others(coterie, tmp_path):
    rows = {"id": list("abcdef"), "g": [-1, -1, None, None, 3, 3], "x": [1.0, 1.1, 5.0, 5.1, 1.2, 5.2]}
    pl.DataFrame(rows).write_csv(tmp_path / "g.csv")
    assert coterie("cluster", "g.csv", "-k", 2, "--id", "id", "--distinct", "g", "-o", "out").code == 0
    labels = labels_of(tmp_path / "out")
    assert labels[0] != labels[1]
    assert labels[4] != labels[5]
    answer = coterie("check", "g.csv", "-k", 2, "--id", "id", "--distinct", "g")
    assert "4 items in 2 distinct groups; 2 have no value." in answer.out


def test_a_label_of_minus_one_is_unknown(coterie, tmp_path):
    rows = {"id": list("abcdef"), "y": [0, -1, None, 1, -1, -1], "x": [1.0, 1.1, 5.0, 5.1, 1.2, 5.2]}
    pl.DataFrame(rows).write_csv(tmp_path / "y.csv")
    answer = coterie("check", "y.csv", "-k", 2, "--id", "id", "--labels", "y")
    assert answer.code == 0
    assert "2 items in 2 known labels; 4 have no value." in answer.out


def test_many_rows_make_one_start_whoever_chose_the_method(coterie, people, monkeypatch):
    monkeypatch.setattr("coterie.methods.ONE_START_ABOVE", 50)
    for method in ("auto", "PCKMeans"):
        words = ["--id", "name", "--method", method, "--plan", "--json"]
        assert coterie("cluster", "people.csv", "-k", 3, *words).json["plan"]["parameters"] == {"n_init": 1}


def test_bounds_with_doubtful_statements(coterie, people, tmp_path):
    lines = "i,j,kind\np00,p01,must-link\np01,p02,must-link\np00,p02,cannot-link\n"
    (tmp_path / "wrong.csv").write_text(lines)
    words = ["--id", "name", "--pairs", "wrong.csv", "--size-min", 25, "-o", "out"]
    answer = coterie("cluster", "people.csv", "-k", 3, *words)
    assert answer.code == 0, answer.err
    assert "bounds on sizes are given; the constraints cannot all be met, so they are weighed" in answer.out
    assert np.bincount(labels_of(tmp_path / "out")).min() >= 25
    assert "1 of 3 constraints are broken" in answer.out


def test_an_item_without_a_place_is_not_on_the_map(coterie, tmp_path):
    """Of columns that place the items, some values may be missing; a word is not a place."""
    (tmp_path / "t.csv").write_text("u,v,a\n1,2,3\n,2,4\n3,1,9\n2,2,8\n2.5,,8.5\n")
    words = ("cluster", "t.csv", "-k", 2, "--columns", "a", "--map", "u,v")
    assert coterie(*words, "-o", "out").code == 0
    assert "2 items without coordinates" in (tmp_path / "out" / "report.html").read_text()
    (tmp_path / "t.csv").write_text("u,v,a\n1,2,3\nx,2,4\n3,1,9\n")
    assert coterie(*words, "--force", "-o", "out").code == 2
