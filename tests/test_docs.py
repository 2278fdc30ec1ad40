"""README and the pages of `docs/` are true: what they show runs, and prints what they say."""

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from coterie.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.S | re.M)
# What stands in blocks of no language: `.ci/run` does these on a clean checkout.
SET_UP = {"make run", "make test", 'pip install ".[cli,plot]"'}

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def command(line, capsys):
    """Run one line of a shell block; what it printed."""
    words = shlex.split(line, comments=True)
    expected = int(line.partition("# exit code ")[2] or 0)
    if words[0] == "python":
        sys.argv = [str(ROOT / words[1]), *words[2:]]
        runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        assert words[0] == "coterie", line
        assert main(words[1:]) == expected, line
    return capsys.readouterr().out


@every_page
def test_what_a_page_shows_runs_and_prints_what_it_says(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    names, printed = {}, ""  # a block may build on the ones before
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(code, page.name, "exec"), names)
            printed = capsys.readouterr().out
            for line in re.findall(r"^# (.+)$", code, flags=re.M):
                assert line in printed
        elif language == "sh":
            printed = "".join(command(line, capsys) for line in code.splitlines())
        elif language == "text":  # what the block before printed, or a part of it
            for line in code.splitlines():
                assert line in printed
        else:
            assert language == ""
            for line in code.splitlines():
                assert line.partition("#")[0].strip() in SET_UP, line


def test_ci_does_what_the_pages_say_about_setting_up():
    ci, make = (ROOT / ".ci" / "run").read_text(), (ROOT / "Makefile").read_text()
    for target in ("make test", "make run"):
        assert target in ci
    assert re.search(r"^run:", make, flags=re.M)
    assert "pip install" in make  # of the wheel, into an empty environment


@every_page
def test_what_a_page_links_to_exists(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


def scripts():
    for path in sorted((ROOT / "examples").glob("*.py")):
        # every command of the pages again, on a table that `test_first_hour` walks through
        marks = [pytest.mark.slow] if path.stem == "first_hour" else []
        yield pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize("script", list(scripts()))
def test_every_example_runs(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path / "out")])
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out
