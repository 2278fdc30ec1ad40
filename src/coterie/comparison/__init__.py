"""Compare methods on one's own data: constraints are held out, predicted and scored."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.comparison._choose_k import ChosenK, choose_k
    from coterie.comparison._compare import compare
    from coterie.comparison._sentences import best, in_words

__all__, __getattr__, __dir__ = attach(__name__)
