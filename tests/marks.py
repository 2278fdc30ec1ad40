"""Marks of many tests: the warnings that their fits may give, and how many random cases `make test` takes."""

import pytest

outvoted = pytest.mark.filterwarnings("ignore::coterie.exceptions.ViolatedConstraintsWarning")
unsettled = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def few_of(few: int, many: int):
    """Give `numbers` of random cases that test one property: a few with `make test`, the others when slow."""
    rest = pytest.param(range(few, many), id="more", marks=pytest.mark.slow)
    return pytest.mark.parametrize("numbers", [pytest.param(range(few), id="few"), rest])
