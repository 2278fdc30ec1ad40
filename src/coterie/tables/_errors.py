"""The one error of this package, and the small words that its messages are made of."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Collection

from coterie._words import listed

_LONGEST = 40
_FOR_PROGRAMMERS = re.compile(r"\w(Error|Exception)\b|unwrap|panic|::|0x[0-9a-f]|<\w+")


class TableError(ValueError):
    """A file or a column that cannot be used; the message is one line for the user."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.splitlines()))


def quoted(value: object) -> str:
    """A value as a message shows it: in quotes, on one line, not too long."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")


def shown(name: str) -> str:
    """A name as a list of names shows it: bare where that cannot be misread."""
    bare = name.isprintable() and len(name) <= _LONGEST and name.strip() == name != ""
    return name if bare else quoted(name)


def typed(name: str) -> str:
    """A name as it is typed behind an option."""
    if re.fullmatch(r"[\w.%+][\w.%+-]*", name):
        return name
    return f'"{name}"' if name.isprintable() and not set(name) & set('"$`\\!') else shlex.quote(name)


def brief(error: BaseException) -> str:
    """The first line of a foreign message."""
    message = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return message if len(message) <= 160 else message[:157] + "..."


def why(error: BaseException) -> str:
    """A foreign message in brackets, where it is for people; nothing where it is for programmers."""
    message = brief(error) if str(error).strip() else ""
    return f" ({message})" if message and not _FOR_PROGRAMMERS.search(message) else ""


def in_row(row: int) -> str:
    """A place, and how it is counted."""
    return f"row {row:,} (rows are counted from 0)"


def no_value(name: str, row: int) -> str:
    """What is wrong with a gap, and what to do."""
    return (
        f"column {quoted(name)} has no value in {in_row(row)}. Pass --impute to fill missing values, or "
        "--drop the column."
    )


def nearest(name: str, names: Collection[str]) -> str:
    """A question whether a name like it was meant; nothing if there is none."""
    by_fold = {known.casefold(): known for known in names}
    near = difflib.get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.6)
    return f" Did you mean {quoted(by_fold[near[0]])}?" if near else ""


def no_column(name: str, names: Collection[str]) -> TableError:
    """The error for a column that is not there."""
    there = listed((quoted(known) for known in names), 8) or "none"
    return TableError(f"there is no column {quoted(name)}.{nearest(name, names)} The columns are {there}.")
