"""What notebooks show: a sentence with a table below it, and a report as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

__all__ = ["Page", "as_html"]


def as_html(text: str, rows: Iterable[Sequence[object]] = ()) -> str:
    """Lines of text, and a table whose first row is its head; all escaped, since ids may hold anything."""
    lines = "<br>".join(escape(line) for line in text.splitlines())
    cells = [[escape(str(cell)) for cell in row] for row in rows]
    marks = ["th"] + ["td"] * len(cells)
    table = "".join(
        f"<tr>{''.join(f'<{mark}>{cell}</{mark}>' for cell in row)}</tr>"
        for mark, row in zip(marks, cells, strict=False)
    )
    return (f"<p>{lines}</p>" if lines else "") + (f"<table>{table}</table>" if table else "")


class Page(type(Path())):  # type: ignore[misc]
    """The path of a report; a notebook shows the page."""

    def _repr_html_(self) -> str:
        page = escape(self.read_text(encoding="utf-8"), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 80vh; border: 0"></iframe>'
