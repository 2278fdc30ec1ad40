"""The command `coterie`: what an analyst needs without opening Python.

`main` is the only name. The commands stand in `_app`, and each loads what it needs when it runs, so that
`coterie --help` is instant.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

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
        0: done. 2: bad input or usage. 3: the statements cannot all be met. 4: not decided within the budget.
        130: interrupted. 1: a fault of ours.
    """
    try:
        from coterie.cli._run import run
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("typer", "rich", "polars"):
            raise
        print(f'coterie: the command line needs {missing}: pip install "coterie[cli]"', file=sys.stderr)
        return 2
    return run(sys.argv[1:] if arguments is None else list(arguments))
