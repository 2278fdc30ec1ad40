"""What is imported when, and what is said where polars is not installed."""

import subprocess
import sys

import pytest

import coterie.tables


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_feature_costs_no_polars():
    code = "from coterie.tables import Feature, TableError; import sys; print('polars' in sys.modules)"
    assert run(code).stdout.strip() == "False"


def test_reading_costs_no_scikit_learn(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    code = f"""
import sys
from coterie.tables import read_table
read_table({str(tmp_path / "t.csv")!r}).ids("a")
print([name for name in ("sklearn", "scipy", "matplotlib") if name in sys.modules])
"""
    assert run(code).stdout.strip() == "[]"


def test_without_polars_the_pip_command_is_named():
    done = run("import sys; sys.modules['polars'] = None\nfrom coterie.tables import read_table")
    assert 'ImportError: reading tables needs polars: pip install "coterie[cli]"' in done.stderr


def test_all_names_are_there():
    for name in coterie.tables.__all__:
        assert getattr(coterie.tables, name).__name__ == name
        assert name in dir(coterie.tables)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = coterie.tables.nothing
