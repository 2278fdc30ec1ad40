"""The package as a whole: lazy, light to import, and without side effects."""

import subprocess
import sys

import numpy as np
import pytest

import coterie


def fresh(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_checking_constraints_imports_neither_scikit_learn_nor_numba_nor_scipy():
    loaded = fresh(
        "import sys, coterie\n"
        "c = coterie.Constraints([(0, 1)], [(1, 2), (2, 3), (3, 1)], n_items=5)\n"
        "assert c.check(3) and not c.check(2)\n"
        "str(c.explain(2)), str(c.violations([0, 0, 1, 1, 0]))\n"
        "print(*sys.modules)"
    )
    for heavy in ("sklearn", "numba", "scipy", "narwhals", "pandas"):
        assert heavy not in loaded


def test_import_changes_no_global_state():
    before = np.geterr()
    fresh(f"import numpy, coterie.base, coterie.metrics; assert numpy.geterr() == {before!r}")


def test_names_are_listed_and_unknown_ones_refused():
    assert {"Constraints", "constraints", "metrics", "datasets", "base", "testing"} <= set(dir(coterie))
    assert dir(coterie) == coterie.__all__  # and nothing that completion in a notebook should not offer
    for name in coterie.__all__:
        assert getattr(coterie, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Cluster'"):
        coterie.Cluster  # noqa: B018


def test_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert version("coterie") == coterie.__version__
