"""Every command of the pages, on tables that nobody tidied; `test_docs` runs the example on one of them."""

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "first_hour.py"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mixed", "wide", "tall", "text", "gaps"])
def test_every_command_ends_as_promised(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for typed, promised, ended in runpy.run_path(str(EXAMPLE))["walk"](tmp_path, kind):
        out, err = capsys.readouterr()
        assert ended == promised, (typed, out, err)
        assert "Traceback" not in out + err, typed
