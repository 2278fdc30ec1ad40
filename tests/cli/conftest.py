"""The command line in this process, on small files in a folder of its own."""

import csv
import json
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from coterie import Constraints
from coterie.cli import main


@dataclass
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def coterie(capsys, tmp_path, monkeypatch):
    """Call it with what is typed after `coterie`; it runs in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(code, out, err)

    return call


def write_csv(path, head, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(head)
        table.writerows(rows)


@pytest.fixture
def people(tmp_path):
    """people.csv and pairs.csv: 90 items in three blobs, of which 20 pairs are stated."""
    X, y = make_blobs(90, 3, centers=3, cluster_std=1.5, random_state=3)
    names = [f"p{number:02}" for number in range(90)]
    region = np.array(["north", "south", "east"])[(y + np.arange(90) % 2) % 3]
    people = np.arange(1, 91) % 7 + 1
    write_csv(
        tmp_path / "people.csv",
        ["name", "age", "income", "height", "region", "load"],
        [
            [name, *np.round(row, 4), where, load]
            for name, row, where, load in zip(names, X.tolist(), region, people, strict=True)
        ],
    )
    known = Constraints.sample(y, n_pairs=20, random_state=0).with_ids(names)
    known.write(tmp_path / "pairs.csv")
    return y
