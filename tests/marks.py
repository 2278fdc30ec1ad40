"""Warnings that tests of fits may give: statements that are outvoted, clusters that run empty or creep on."""

import pytest

outvoted = pytest.mark.filterwarnings("ignore::coterie.exceptions.ViolatedConstraintsWarning")
unsettled = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
