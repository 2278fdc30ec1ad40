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
    """

    what: str  # what it does with what the user knows, in one sentence
    when: str  # when to take it
    source: str  # where it comes from
    measure: str = "sqeuclidean"  # what it measures where it has no parameter `metric`
    # other parameters that go with a distance, unless the user sets them
    with_metric: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    max_items: int | None = None  # above, it is out of its depth; not where clusters grow along a graph
    max_features: int | None = None  # above, it is out of its depth, or takes too long
    light: Mapping[str, Any] = field(default_factory=dict)  # parameters with which there are no such limits
    slow: bool = False  # whether a fit takes so long that comparisons leave it out unless it is named
    # the method to take where no bounds (of what connects clusters: no graph) are given; comparisons then
    # leave this one out
    twin: str | None = None
    bounded: bool = False  # whether sizes are bounded where the user gives no bound
    guides: str = "the start"  # what constraints guide where none is bound to hold
    # what tells the number of clusters where it is None: bounds of that kind, as in `Method.bounds`, or
    # another parameter
    number_from: str | None = None
