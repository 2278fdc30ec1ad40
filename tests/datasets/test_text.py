"""Newsgroups: a tiny file of the same format, and the real one where it is."""

from __future__ import annotations

import gzip
import json
import os

import numpy as np
import pytest

from coterie.datasets import load_newsgroups

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
