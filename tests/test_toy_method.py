"""A new method costs its own file and one name: command line, compare and report know the rest."""

import json

import numpy as np
import polars as pl
import pytest

from coterie import Constraints, compare
from coterie.cli import main
from coterie.methods import METHODS, Method, find_method, table_of_methods
from coterie.report import write_report
from tests.contract.toy_method import ToyMethod
from tests.report.pages import Page


@pytest.fixture(autouse=True)
def one_name():
    """The one line: a name in the list."""
    METHODS.append(Method("tests.contract.toy_method:ToyMethod"))
    yield
    METHODS.pop()


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y = np.arange(40) % 2
    X = np.random.default_rng(0).normal(size=(40, 2)) + 5 * y[:, None]
    known = Constraints.sample(y, n_pairs=20, random_state=0)
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}).write_csv("toys.csv")
    known.write("pairs.csv")
    return X, known


def test_the_registry_reads_it_off_the_class():
    method = find_method("toy-method")
    assert method.about == ToyMethod.about
    assert (method.statements, method.takes_k, method.weighted) == ("hold", True, False)
    assert (
        "| `ToyMethod` | toys with clusters | nothing else is at hand | the toy shop |" in table_of_methods()
    )


def test_the_command_line_runs_it(table, capsys):
    assert main(["methods"]) == 0
    assert "toys with clusters" in capsys.readouterr().out
    words = ["toys.csv", "-k", "2", "--pairs", "pairs.csv"]
    assert main(["cluster", *words, "--method", "ToyMethod", "--set", "max_iter=3", "-o", "out"]) == 0
    told = capsys.readouterr().out
    assert "Method: ToyMethod (asked for)" in told
    assert "The toys are tidied away." in told
    with open("out/run.json") as file:
        assert json.load(file)["method"] == "ToyMethod"
    page = Page("out/report.html").text
    assert "toys with clusters. Source: the toy shop." in page
    assert "4 toys were moved." in page
    assert main(["cluster", *words, "--method", "ToyMethod", "--weight", "a", "-o", "no"]) == 2
    assert main(["compare", *words, "--methods", "ToyMethod,COPKMeans", "--folds", "2"]) == 0
    assert "ToyMethod" in capsys.readouterr().out


def test_compare_takes_it(table):
    X, known = table
    frame = compare(X, known, 2, n_folds=2, n_repeats=1, random_state=0, library="polars")
    assert frame.filter(pl.col("method") == "ToyMethod")["status"].to_list() == ["ok"]


def test_the_report_tells_of_it(table, tmp_path):
    X, known = table
    model = ToyMethod(2).fit(X, constraints=known)
    page = Page(write_report(tmp_path / "report.html", model, X))
    sections = [section["id"] for section in page.all("section")]
    assert sections == [
        *("map", "clusters", "sizes", "toys", "objective", "statements", "comparison", "made")
    ]
