"""Marks of many tests: the warnings that their fits may give, and how many random cases `make test` takes."""

import pytest

outvoted = pytest.mark.filterwarnings("ignore::coterie.exceptions.ViolatedConstraintsWarning")
unsettled = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def first_of(name: str, many: int):
    """Give the first of `many` seeds or batches with `make test`, the others when slow."""
    rest = [pytest.param(number, marks=pytest.mark.slow) for number in range(1, many)]
    return pytest.mark.parametrize(name, [0, *rest])


def few_of(few: int, many: int):
    """Give `numbers` of random cases that test one property: a few with `make test`, the others when slow."""
    rest = pytest.param(range(few, many), id="more", marks=pytest.mark.slow)
    return pytest.mark.parametrize("numbers", [pytest.param(range(few), id="few"), rest])
