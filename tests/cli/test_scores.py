"""`coterie cluster --scores`: scores of pairs make the clusters, the table names and describes the items."""

import itertools
import json

import numpy as np
import polars as pl
import pytest
from scipy.special import logit

from coterie.cli._job.neighbours import read_scores
from coterie.tables import read_table
from tests.cli.conftest import write_csv
from tests.cli.test_hostile import OURS
from tests.report.pages import Page

NAMES = ["ann", "anne", "an", "bob", "rob", "eve", "eva", "evi", "tom"]
WHO = np.array([0, 0, 0, 1, 1, 2, 2, 2, 3])
ODD = ("ann", "bob")  # a score that is wrong
RUN = ("cluster", "people.csv", "--id", "name", "--scores", "scores.csv", "-o", "out")


def probabilities():
    """All pairs but one: 0.9 for the same person, 0.1 for others, and a mistake."""
    pairs = itertools.combinations(range(len(NAMES)), 2)
    rows = [[NAMES[i], NAMES[j], 0.9 if WHO[i] == WHO[j] else 0.1] for i, j in pairs]
    return [[i, j, 0.8 if (i, j) == ODD else p] for i, j, p in rows if (i, j) != ("ann", "tom")]


@pytest.fixture
def people(tmp_path):
    """people.csv, with a gap and a text that no clustering could use, and scores.csv."""
    ages = [*(30 + 10 * WHO[:-1] + np.arange(8) % 2), ""]
    rows = [[name, age, f"town {who}"] for name, age, who in zip(NAMES, ages, WHO, strict=True)]
    write_csv(tmp_path / "people.csv", ["name", "age", "town"], rows)
    write_csv(tmp_path / "scores.csv", ["i", "j", "probability"], probabilities())


def groups(folder):
    labels = pl.read_csv(folder / "out" / "labels.csv")["cluster"].to_list()
    return {frozenset(np.flatnonzero(np.array(labels) == h).tolist()) for h in set(labels)}


PEOPLE = {frozenset(np.flatnonzero(h == WHO).tolist()) for h in range(4)}


def test_from_probabilities_to_people(coterie, people, tmp_path):
    answer = coterie(*RUN, "--pictures")
    assert answer.code == 0, answer.err
    assert groups(tmp_path) == PEOPLE
    assert "Method: CorrelationClustering (scores of pairs are given); k is found" in answer.out
    assert "scores.csv: 35 scores of pairs, 8 for together." in answer.out
    page = Page(tmp_path / "out" / "report.html")
    sections = [section["id"] for section in page.all("section")]
    assert [one for one in sections if one != "objective"] == [
        "clusters",
        "sizes",
        "scores",
        "made",
    ]  # no map
    assert "ann and bob: +1.386, parted" in page.text
    assert "No constraints were stated beside the scores." in page.text
    assert "age" in page.text  # describes the clusters
    assert "Typical" not in page.text
    assert not (tmp_path / "out" / "report-map.png").exists()
    with open(tmp_path / "out" / "run.json") as file:
        facts = json.load(file)
    assert (facts["n_clusters"], facts["n_clusters_asked"]) == (4, None)
    assert facts["scores"] == str((tmp_path / "scores.csv").resolve())
    assert facts["disagreements"] == pytest.approx(logit(0.8))
    # the page again, with another title, without the file of scores
    (tmp_path / "scores.csv").unlink()
    assert coterie("report", "out", "--title", "Who is who").code == 0
    again = Page(tmp_path / "out" / "report.html")
    assert "Who is who" in again.text
    assert "ann and bob: +1.386, parted" in again.text
    answer = coterie("apply", "out", "people.csv")
    assert (answer.code, "come from --scores, and new rows have none" in answer.err) == (2, True)


def test_probabilities_are_log_odds(coterie, people, tmp_path):
    table, path = read_table(tmp_path / "people.csv"), tmp_path / "more.csv"
    write_csv(
        path, ["source", "target", "Probability"], [["ann", "bob", 0], ["bob", "eve", 1], ["eve", "tom", 0.5]]
    )
    found = read_scores(path, table, "name").weights
    assert found[0, 3] == pytest.approx(np.log(1e-6 / (1 - 1e-6)))
    assert found[3, 0] == found[0, 3] == pytest.approx(-found[3, 5])
    assert (found[5, 8], found.nnz) == (0.0, 6)
    # the same as weights, both ways, with itself, and as a matrix by row
    rows = [[i, j, logit(p)] for i, j, p in probabilities()]
    write_csv(path, ["i", "j", "weight"], [*rows, *([j, i, w] for i, j, w in rows), ["ann", "ann", 3]])
    weights = read_scores(path, table, "name")
    assert "35 scores of pairs (1 row of an item with itself left out)" in weights.words()
    expected = read_scores(tmp_path / "scores.csv", table, "name").weights.toarray()
    np.testing.assert_allclose(weights.weights.toarray(), expected, rtol=1e-12)
    np.save(tmp_path / "scores.npy", expected)
    words = [word.replace("scores.csv", "scores.npy") for word in RUN]
    assert coterie(*words, "--no-report").code == 0
    assert groups(tmp_path) == PEOPLE


def test_rows_go_by_number_without_ids(coterie, people, tmp_path):
    rows = [[NAMES.index(i), NAMES.index(j), p] for i, j, p in probabilities()]
    write_csv(tmp_path / "scores.csv", ["i", "j", "probability"], rows)
    assert coterie("cluster", "people.csv", "--scores", "scores.csv", "-o", "out", "--no-report").code == 0
    assert groups(tmp_path) == PEOPLE


@pytest.mark.parametrize(
    ("more", "holds"),
    [
        (["--pairs", "pairs.csv"], lambda same: same("ann", "tom") and not same("eve", "eva")),
        (["--labels", "known"], lambda same: same("ann", "bob") and not same("ann", "an")),
        (["--across", "half"], lambda same: not same("ann", "anne") and not same("eve", "eva")),
        (["--distinct", "half"], lambda same: not same("ann", "an") and not same("eve", "evi")),
        (["-k", "2"], lambda same: True),
        (["--set", "default=-1"], lambda same: not same("ann", "bob")),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_what_is_known_goes_along(coterie, people, tmp_path, more, holds):
    table = pl.read_csv(tmp_path / "people.csv").with_columns(
        known=pl.Series(["x", None, "y", "x", *[None] * 5]), half=pl.Series([*"abababab", "c"])
    )
    table.write_csv(tmp_path / "people.csv")
    hard = [["ann", "tom", "must-link", 1], ["eve", "eva", "cannot-link", 1]]
    write_csv(tmp_path / "pairs.csv", ["i", "j", "kind", "hard"], hard)
    answer = coterie(*RUN, *more, *([] if "--pairs" in more else ["--no-report"]))
    assert answer.code == 0, answer.err
    found = groups(tmp_path)
    assert holds(lambda a, b: any({NAMES.index(a), NAMES.index(b)} <= one for one in found))
    assert "-k" not in more or len(found) == 2
    if "--pairs" in more:
        assert "All 2 constraints hold." in Page(tmp_path / "out" / "report.html").text
        reasons = pl.read_csv(tmp_path / "out" / "constraints.csv")["reason"].to_list()
        assert reasons == ["holds because it was said"] * 2


def test_a_map_where_columns_place_the_items_and_none_to_describe_them(coterie, people, tmp_path):
    places = [[name, at % 3, at // 3] for at, name in enumerate(NAMES)]
    write_csv(tmp_path / "people.csv", ["name", "x", "y"], places)
    assert coterie(*RUN, "--map", "x,y", "--columns", "x").code == 0
    page = Page(tmp_path / "out" / "report.html")
    assert page.all("section")[0]["id"] == "map"
    write_csv(tmp_path / "people.csv", ["name"], [[name] for name in NAMES])
    answer = coterie(*RUN, "--force")
    assert answer.code == 0, answer.err
    assert groups(tmp_path) == PEOPLE
    answer = coterie(*RUN, "--plan", "--force")
    assert (answer.code, "nothing was done" in answer.out) == (0, True)


ONE = ["ann", "bob", 0.5]
BAD_FILES = {
    "unknown id": (["i", "j", "weight"], [ONE, ["ann", "zed", 1]], "row 1 of the graph: unknown id 'zed'"),
    "twice": (["i", "j", "weight"], [ONE, ["bob", "ann", 2]], "'ann' and 'bob' is 0.5, but the weight"),
    "twice, by probability": (["i", "j", "probability"], [ONE, ["ann", "bob", 0.2]], "is 0.5, but the"),
    "above 1": (["i", "j", "probability"], [ONE, ["ann", "eve", 1.2]], "row 1: probability is 1.2; it lies"),
    "below 0": (["i", "j", "probability"], [["ann", "eve", -0.1]], "row 0: probability is -0.1; it"),
    "no score": (["i", "j"], [["ann", "bob"]], "has the columns i, j; none is called weight or probability"),
    "two scores": (["i", "j", "weight", "probability"], [[*ONE, 0.5]], "leave one of weight and probability"),
    "no ends": (["a", "b", "c", "weight"], [["ann", "bob", 1, 1]], "name the two ends of an edge i and j"),
    "a gap": (["i", "j", "weight"], [["ann", "", 1]], "row 0 of the graph lacks an item"),
    "no number": (["i", "j", "weight"], [ONE, ["ann", "eve", ""]], "but there is nothing in row 1"),
    "a word": (["i", "j", "weight"], [ONE, ["ann", "eve", "much"]], "there is 'much' in row 1"),
    "no header": (["ann", "bob", "weight"], [["ann", "eve", 1]], "the first line holds the items ann, bob"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_file_that_cannot_be_read(coterie, people, tmp_path, case):
    head, rows, message = BAD_FILES[case]
    write_csv(tmp_path / "scores.csv", head, rows)
    answer = coterie(*RUN)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith("coterie: --scores scores.csv: ")
    assert message in answer.err
    assert not OURS.search(answer.err)
    assert not (tmp_path / "out").exists()


BAD_WORDS = {
    "no file": (["--scores", "none.csv"], "none.csv"),
    "a folder": (["--scores", "."], "is no file; --scores takes a table"),
    "a matrix of other size": (["--scores", "s.npy"], "--scores s.npy: the graph is an array of shape"),
    "an open number": (["-k", "auto"], "-k auto: --scores tell the number themselves"),
    "too many": (["-k", "10"], "people.csv has 9 rows"),
    "a distance": (["--distance", "rca"], "--distance is learned from rows of features"),
    "a method for rows": (["--method", "PCKMeans"], "PCKMeans takes rows of features, not scores of pairs"),
    "bounds": (["--size-max", "3"], "CorrelationClustering takes no bounds on sizes"),
    "cosine": (["--metric", "cosine"], "CorrelationClustering has no cosine distance"),
    "weights of items": (["--weight", "age"], "there is nothing in row 8"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_WORDS)
def test_what_does_not_go_with_scores(coterie, people, tmp_path, case):
    more, message = BAD_WORDS[case]
    np.save(tmp_path / "s.npy", np.zeros((4, 4)))
    answer = coterie(*RUN, *more)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert message in answer.err
    assert not OURS.search(answer.err)


def test_other_commands_refuse_scores_by_name(coterie, people):
    answer = coterie("compare", "people.csv", "--id", "name", "-k", 2, "--scores", "scores.csv")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "--scores: compare tries methods on rows of features" in answer.err
    assert "--scores" not in coterie("compare", "--help").out
    answer = coterie("cluster", "people.csv", "--method", "CorrelationClustering", "--impute")
    assert "takes scores of pairs, not rows of features; give them by --scores" in answer.err
    assert (
        "-k" in coterie("cluster", "people.csv", "--impute").err
    )  # without scores the number is still asked for
