"""What the page says, in numbers and words."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.report._facts.doubt import IN_DOUBT, WIDE_OPEN

__all__, __getattr__, __dir__ = attach(__name__)
