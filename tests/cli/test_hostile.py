"""Hostile files and words: a result that is whole, or one line that says what to do; never anything else.

100 cases of a known seed, 6 of them also as real processes.
The slow set has 14 more processes, and 2,100 cases of the seed of the run.
To look at one by hand: `case(seed, number).write(folder)`.
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from coterie.cli import main
from coterie.cli._job.quick_ids import peek
from tests.cli.hostile_cases import MAKERS, Case, case, sheet

COTERIE = [sys.executable, "-m", "coterie.cli"]
FAST, SLOW, AT_ONCE, MOST_CPU, LIMIT = 101, 2100, 21, 300.0, 1800.0
# Files of every kind, most of which are refused at once: a process that fits takes seconds to start. All are
# among those that run in this process, too.
PROCESSES = (0, 3, 13, 43, 50, 67)
MORE = (2, 4, 7, 8, 38, 49, 53, 56, 61, 65, 79, 82, 86, 96)
# Words of Python that an analyst cannot be expected to know.
OURS = re.compile(
    r"\b[A-Z]\w*(Error|Exception|Warning)\b|\b(ids|n_items|weight|labels)=|`ids|sample_weight|size_weight|"
    r"n_clusters|_min\b|_max\b|NoneType|ndarray|dtype|object at 0x|<class|polars|numpy|sklearn|np\.|DataFrame"
    r"|scikit|Constraints\.|\bndim\b|codec can't|Errno|\barray\.|from_frame|builtin|__"
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run of a table with the columns id, x0, x1, word."""
    folder = tmp_path_factory.mktemp("finished")
    table = sheet(np.random.default_rng(0), 24, 2)
    table.add("word", ["red", "green"] * 12)
    data, pairs, run = folder / "old.csv", folder / "pairs.csv", folder / "run"
    data.write_text(table.csv())
    pairs.write_text("i,j,kind\np0,p1,must-link\np2,p3,cannot-link\n")
    words = ["cluster", data, "-k", 2, "--id", "id", "--pairs", pairs, "-o", run]
    assert main(list(map(str, words))) == 0
    return run


def lay_out(hostile: Case, folder: Path, finished: Path) -> dict[str, bytes | str]:
    """Write the files of a case, and say what is there."""
    folder.mkdir()
    hostile.write(folder)
    if hostile.run is not None:
        shutil.copytree(finished, folder / "run")
        for name, content in hostile.run.items():
            path = folder / "run" / name
            if isinstance(content, float):
                content = path.read_bytes()[: int(content * path.stat().st_size)]
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_bytes(content)
    return seen(folder)


def seen(folder: Path) -> dict[str, bytes | str]:
    """Everything in a folder, hidden things too."""
    found: dict[str, bytes | str] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        found[name] = path.read_bytes() if path.is_file() else "link" if path.is_symlink() else "there"
    return found


def check(hostile: Case, code: int, out: str, err: str, folder: Path, before: dict[str, bytes | str]) -> None:
    """What holds for every case, and what this one knows."""
    told = f"{hostile.name}: coterie {' '.join(hostile.words)!r:.300}\ncode {code}"
    told += f"\nout {out[-600:]!r}\nerr {err[-900:]!r}"
    assert "Traceback" not in out + err, told
    assert code in hostile.ends, f"{sorted(hostile.ends)} expected; {told}"
    assert "\x1b" not in out + err or "\x1b" in " ".join(hostile.words), told  # nothing that a terminal obeys
    machine = "--json" in hostile.words
    help_shown = not hostile.words
    if machine:
        assert err == "", told
        found = json.loads(out, parse_constant=pytest.fail)
        assert isinstance(found, dict), told
        message = found.get("error", "")
        if code == 2:
            assert (found["exit_code"], "\n" in message) == (2, False), told
        err = message + (found.get("explanation") or "")
    elif code in (0, 5):
        assert err == "", told
        assert code == 0 or "Asked for: " in out, told
    elif not (hostile.words[0] == "check" and code in (3, 4)) and not help_shown:
        assert err.startswith("coterie: "), told
        assert code == 3 or err.count("\n") == 1, told
        message = err
    else:
        message = ""
    if code in (2, 3):
        first = message.split("\n")[0]
        plain = first
        typed = [part for word in hostile.words for part in (word, word.partition("=")[0])]
        for word in (*typed, *hostile.files):
            plain = plain.replace(word, "") if len(word) > 2 else plain
        assert len(first) < 800, told
        assert not OURS.search(plain), f"{OURS.search(plain)}; {told}"
        if hostile.ends <= {2, 3}:
            for word in hostile.told:
                assert word in err, f"{word!r} is not said; {told}"
        assert seen(folder) == before, f"{set(seen(folder)) ^ set(before)} changed; {told}"
        return
    for line in out.splitlines():
        assert not (line.startswith("Note: ") and OURS.search(line)), f"{line}; {told}"
    if hostile.words[0] == "cluster":
        look_at_run(hostile, folder, before, told)
    elif hostile.words[0] == "apply":
        look_at_labels(hostile, folder, before, told)


def look_at_run(hostile: Case, folder: Path, before: dict[str, bytes | str], told: str) -> None:
    """The folder of a run is whole, and nothing else has changed."""
    now = seen(folder)
    words = list(hostile.words)
    if "--plan" in words:
        assert now == before, told
        return
    marks = [Path(name) for name in now if Path(name).name == "run.json" and now[name] != before.get(name)]
    assert len(marks) == 1, told
    out = marks[0].parent
    kept = {name: content for name, content in now.items() if out not in (Path(name), *Path(name).parents)}
    was = {name: content for name, content in before.items() if out not in (Path(name), *Path(name).parents)}
    new = {name for name in set(kept) - set(was) if Path(name) not in out.parents}
    assert not new, f"{new}; {told}"
    assert {name: kept[name] for name in was} == was, told
    facts = json.loads(now[str(marks[0])], parse_constant=pytest.fail)
    files = {path.name for path in (folder / out).iterdir()}
    assert files == set(facts["files"]), told
    assert files >= {"model.skops", "run.json"}, told
    asked = [word for word in words if word in ("--report", "--no-report")]
    assert ("report.html" in files) == (asked[-1:] != ["--no-report"]), told  # the last one counts
    labels_file = next(name for name in files if name.startswith("labels."))
    labels = labels_of(
        hostile, folder / out / labels_file, facts["label_column"], now_of(hostile, folder), told
    )
    k = facts["n_clusters"]
    assert len(labels) == facts["data"]["rows"], told
    assert np.bincount(labels[labels >= 0], minlength=k).tolist() == facts["sizes"], told
    assert labels.min() >= 0, told
    if hostile.sizes is not None:
        assert min(facts["sizes"]) >= hostile.sizes[0], told
        assert max(facts["sizes"]) <= hostile.sizes[1], told
    if facts["n_broken"] == 0:
        assert all(labels[i] == labels[j] for i, j in hostile.together), told
        assert all(labels[i] != labels[j] for i, j in hostile.apart), told
    if "constraints.csv" in files:
        ids = ids_of(hostile, folder, len(labels))
        look_at_outcomes(folder / out / "constraints.csv", dict(zip(ids, labels, strict=True)), facts, told)


def ids_of(hostile: Case, folder: Path, n: int) -> list[str]:
    """How constraints name the rows."""
    words, source = list(hostile.words), now_of(hostile, folder)
    if "--id" not in words or source.suffix.lower() != ".csv":
        return [str(row) for row in range(n)]
    head, rows = cells_of(source, hostile.separator)
    at = head.index(words[words.index("--id") + 1])
    return [row[at] for row in rows]


def look_at_outcomes(path: Path, labels: dict[str, int], facts: dict, told: str) -> None:
    """Every pair is there with the outcome that a recount gives."""
    head, rows = cells_of(path, ",")
    pairs = [row for row in (dict(zip(head, cells, strict=True)) for cells in rows) if "link" in row["kind"]]
    stated = facts["statements"]
    assert len(pairs) == stated["must_links"] + stated["cannot_links"], told
    for row in pairs:
        # 1.0 in a table is the id 1
        ends = [
            next(labels[form] for form in (end, end.strip(), f"{end}.0") if form in labels)
            for end in (row["i"], row["j"])
        ]
        holds = (ends[0] == ends[1]) == (row["kind"] == "must-link")
        expected = "no effect" if float(row["weight"]) == 0 else "met" if holds else "broken"
        assert row["outcome"] == expected, f"{row}; {told}"


def now_of(hostile: Case, folder: Path) -> Path:
    """The table of the case."""
    words = [word for word in hostile.words[1:] if word != "--"]
    there = [folder / word for word in words if word and len(word) < 200 and (folder / word).is_file()]
    return next(path for path in there if path.name != "pairs.csv")


def cells_of(path: Path, separator: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows as Python's own reader sees them; empty lines are no rows."""
    data = path.read_bytes()
    if path.suffix.lower() == ".gz":
        import gzip

        data = gzip.decompress(data)
    csv.field_size_limit(10**7)
    text = io.StringIO(data.decode("utf-8-sig"), newline="")
    head, *rows = [row for row in csv.reader(text, delimiter=separator) if row]
    return [name.strip() for name in head], rows


def labels_of(hostile: Case, path: Path, column: str, source: Path, told: str) -> np.ndarray:
    """The labels of a written table, in which the user's own columns stand as they were."""
    kind = source.name.lower().removesuffix(".gz").rpartition(".")[2]
    if path.suffix in (".csv", ".tsv") and kind in ("csv", "tsv"):
        given = "\t" if kind == "tsv" else hostile.separator
        written = "\t" if path.suffix == ".tsv" else "," if given == "\t" else given
        head, rows = cells_of(source, given)
        new_head, new_rows = cells_of(path, written)
        named = ["cluster_name"] if "cluster_name" in new_head[len(head) :] else []
        assert not named or "--labels" in hostile.words, told
        assert new_head == [head[0] or "row", *head[1:], column, *named], told
        if len(head) > 1:
            assert [row[: len(head)] for row in new_rows] == rows, told
        return np.array([int(row[-1 - len(named)]) for row in new_rows])
    read = {".csv": pl.read_csv, ".parquet": pl.read_parquet, ".jsonl": pl.read_ndjson, ".tsv": pl.read_csv}
    frame = read[path.suffix](path)
    if kind in ("parquet", "jsonl") and path.suffix[1:] == kind:
        given_frame = read[path.suffix](source)
        assert frame.columns == [*given_frame.columns, column], told
        if kind == "jsonl":
            given = [json.loads(line) for line in source.read_text().splitlines() if line.strip()]
            mine = [json.loads(line) for line in path.read_text().splitlines()]
            assert [known(row, column) for row in mine] == [known(row) for row in given], told
    if kind == "parquet" and path.suffix == ".parquet":
        assert frame.drop(column).equals(given_frame), told
    return frame[column].to_numpy()


def known(row: dict, but: str = "") -> dict:
    """What a line says; a name that is not there is the same as null."""
    return {name: value for name, value in row.items() if value is not None and name != but}


def look_at_labels(hostile: Case, folder: Path, before: dict[str, bytes | str], told: str) -> None:
    """New rows have got labels, in one new file."""
    now = seen(folder)
    new = [folder / name for name in set(now) - set(before) if (folder / name).is_file()]
    assert len(new) == 1, told
    assert {name: now[name] for name in before} == before, told
    source = folder / hostile.words[2]
    if new[0].suffix == source.suffix == ".csv":
        column = new[0].read_text().splitlines()[0].rpartition(",")[2]
        labels = labels_of(hostile, new[0], column, source, told)
        assert set(labels.tolist()) <= {0, 1}, told


# ---- the cases ----------------------------------------------------------------------------------------


def in_process(hostile: Case, folder: Path, finished: Path, monkeypatch, capsys) -> None:
    before = lay_out(hostile, folder, finished)
    monkeypatch.chdir(folder)
    capsys.readouterr()
    start = time.process_time()
    code = main(list(hostile.words))
    took = time.process_time() - start
    out, err = capsys.readouterr()
    assert took < MOST_CPU, f"{hostile.name} took {took:.0f} s of CPU"
    check(hostile, code, out, err, folder, before)


@pytest.mark.parametrize("number", range(FAST))
def test_hostile_cases(number, finished, tmp_path, monkeypatch, capsys):
    in_process(case(1, number), tmp_path / "here", finished, monkeypatch, capsys)


def as_process(hostile: Case, folder: Path, finished: Path) -> None:
    before = lay_out(hostile, folder, finished)
    answer = subprocess.run(
        [*COTERIE, *hostile.words],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT,
    )
    check(hostile, answer.returncode, answer.stdout, answer.stderr, folder, before)


@pytest.mark.parametrize(
    "number", [*PROCESSES, *(pytest.param(number, marks=pytest.mark.slow) for number in MORE)]
)
def test_hostile_cases_as_processes(number, finished, tmp_path):
    as_process(case(1, number), tmp_path / "here", finished)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(SLOW // AT_ONCE))
def test_many_hostile_cases(part, seed, finished, tmp_path, monkeypatch, capsys):
    for number in range(part * AT_ONCE, (part + 1) * AT_ONCE):
        in_process(case(seed, number), tmp_path / str(number), finished, monkeypatch, capsys)


@pytest.mark.slow
def test_the_cases_differ(seed):
    drawn = [case(seed, number) for number in range(SLOW)]
    assert len({(tuple(one.words), str(one.files), str(one.run)) for one in drawn}) >= 2000
    assert len(MAKERS) <= FAST  # every kind is in the fast set


def test_check_says_the_same_by_the_short_way(tmp_path, monkeypatch, capsys):
    """A plain CSV is looked at without the reader of tables; that must not change the answer."""
    pairs = "i,j,kind\np0,p1,must-link\np1,p2,cannot-link\n"
    n_compared = 0
    for number in range(FAST):
        drawn = case(2, number)
        if list(drawn.words[:3]) != ["cluster", "t.csv", "-k"] or drawn.pipes:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        replace(drawn, files={"pairs.csv": pairs, **drawn.files}).write(folder)
        monkeypatch.chdir(folder)
        answers = []
        for look in (peek, lambda *_: None):
            monkeypatch.setattr("coterie.cli.commands.check.peek", look)
            code = main(["check", "t.csv", "-k", "2", "--id", "id", "--pairs", "pairs.csv"])
            answers.append((code, *capsys.readouterr()))
        assert answers[0] == answers[1], drawn.name
        n_compared += 1
    assert n_compared > 30


# ---- odd surroundings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["check", "-k", "1"], ["cluster", "-k", "2", "--no-report"]])
@pytest.mark.parametrize("machine", [[], ["--json"]])
def test_a_console_that_lacks_letters(words, machine, tmp_path, monkeypatch):
    """Such as that of a pipe under Windows, or of the locale C."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("id,größe,名\nä,1,x\n🙂,2,x\nß,8,y\nd,9,y\n", encoding="utf-8")
    Path("pairs.csv").write_text("i,j,kind\nä,🙂,cannot-link\n", encoding="utf-8")
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True) for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    code = main([words[0], "t.csv", "--id", "id", "--pairs", "pairs.csv", *words[1:], *machine])
    assert (code, err.buffer.getvalue()) == (3 if words[0] == "check" else 0, b"")
    said = out.buffer.getvalue().decode("ascii")
    if machine:
        assert "🙂" in json.dumps(json.loads(said), ensure_ascii=False) or words[0] == "cluster"
    else:
        assert "\\U0001f642" in said or words[0] == "cluster"


@pytest.mark.skipif(os.name == "nt", reason="shell of POSIX")
@pytest.mark.parametrize(("more", "codes"), [(">&-", {0}), (">/dev/full", {2}), ("--json >/dev/full", {2})])
def test_an_output_that_takes_nothing(more, codes, tmp_path):
    answer = subprocess.run(
        f"{sys.executable} -m coterie.cli methods {more}",
        shell=True,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert answer.returncode in codes, answer.stderr
    assert answer.stderr.count("\n") <= 1
    assert "fault" not in answer.stderr


# ---- no permission ------------------------------------------------------------------------------------

IS_ROOT = hasattr(os, "getuid") and os.getuid() == 0
# root may read everything, unless it gives up that right
AS_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if IS_ROOT else []


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.skipif(IS_ROOT and shutil.which("setpriv") is None, reason="root may read everything")
@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["cluster", "t.csv", "-k", "2"], "t.csv"),
        (["check", "u.csv", "--id", "id", "--pairs", "pairs.csv"], "pairs.csv"),
        (["cluster", "u.csv", "-k", "2", "--id", "id", "-o", "closed/out"], "closed"),
        (["apply", "closed", "u.csv"], "closed"),
    ],
)
def test_without_permission(words, path, tmp_path):
    for name in ("t.csv", "u.csv"):
        (tmp_path / name).write_text(sheet(np.random.default_rng(0)).csv())
    (tmp_path / "pairs.csv").write_text("i,j,kind\np0,p1,must-link\n")
    (tmp_path / "closed").mkdir()
    before = seen(tmp_path)
    (tmp_path / path).chmod(0)
    answer = subprocess.run(
        [*AS_USER, *COTERIE, *words], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT
    )
    (tmp_path / path).chmod(0o755)
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1), answer.stderr
    assert path in answer.stderr
    assert re.search("permission|not readable", answer.stderr)
    assert seen(tmp_path) == before
