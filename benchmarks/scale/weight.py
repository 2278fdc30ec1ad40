"""What the house weighs at two commits: lines, folders, doors, and the files that one fit passes through.

HOUSE_BASE and HOUSE_NEW name the commits; see `benchmarks.commits`. A fit is one on wine with 60 pairs.
Counted are the files in which a function is called, and the longest chain of them in a stack.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from benchmarks.commits import Tree, both, keep
from benchmarks.measure import verdict

TITLE = "the weight of the house at two commits"
QUICK = False
FITS = {  # by estimator: its settings; the most files, as was aimed at
    "PCKMeans": ({}, 18),
    "SizeConstrainedKMeans": ({"size_min": 50}, 27),
    "ConstrainedGaussianMixture": ({}, 32),
    "ConstrainedLinkage": ({}, 24),
    "CVQEKMeans": ({}, 18),
}
ROOMS, FACE = ("assign", "kmeans", "distortion"), ("report", "cli", "comparison")
MODELS = {"model", "fitted", "estimator"}
DISTORTIONS = {"Distortion", "LinearDistortion", "SquaredEuclidean", "Cosine", "Manhattan", "Learned"}
DISTORTIONS |= {"Mahalanobis", "MahalanobisByCluster", "IDivergence", "WeightedCosine"}
Figures = dict[str, tuple[int, int | None, Any]]  # what: number, goal (at most), details


def named(node: ast.AST) -> set[str]:
    """The variables in an expression."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def imports_past(name: str, code: ast.Module, modules: set[str]) -> int:
    """How many statements import from a module of another package, not from a package."""
    number = 0
    for node in ast.walk(code):
        wanted = [one.name for one in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            wanted = [str(node.module), *(f"{node.module}.{one}" for one in wanted)]
        number += any(
            one in modules and one.count(".") > 1 and one.split(".")[1] != name.split(".")[1]
            for one in wanted
        )
    return number


def twice(names: list[str]) -> list[str]:
    """Those that occur more than once."""
    return sorted(name for name, number in Counter(names).items() if number > 1)


def written(tree: Tree) -> Figures:
    """What can be read off the files."""
    source = tree.folder / "src"
    texts = {file.relative_to(source): file.read_text() for file in sorted(source.rglob("*.py"))}
    lines = {file: len(text.splitlines()) for file, text in texts.items()}
    tests = [len(file.read_text().splitlines()) for file in (tree.folder / "tests").rglob("*.py")]
    codes = {file: ast.parse(text) for file, text in texts.items()}
    nodes = [(file, node) for file, code in codes.items() for node in ast.walk(code)]
    files = [file for file in codes if file.name != "__init__.py"]
    ((fullest, most),) = Counter(str(file.parent) for file in files).most_common(1)
    modules = {".".join(file.with_suffix("").parts) for file in files}
    past = Counter({f: imports_past(".".join(f.parts), code, modules) for f, code in codes.items()})
    calls = [
        (file, node.func.id, node.args)
        for file, node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    asked = Counter(
        str(file)
        for file, function, given in calls
        if function in ("getattr", "hasattr") and file.parts[1] in FACE and named(given[0]) & MODELS
    )
    checked = [str(f) for f, name, given in calls if name == "isinstance" and named(given[1]) & DISTORTIONS]
    # a file of a sub-package may have the name of another
    files_twice = twice([file.name.strip("_") for file in files if len(file.parts) < 4])
    classes_twice = twice([node.name for _, node in nodes if isinstance(node, ast.ClassDef)])
    kernels = [
        (node.name, len(node.args.args), (node.end_lineno or 0) - node.lineno + 1)
        for _, node in nodes
        if isinstance(node, ast.FunctionDef) and any("kernel" in named(one) for one in node.decorator_list)
    ]
    wide = [f"{name} {number}" for name, number, _ in kernels if number > 12]
    long = [f"{name} {number}" for name, _, number in kernels if number > 100]
    rooms = sum(number for file, number in lines.items() if file.parts[1] in ROOMS)
    return {
        "source lines": (sum(lines.values()), 41_600, ""),
        f"of {', '.join(ROOMS)}": (rooms, 13_400, ""),
        "test lines": (sum(tests), 33_500, ""),
        "most files in one folder": (most, 12, fullest),
        "imports past the __init__ of another package": (past.total(), 0, list(map(str, +past))),
        f"getattr, hasattr on models in {', '.join(FACE)}": (asked.total(), 8, list(asked)),
        "isinstance on distortions": (len(checked), 0, sorted(set(checked))),
        "file names twice outside sub-packages": (len(files_twice), 0, files_twice),
        "class names twice": (len(classes_twice), 0, classes_twice),
        "kernels": (len(kernels), None, f"{sum(one[2] for one in kernels)} lines"),
        "kernels with more than 12 arguments": (len(wide), 0, wide),
        "kernels longer than 100 lines": (len(long), 0, long),
    }


def walked() -> Figures:
    """What the package that is imported does."""
    warnings.simplefilter("ignore")
    from coterie import PCKMeans  # noqa: F401

    modules = [name for name in sys.modules if name.split(".")[0] == "coterie"]
    found: Figures = {"modules loaded by `from coterie import PCKMeans`": (len(modules), 60, "")}
    for name, (given, most) in FITS.items():
        files, longest = walk(name, **given)
        found[f"files of a fit: {name}"] = files, most, f"the longest chain has {longest}"
    return found


def walk(name: str, **given: Any) -> tuple[int, int]:
    """Follow one fit on wine, after another that loads what it needs: files, longest chain of them."""
    import coterie

    home = str(Path(coterie.__file__).parent)
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    first, second = (coterie.Constraints.sample(y, 60, random_state=0) for _ in range(2))
    model = getattr(coterie, name)(3, random_state=0, **given).fit(X, constraints=first)
    stack, files, longest = [("", 0)], set(), 0

    def follow(frame: Any, event: str, _: Any) -> None:
        nonlocal longest
        if event == "return" and len(stack) > 1:
            stack.pop()
        if event == "call":
            file, (last, depth) = frame.f_code.co_filename, stack[-1]
            ours = file.startswith(home)
            files.update([file] if ours else [])
            stack.append((file, depth + 1) if ours and file != last else (last, depth))
            longest = max(longest, stack[-1][1])

    sys.setprofile(follow)
    model.fit(X, constraints=second)
    sys.setprofile(None)
    return len(files), longest


def main() -> None:
    trees = both()
    base, new = ({**written(tree), **tree.call(__name__, "walked")} for tree in trees)
    rows = []
    for what, (number, most, details) in new.items():
        told = details if isinstance(details, str) else ", ".join(details)
        goal: Any = {} if most is None else {"goal": f"at most {most:,}", "reached": number <= most}
        rows.append(verdict(what, f"{number:,}", theirs=f"{base[what][0]:,}", remark=told, **goal))
    keep(__name__, TITLE, rows, *trees)
