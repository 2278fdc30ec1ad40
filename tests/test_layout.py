"""The folders show the architecture: few files in each, and one meaning for a name."""

import ast
from collections import Counter
from pathlib import Path

import coterie

PACKAGE = Path(coterie.__file__).parent
MOST_FILES = 12


def files(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.py") if path.name != "__init__.py"]


def packages() -> list[Path]:
    return [PACKAGE, *(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)]


def test_no_folder_is_crowded():
    assert not [str(folder) for folder in packages() if len(files(folder)) > MOST_FILES]


def test_no_class_name_stands_twice():
    counts = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    assert not {name for name, count in counts.items() if count > 1}


def test_no_file_name_stands_in_two_packages():
    """But inside sub-packages, whose own name says what they are about."""
    top = [folder for folder in packages() if folder.parent in (PACKAGE, PACKAGE.parent)]
    counts = Counter(path.name for folder in top for path in files(folder))
    assert not {name for name, count in counts.items() if count > 1}
