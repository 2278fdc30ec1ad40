"""What a class says of itself before anything is fitted: the registry and the README are made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["About"]


@dataclass(frozen=True, kw_only=True)
class About:
    """What a method is for, in words, and how far it goes.

    It is written as plain values, `about = About(what="...", ...)`: `coterie methods` reads it off the file
    of the class without loading it.

    Attributes
    ----------
    what : str
        What it does with what the user knows, in one sentence.
    when : str
        When to take it.
    source : str
        Where it comes from.
    measure : str
        What it measures where it has no parameter `metric`.
    with_metric : mapping
        Other parameters that go with a distance, unless the user sets them.
    max_items : int or None
        Above this many items it is out of its depth; clusters that grow along a graph need no such limit.
    max_features : int or None
        Above this many features it is out of its depth, or takes too long.
    light : mapping
        Parameters with which there are no such limits.
    slow : bool
        Whether a fit takes so long that comparisons leave it out unless it is named.
    twin : str or None
        The method that does the same where no bounds are given.
    """

    what: str
    when: str
    source: str
    measure: str = "sqeuclidean"
    with_metric: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    max_items: int | None = None
    max_features: int | None = None
    light: Mapping[str, Any] = field(default_factory=dict)
    slow: bool = False
    twin: str | None = None
