"""Shared by all tests: one numba cache, one seed for each run, and the budget of the suite."""

import os
import resource
import time
from pathlib import Path

import pytest

from coterie._compiled import kernels

ROOT = Path(__file__).resolve().parents[1]


# Set before numba is imported; worker and child processes inherit both.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache" / "numba"))
# Where Python keeps no bytecode, every worker would rewrite the asserts of all tests anew: six seconds each.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# One known seed decides what lands; the long tests (`make test-slow`) ask for a new one each time.
if os.environ.setdefault("COTERIE_TEST_SEED", "20260") == "new":
    os.environ["COTERIE_TEST_SEED"] = str(time.time_ns() % 2**31)

# Tests of what is printed do not know which of them is the first to compile.
kernels._say_that_it_takes_long = lambda: None

# CPU seconds of the workers: what the suite costs does not depend on what else the machine does, or not much.
_of_workers: list[float] = []


@pytest.fixture
def seed() -> int:
    """The same unless COTERIE_TEST_SEED says otherwise; the header of the report says how to repeat one."""
    return int(os.environ["COTERIE_TEST_SEED"])


@pytest.fixture(autouse=True)
def _compiled_at_once(request, monkeypatch):
    """Tests of kernels test the compiled ones, however small the job; others begin as a new process would."""
    monkeypatch.setattr(kernels, "_large", False)
    if request.node.get_closest_marker("kernels"):
        monkeypatch.setattr(kernels, "_MOST_STEPS", -1)


@pytest.fixture
def correlation():
    """The method for scores of pairs."""
    from coterie.methods import find_method

    return find_method("CorrelationClustering")


def pytest_report_header(config):
    return f"seed of this run: COTERIE_TEST_SEED={os.environ['COTERIE_TEST_SEED']}"


def _cpu_seconds() -> float:
    """Of this process and of the children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def pytest_sessionfinish(session, exitstatus):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["cpu"] = _cpu_seconds()


class _SumsUp:
    """Adds up what the workers used; known only where there are workers."""

    @staticmethod
    def pytest_testnodedown(node, error):
        _of_workers.append(getattr(node, "workeroutput", {}).get("cpu", 0.0))


def pytest_configure(config):
    if config.pluginmanager.hasplugin("dsession"):
        config.pluginmanager.register(_SumsUp())


def pytest_terminal_summary(terminalreporter):
    budget = os.environ.get("COTERIE_TEST_BUDGET")
    if budget:
        took = sum(_of_workers) or _cpu_seconds()
        terminalreporter.write_line(f"the suite took {took:.0f} s of CPU of its budget of {budget} s")
        if took > float(budget):
            terminalreporter.write_line("OVER BUDGET: mark the slowest tests `slow`, or make them smaller")
