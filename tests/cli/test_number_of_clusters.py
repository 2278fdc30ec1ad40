"""-k as a range, or auto: the number is chosen, said, drawn and written down."""

import json

import pytest

PEOPLE = ["people.csv", "--id", "name", "--pairs", "pairs.csv", "--drop", "region,load"]


def test_a_range_is_chosen_from_and_the_page_shows_the_curve(coterie, people, tmp_path):
    answer = coterie("cluster", *PEOPLE, "-k", "2-5", "-o", "out")
    assert answer.code == 0
    facts = json.loads((tmp_path / "out" / "run.json").read_text())
    chosen = facts["chosen_k"]
    assert facts["n_clusters"] == facts["n_clusters_asked"] == chosen["n_clusters"] == 3
    assert chosen["criterion"] == "F-measure"
    assert sorted(map(int, [*chosen["scores"], *chosen["left_out"]])) == [2, 3, 4, 5]
    assert f"k = 3: {chosen['reason']}" in answer.out
    assert f"Runner-up: {chosen['runner_up']}" in answer.out
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Number of clusters" in page
    # the page that is written again has it too
    (tmp_path / "out" / "report.html").unlink()
    assert coterie("report", "out").code == 0
    assert chosen["reason"] in (tmp_path / "out" / "report.html").read_text()
    # the run can be repeated with the number itself
    again = coterie("cluster", *PEOPLE, "-k", 3, "-o", "again", "--no-report")
    assert again.code == 0
    assert (tmp_path / "out" / "labels.csv").read_bytes() == (tmp_path / "again" / "labels.csv").read_bytes()
    assert json.loads((tmp_path / "again" / "run.json").read_text())["chosen_k"] is None


def test_auto_needs_no_statements_and_a_plan_chooses_nothing(coterie, people, tmp_path):
    found = coterie(
        "cluster", "people.csv", "--columns", "age,income,height", "-k", "AUTO", "--no-report", "--json"
    ).json
    assert found["chosen_k"]["criterion"] == "silhouette"
    assert found["n_clusters"] == found["chosen_k"]["n_clusters"]
    plan = coterie("cluster", *PEOPLE, "-k", "2-7", "--plan", "-o", "new")
    assert "k is chosen (2-7)" in plan.out
    assert "Runner-up" not in plan.out
    assert not (tmp_path / "new").exists()
    facts = coterie("cluster", *PEOPLE, "-k", "auto", "--plan", "--json", "-o", "new").json["plan"]
    assert facts["n_clusters"] is None
    assert facts["method"] == "COPKMeans"


def test_compare_chooses_first_and_its_command_has_the_number(coterie, people):
    words = ["compare", *PEOPLE, "--methods", "COPKMeans,PCKMeans", "--folds", 2]
    found = coterie(*words, "-k2-4", "--json").json
    assert found["n_clusters"] == found["chosen_k"]["n_clusters"]
    assert "-k2-4" not in found["command"]
    assert f"-k {found['n_clusters']}" in found["command"]
    answer = coterie(*words, "-k", "2-4")
    assert answer.code == 0
    assert "Runner-up" in answer.out


@pytest.mark.parametrize(
    ("k", "words"),
    [
        *[
            (k, "a range such as 2-10, or auto")
            for k in ("5-2", "1-5", "0-3", "2-", "2--5", "2-x", "automatic")
        ],
        ("2-91", "people.csv has 90 rows"),
        ("2-" + "9" * 30, "a range such as 2-10"),
    ],
)
def test_nonsense_is_refused(coterie, people, k, words):
    answer = coterie("cluster", *PEOPLE, "-k", k, "-o", "out")
    assert answer.code == 2
    assert words in answer.err
    assert answer.err.count("\n") == 1


def test_what_cannot_be_is_refused_in_the_words_of_the_command(coterie, people, tmp_path):
    answer = coterie("cluster", *PEOPLE, "-k", "2-5", "--method", "COPCobweb")
    assert (answer.code, "leave -k 2-5 out" in answer.err) == (2, True)
    lines = "i,j,kind,hard\np00,p01,cannot-link,true\np01,p02,cannot-link,true\np00,p02,cannot-link,true\n"
    (tmp_path / "three.csv").write_text(lines)
    words = [
        "cluster",
        "people.csv",
        "--id",
        "name",
        "--drop",
        "region",
        "--pairs",
        "three.csv",
        "--no-report",
    ]
    answer = coterie(*words, "-k", "2-2", "--method", "COPKMeans")
    assert answer.code == 3
    assert "p01" in answer.err
    found = coterie(*words, "-k", "2-3", "--json", "-o", "three").json
    assert found["n_clusters"] == 3
    assert list(found["chosen_k"]["left_out"]) == ["2"]
    (tmp_path / "one.csv").write_text("name,x\na,1.5\n")
    answer = coterie("cluster", "one.csv", "-k", "auto")
    assert (answer.code, "one.csv has 1 row" in answer.err) == (2, True)
    # bounds that some numbers cannot keep leave the others
    found = coterie(
        "cluster", *PEOPLE, "-k", "2-5", "--size-min", 25, "--no-report", "--json", "-o", "sizes"
    ).json
    assert set(found["chosen_k"]["left_out"]) >= {"4", "5"}
