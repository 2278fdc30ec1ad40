"""Every command of the pages, on tables that nobody tidied; with `make test` on one, without `compare`."""

import runpy
from pathlib import Path

import pytest

from coterie.cli import main

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "first_hour.py"


def without_compare(words):
    return 0 if words[0] == "compare" else main(words)


@pytest.mark.parametrize(
    ("kind", "run"),
    [
        pytest.param("mixed", without_compare, id="mixed but compare"),
        *(
            pytest.param(kind, main, id=kind, marks=pytest.mark.slow)
            for kind in ("mixed", "wide", "tall", "text", "gaps")
        ),
    ],
)
def test_every_command_ends_as_promised(kind, run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    walk = runpy.run_path(str(EXAMPLE))["walk"]
    monkeypatch.setitem(walk.__globals__, "main", run)
    for typed, promised, ended in walk(tmp_path, kind):
        out, err = capsys.readouterr()
        assert ended == promised, (typed, out, err)
        assert "Traceback" not in out + err, typed
