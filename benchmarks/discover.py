"""Find the experiments: a module of peers/, papers/ or scale/ that has TITLE, QUICK and main()."""

from __future__ import annotations

import importlib
import pkgutil
from difflib import get_close_matches
from types import ModuleType

GROUPS = ("papers", "peers", "scale")


def experiments() -> dict[str, ModuleType]:
    """All experiments by name, such as "peers cop"."""
    found = {}
    for group in GROUPS:
        folder = importlib.import_module(f"benchmarks.{group}")
        for file in pkgutil.iter_modules(folder.__path__):
            module = importlib.import_module(f"benchmarks.{group}.{file.name}")
            if hasattr(module, "TITLE") and hasattr(module, "main"):
                found[f"{group} {file.name}"] = module
    return found


def choose(words: list[str]) -> dict[str, ModuleType]:
    """The experiments that the words of a command line name: "peers cop", "peers" (all), nothing (quick)."""
    known = experiments()
    if not words:
        return {name: module for name, module in known.items() if module.QUICK}
    chosen = {}
    rest = list(words)
    while rest:
        group = rest.pop(0)
        if group not in GROUPS:
            raise ValueError(_unknown(group, [*GROUPS, *known]))
        names = [name for name in known if name.split()[0] == group]
        if rest and rest[0] not in GROUPS:
            name = f"{group} {rest.pop(0)}"
            if name not in known:
                raise ValueError(_unknown(name, names))
            names = [name]
        chosen.update({name: known[name] for name in names})
    return chosen


def _unknown(word: str, names: list[str]) -> str:
    near = get_close_matches(word, names, n=1, cutoff=0.5)
    near = near or [name for name in names if name.split()[-1] == word]
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}."
    return f"there is no experiment {word!r}; {hint}"
