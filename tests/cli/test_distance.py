"""`--distance`: learned before the method, repeated by `apply`, named on a page in the user's columns."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import skops.io

from coterie import RCA, PCKMeans
from coterie.cli._job.request import Request
from coterie.cli._job.saved import load_model
from coterie.cli._speak.command_line import remember
from coterie.cli.commands.compare import _next_command
from coterie.constraints import Constraints
from coterie.tables import read_table
from tests.report.pages import Page

WORDS = ["--id", "name", "--pairs", "pairs.csv", "--columns", "age,income,height"]


def labels_of(path):
    return pl.read_csv(path)["cluster"].to_list()


@pytest.mark.parametrize("method", ["PCKMeans", "ConstrainedLinkage", "PenalizedGaussianMixture"])
def test_apply_repeats_the_run(coterie, people, tmp_path, method):
    """With centres, without, and with probabilities; old rows and new ones that are next to them."""
    words = ["--distance", "RCA", "--method", method, "--no-report", "-o", "out"]
    answer = coterie("cluster", "people.csv", "-k", 3, *WORDS, *words)
    assert answer.code == 0, answer.err
    labels = labels_of("out/labels.csv")
    assert coterie("apply", "out", "people.csv", "-o", "again.csv").code == 0
    assert labels_of("again.csv") == labels
    table = pl.read_csv("people.csv")
    table.with_columns(pl.col("age") * (1 + 1e-9)).write_csv("new.csv")
    answer = coterie("apply", "out", "new.csv")
    assert "clustered in the run" not in answer.out
    bundle, _ = load_model(tmp_path / "out")
    rows = bundle["distance"].transform(bundle["plan"].transform(read_table(tmp_path / "new.csv")))
    found = labels_of("new-clusters.csv")
    if method == "ConstrainedLinkage":
        assert found == labels
    else:
        assert found == bundle["model"].predict(rows).tolist()


def test_the_run_is_what_the_classes_do(coterie, people, tmp_path):
    words = [*WORDS, "--distance", "rca", "--method", "PCKMeans", "-o", "out"]
    answer = coterie("cluster", "people.csv", "-k", 3, *words)
    assert answer.code == 0, answer.err
    bundle, _ = load_model(tmp_path / "out")
    X = bundle["plan"].transform(read_table(tmp_path / "people.csv"))
    known = Constraints.read("pairs.csv", ids=pl.read_csv("people.csv")["name"].to_list())
    distance = RCA().fit(X, constraints=known)
    by_hand = PCKMeans(3, random_state=0).fit(distance.transform(X), constraints=known)
    assert labels_of("out/labels.csv") == by_hand.labels_.tolist()
    np.testing.assert_array_equal(bundle["distance"].components_, distance.components_)
    taught = f"Distance learned by RCA from {distance.n_used_} constraints."
    assert taught in answer.out
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (run["distance"], run["distance_constraints"]) == ("RCA", distance.n_used_)
    means = pl.read_csv("out/labels.csv").group_by("cluster").agg(pl.mean("age", "income", "height"))
    # the page, and the same page again
    plain = PCKMeans(3, random_state=0).fit(X).labels_.tolist()
    assert bundle["plain"].tolist() == plain
    for _ in range(2):
        page = Page("out/report.html")
        assert taught in page.text
        assert not re.search(r"component|rca\d", page.text)
        traits = re.findall(r'<div class="line"><span[^>]*>(\w+)</span>.*?<b>([^<]+)', page.source)
        assert {name for name, _ in traits} == {"age", "income", "height"}
        for name, told in traits:  # in the units of the table, rounded
            assert np.abs(means[name] - float(told.replace("\N{MINUS SIGN}", "-"))).min() <= 0.5
        assert coterie("report", "out").code == 0


def test_text_is_compared_by_the_learned_distance(coterie, tmp_path):
    text = [*["dogs and cats play in the garden"] * 9, *["stocks and bonds fell on monday"] * 9]
    known = [*["a"] * 3, *[None] * 12, *["b"] * 3]
    pl.DataFrame({"text": text, "label": known}).write_csv("t.csv")
    words = ["-k", 2, "--text", "text", "--labels", "label", "--distance", "rca", "-o", "out", "--json"]
    answer = coterie("cluster", "t.csv", *words)
    assert (answer.code, answer.json["metric"]) == (0, "sqeuclidean"), answer.out
    assert len(set(labels_of("out/labels.csv")[:9])) == 1
    assert "bonds" in Page("out/report.html").text
    # a method that takes no text takes what RCA makes of it
    more = ["--method", "ConstrainedGaussianMixture", "--set", "covariance_type=diag", "--force"]
    assert coterie("cluster", "t.csv", *words, *more).code == 0


def test_compare_learns_in_every_fold(coterie, people):
    words = ["people.csv", *WORDS, "--methods", "PCKMeans", "--folds", 2]
    bare = coterie("compare", "-k", 3, *words, "--json").json
    found = coterie("compare", "-k", 3, *words, "--distance", "rca", "--json").json
    assert (bare["distance"], found["distance"]) == (None, "RCA")
    assert "--distance rca" in found["command"]
    by_name = {row["method"]: row for row in found["methods"]}
    assert set(by_name) == {"PCKMeans", "plain"}
    assert by_name["plain"]["score"] == {row["method"]: row for row in bare["methods"]}["plain"]["score"]
    answer = coterie("compare", "-k", "2-4", *words, "--distance", "rca")
    assert answer.code == 0, answer.err
    assert "chosen after the distance, which has seen what is asked" in answer.out


def test_plain_clustering_is_proposed_without_a_distance():
    remember(["compare", "t.csv", "-k", "2", "--pairs", "p.csv", "--distance", "rca"])
    request = Request(Path("t.csv"), "2", pairs=Path("p.csv"), distance="rca")
    assert _next_command("plain", request) == "coterie cluster t.csv -k 2"
    assert _next_command("PCKMeans", request).endswith("--distance rca --method PCKMeans")


def test_a_distance_that_does_harm_is_suspected(coterie, tmp_path):
    """Must-links of neighbours by the column without worth: RCA takes it for the one that counts."""
    y = np.repeat([0, 1], 80)
    X = np.random.default_rng(0).normal(size=(160, 2)) + np.outer(4 * y, [1, 0])
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}).write_csv("t.csv")
    beside = np.lexsort((X[:, 1], y)).reshape(-1, 2)
    apart = Constraints.sample(y, 80, random_state=0).cannot_link
    Constraints(beside, apart, n_items=160, weight=1e-6).write("pairs.csv")
    words = ["compare", "t.csv", "-k", 2, "--pairs", "pairs.csv", "--methods", "PCKMeans", "--folds", 2]
    told = "It may be the distance that does harm"
    assert told in coterie(*words, "--distance", "rca").out
    assert told not in coterie(*words).out


def test_methods_lists_the_distances(coterie):
    assert "learned first, by --distance" in coterie("methods").out
    assert [one["word"] for one in coterie("methods", "--json").json["distances"]][:1] == ["rca"]


def test_nothing_is_known(coterie, people):
    words = [
        "people.csv",
        "-k",
        3,
        "--columns",
        "age,income",
        "--distance",
        "rca",
        "--no-report",
        "-o",
        "out",
    ]
    answer = coterie("cluster", *words)
    assert (answer.code, "Note: RCA was told nothing" in answer.out) == (0, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--distance", "euclid"], "There is no distance 'euclid'. There are: rca"),
        (["--distance", "rcaa"], "Did you mean rca?"),
        (["--distance", ""], "There is no distance ''"),
        (["--distance", "rca", "--metric", "cosine"], "--metric cosine, but --distance rca learns another"),
        (["--distance", "rca", "--pairs", "apart.csv"], "RCA learns from must-links, or labels"),
    ],
)
@pytest.mark.parametrize("command", ["cluster", "compare"])
def test_what_makes_no_sense_is_refused_by_name(coterie, people, tmp_path, command, words, told):
    pairs = pl.read_csv("pairs.csv")
    pairs.filter(pl.col("kind") == "cannot-link").write_csv("apart.csv")
    more = {"cluster": ["-o", "out"], "compare": ["--folds", 2]}[command]
    answer = coterie(command, "people.csv", "-k", 3, *WORDS, *more, *words)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert told in answer.err
    assert not (tmp_path / "out").exists()
    if command == "cluster":  # the plan tells it too
        assert told in coterie(command, "people.csv", "-k", 3, *WORDS, *words, "--plan").err


def test_more_features_than_the_distance_takes(coterie, tmp_path):
    words = [" ".join(f"w{at}x{one}" for one in range(400)) for at in range(16)]
    known = ["a", "a", "b", "b", *[None] * 12]
    pl.DataFrame({"text": words, "label": known}).write_csv("t.csv")
    answer = coterie("cluster", "t.csv", "-k", 2, "--text", "text", "--labels", "label", "--distance", "rca")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "RCA of 6,400 features" in answer.err


def test_a_hostile_distance_is_not_read(coterie, people, tmp_path):
    words = [*WORDS, "--distance", "rca", "--no-report", "-o", "out"]
    assert coterie("cluster", "people.csv", "-k", 3, *words).code == 0
    bundle, _ = load_model(tmp_path / "out")
    skops.io.dump({**bundle, "distance": print}, tmp_path / "out" / "model.skops")
    answer = coterie("apply", "out", "people.csv")
    assert (answer.code, "which no model of ours needs" in answer.err) == (2, True)
