"""The command `coterie`: what an analyst needs without opening Python.

`main` is the only name. The commands stand in `_app`, and each loads what it needs when it runs, so that
`coterie --help` is instant.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What was typed after `coterie`; by default that of this process.

    Returns
    -------
    int
        0: done. 2: bad input or usage. 3: the constraints cannot all be met. 4: not decided within
        the budget. 5: done, with another number of clusters. 130: interrupted. 1: a fault of ours.
    """
    missing = next((name for name in ("typer", "rich", "polars", "skops") if find_spec(name) is None), None)
    if missing is not None:
        print(f'coterie: the command line needs {missing}: pip install "coterie[cli]"', file=sys.stderr)
        return 2
    from coterie.cli._run import run

    return run(sys.argv[1:] if arguments is None else list(arguments))
