"""A small builder of HTML in which text is escaped unless it is marked as markup.

`tag("p", "a < b")` gives `<p>a &lt; b</p>`: only what `tag` itself returned is taken as it is. Text of the
user is made visible first (`shown`): control characters, and those that turn the direction of writing, are
replaced by something that can be seen, so that an id cannot look like another.
"""

from __future__ import annotations

import html
import re
from typing import Any

# An id that is longer is cut; its full text is shown on hovering, up to the second number.
LONGEST_NAME = 40
_LONGEST_TITLE = 1000

_EMPTY_ELEMENTS = frozenset({"br", "circle", "col", "hr", "line", "meta", "path", "polyline", "rect"})
# control characters, lone surrogates, non-characters, and marks that are invisible or turn the direction
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufffe\uffff\U000e0000-\U000e0fff]"
)


class Markup(str):
    """Text that is HTML already."""


def shown(text: object) -> str:
    """Text with every character that cannot be seen replaced by one that can."""

    def visible(found: re.Match[str]) -> str:
        code = ord(found.group())
        if code < 0x20:
            return chr(0x2400 + code)
        return "\u2421" if code == 0x7F else f"\u27e8U+{code:04X}\u27e9"

    return _UNSEEN.sub(visible, str(text))


def _escaped(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return str.__str__(child)
    if isinstance(child, (list, tuple)):
        return "".join(map(_escaped, child))
    return html.escape(shown(child), quote=True)


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Make an element; children are text, elements, lists of them or None.

    An attribute of value None is left out, True stands alone; `class_` and `aria_label` are written as
    `class` and `aria-label`.
    """
    written = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        written.append(key if value is True else f'{key}="{html.escape(shown(value), quote=True)}"')
    opened, inner = " ".join(written), _escaped(children)
    if not inner and name in _EMPTY_ELEMENTS:
        return Markup(f"<{opened}/>")
    return Markup(f"<{opened}>{inner}</{name}>")


def together(*parts: Any) -> Markup:
    """Several pieces, one after the other."""
    return Markup(_escaped(parts))


def cut(text: object, most: int = LONGEST_NAME) -> str:
    """A name that is not too long."""
    visible = shown(text)
    return visible if len(visible) <= most else visible[: most - 1] + "…"


def name_of(text: object, class_: str = "name", most: int = LONGEST_NAME) -> Markup:
    """A name of the user's: cut if it is long, with the full text on hovering."""
    visible, short = shown(text), cut(text, most)
    if not visible.strip():
        short = visible = "(empty)"
    return tag("span", short, class_=class_, title=None if short == visible else cut(visible, _LONGEST_TITLE))
