"""Rules of the compiled kernels: cached between processes, working without a cache, the same interpreted."""

import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie._compiled import kernels
from coterie._compiled.kernels import Kernel, all_kernels, kernel

ROOT = Path(__file__).resolve().parents[1]

COMPILE_ALL = """
import numpy as np
from coterie import ConstrainedLinkage, Constraints
import coterie.constraints
from coterie._compiled import all_kernels
from coterie._compiled import kernels
from tests.assign.test_kernels import every_kernel

kernels._MOST_STEPS = -1  # nothing is interpreted
every_kernel()
n = 3_000
i = np.arange(n - 1)
chain = Constraints(np.column_stack([i, i + 1]), [(0, n - 1)], n_items=n)
print(chain.explain())
rng = np.random.default_rng(0)
y = rng.integers(4, size=n)
Constraints.sample(y, n_pairs=6_000, random_state=0).check(4)
assert Constraints(None, np.column_stack([i, i + 1]).tolist() + [(0, n - 1)], n_items=n).check(2)
line = np.column_stack([i, i + 1])
ConstrainedLinkage(2, linkage="single", connectivity=line).fit(rng.random((n, 1)))
one = Constraints([(0, 1)], n_items=200)
ConstrainedLinkage(2, linkage="average").fit(rng.random((200, 2)), constraints=one)
linked = Constraints(np.arange(80).reshape(40, 2), n_items=100)
ConstrainedLinkage(2, linkage="complete", propagate=True).fit(rng.random((100, 2)), constraints=linked)
used = [k for k in all_kernels() if k._compiled is not None]
print("compiled anew:", sum(sum(k.compiled.stats.cache_misses.values()) for k in used))
for k in used:  # from the cache, a kernel that only others call is loaded as a part of them
    code, known = k.interpreted.__code__, k.interpreted.__globals__
    used += [known[n] for n in code.co_names if known.get(n) in all_kernels() and known[n] not in used]
print("idle:", [k.__name__ for k in all_kernels() if k not in used])
"""


# Processes that have numba already, and nothing of what is written between them: numba is the dear part.
ONE_AFTER_THE_OTHER = """
import os, sys
from pathlib import Path
import numba
import coterie._compiled

numba.njit(lambda x: x + 1)(1)  # what every first compile sets up
sys.path.insert(0, os.environ["FOLDER"])
sys.dont_write_bytecode = True  # two texts of one second and one length would be the same


def write(name, text):
    Path(os.environ["FOLDER"], name).write_text(text)


def in_a_new_process(code):
    child = os.fork()
    if not child:
        exec(code)
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        cwd=ROOT,
    )


@pytest.mark.slow  # `make test-lanes` runs it, and CI; the first process is a lane too: compiled as for users
def test_a_second_process_finds_every_kernel_in_the_cache():
    """In the cache that the whole run shares: much of it is compiled already."""
    first = run(COMPILE_ALL)
    assert first.returncode == 0, first.stderr
    assert "idle: []" in first.stdout, first.stdout
    second = run(COMPILE_ALL)
    assert "compiled anew: 0" in second.stdout, second.stdout + second.stderr


def test_a_caller_is_compiled_again_when_what_it_uses_changes(tmp_path):
    (tmp_path / "caller.py").write_text(
        "from coterie._compiled import kernel\nfrom middle import LIMIT, thrice\n"
        "@kernel\ndef use(x):\n    return thrice(x) + LIMIT\n"
    )
    middle = (
        "from coterie._compiled import kernel\nfrom deep import once\nLIMIT = {limit}\n"
        "@kernel(inline=True)\ndef thrice(x):\n    return once(x) * 3\n"
    )
    deep = "from coterie._compiled import kernel\n@kernel(inline=True)\ndef once(x):\n    return x + {more}\n"
    use = "from caller import use; print(use.compiled(1), sum(use.compiled.stats.cache_misses.values()))"
    texts = [
        (middle.format(limit=limit), deep.format(more=more))
        for limit, more in ((100, 0), (100, 0), (100, 1), (200, 1), (200, 1))
    ]
    code = f"""
for middle, deep in {texts!r}:
    write("middle.py", middle)
    write("deep.py", deep)
    in_a_new_process({use!r})
"""
    done = run(ONE_AFTER_THE_OTHER + code, NUMBA_CACHE_DIR=str(tmp_path / "cache"), FOLDER=str(tmp_path))
    assert done.stdout.splitlines() == ["103 1", "103 0", "106 1", "206 1", "206 0"], done.stderr


def test_a_cache_that_names_a_class_that_is_gone_is_made_anew(tmp_path):
    file = (
        "from typing import NamedTuple\nfrom coterie._compiled import kernel\n"
        "class {name}(NamedTuple):\n    x: int\n"
        "@kernel\ndef use(given):\n    return given.x\n"
    )
    texts = {name: file.format(name=name) for name in ("Old", "New")}
    code = f"""
for name, text in {texts!r}.items():
    write("named.py", text)
    in_a_new_process(f"import named as m; print(m.use.compiled(m.{{name}}(4)))")
"""
    done = run(ONE_AFTER_THE_OTHER + code, NUMBA_CACHE_DIR=str(tmp_path / "cache"), FOLDER=str(tmp_path))
    assert done.stdout.splitlines() == ["4", "4"], done.stderr


def test_an_inlined_kernel_is_interpreted_with_its_caller():
    @kernel(inline=True)
    def double(x):
        return 2 * x

    assert double(4) == 8
    assert double._compiled is None


NO_FOLDER = """
import warnings, numba.core.caching as caching
caching.CacheImpl._locator_classes = []
caching.CompileResultCacheImpl._locator_classes = []
{given}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    {action}
print([w.category.__name__ for w in caught])
"""
TWO_KERNELS = """
from coterie._compiled import kernel
@kernel
def double(x):
    return 2 * x
@kernel
def triple(x):
    return 3 * x
"""
FIT = """
import numpy as np
from coterie import Constraints, PCKMeans
X = np.array([[0.0], [1.0], [8.0], [9.0]])
"""
FIT_IT = """known = Constraints([(0, 1)], [(1, 2)], n_items=4)
    labels = PCKMeans(2, random_state=0).fit(X, constraints=known).labels_
    assert labels[0] == labels[1] != labels[2] == labels[3]"""


@pytest.mark.parametrize(
    ("given", "action"),
    [(TWO_KERNELS, "assert double(4) == 8 and triple(4) == 12"), (FIT, FIT_IT)],
    ids=["two kernels", "a fit"],
)
def test_no_writable_folder_gives_one_warning_and_the_right_answer(given, action, tmp_path):
    script = tmp_path / "uncached.py"
    script.write_text(NO_FOLDER.format(given=given, action=action))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.stdout.strip() == "['UncachedKernelWarning']", done.stdout + done.stderr


@pytest.mark.slow  # `make test-lanes` runs it, and CI
@pytest.mark.parametrize(
    "lane",
    [{"NUMBA_BOUNDSCHECK": "1"}, {"NUMBA_DISABLE_JIT": "1"}],
    ids=["bounds checked", "JIT off"],
)
def test_kernels_in_other_lanes(lane, tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-m",
            "kernels",
            "-p",
            "no:cacheprovider",
            "tests/constraints",
            "tests/assign/test_kernels.py",
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "COTERIE_TEST_BUDGET": "", **lane},
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "passed" in done.stdout


@pytest.fixture
def loops(monkeypatch):
    """A kernel, one that calls it and counts its own calls in place, and arguments."""
    monkeypatch.setattr(kernels, "_spent", 0.0)

    @kernel
    def add(sums, value):
        sums[0] += value
        return sums[0]

    @kernel
    def total(values, sums, calls):
        calls[0] += 1
        for t in range(values.shape[0]):
            add(sums, values[t])
        return sums[0]

    return add, total, (np.arange(200.0), np.zeros(1), np.zeros(1))


def test_small_work_is_interpreted_with_all_that_it_calls(loops, monkeypatch):
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    add, total, (values, sums, calls) = loops
    assert total(values, sums, calls) == total.for_work(10)(values, sums, calls) / 2 == values.sum()
    assert calls == 2
    assert total._compiled is add._compiled is None
    assert "numba" not in sys.modules


@pytest.mark.parametrize(
    "why", ["many values", "many steps", "large before", "float32", "patience", "at hand"]
)
def test_other_work_is_compiled(why, loops, monkeypatch):
    _, total, (values, sums, calls) = loops
    run = total
    if why == "many values":
        monkeypatch.setattr(kernels, "_MOST_STEPS", 201)
    elif why == "many steps":
        run = total.for_work(10**9)
    elif why == "large before":
        monkeypatch.setattr(kernels, "_large", True)
    elif why == "float32":
        values = values.astype(np.float32)
    elif why == "patience":
        total(values, sums, calls)
        monkeypatch.setattr(kernels, "_PATIENCE", 0.0)
    else:
        total.compiled(values, sums.copy(), calls.copy())
    sums[:] = 0.0
    assert run(values, sums, calls) == values.sum()
    assert total._compiled.signatures


def test_an_interpreted_run_that_takes_too_long_is_undone_and_compiled(loops, monkeypatch):
    _, total, (values, sums, calls) = loops
    monkeypatch.setattr(kernels, "_PATIENCE", 1e-6)
    assert total(values, sums, calls) == sums[0] == values.sum()
    assert calls == 1
    assert total._compiled.signatures


def test_numbers_are_as_silent_interpreted_as_compiled():
    @kernel
    def over(values):
        return values[0] / values[1], np.exp(values[2])

    with np.errstate(all="raise"):
        assert over(np.array([1.0, 0.0, 1e9])) == (np.inf, np.inf)


SLOW = """
import os, sys
sys.path.insert(0, os.environ["FOLDER"])
import numpy as np
from coterie._compiled import kernels
import many

kernels._MOST_STEPS = -1
kernels._compiling = 0.9  # a tenth of a second is left until it is long
for part in (many.part_0, many.part_1, many.part_2, many.part_3):
    assert part(np.arange(4.0)) == 6.0
used = [k.compiled for k in kernels.all_kernels() if k._compiled is not None]
print(len(used), sum(sum(k.stats.cache_misses.values()) for k in used))
"""
PART = """
@kernel
def part_{number}(x):
    found = 0.0
    for t in range(x.shape[0]):
        found += x[t]
    return found
"""


def test_a_long_compile_is_announced_once_and_not_from_the_cache(tmp_path):
    parts = "".join(PART.format(number=number) for number in range(4))
    (tmp_path / "many.py").write_text("from coterie._compiled import kernel\n" + parts)
    for told in (1, 0):
        done = run(SLOW, NUMBA_CACHE_DIR=str(tmp_path / "cache"), FOLDER=str(tmp_path))
        assert done.returncode == 0, done.stderr
        n_used, n_compiled = map(int, done.stdout.split())
        assert n_used > 3
        assert (n_compiled > 0) is (told == 1)
        assert done.stderr.count("compiles its loops") == len(done.stderr.splitlines()) == told


def test_the_first_fit_needs_no_compiler(tmp_path):
    first = (ROOT / "README.md").read_text().split("```python\n")[1].split("```")[0]
    done = run(first + "import sys; print('numba' in sys.modules)", NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout.splitlines() == ["All 60 constraints are met.", "False"], done.stderr
    assert not list(tmp_path.iterdir())


def test_kernels_are_registered_and_documented():
    for module in pkgutil.walk_packages(coterie.__path__, "coterie."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    kernels = [k for k in all_kernels() if k.__module__.startswith("coterie.")]
    assert len(kernels) >= 100
    assert all(isinstance(k, Kernel) and k.__doc__ for k in kernels)
    # those of NumPy differ from those of the compiler in the last bit
    assert not [
        k.__name__
        for k in kernels
        if re.search(r"np\.(exp|log|sum|dot)|\*\*", inspect.getsource(k.interpreted))
    ]
