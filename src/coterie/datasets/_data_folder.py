"""Files of the data folder, which the environment variable COTERIE_DATA names; none is shipped."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "COTERIE_DATA"
WITHOUT_FOLDER = (
    "Available without it: load_table('iris'), 'wine', 'breast_cancer', 'digits'; "
    "load_height_weight(); make_constrained_blobs()."
)


def data_file(name: str) -> Path:
    """Return the path of a file of the data folder; raise an error that helps if it is not there."""
    folder = Path(os.environ.get(VARIABLE, "")).expanduser()
    if not os.environ.get(VARIABLE):
        problem = "it is not set"
    elif not folder.is_dir():
        problem = f"its value {str(folder)!r} is not a folder"
    elif not (folder / name).is_file():
        problem = f"there is no file {str(folder / name)!r}"
    else:
        return folder / name
    raise FileNotFoundError(
        f"${VARIABLE}/{name} cannot be read: {problem}. Set the environment variable {VARIABLE} to "
        f"the folder that holds {name}. {WITHOUT_FOLDER}"
    )


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a gzip-compressed UTF-8 file; a damaged file is named in the error."""
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            yield from file
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged ({error}); fetch a fresh copy.") from error
