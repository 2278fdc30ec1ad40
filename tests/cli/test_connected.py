"""Connected clusters: `--connected`, what is said of the map, and files of neighbours that are none."""

import json
import re
import shlex
from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import scale

from coterie.adjacency import read_graph
from coterie.cli._job.request import Request
from coterie.cli._speak.command_line import remember
from coterie.cli.commands.compare import _next_command
from coterie.hierarchy import ConstrainedLinkage
from tests.cli.conftest import write_csv
from tests.cli.test_hostile import OURS

SIDE = 6
NAMES = [f"c{row}{column}" for row in range(SIDE) for column in range(SIDE)]


def edges(cut=()):
    """Pairs of neighbours on the grid; `cut` are columns of which no edge goes to the right."""
    found = []
    for row in range(SIDE):
        for column in range(SIDE):
            here = NAMES[SIDE * row + column]
            if column + 1 < SIDE and column not in cut:
                found.append((here, NAMES[SIDE * row + column + 1]))
            if row + 1 < SIDE:
                found.append((here, NAMES[SIDE * (row + 1) + column]))
    return found


@pytest.fixture
def cells(tmp_path, seed):
    """cells.csv and edges.csv: a map of 36 cells with two features and a number of people."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(36, 2)), 6)
    people = rng.integers(1, 5, size=36)
    rows = [[name, *x, n] for name, x, n in zip(NAMES, X.tolist(), people.tolist(), strict=True)]
    write_csv(tmp_path / "cells.csv", ["cell", "income", "age", "people"], rows)
    write_csv(tmp_path / "edges.csv", ["i", "j"], edges())
    write_csv(
        tmp_path / "islands.csv", ["source", "target", "km"], [(*pair, 1.5) for pair in edges(cut=(1, 4))]
    )
    return X


CLUSTER = ["cluster", "cells.csv", "--id", "cell", "--columns", "income,age", "-o", "out"]


def run_facts(folder):
    return json.loads((folder / "out" / "run.json").read_text())


def labels_of(folder):
    return dict(pl.read_csv(folder / "out" / "labels.csv").select("cell", "cluster").iter_rows())


def pieces(labels, pairs):
    """Into how many connected pieces the clusters fall."""
    graph = nx.Graph()
    graph.add_nodes_from(labels)
    graph.add_edges_from((a, b) for a, b in pairs if labels[a] == labels[b])
    return nx.number_connected_components(graph)


def test_clusters_are_connected_and_those_of_the_class(coterie, cells, tmp_path):
    answer = coterie(*CLUSTER, "-k", 4, "--connected", "edges.csv", "--no-scale")
    assert (answer.code, answer.err) == (0, "")
    assert "edges.csv: 60 pairs of neighbours; the map is in one piece." in answer.out
    assert (
        "ConstrainedLinkage (clusters must be connected; Ward's linkage); k = 4, connected along"
        in answer.out
    )
    labels = labels_of(tmp_path)
    assert pieces(labels, edges()) == 4
    graph = read_graph(edges(), 36, ids=NAMES)
    model = ConstrainedLinkage(4, connectivity=graph).fit(cells)
    assert list(labels.values()) == model.labels_.tolist()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "every cluster is connected" in page
    facts = run_facts(tmp_path)
    assert facts["connected"]["n_pairs"] == 60
    assert (facts["n_clusters"], facts["n_clusters_asked"], facts["n_islands"]) == (4, 4, 1)
    assert "connectivity" not in facts["parameters"]


def test_islands_are_said_before_the_fit(coterie, cells, tmp_path):
    answer = coterie(*CLUSTER, "-k", 5, "--connected", "islands.csv", "--plan")
    assert "islands.csv: 48 pairs of neighbours; the map has 3 islands: 18, 12 and 6 items." in answer.out
    assert not (tmp_path / "out").exists()
    assert coterie(*CLUSTER, "-k", 5, "--connected", "islands.csv", "--no-report").code == 0
    assert pieces(labels_of(tmp_path), edges(cut=(1, 4))) == 5
    answer = coterie(*CLUSTER, "-k", 2, "--connected", "islands.csv", "--force")
    assert answer.code == 3
    assert "3 islands" in answer.err
    assert not OURS.search(answer.err)
    answer = coterie(*CLUSTER, "-k", 2, "--connected", "islands.csv", "--force", "--set", "on_dead_end=warn")
    assert answer.code == 5
    assert "Asked for: 2 clusters; there are 3. What keeps these apart:" in answer.out
    assert "Ways out: ask for 3 (-k 3), drop constraints, add neighbours." in answer.out


@pytest.mark.parametrize("k", [["-k", 5], []])
def test_a_least_size(coterie, cells, tmp_path, k):
    bounds = ["--size-min", *(["90%", "--size-max", "110%"] if k else [12]), "--load", "people"]
    answer = coterie(*CLUSTER, *k, "--connected", "edges.csv", *bounds)
    assert (answer.code, answer.err) == (0, "")
    assert "ConnectedKMeans (clusters must be connected and have a least size" in answer.out
    assert ("as many as that allows); k is found by the method" in answer.out) == (not k)
    labels = labels_of(tmp_path)
    table = pl.read_csv(tmp_path / "out" / "labels.csv")
    load = table.group_by("cluster").agg(pl.col("people").sum())["people"]
    mean = table["people"].sum() / 5
    assert load.min() >= (0.9 * mean if k else 12)
    assert not k or load.max() <= 1.1 * mean
    assert pieces(labels, edges()) == len(load)
    page = (tmp_path / "out" / "report.html").read_text()
    free = KMeans(len(load), n_init=4, random_state=0).fit(scale(cells)).labels_
    told = re.search(rf"its {len(load)} clusters would lie in ([0-9]+) connected pieces", page)
    best = pieces(dict(zip(NAMES, free.tolist(), strict=True)), edges())
    assert len(load) < int(told[1]) <= 36
    assert abs(int(told[1]) - best) <= 8  # two starts of k-means
    assert "That is the price of connectivity and of what else is asked for." in page


def test_text_takes_average_linkage(coterie, tmp_path):
    texts = ["dogs and cats play", "cats and dogs sleep", "stocks and bonds fell", "bonds and stocks rose"]
    write_csv(tmp_path / "t.csv", ["text"], [[text] for text in texts * 3])
    write_csv(tmp_path / "e.csv", ["i", "j"], [[i, i + 1] for i in range(11)])
    answer = coterie("cluster", "t.csv", "-k", 6, "--text", "text", "--connected", "e.csv", "-o", "out")
    assert answer.code == 0, answer.err
    assert "average linkage" in answer.out
    labels = pl.read_csv(tmp_path / "out" / "labels.csv")["cluster"].to_list()
    assert labels == [number // 2 for number in range(12)]


def test_pairs_and_a_largest_size_hold_too(coterie, cells, tmp_path):
    (tmp_path / "pairs.csv").write_text("i,j,kind\nc00,c01,must-link\nc02,c55,cannot-link\n")
    more = ["--pairs", "pairs.csv", "--size-max", 40, "--load", "people", "--set", "linkage=complete"]
    answer = coterie(*CLUSTER, "-k", 5, "--connected", "edges.csv", *more)
    assert answer.code == 0, answer.err
    assert "linkage = complete" in answer.out
    labels = labels_of(tmp_path)
    assert labels["c00"] == labels["c01"]
    assert labels["c02"] != labels["c55"]
    table = pl.read_csv(tmp_path / "out" / "labels.csv")
    assert table.group_by("cluster").agg(pl.col("people").sum())["people"].max() <= 40
    assert pieces(labels, edges()) == table["cluster"].n_unique()


def test_a_dead_end_is_a_note(coterie, cells, tmp_path):
    answer = coterie(*CLUSTER, "-k", 3, "--connected", "edges.csv", "--size-max", 1.0)
    assert answer.code == 5
    found = run_facts(tmp_path)
    # with this cap only three clusters of twelve cells would do, and merging does not find them
    assert found["n_clusters"] > found["n_clusters_asked"] == 3
    assert len(found["sizes"]) == found["n_clusters"]
    assert max(found["sizes"]) <= 12
    note = next(line for line in answer.out.splitlines() if line.startswith("Note: "))
    assert re.search(rf"ended at {found['n_clusters']} clusters, not 3", note)
    assert not OURS.search(note)
    n = found["n_clusters"]
    assert f"Asked for: 3 clusters; there are {n}. What keeps these apart:" in answer.out
    assert (
        f"Ways out: ask for {n} (-k {n}), raise --size-max, drop constraints, add neighbours." in answer.out
    )
    assert found["warnings"]
    assert all("--size-max" in line for line in found["blocked"])
    assert (
        f"{found['n_clusters']} clusters; 3 were asked for" in (tmp_path / "out" / "report.html").read_text()
    )
    assert found["title"] == f"cells.csv: {found['n_clusters']} clusters"


def test_a_run_can_be_repeated_reported_and_applied(coterie, cells, tmp_path):
    first = coterie(*CLUSTER, "-k", 4, "--connected", "edges.csv", "--no-report")
    before = labels_of(tmp_path)
    command = next(line for line in first.out.splitlines() if line.startswith("Again: "))
    assert coterie(*shlex.split(command)[2:]).code == 0
    assert labels_of(tmp_path) == before
    assert coterie("report", "out").code == 0
    answer = coterie("apply", "out", "cells.csv", "-o", "applied.csv")
    assert answer.code == 0
    assert pl.read_csv(tmp_path / "applied.csv")["cluster"].to_list() == list(before.values())


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_formats(coterie, cells, tmp_path, ending):
    table = pl.DataFrame(edges(), schema=["Source", "Target"], orient="row")
    path = tmp_path / f"net{ending}"
    if ending == ".parquet":
        table.write_parquet(path)
    elif ending == ".jsonl":
        table.write_ndjson(path)
    else:
        table.write_csv(path, separator="\t" if ending == ".tsv" else ",")
    answer = coterie(*CLUSTER, "-k", 4, "--connected", path.name, "--plan", "--json")
    assert answer.code == 0, answer.out
    assert answer.json["plan"]["connected"]["n_pairs"] == 60
    assert answer.json["plan"]["method"] == "ConstrainedLinkage"


def test_row_numbers_and_a_matrix(coterie, cells, tmp_path):
    graph = read_graph(edges(), 36, ids=NAMES)
    rows = np.column_stack(graph.nonzero())
    write_csv(tmp_path / "rows.csv", ["from", "to"], rows.tolist())
    np.save(tmp_path / "dense.npy", graph.toarray().astype(float))
    for name in ("rows.csv", "dense.npy"):
        words = [
            "cluster", "cells.csv", "-k", 4, "--columns", "income,age", "--connected", name, "--plan",
            "--json",
        ]  # fmt: skip
        assert coterie(*words).json["plan"]["connected"]["n_pairs"] == 60


def test_ids_are_compared_as_they_are_written(coterie, tmp_path):
    """Some ids look like numbers, and a column of these alone is read as numbers."""
    write_csv(tmp_path / "t.csv", ["id", "x"], [["7", 0.5], ["a", 0.1], ["12", 0.9], ["b", 3.0]])
    write_csv(tmp_path / "e.csv", ["i", "j"], [[7, 12], [12, 7], [7, 7]])
    answer = coterie("cluster", "t.csv", "-k", 3, "--id", "id", "--connected", "e.csv", "-o", "out")
    assert answer.code == 0, answer.err
    assert "1 pair of neighbours (1 row of an item with itself left out); the map has 3 islands" in answer.out
    labels = pl.read_csv(tmp_path / "out" / "labels.csv")["cluster"].to_list()
    assert labels[0] == labels[2]
    assert len(set(labels)) == 3


HOSTILE = {
    "no such file": (None, "no such file"),
    "empty": ("", "empty"),
    "header only": ("i,j\n", "no row below it"),
    "no header": ("c00,c01\nc01,c02\n", "begin the file with a line that says i and j"),
    "columns that say nothing": ("a,b,c\nc00,c01,1\n", "has the columns a, b, c"),
    "one column": ("i\nc00\n", "i and j"),
    "unknown id": ("i,j\nc00,c01\nc00,c99\n", "unknown id 'c99'"),
    "a gap": ("i,j\nc00,c01\n,c02\n", "row 1 of the graph lacks an item"),
    "blanks": ("i,j\nc00,c01\n  ,c02\n", "row 1 of the graph lacks an item"),
    "a folder": (b"", "is no file"),
    "bytes": (b"\xff\xfe\x00i\x00,j", "edges"),
    "markup": ("i,j\n<script>alert(1)</script>,c01\n", "unknown id"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files(coterie, cells, tmp_path, case):
    content, told = HOSTILE[case]
    path = tmp_path / "edges2.csv"
    if case == "a folder":
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.write_text(content)
    for machine in ([], ["--json"]):
        answer = coterie(*CLUSTER, "-k", 3, "--connected", "edges2.csv", *machine)
        message = answer.json["error"] if machine else answer.err
        assert answer.code == 2, message
        assert told in message
        assert message.count("\n") <= 1
        assert not OURS.search(message), message
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "name the column that holds them with --id"),
        ("--method PCKMeans", "cannot keep clusters connected"),
        ("--method ConstrainedLinkage --size-min 3", "takes a largest size, but no least size"),
        ("--weight people", "takes no weights"),
        ("--size-max 9,9,9", "--size-max"),
        ("--set connectivity=x", "say that with --connected"),
        ("--set distance_threshold=2", "-k 3"),
        ("--metric cosine --set linkage=ward", "Take --metric sqeuclidean, or --set linkage=average"),
    ],
)
def test_what_does_not_go_together(coterie, cells, words, told):
    more = [*words.split(), "--id", "cell"] if words else []
    given = ["--columns", "income,age", "--connected", "edges.csv", *more, "-o", "out"]
    answer = coterie("cluster", "cells.csv", "-k", 3, *given)
    assert answer.code == 2
    assert told in answer.err
    assert not OURS.search(answer.err), answer.err


# ---- the number of clusters ---------------------------------------------------------------------------


def test_a_method_that_finds_the_number(coterie, cells, tmp_path):
    answer = coterie(*CLUSTER, "--method", "COPCobweb")
    assert answer.code == 0, answer.err
    assert "k is found by the method" in answer.out
    facts = run_facts(tmp_path)
    assert facts["n_clusters_asked"] is None
    assert facts["n_clusters"] == len(facts["sizes"]) == len(set(labels_of(tmp_path).values()))
    assert facts["metric"] == "category utility"


def test_a_distance_instead_of_a_number(coterie, cells, tmp_path):
    words = ["--method", "ConstrainedLinkage", "--set", "distance_threshold=2.5", "--no-scale"]
    answer = coterie(*CLUSTER, *words, "--no-report")
    assert answer.code == 0, answer.err
    assert "k follows from the distance" in answer.out
    model = ConstrainedLinkage(None, distance_threshold=2.5).fit(cells)
    assert list(labels_of(tmp_path).values()) == model.labels_.tolist()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "say with -k how many clusters"),
        (["--method", "COPKMeans"], "say with -k how many clusters COPKMeans shall make"),
        (["--method", "ConstrainedLinkage"], "say with -k how many clusters"),
        (["--connected", "edges.csv"], "and with --size-min there are as many as that allows"),
        (["--connected", "edges.csv", "--size-min", "90%"], "--size-min 90% is a share of the mean size"),
        (["--connected", "edges.csv", "--method", "ConnectedKMeans"], "with --size-min there are as many"),
        (["--connected", "edges.csv", "--size-min", 9, "--method", "ConstrainedLinkage"], "no least size"),
        (["--method", "COPCobweb", "-k", 3], "leave -k 3 out"),
        (["--method", "COPCobweb", "--connected", "edges.csv"], "cannot keep clusters connected"),
        (["--method", "COPCobweb", "--metric", "cosine"], "has no cosine distance"),
    ],
)
def test_who_says_the_number(coterie, cells, tmp_path, words, told):
    answer = coterie(*CLUSTER, *words)
    assert answer.code == 2
    assert told in answer.err
    assert not (tmp_path / "out").exists()


# ---- compare ------------------------------------------------------------------------------------------


@pytest.fixture
def pairs(cells, tmp_path):
    half = cells[:, 0] > 0
    rng = np.random.default_rng(0)
    found = []
    while len(found) < 12:
        i, j = rng.choice(36, 2, replace=False)
        kind = (
            "must-link"
            if half[i] == half[j] and [NAMES[i], NAMES[j]] in map(list, edges())
            else "cannot-link"
        )
        if half[i] != half[j] or kind == "must-link":
            found.append([NAMES[i], NAMES[j], kind])
    write_csv(tmp_path / "pairs.csv", ["i", "j", "kind"], found)


def test_compare_takes_only_who_can(coterie, pairs):
    words = ["cells.csv", "-k", 6, "--id", "cell", "--columns", "income,age", "--pairs", "pairs.csv"]
    answer = coterie("compare", *words, "--connected", "edges.csv", "--folds", 2, "--json")
    assert answer.code == 0, answer.out
    found = answer.json
    assert {row["method"] for row in found["methods"]} == {"ConstrainedLinkage", "ConnectedKMeans", "plain"}
    assert "--connected edges.csv" in found["command"]
    again = shlex.split(found["command"])
    assert coterie(*again[1:], "--no-report").code == 0


def test_compare_with_a_method_that_finds_the_number(coterie, pairs):
    words = [
        "cells.csv", "-k3", "--id", "cell", "--columns", "income,age", "--pairs", "pairs.csv", "--folds", 2,
    ]  # fmt: skip
    answer = coterie("compare", *words, "--methods", "COPCobweb")
    assert answer.code == 0, answer.err
    assert re.search(r"COPCobweb.* clusters", answer.out)


@pytest.mark.parametrize("k", [["-k", "3"], ["-k3"], ["--clusters", "3"], ["--clusters=3"]])
def test_the_command_after_compare_leaves_out_what_the_method_finds(k):
    remember(["compare", "t.csv", *k, "--id", "id", "--folds", "2"])
    request = Request(Path("t.csv"))
    assert _next_command("COPCobweb", request) == "coterie cluster t.csv --id id --method COPCobweb"
    assert "3" in _next_command("COPKMeans", request)
