"""What goes wrong, and how it is told: one line, and an exit code that a script can read."""

from __future__ import annotations

import re

DONE, FAULT, BAD_INPUT, INFEASIBLE, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 4, 130


class Trouble(Exception):
    """Something that the user can mend.

    Parameters
    ----------
    message : str
        What is wrong, where, and what to do; it is told on one line.
    code : int
        The exit code.
    explanation : str
        More lines, where one cannot say it all (statements that collide).
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


# What the package calls things, and what they are called here.
_OPTIONS = {
    r"`?\bsize_weight\b`?": "--load",
    r"`?\bsample_weight\b`?": "--weight",
    r"`?\bn_(?:clusters|components) \((\d+)\)`?": r"-k \1",
    r"`?\bn_(?:clusters|components)(?:=|\b)`?": "-k ",
    r"`?\b(size|group)_(min|max)\b`?": r"--\1-\2",
    r"`?\bn_folds(?:=|\b)`?": "--folds ",
    r"`ids=`": "--id",
    r"\bX has n_samples=": "the table has ",
    r"; see to_frame\(\)": "; see constraints.csv",
    r"\b([Tt]he|a) connectivity\b": r"\1 map",
    r"`?\bconnectivity\b`?": "--connected",
    r"\b(on_dead_end|linkage)=[\"'](\w+)[\"']": r"--set \1=\2",
    r"\bmetric=[\"']euclidean[\"']": "--metric sqeuclidean",
    r"\bmetric=[\"'](\w+)[\"']": r"--metric \1",
    r"`?\bdistance_threshold(?:=|\b)`?": "--set distance_threshold=",
    r" See blocked_\.": " See run.json.",
    r"(?s)Sparse data was passed.*": "it takes no text, and no matrix in which only some values are stored",
    r"pass X\.toarray\(\), or fewer features, .*": "take --set linkage=single, or fewer columns.",
    r"`budget`": "--set budget=...",
    r" \(n_items=\d+\)": "",
    r"(?s)Expected 2D array, got .*": "a table of numbers is needed, one row for each cluster",
    r"\bduplicate points in X\b": "rows that are equal",
}


def in_options(text: str) -> str:
    """A message of the package in the words of the command line."""
    for pattern, words in _OPTIONS.items():
        text = re.sub(pattern, words, text)
    return text


def told(error: BaseException) -> str:
    """What an exception says, without the machine's way of saying it."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror.lower()}"
    if isinstance(error, MemoryError):
        return f"not enough memory ({error})" if str(error) else "not enough memory"
    return in_options(str(error)) or type(error).__name__
