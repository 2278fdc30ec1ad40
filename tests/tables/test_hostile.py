"""Damaged files of every kind: a result or a one-line error, and nothing else, on any path."""

import gzip
import os
import random
import shlex
import subprocess
import sys
from datetime import date

import numpy as np
import polars as pl
import pytest
import scipy.io
import scipy.sparse

from coterie.tables import TableError, free_name, plan_features, read_table, write_table
from coterie.tables._formats.panics import quiet_panics
from tests.tables.workbook import workbook

PIECES = [
    b"\n", b",", b'"', b"\r", b"\n\n", b"NA", b"{", b"1e999", b"-inf", b"\0", b"\xff", b";", b"\t", b"^a$",
    b"*",
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A small file of every kind."""
    folder = tmp_path_factory.mktemp("whole")
    frame = pl.DataFrame(
        {
            "id": range(20),
            "x": np.linspace(0, 1, 20) ** 2,
            "s": [f"n{at % 3}" for at in range(20)],
            "t": [f"some words here {at}" for at in range(20)],
            "d": [date(2020, 1, 1 + at) for at in range(20)],
            "b": [True, None] * 10,
        }
    )
    frame.write_csv(folder / "t.csv")
    frame.write_csv(folder / "t.tsv", separator="\t")
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    nested = frame.with_columns(l=pl.lit([1, 2]), st=pl.struct("x", "s"))
    nested.write_ndjson(folder / "t.jsonl")
    nested.write_parquet(folder / "t.parquet")
    nested.write_parquet(folder / "u.parquet", compression="uncompressed")
    np.save(folder / "t.npy", np.linspace(0, 1, 20).reshape(5, 4))
    np.savez(folder / "t.npz", np.linspace(0, 1, 20).reshape(5, 4))
    scipy.sparse.save_npz(folder / "u.npz", scipy.sparse.random(6, 5, 0.4, format="csr", random_state=0))
    scipy.io.mmwrite(folder / "t.mtx", scipy.sparse.random(6, 5, 0.4, random_state=0))
    rows = [["id", "x", "s"], *[[at, at**2 / 7, f"n{at % 3}"] for at in range(20)]]
    (folder / "t.xlsx").write_bytes(workbook(rows))
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def damaged(data, chance):
    """The bytes with one to four changes."""
    data = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        at = chance.randrange(len(data)) if data else 0
        kind = chance.random()
        if kind < 0.4 and data:
            data[at] = chance.randrange(256)
        elif kind < 0.6:
            del data[at : at + chance.randrange(1, 30)]
        elif kind < 0.9:
            data[at:at] = chance.choice(PIECES)
        else:
            del data[at:]
    return bytes(data)


def one_line(error):
    assert str(error)
    assert len(str(error).splitlines()) == 1


def use(path, chance):
    """Do everything that a run does with a table."""
    table = read_table(path)
    for name in table.names[:3]:
        for take in (table.ids, table.numbers):
            try:
                take(name)
            except TableError as error:
                one_line(error)
    plan = plan_features(table, impute=chance.random() < 0.5)
    X = plan.fit(table)
    assert X.shape == (table.n_rows, len(plan.features))
    np.testing.assert_array_equal((plan.transform(table) != X).sum(), 0)
    for ending in ("csv", "jsonl", "parquet"):
        out = path.parent / f"out.{ending}"
        write_table(table, out, {free_name(table, "cluster"): np.zeros(table.n_rows, dtype=int)})


def try_damaged(whole, tmp_path, seed, n, names):
    chance = random.Random(seed)
    used = 0
    for at in range(n):
        name = names[at % len(names)]
        path = tmp_path / name
        path.write_bytes(damaged(whole[name], chance))
        try:
            use(path, chance)
            used += 1
        except TableError as error:
            one_line(error)
    return used


def test_damaged_files(whole, tmp_path, capfd):
    # One seed for ever: about one damaged Parquet file in thousands makes polars ask for so much memory that
    # the process ends.
    assert try_damaged(whole, tmp_path, 20260, 220, list(whole)) > 10
    assert capfd.readouterr().err == ""  # no stack of a crashed thread


@pytest.mark.slow
def test_many_damaged_files(whole, tmp_path, seed):
    names = [name for name in whole if not name.endswith(".parquet")]
    assert try_damaged(whole, tmp_path, seed, 4_000, names) > 200


def test_a_panic_is_not_shown_and_other_words_are(capfd):
    with quiet_panics():
        os.write(2, b"a warning\n")
    assert capfd.readouterr().err == "a warning\n"

    def panic():
        os.write(2, b"thread panicked\n")
        raise pl.exceptions.PanicException("thread panicked")

    with pytest.raises(pl.exceptions.PanicException), quiet_panics():
        panic()
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
def test_without_output_streams(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    code = (
        "import sys, os; from coterie.tables import read_table, write_table; "
        "sys.stderr = open(os.devnull, 'w'); "
        "write_table(read_table('t.csv'), 'out.csv', {'cluster': [0, 1]})"
    )
    words = f'{shlex.quote(sys.executable)} -c "{code}" >&- 2>&-'
    assert subprocess.run(words, shell=True, cwd=tmp_path, timeout=1800).returncode == 0
    assert (tmp_path / "out.csv").read_text() == "a,b,cluster\n1,2,0\n3,4,1\n"


def test_whole_files_can_be_used(whole, tmp_path):
    for name, data in whole.items():
        path = tmp_path / name
        path.write_bytes(data)
        table = read_table(path)
        plan = plan_features(table, impute=True)
        assert plan.fit(table).shape[0] == table.n_rows


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.jsonl", "t.npy", "t.npz", "t.mtx", "t.parquet", "t.csv.gz", "t.xlsx"]
)
def test_random_bytes(tmp_path, seed, name):
    chance = random.Random(seed)
    for _ in range(10):
        path = tmp_path / name
        path.write_bytes(chance.randbytes(chance.randrange(1, 400)))
        try:
            read_table(path)
        except TableError as error:
            one_line(error)


def test_messages_for_programmers_are_left_out():
    from coterie.tables._errors import why

    assert why(ValueError("line 3 has no end")) == " (line 3 has no end)"
    for words in (
        "",
        "called `Result::unwrap()` on an `Err` value: JoinError",
        "malformed <ast.Call object at 0x7f>",
    ):
        assert why(ValueError(words)) == ""
