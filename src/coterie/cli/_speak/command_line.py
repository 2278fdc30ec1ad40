"""What was typed after `coterie`, for the commands that a run prints."""

from __future__ import annotations

_words: list[str] = []


def remember(words: list[str]) -> None:
    """Keep what was typed."""
    _words[:] = words


def typed() -> list[str]:
    """What was typed after `coterie`: the command first."""
    return list(_words)


def with_options(words: list[str], *options: str) -> list[str]:
    """The words with options added: at the end, or before a `--`, after which there are none."""
    at = words.index("--") if "--" in words else len(words)
    return [*words[:at], *options, *words[at:]]
