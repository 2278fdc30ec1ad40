"""Compare methods on one's own data: statements are held out, predicted and scored."""

from coterie.comparison._compare import compare
from coterie.comparison._words import best, in_words

__all__ = ["best", "compare", "in_words"]
