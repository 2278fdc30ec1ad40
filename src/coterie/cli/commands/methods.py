"""`coterie methods`: what there is, for what, from which source."""

from __future__ import annotations

from dataclasses import asdict

from coterie.cli._speak.screen import Screen
from coterie.cli._speak.trouble import DONE
from coterie.methods import AUTO_RULE, METHODS


def methods(screen: Screen) -> int:
    """List the registry, and the rule of `--method auto`."""
    screen.table(
        ["method", "what it does", "when", "source"],
        [(method.name, method.what, method.when, method.source) for method in METHODS],
    )
    screen.say("--method auto takes one by this rule, and says why:")
    screen.say(AUTO_RULE)
    screen.finish({"methods": [_facts(method) for method in METHODS], "auto": AUTO_RULE})
    return DONE


def _facts(method: object) -> dict[str, object]:
    facts = asdict(method)  # type: ignore[call-overload]
    facts["metrics"] = sorted(facts["metrics"])
    facts["kinds"], facts["bounds"] = sorted(facts["kinds"]), sorted(facts["bounds"])
    del facts["plain"]
    return facts
