"""Newsgroups: a tiny file of the same format, and the real one where it is."""

import gzip
import json
import os

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from coterie.datasets import load_news3, load_newsgroups

DOCUMENTS = [
    {"group": "sci.space", "id": "10", "text": "From: a\n\nOrbit\u2028and 'moon'"},
    {"group": "rec.autos", "id": "10", "text": "Brakes"},
    {"group": "sci.space", "id": "11", "text": ""},
    {"group": "alt.atheism", "id": "12", "text": "Why"},
]


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))

    def write(lines):
        (tmp_path / "20news.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))

    write([json.dumps(document, ensure_ascii=False) for document in DOCUMENTS])
    return write


@pytest.mark.usefixtures("write")
def test_all_groups_by_name():
    news = load_newsgroups()
    assert news.data == [document["text"] for document in DOCUMENTS]
    assert news.target_names == ["alt.atheism", "rec.autos", "sci.space"]
    assert news.target.tolist() == [2, 1, 2, 0]
    assert news.target.dtype == np.int64
    assert news.ids.tolist() == ["10", "10", "11", "12"]
    assert news.DESCR.startswith("20 Newsgroups: 4 documents with headers, 3 groups.")


@pytest.mark.usefixtures("write")
def test_groups_select_and_order():
    news = load_newsgroups(("sci.space", "alt.atheism"))
    assert news.target_names == ["sci.space", "alt.atheism"]
    assert news.target.tolist() == [0, 0, 1]
    assert news.ids.tolist() == ["10", "11", "12"]
    texts, target = load_newsgroups(np.array(["alt.atheism"]), return_X_y=True)
    assert texts == ["Why"]
    assert target.tolist() == [0]
    assert load_newsgroups("rec.autos").data == ["Brakes"]


@pytest.mark.usefixtures("write")
@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        (["sci.space", "sci.spce"], r"has unknown groups \['sci\.spce'\]"),
        ([], "is empty"),
        (["sci.space", "sci.space"], "names a group twice"),
    ],
)
def test_bad_choices_list_the_groups(groups, problem):
    with pytest.raises(ValueError, match=problem + r".*The groups are: alt\.atheism, rec\.autos, sci\.space"):
        load_newsgroups(groups)


@pytest.mark.parametrize("line", ["{", '{"group": "sci.space", "id": "1"}', "[1, 2]"])
def test_damaged_lines_are_named(write, line):
    write([json.dumps(DOCUMENTS[0]), line])
    with pytest.raises(
        ValueError, match=r"20news\.jsonl\.gz, line 2: expected a JSON object with the fields"
    ):
        load_newsgroups()


COMP = ["comp.graphics", "comp.os.ms-windows.misc", "comp.windows.x"]


def many(group, number):
    """Documents of a group, in no order; the id says which."""
    order = np.random.default_rng(0).permutation(number)
    texts = {i: f"Newsgroups: {group}\nSubject: About {i}\nLines: 3\n\nBody {i}\n\nEnd" for i in order}
    return [json.dumps({"group": group, "id": str(i), "text": text}) for i, text in texts.items()]


def test_news3_draws_a_hundred_of_each_group_by_its_seed(write):
    write([line for group in reversed(COMP) for line in many(group, 130)])
    news = load_news3("similar")
    assert news.target_names == COMP
    assert news.target.tolist() == [0] * 100 + [1] * 100 + [2] * 100
    assert news.DESCR.startswith("News-Similar-3: 300 documents")
    ids = news.ids.astype(int).reshape(3, 100)
    assert (np.diff(ids) > 0).all()  # in the order of the numbers, not of the strings, and none twice
    rng = np.random.RandomState(4)
    assert ids.tolist() == [np.sort(rng.choice(130, 100, replace=False)).tolist() for _ in COMP]
    assert news.data == [f"About {i}\nBody {i}\n\nEnd" for i in ids.ravel()]  # headers are gone
    texts, target = load_news3("similar", return_X_y=True)
    assert texts == news.data
    assert target.tolist() == news.target.tolist()
    assert load_news3("similar", seed=5).ids.tolist() != news.ids.tolist()
    assert load_news3("similar", seed=4).ids.tolist() == news.ids.tolist()


def test_news3_says_what_is_wrong(write):
    write([line for group in COMP for line in many(group, 99 if group == COMP[1] else 100)])
    with pytest.raises(ValueError, match=r"Group 'comp\.os\.ms-windows\.misc' has 99 documents; 100 are"):
        load_news3("similar")
    with pytest.raises(ValueError, match=r"no news set 'Similar'\. The sets are: different, related"):
        load_news3("Similar")


def test_a_text_without_a_subject_keeps_its_body(write):
    bare = [
        json.dumps({"group": group, "id": str(i), "text": "From: a"}) for group in COMP for i in range(100)
    ]
    write(bare)
    assert load_news3("similar").data == [""] * 300


def test_without_the_folder(monkeypatch):
    monkeypatch.delenv("COTERIE_DATA", raising=False)
    with pytest.raises(
        FileNotFoundError, match=r"\$COTERIE_DATA/20news\.jsonl\.gz cannot be read: it is not set"
    ):
        load_newsgroups()


@pytest.mark.skipif(
    not os.environ.get("COTERIE_DATA"), reason="needs the data folder: set COTERIE_DATA to its path"
)
def test_the_real_collection():
    news = load_newsgroups()
    assert len(news.data) == len(news.ids) == 19_997
    assert len(news.target_names) == 20
    assert sorted(np.bincount(news.target)) == [997] + [1000] * 19


@pytest.mark.skipif(
    not os.environ.get("COTERIE_DATA"), reason="needs the data folder: set COTERIE_DATA to its path"
)
@pytest.mark.parametrize(("name", "words"), [("different", 2913), ("related", 3223), ("similar", 1864)])
def test_the_real_news_sets_have_the_known_number_of_words(name, words):
    texts, target = load_news3(name, return_X_y=True)
    counts = CountVectorizer(
        stop_words="english", token_pattern=r"(?u)\b[a-zA-Z]{2,}\b", min_df=3, max_df=0.15
    ).fit_transform(texts)
    assert counts.shape == (300, words)
    assert (counts.getnnz(axis=1) > 0).all()
    assert np.bincount(target).tolist() == [100] * 3
