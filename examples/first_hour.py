"""
The first hour, on tables that nobody tidied
============================================

    python examples/first_hour.py [folder] [mixed wide tall text gaps]

writes such tables into the folder, with what is known of them, and runs every command that README and the
pages of `docs/` show, with these files in place of the ones named there. Each must end with the exit code
that the page promises; those that a table has a reason to refuse are listed below.
"""

import csv
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from coterie import Constraints
from coterie.cli import main

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", flags=re.S | re.M)
KINDS = ("mixed", "wide", "tall", "text", "gaps")
ROWS = {"mixed": 120, "wide": 60, "tall": 3_000, "text": 90, "gaps": 100}
# What a table refuses: a word of the command, the exit code, and why.
REFUSED = {"text": [("PenalizedGaussianMixture", 2, "a mixture of Gaussians takes no sparse words")]}
# Tables that a page makes itself, since these hold no such thing: records, scores of pairs.
OF_THE_PAGE = ("records.csv", "people.csv", "papers.csv")
TOPICS = (
    "engine oil brake wheel gear clutch",
    "violin chord tempo rhythm cello opera",
    "soup salt oven dough",
)


def columns(kind: str, y: Any, rng: np.random.Generator) -> dict[str, list[Any]]:
    """The table, column by column; u and v are numbers in every one of them."""
    n, names = len(y), [f"Nº {i}, “{'äöüß'[i % 4]}”" for i in range(len(y))]
    near = 3.0 * np.column_stack([np.cos(2.1 * y), np.sin(2.1 * y)]) + rng.normal(size=(n, 2))
    table: dict[str, list[Any]] = {"key": names, "u": near[:, 0].tolist(), "v": near[:, 1].tolist()}
    if kind == "wide":
        table |= {f"feature {j}": (rng.normal(size=n) + (y == j % 3)).tolist() for j in range(300)}
    elif kind == "text":
        words = [TOPICS[c].split() for c in y]
        table["review"] = [" ".join(rng.choice(own, size=8)) + "; good, good!" for own in words]
    elif kind in ("mixed", "gaps"):
        table["income, EUR"] = np.round(np.exp(rng.normal(size=n) + y), 2).tolist()
        table["member"] = [bool(one) for one in rng.random(n) < 0.3 + 0.3 * (y == 1)]
        table["colour"] = rng.choice(["red", "GREEN", "dark blue", "n/a?"], size=n).tolist()
        table["always"] = [1] * n
        table["again"] = table["u"]
    if kind == "gaps":
        for name in ("u", "income, EUR", "colour"):
            table[name] = [
                None if hole else one for one, hole in zip(table[name], rng.random(n) < 0.2, strict=True)
            ]
    return table


def write(folder: Path, kind: str) -> int:
    """One table, pairs that three clusters can meet and two cannot, and who is whose neighbour."""
    n, rng = ROWS[kind], np.random.default_rng(KINDS.index(kind))
    y = rng.permutation(np.arange(n) % 3)
    table = columns(kind, y, rng)
    apart = [int(np.flatnonzero(y == c)[0]) for c in range(3)]
    known = Constraints(None, [(a, b) for a in apart for b in apart if a < b], n_items=n)
    known += Constraints.sample(y, n_pairs=20, random_state=0)
    known.with_ids(table["key"]).write(folder / f"{kind}-pairs.csv")
    with open(folder / f"{kind}.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    with open(folder / f"{kind}-borders.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["i", "j"])
        writer.writerows(
            [table["key"][i], table["key"][j]] for i in range(n) for j in (i + 1, i + 7) if j < n
        )
    return n


def commands() -> Iterator[tuple[str, int]]:
    """What the pages show, and the exit code they promise; once each, whatever folder it writes."""
    seen = set()
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.splitlines():
                typed, _, code = line.partition("# exit code ")
                does = re.sub(r" -o \S+", "", typed)
                ours = not any(table in typed for table in OF_THE_PAGE)
                if typed.startswith("coterie ") and ours and does not in seen:
                    seen.add(does)
                    yield typed, int(code or 0)


def on_table(typed: str, kind: str, n: int) -> list[str]:
    """The words of a command, with the files and columns of this table."""
    own = {f"--{name} {old}": f"--{name} key" for name, old in (("id", "bottle"), ("id", "district"))}
    own |= {
        "--columns income,age": "--columns u,v",
        "--map x,y": "--map u,v",
        "--map alcohol,proline": "--map u,v",
    }
    own |= {f"{old}.csv": f"{kind}.csv" for old in ("wine", "districts")}
    own |= {f"{old}.csv": f"{kind}-{old}.csv" for old in ("pairs", "borders")} | {
        "--size-max 40": f"--size-max {n // 2}",
        "--size-min 8000 --load people": f"--size-min {n // 8}",
    }
    for old, new in own.items():
        typed = typed.replace(f" {old}", f" {new}")
    more = ["--impute"] if kind == "gaps" and re.match("coterie (cluster|compare)", typed) else []
    return [*shlex.split(typed, comments=True)[1:], *more]


def walk(folder: Path, kind: str) -> Iterator[tuple[str, int, int]]:
    """Run all commands on one table: what was typed, the exit code that is promised, and the true one."""
    n = write(folder, kind)
    os.chdir(folder)
    if kind == "gaps":
        yield (
            "gaps.csv without --impute",
            2,
            main(["cluster", "gaps.csv", "-k", "3", "--id", "key", "-o", "none"]),
        )
    for typed, code in commands():
        words = on_table(typed, kind, n)
        for word, other, _ in REFUSED.get(kind, []):
            code = other if word in words else code
        yield shlex.join(words), code, main(words)


if __name__ == "__main__":
    home = Path(sys.argv[1] if len(sys.argv) > 1 else "first-hour").resolve()
    wrong = []
    for each in sys.argv[2:] or KINDS[:1]:
        (home / each).mkdir(parents=True, exist_ok=True)
        for told, promised, ended in walk(home / each, each):
            print(f"[{each}] exit code {ended}: coterie {told}", flush=True)
            wrong += [] if ended == promised else [f"coterie {told}: {ended}, not {promised}"]
    if wrong:
        sys.exit("\n".join(["These ended otherwise:", *wrong]))
