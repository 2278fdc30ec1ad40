"""`coterie methods`: what there is, for what, from which source, and what each takes."""

from __future__ import annotations

from coterie.cli._speak.screen import Screen
from coterie.cli._speak.trouble import DONE
from coterie.constraints import ALL_KINDS
from coterie.methods import AUTO_RULE, DISTANCES, METHODS, Method

_BOUNDS = {"minima": "--size-min", "sizes": "--size-max", "loads": "--load", "groups": "--group"}


def _taken(method: Method) -> list[str]:
    """What a method takes, as options."""
    kinds = "all" if method.kinds == ALL_KINDS else ", ".join(sorted(method.kinds)) or "none"
    bounds = " ".join(option for kind, option in _BOUNDS.items() if kind in method.bounds)
    marks = ["yes" if one else "" for one in (method.connectivity, method.weighted, method.new_rows)]
    metrics = ", ".join(method.metrics) if method.wants == "rows" else ""
    return [method.name, method.wants, kinds, bounds, marks[0], metrics, *marks[1:]]


def methods(screen: Screen) -> int:
    """List the registry, and the rule of `--method auto`."""
    screen.table(
        ["method", "what it does", "when", "source"],
        [(one.name, one.about.what, one.about.when, one.about.source) for one in METHODS],
    )
    screen.say("What each takes (input: rows of features, or weights of pairs by --scores, or from Python")
    screen.say("labels of several clusterings; constraints: all kinds, or those named):")
    screen.table(
        ["method", "input", "statements", "bounds", "--connected", "--metric", "--weight", "new rows"],
        [_taken(one) for one in METHODS],
    )
    screen.say("A distance that is learned first, by --distance:")
    screen.table(
        ["distance", "what it does", "when", "source"],
        [(one.word, one.about.what, one.about.when, one.about.source) for one in DISTANCES],
    )
    screen.say("--method auto takes one by this rule, and says why:")
    screen.say(AUTO_RULE)
    if screen.machine:
        facts = {"methods": [one.facts() for one in METHODS], "distances": [one.facts() for one in DISTANCES]}
        screen.finish({**facts, "auto": AUTO_RULE})
    return DONE
