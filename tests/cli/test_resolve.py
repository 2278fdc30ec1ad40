"""`coterie resolve`: what the class does, from a table to a folder, and what is told of bad input."""

import json

import numpy as np
import polars as pl
import pytest

from coterie import Constraints
from coterie.datasets import make_references
from coterie.relational import EntityResolver
from tests.cli.conftest import write_csv
from tests.report.pages import Page

RUN = ("resolve", "papers.csv", "--name", "author", "--context", "paper")
COLUMNS = {"author": "person-name"}


@pytest.fixture
def papers(tmp_path):
    """papers.csv: some 80 names on 40 papers, with ids."""
    made = make_references(
        30, 45, 40, attribute="name", p_ambiguous=0.1, p_continue=0.6, noise=0.1, random_state=1
    )
    names, contexts = made.data[:, 0].tolist(), [f"p{paper}" for paper in made.contexts]
    ids = [f"r{row}" for row in range(len(names))]
    rows = [list(row) for row in zip(ids, names, contexts, strict=True)]
    write_csv(tmp_path / "papers.csv", ["id", "author", "paper"], rows)
    return pl.DataFrame(rows, schema=["id", "author", "paper"], orient="row")


def fitted(papers, constraints=None, **parameters):
    model = EntityResolver(columns=COLUMNS, **parameters)
    return model.fit(papers[["author"]], contexts=papers["paper"].to_list(), constraints=constraints)


def sections(folder):
    return [section["id"] for section in Page(folder / "report.html").all("section")]


def test_from_a_table_to_entities(coterie, papers, tmp_path):
    answer = coterie(*RUN, "-o", "out")
    assert answer.code == 0, answer.err
    model, out = fitted(papers), tmp_path / "out"
    written = pl.read_csv(out / "labels.csv")
    assert written.columns == ["id", "author", "paper", "entity"]
    assert written[:, :3].equals(papers)
    assert written["entity"].to_list() == model.labels_.tolist()
    merges = pl.read_csv(out / "merges.csv")
    assert merges.columns == [
        *("left", "right", "left_author", "right_author", "similarity", "attribute", "relational"),
    ]
    for name in ("left", "right", "similarity", "attribute", "relational"):
        assert merges[name].to_numpy() == pytest.approx(model.merges_[name])
    assert merges["right_author"].to_list() == papers["author"].gather(model.merges_["right"]).to_list()
    near = pl.read_csv(out / "near-merges.csv")
    assert near["left"].to_list() == model.near_merges_["left"].tolist()
    assert near["kept_apart_by"].to_list() == [
        model.why_apart(left, right) for left, right in near[["left", "right"]].iter_rows()
    ]
    assert sections(out) == ["entities", "made"]
    facts = json.loads((out / "run.json").read_text())
    assert facts["n_clusters"] == model.n_clusters_
    assert facts["compared"] == COLUMNS
    assert facts["files"] == ["labels.csv", "merges.csv", "near-merges.csv", "report.html", "run.json"]
    assert sorted(path.name for path in out.iterdir()) == sorted(facts["files"])
    assert f"{len(papers)} records of {model.n_clusters_} entities" in answer.out
    assert "Contexts: 40 values of paper" in answer.out
    assert "Again: coterie resolve papers.csv --name author --context paper -o out --force" in answer.out
    # the same once more, in the place of the first
    again = coterie(*RUN, "-o", "out", "--force", "--json", "--title", "Authors")
    assert again.json["title"] == "Authors"
    assert again.json["n_merges"] == len(model.merges_)


def test_what_is_known_holds_and_is_told(coterie, papers, tmp_path):
    ids, free = papers["id"].to_list(), fitted(papers)
    left, right = free.merges_[["left", "right"]][0]
    known = Constraints(
        must_link=[(ids[0], ids[-1])], cannot_link=[(ids[left], ids[right])], ids=np.array(ids, dtype=object)
    )
    assert free.labels_[0] != free.labels_[-1]
    known.write(tmp_path / "pairs.csv")
    answer = coterie(*RUN, "--id", "id", "--pairs", "pairs.csv", "-o", "out")
    assert answer.code == 0, answer.err
    assert "All 2 constraints are met." in answer.out
    labels = pl.read_csv(tmp_path / "out" / "labels.csv")["entity"].to_list()
    assert labels == fitted(papers, known).labels_.tolist()
    told = pl.read_csv(tmp_path / "out" / "constraints.csv")
    assert told["outcome"].to_list() == ["met", "met"]
    assert told["reason"].to_list() == ["holds because it was said"] * 2
    assert set(pl.read_csv(tmp_path / "out" / "merges.csv")["left"]) <= set(ids)
    assert sections(tmp_path / "out") == ["entities", "statements", "comparison", "made"]


def test_options_are_parameters(coterie, papers, tmp_path):
    options = ("--alpha", "0", "--threshold", "0.9", "--set", "linkage=max", "--set", "contexts_apart=false")
    assert coterie(*RUN, *options, "--no-report", "-o", "out").code == 0
    model = fitted(papers, alpha=0.0, threshold=0.9, linkage="max", contexts_apart=False)
    assert pl.read_csv(tmp_path / "out" / "labels.csv")["entity"].to_list() == model.labels_.tolist()
    assert not (tmp_path / "out" / "report.html").exists()
    assert coterie("resolve", "papers.csv", "--compare", "author=jaro-winkler", "-o", "plain").code == 0
    alone = EntityResolver(columns={"author": "jaro-winkler"}, alpha=0).fit(papers[["author"]])
    assert pl.read_csv(tmp_path / "plain" / "labels.csv")["entity"].to_list() == alone.labels_.tolist()


def test_a_matrix_has_columns_too_and_a_taken_name_is_left(coterie, tmp_path):
    np.save(tmp_path / "sizes.npy", np.array([[1.0, 7], [1.0, 7], [9.0, 7]]))
    assert coterie("resolve", "sizes.npy", "--compare", "column 0=number", "--no-report").code == 0
    assert pl.read_csv(tmp_path / "sizes-entities" / "labels.csv").columns == ["row", "entity"]
    write_csv(tmp_path / "taken.csv", ["entity", "name"], [["x", "A. Bee"], ["y", "A. Bee"]])
    assert coterie("resolve", "taken.csv", "--name", "name", "--no-report").code == 0
    assert pl.read_csv(tmp_path / "taken-entities" / "labels.csv").columns == ["entity", "name", "entity_2"]


def test_a_plan_does_nothing(coterie, papers, tmp_path):
    answer = coterie(*RUN, "--plan", "-o", "out")
    assert answer.code == 0
    assert "Would write out; nothing was done." in answer.out
    assert not (tmp_path / "out").exists()


def test_a_plan_refuses_what_the_run_would(coterie, papers, tmp_path):
    for words in (("--threshold", "2"), ("--set", "linkage=foo")):
        assert coterie(*RUN, "--plan", "-o", "out", *words).code == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("more", [(), ("--plan",)])
def test_what_contradicts_itself_is_explained(coterie, papers, tmp_path, more):
    rows = [["r0", "r1", "must-link"], ["r1", "r2", "must-link"], ["r0", "r2", "cannot-link"]]
    write_csv(tmp_path / "pairs.csv", ["i", "j", "kind"], rows)
    answer = coterie(*RUN, "--id", "id", "--pairs", "pairs.csv", "-o", "out", *more)
    assert answer.code == 3
    assert "r0 must join r2 (r0-r1-r2), yet r0 and r2 are cannot-linked." in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "say what tells records apart: --name COLUMN"),
        (("--name", "writer"), "there is no column 'writer'"),
        (("--name", "author", "--context", "page"), "there is no column 'page'"),
        (("--compare", "author"), "--compare author: write COLUMN=COMPARATOR"),
        (("--compare", "author=fuzzy"), "there is no comparator 'fuzzy'; there are exact, jaro-winkler"),
        (("--name", "author", "--compare", "author=exact"), "compared as person-name and as exact"),
        (("--compare", "author=number"), "author"),
        (("--name", "author", "--alpha", "2"), "Invalid value for '--alpha'"),
        (("--name", "author", "--threshold", "high"), "--threshold high: give a number from 0 to 1"),
        (("--name", "author", "--threshold", "7"), "--threshold"),
        (("--name", "author", "--set", "alpha=0"), "--set alpha=0: say that with --alpha"),
        (("--name", "author", "--set", "linkag=max"), "did you mean linkage?"),
        (("--name", "author", "--set", "linkage=funny"), "--set linkage of EntityResolver must be"),
        (("--name", "author", "--id", "paper"), "stands twice in column 'paper'"),
        (("--name", "author", "-k", "3"), "No such option: -k"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(coterie, papers, tmp_path, words, message):
    answer = coterie("resolve", "papers.csv", *words, "-o", "out")
    assert answer.code == 2
    assert message in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_cluster_sends_there(coterie, tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(9, 2)))
    answer = coterie("cluster", "rows.npy", "--method", "EntityResolver")
    assert answer.code == 2
    assert "takes records and their contexts, not rows of features; `coterie resolve` does" in answer.err


def test_what_a_run_cannot_be_used_for_is_said(coterie, papers):
    assert coterie(*RUN, "--no-report", "-o", "out").code == 0
    answer = coterie("report", "out")
    assert (answer.code, "out is of `coterie resolve`, whose page is made with it" in answer.err) == (2, True)
    answer = coterie("apply", "out", "papers.csv")
    assert (answer.code, "model.skops: no such file" in answer.err) == (2, True)
