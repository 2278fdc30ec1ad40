"""Shared by all tests: one numba cache, one seed for each run, and the time budget of the suite."""

import os
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


# Set before numba is imported; worker and child processes inherit both.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache" / "numba"))
# One known seed decides what lands; the long tests (`make test-slow`) ask for a new one each time.
if os.environ.setdefault("COTERIE_TEST_SEED", "20260") == "new":
    os.environ["COTERIE_TEST_SEED"] = str(time.time_ns() % 2**31)

_started = time.monotonic()


@pytest.fixture
def seed() -> int:
    """The same unless COTERIE_TEST_SEED says otherwise; the header of the report says how to repeat one."""
    return int(os.environ["COTERIE_TEST_SEED"])


def pytest_report_header(config):
    return f"seed of this run: COTERIE_TEST_SEED={os.environ['COTERIE_TEST_SEED']}"


def pytest_sessionfinish(session, exitstatus):
    budget = os.environ.get("COTERIE_TEST_BUDGET")
    if budget and "PYTEST_XDIST_WORKER" not in os.environ:
        took = time.monotonic() - _started
        print(f"\nthe suite took {took:.0f} s of its budget of {budget} s")
        if took > float(budget) and exitstatus == 0:
            session.exitstatus = 1
            print("over budget: mark the slowest tests `slow`, or make them smaller")
