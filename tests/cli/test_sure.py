"""Mixtures on the command line: probabilities beside labels, and what is in doubt."""

import json

import numpy as np
import polars as pl
import pytest

from coterie.cli._job.saved import load_model

WORDS = ["people.csv", "-k", 3, "--id", "name", "--columns", "age,income,height"]


def cluster(coterie, *more, method="PenalizedGaussianMixture"):
    return coterie("cluster", *WORDS, "--pairs", "pairs.csv", "--method", method, *more, "-o", "out")


def test_labels_have_their_probability(coterie, people, tmp_path):
    answer = cluster(coterie)
    assert answer.code == 0, answer.err
    table = pl.read_csv(tmp_path / "out" / "labels.csv")
    given = pl.read_csv(tmp_path / "people.csv")
    assert table.columns == [*given.columns, "cluster", "probability"]
    model = load_model(tmp_path / "out")[0]["model"]
    own = model.responsibilities_[np.arange(90), model.labels_]
    assert np.allclose(table["probability"].to_numpy(), own)
    facts = json.loads((tmp_path / "out" / "run.json").read_text())
    assert facts["probability_column"] == "probability"
    assert facts["n_clusters"] == 3
    assert facts["doubt"] == {
        "below_0.9": int((own < 0.9).sum()),
        "below_0.6": int((own < 0.6).sum()),
        "inference": str(model.inference_),
        "cannot_links_dropped": 0,
        "collapsed": model.collapsed_.tolist(),
    }
    assert f"{facts['doubt']['below_0.9']} item" in answer.out
    assert "in doubt (probability below 0.9)" in answer.out
    assert str(model.inference_) in answer.out
    assert "How sure" in (tmp_path / "out" / "report.html").read_text()


def test_new_rows_have_their_probability(coterie, people, tmp_path):
    assert cluster(coterie).code == 0
    answer = coterie("apply", "out", "people.csv", "-o", "new.csv", "--json").json
    table = pl.read_csv(tmp_path / "new.csv")
    assert table.columns[-2:] == ["cluster", "probability"]
    assert answer["probability_column"] == "probability"
    assert len(answer["sizes"]) == 3
    bundle = load_model(tmp_path / "out")[0]
    assert (table["probability"] > 1 / 3).all()
    assert (table["cluster"] == pl.read_csv(tmp_path / "out" / "labels.csv")["cluster"]).mean() > 0.9
    assert bundle["model"].n_components == 3
    told = coterie("apply", "out", "people.csv", "-o", "again.csv")
    assert "with the columns cluster and probability" in told.out
    assert "in doubt (probability below 0.9)" in told.out


def test_the_report_is_written_again(coterie, people, tmp_path):
    assert cluster(coterie, "--no-report").code == 0
    assert coterie("report", "out").code == 0
    assert "How sure" in (tmp_path / "out" / "report.html").read_text()


def test_an_earlier_answer_is_no_feature(coterie, people, tmp_path):
    assert cluster(coterie).code == 0
    plan = coterie("cluster", "out/labels.csv", "-k", 3, "--id", "name", "--plan", "--json").json["plan"]
    uses = {column["name"]: column["use"] for column in plan["columns"]}
    assert uses["cluster"] == uses["probability"] == "left out"
    plan = coterie(
        "cluster", "out/labels.csv", "-k", 3, "--id", "name", "--numeric", "probability", "--plan", "--json"
    ).json["plan"]
    assert {column["name"]: column["use"] for column in plan["columns"]}["probability"] == "numeric"


def test_a_column_of_that_name_is_kept_and_may_be_a_feature(coterie, tmp_path):
    x = np.random.default_rng(0).normal(size=40) + 6 * (np.arange(40) % 2)
    pl.DataFrame({"probability": x, "y": x[::-1] / 2}).write_csv(tmp_path / "t.csv")
    answer = coterie(
        "cluster", "t.csv", "-k", 2, "--method", "ConstrainedGaussianMixture", "-o", "out", "--json"
    )
    assert answer.code == 0
    uses = {column["name"]: column["use"] for column in answer.json["columns"]}
    assert uses["probability"] == "numeric"
    assert answer.json["probability_column"] == "probability_2"
    assert pl.read_csv(tmp_path / "out" / "labels.csv").columns == [
        "probability",
        "y",
        "cluster",
        "probability_2",
    ]


@pytest.mark.parametrize("method", ["ConstrainedGaussianMixture", "MeanFieldMixture", "PairwiseClustering"])
def test_every_mixture(coterie, people, tmp_path, method):
    answer = cluster(coterie, "--no-report", method=method)
    assert answer.code == 0, answer.err
    share = pl.read_csv(tmp_path / "out" / "labels.csv")["probability"]
    assert ((share >= 0) & (share <= 1)).all()


def test_confidences_of_the_file_count(coterie, people, tmp_path):
    pairs = pl.read_csv(tmp_path / "pairs.csv").with_columns(confidence=pl.lit(0.6))
    pairs.write_csv(tmp_path / "pairs.csv")
    assert cluster(coterie).code == 0
    known = load_model(tmp_path / "out")[0]["model"].constraints_
    assert set(known.must_table.confidence) == {0.6}


def test_parameters_and_their_words(coterie, people):
    answer = cluster(coterie, "--set", "n_components=4")
    assert answer.code == 2
    assert "say that with -k" in answer.err
    answer = cluster(coterie, "--set", "confidence=0.2")
    assert answer.code == 2
    assert "confidence" in answer.err
    assert coterie("apply", "nothing", "people.csv").code == 2


def test_a_method_without_probabilities_has_no_such_column(coterie, people, tmp_path):
    assert cluster(coterie, "--no-report", method="COPKMeans").code == 0
    assert "probability" not in pl.read_csv(tmp_path / "out" / "labels.csv").columns
    answer = coterie("apply", "out", "people.csv", "-o", "new.csv", "--json").json
    assert answer["probability_column"] is None
