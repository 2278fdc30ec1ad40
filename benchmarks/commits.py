"""Two commits side by side: their files are unpacked under .cache, and code runs against the package of each.

HOUSE_BASE and HOUSE_NEW name them: a commit, or the folder of a checkout ("." for the working tree). What was
unpacked is kept, with its compiled kernels. Code that runs against both uses public names alone.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import ROOT, in_fresh_process, one_thread, save, show

TREES = ROOT / ".cache" / "commits"


class Tree(NamedTuple):
    """The files of a commit, with its short hash, or of a folder that is none."""

    commit: str | None
    folder: Path

    def call(self, module: str, function: str, *args: Any) -> Any:
        """The answer of `module.function(*args)` in a process that imports the package of this tree."""
        return in_fresh_process(module, function, args=args, PYTHONPATH=str(self.folder / "src"))["answer"]

    def start(self, code: str) -> Any:
        """Run code in a process that imports the package of this tree and talks through pipes."""
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
        given = one_thread(PYTHONPATH=str(self.folder / "src"))
        return subprocess.Popen([sys.executable, "-c", code], env=given, **pipes)


def both() -> tuple[Tree, Tree]:
    """The commits that the environment names: by default the one before the rebuilding, and HEAD."""
    trees = tree(os.environ.get("HOUSE_BASE", "155abcb")), tree(os.environ.get("HOUSE_NEW", "HEAD"))
    for one in trees:
        if Path(one.call(__name__, "imported")).parents[2] != one.folder:
            raise RuntimeError(f"another coterie is imported than that of {one.folder}")
    return trees


def imported() -> str:
    """The file of the package that this process imports."""
    import coterie

    return str(coterie.__file__)


def tree(name: str) -> Tree:
    """The files of a commit, unpacked where they are not yet, or those of a folder."""
    if (Path(name) / "src" / "coterie").is_dir():
        return Tree(None, Path(name).resolve())
    commit = _git("rev-parse", "--verify", "--short=7", f"{name}^{{commit}}").decode().strip()
    home = TREES / commit
    if not home.exists():
        TREES.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(dir=TREES))
        with tarfile.open(fileobj=io.BytesIO(_git("archive", commit, "src", "tests"))) as archive:
            archive.extractall(place, filter="data")
        place.rename(home)
    return Tree(commit, home)


def keep(module: str, title: str, rows: list[Any], base: Tree, new: Tree, **more: Any) -> None:
    """Save the rows; where a side is a folder, whose files may change, only show them."""
    if None in (base.commit, new.commit):
        show(rows)
    else:
        save(module, title, rows, ours=new.commit, theirs=base.commit, **more)


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
