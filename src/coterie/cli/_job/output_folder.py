"""An output folder that is there as a whole, or not at all.

Everything is written to a hidden folder beside the final one, which is renamed at the end. A run that is
killed leaves at most the hidden folder, and the next run to the same place takes that away.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from coterie.cli._speak.trouble import Trouble

MARK = "run.json"


def check_free(target: Path, force: bool) -> None:
    """Refuse a place where something is that we may not replace."""
    if target.name in ("", ".."):
        raise Trouble(f"{target} is no name for an output folder; try -o runs/mine")
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise Trouble(f"{target} is there and is no folder; choose another name with -o")
    if not target.exists() or not any(target.iterdir()):
        return
    if not (target / MARK).is_file():
        raise Trouble(f"{target} is there and holds no run of coterie; choose another name with -o")
    if not force:
        raise Trouble(f"{target} is there already; --force replaces it, or choose another name with -o")


@contextmanager
def whole_folder(target: Path, force: bool) -> Iterator[Path]:
    """Give a hidden folder to write to; it becomes `target` if all goes well, and vanishes if not."""
    _sweep(Path(os.path.abspath(target)))
    check_free(target, force)
    target, asked = Path(os.path.abspath(target)), target
    hidden = target.parent / f".{target.name}.coterie-{os.getpid()}"
    _make(hidden.mkdir, target, asked)
    try:
        yield hidden
        check_free(target, force)  # it may have come into being meanwhile
        _put(hidden, target)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _make(hidden: Callable[[], None], target: Path, asked: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        hidden()
    except OSError as error:
        raise Trouble(f"{asked} cannot be written: {(error.strerror or str(error)).lower()}") from None


def _put(hidden: Path, target: Path) -> None:
    old = target.parent / f".{target.name}.coterie-{os.getpid()}-old"
    if target.exists():
        target.rename(old)
    try:
        hidden.rename(target)
    except BaseException:  # also an interruption
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _sweep(target: Path) -> None:
    """Take away what a killed run to the same place left."""
    for left in target.parent.glob(f".{_literal(target.name)}.coterie-*"):
        number = left.name.rpartition(".coterie-")[2].removesuffix("-old")
        if not number.isdigit() or _alive(int(number)):
            continue
        if left.name.endswith("-old") and not target.exists():
            left.rename(target)  # killed between two renames: the earlier run comes back
        else:
            shutil.rmtree(left, ignore_errors=True)


def _literal(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _alive(process: int) -> bool:
    if os.name == "nt":  # there the question would end the process
        return True
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


@contextmanager
def whole_file(target: Path, force: bool) -> Iterator[Path]:
    """The same for one file."""
    if target.is_dir():
        raise Trouble(f"{target} is a folder; give the name of a file with -o")
    if target.exists() and not force:
        raise Trouble(f"{target} is there already; --force replaces it, or choose another name with -o")
    hidden = target.with_name(f".coterie-{os.getpid()}-{target.name}")
    _make(hidden.touch, target, target)
    try:
        yield hidden
        os.replace(hidden, target)
    finally:
        hidden.unlink(missing_ok=True)
