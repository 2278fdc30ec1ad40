"""The command as a real process: quick to answer, whole or nothing when it is killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from coterie.cli import main

COTERIE = [sys.executable, "-m", "coterie.cli"]
WHOLE = {"labels.csv", "model.skops", "report.html", "run.json"}


def run(*words, cwd, **more):
    return subprocess.run(
        [*COTERIE, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=1800, **more
    )


QUICK = [["--help"], ["methods"], ["check", "people.csv", "--id", "name", "--pairs", "pairs.csv", "-k", "3"]]


@pytest.mark.parametrize("words", QUICK, ids=lambda words: words[0])
def test_quick_commands_load_nothing_heavy(people, tmp_path, words):
    code = (
        "import sys; from coterie.cli import main; main(sys.argv[1:]); "
        "print([m for m in ('sklearn', 'scipy', 'polars', 'matplotlib', 'numba') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, timeout=1800
    )
    assert answer.stdout.splitlines()[-1] == "[]", answer.stderr


N_ROWS = 300


@pytest.fixture(scope="module")
def one_run(tmp_path_factory):
    """A folder with a table and a finished run of it, what the run said, and how long it took."""
    folder = tmp_path_factory.mktemp("one-run")
    rng = np.random.default_rng(0)
    pl.DataFrame(rng.normal(size=(N_ROWS, 4)), schema=list("abcd")).write_csv(folder / "some.csv")
    start = time.monotonic()
    answer = run("cluster", "some.csv", "-k", 4, "-o", "out", cwd=folder)
    return folder, answer, time.monotonic() - start


def test_no_bar_and_no_colour_in_a_pipe(one_run):
    _, answer, _ = one_run
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "\x1b" not in answer.stdout


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", pytest.param("utf-8", marks=pytest.mark.slow)])
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_any_console_will_do(tmp_path, encoding, more):
    names = ["\N{SLIGHTLY SMILING FACE}", "\u540d", "c", "d"]
    pl.DataFrame({"\u540d": names, "x": [1, 2, 3, 4]}).write_csv(tmp_path / "t.csv")
    pairs = {"i": names[:1], "j": names[1:2], "kind": ["must-link"]}
    pl.DataFrame(pairs).write_csv(tmp_path / "p.csv")
    words = ["check", "t.csv", "--id", "\u540d", "--pairs", "p.csv", "-k", "2", *more]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    answer = subprocess.run(
        [*COTERIE, *words], cwd=tmp_path, capture_output=True, env=environment, timeout=1800
    )
    assert (answer.returncode, answer.stderr) == (0, b"")
    if more:
        assert json.loads(answer.stdout)["status"] == "feasible"


@pytest.mark.parametrize("missing", ["typer", "skops"])
def test_without_the_extra_the_command_says_what_to_install(missing):
    code = (
        f"import sys; sys.modules['{missing}'] = None; from coterie.cli import main; sys.exit(main(['-h']))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=1800)
    assert answer.returncode == 2
    assert answer.stderr == f'coterie: the command line needs {missing}: pip install "coterie[cli]"\n'


def test_a_reader_that_leaves_early(people, tmp_path):
    words = " ".join([*COTERIE, "methods"])
    answer = subprocess.run(
        f"{words} | head -1", shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=1800
    )
    assert answer.stderr == ""


def killed_at(folder, seconds, how):
    """Start a run, end it after some time, and say what is left."""
    process = subprocess.Popen(
        [*COTERIE, "cluster", "some.csv", "-k", "4", "-o", "out", "--force"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(how)
        process.wait()
    return process.returncode


def look(folder):
    out = folder / "out"
    if out.exists():
        assert {path.name for path in out.iterdir()} >= WHOLE
        assert len(pl.read_csv(out / "labels.csv")) == N_ROWS
        assert (out / "run.json").read_text().endswith("}\n")
    return out.exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("times", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_a_killed_run_leaves_nothing_or_all(one_run, times, seed, monkeypatch):
    folder, _, whole = one_run
    rng = np.random.default_rng(seed)
    codes = []
    for number, share in enumerate([0.6, 0.95] if times == 2 else rng.uniform(0.4, 1.1, times)):
        if number == 0 or rng.random() < 0.5:
            shutil.rmtree(folder / "out", ignore_errors=True)
        how = (signal.SIGKILL, signal.SIGTERM)[number % 2]
        codes.append(killed_at(folder, whole * share, how))
        look(folder)
    assert times == 2 or {-signal.SIGKILL, 130} <= set(codes)  # both kinds of kill came in time
    # what a killed run left is swept by the next one
    monkeypatch.chdir(folder)
    assert main(["cluster", "some.csv", "-k", "4", "-o", "out", "--force"]) == 0
    assert {path.name for path in folder.iterdir()} == {"some.csv", "out"}


def test_a_reader_that_leaves_does_not_stop_the_work(people, tmp_path):
    words = f"{' '.join(COTERIE)} cluster people.csv -k 3 --id name -o out | head -1"
    answer = subprocess.run(words, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=1800)
    assert (answer.stdout, answer.stderr) == ("people.csv: 90 rows, 6 columns\n", "")
    assert {path.name for path in (tmp_path / "out").iterdir()} >= WHOLE


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
def test_closed_streams(people, tmp_path):
    words = f"{' '.join(COTERIE)} cluster people.csv -k 3 --id name --no-report -o out >&- 2>&-"
    assert subprocess.run(words, shell=True, cwd=tmp_path, timeout=1800).returncode == 0
    assert (tmp_path / "out" / "labels.csv").exists()


def test_a_kill_between_two_renames_loses_nothing(tmp_path, monkeypatch):
    """The one moment in which neither the old nor the new folder is in place."""
    from coterie.cli._job import output_folder as _folder

    def run_to(content, before=None):
        with _folder.whole_folder(tmp_path / "out", force=True) as folder:
            (folder / "run.json").write_text(content)
            if before:
                before()

    def stop(*_):
        raise KeyboardInterrupt

    run_to("old")
    real, renamed = type(tmp_path).rename, []

    def rename(path, target):  # the second of the two is interrupted; the one that puts things right is not
        renamed.append(path.name)
        if len(renamed) == 2:
            raise KeyboardInterrupt
        return real(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(type(tmp_path), "rename", rename)
        with pytest.raises(KeyboardInterrupt):
            run_to("new")
    assert len(renamed) == 3
    assert (tmp_path / "out" / "run.json").read_text() == "old"
    # killed for good: the next run brings it back before it does anything else
    (tmp_path / "out").rename(tmp_path / ".out.coterie-999999999-old")
    with pytest.raises(KeyboardInterrupt):
        run_to("new", stop)
    assert (tmp_path / "out" / "run.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
