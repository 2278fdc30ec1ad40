"""What the page says of resolved records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from coterie.base import Account, Price, Trace


def account_of_resolver(model: Any, found: Account) -> Account:
    """The account of a fitted `EntityResolver`."""
    text = "How similar the two entities of each merge were, in order; a merge can make others more similar."
    trace = Trace(
        model.merges_["similarity"], "The similarity of each merge", text, "merge", "similarity", stride=1.0
    )
    return replace(found, trace=trace if model.n_iter_ else None, price=Price(tells=False))
