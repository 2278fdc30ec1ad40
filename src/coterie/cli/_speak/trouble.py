"""What goes wrong, and how it is told: one line, and an exit code that a script can read."""

from __future__ import annotations

import re
from collections.abc import Collection

from coterie.exceptions import ParameterError

DONE, FAULT, BAD_INPUT, INFEASIBLE, UNDECIDED, OTHER_NUMBER, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class Trouble(Exception):
    """Something that the user can mend: a line that says what is wrong, where, and what to do; the exit code;
    and an explanation of more lines where one cannot say it all (constraints that collide).
    """

    def __init__(self, message: str, code: int = BAD_INPUT, explanation: str = "") -> None:
        super().__init__(one_line(message))
        self.code = code
        self.explanation = explanation


def one_line(text: object) -> str:
    """The text without line breaks and control characters, and not endless."""
    line = printable(" ".join(str(text).split()))
    return line if len(line) <= 600 else f"{line[:597]}..."


def printable(text: str) -> str:
    """The text without what would steer a terminal; lines stay lines."""
    if text.isprintable():
        return text
    return "".join(x if x == "\n" or x.isprintable() else "\N{REPLACEMENT CHARACTER}" for x in text)


# Parameters of the package that have an option of their own.
OPTIONS = {
    "n_clusters": "-k",
    "n_components": "-k",
    "random_state": "--seed",
    "connectivity": "--connected",
    "metric": "--metric",
    "size_min": "--size-min",
    "size_max": "--size-max",
    "group_min": "--group-min",
    "group_max": "--group-max",
    "size_weight": "--load",
    "sample_weight": "--weight",
    "groups": "--group",
    "ids": "--id",
    "k_range": "-k",
}
# Other names, and what they are called here.
_NAMES = {
    **OPTIONS,
    "n_folds": "--folds",  # of compare; a method may have its own
    "budget": "--set budget",
    "distance_threshold": "--set distance_threshold",
    "n_items": "rows:",
}
_PLACES = {"connectivity": "map", "to_frame()": "constraints.csv", "blocked_": "run.json"}
_NAME = re.compile(r"(`?)\b([a-z]\w*)\b(?:(=)([\"']?)([\w.+%-]*)\4| \((\d+)\))?\1")


def in_options(text: str, parameters: Collection[str] = ()) -> str:
    """A message of the package with its names as the command line has them.

    A name is what `parameters` says, what stands before a quoted value, or one of ours that is no English
    word or is marked as a name; the sentence around it stays.
    """

    def option(match: re.Match[str]) -> str:
        mark, name, equals, quote, value, count = match.groups()
        ours = name in parameters or (name in _NAMES and ("_" in name or mark or equals))
        if not ours and not (equals and quote):
            return match[0]
        word = (OPTIONS if name in parameters else _NAMES).get(name, f"--set {name}")
        value = value or count
        if (name, value) == ("metric", "euclidean"):
            value = "sqeuclidean"
        if "--set" in word:
            return f"{word}={value}" if value else f"{word}=..." if mark else word
        return f"{word} {value}" if value else word

    text = _NAME.sub(option, text)
    for name, word in _PLACES.items():
        text = text.replace(name, word)
    return text


def message_of(error: BaseException) -> str:
    """What an exception says, without the machine's way of saying it."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror.lower()}"
    if isinstance(error, MemoryError):
        return f"not enough memory ({error})" if str(error) else "not enough memory"
    names = error.parameters if isinstance(error, ParameterError) else ()
    return in_options(str(error), names) or type(error).__name__
