"""Packages whose names are loaded when they are first used (PEP 562).

A package lists what it offers once, as imports under `if TYPE_CHECKING:` in its `__init__`. Type checkers and
linters read them as imports; `attach` reads them as text, and imports a name's module when the name is asked
for. So `import coterie` is instant, and one class loads what it needs and no more.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["attach", "find_home"]

# What a module that is missing belongs to, and the extra that brings it.
_EXTRAS = {"polars": ("reading tables", "cli")}


def attach(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package, from the imports for type checkers in it."""
    homes = _offered(package)

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = importlib.import_module(homes[name])
        except ModuleNotFoundError as error:
            if error.name not in _EXTRAS:
                raise
            what, extra = _EXTRAS[error.name]
            raise ImportError(f'{what} needs {error.name}: pip install "coterie[{extra}]"') from None
        value = module if homes[name] == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted(homes)

    return sorted(homes), __getattr__, __dir__


def find_home(package: str, name: str) -> str:
    """The module that holds what a package offers, perhaps by way of another; that module is not loaded."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        return package
    importlib.import_module(package)
    home = _offered(package).get(name, package)
    return package if home == package else find_home(home, name)


@cache
def _offered(package: str) -> dict[str, str]:
    """The module that holds each name a package offers."""
    loader: Any = sys.modules[package].__spec__.loader  # type: ignore[union-attr]
    homes: dict[str, str] = {}
    for block in ast.parse(loader.get_source(package)).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                assert isinstance(line, ast.ImportFrom), f"{package}: only `from ... import ...` there"
                for alias in line.names:
                    whole = line.module == package  # a module of the package, offered as it is
                    homes[alias.name] = f"{package}.{alias.name}" if whole else str(line.module)
    return homes
