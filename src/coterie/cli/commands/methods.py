"""`coterie methods`: what there is, for what, from which source."""

from __future__ import annotations

from coterie.cli._speak.screen import Screen
from coterie.cli._speak.trouble import DONE
from coterie.methods import AUTO_RULE, METHODS


def methods(screen: Screen) -> int:
    """List the registry, and the rule of `--method auto`."""
    screen.table(
        ["method", "what it does", "when", "source"],
        [(one.name, one.about.what, one.about.when, one.about.source) for one in METHODS],
    )
    screen.say("--method auto takes one by this rule, and says why:")
    screen.say(AUTO_RULE)
    if screen.machine:
        screen.finish({"methods": [method.facts() for method in METHODS], "auto": AUTO_RULE})
    return DONE
