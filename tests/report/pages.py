"""Reading a page in tests: its text, its elements, and whether they are nested as they should be."""

from html.parser import HTMLParser
from pathlib import Path

VOID = {"br", "col", "hr", "meta"}


class Page(HTMLParser):
    """A parsed page; raises where an element is closed that is not open."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.source = Path(path).read_text(encoding="utf-8")
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.style = ""
        self._open: list[str] = []
        self.feed(self.source)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        assert len({name for name, _ in attrs}) == len(attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open, f"{tag} closed, but nothing is open"
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] == "style":
            self.style += data
        elif data.strip():
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def count(self, tag: str, class_: str | None = None) -> int:
        return len(self.all(tag, class_))

    def all(self, tag: str, class_: str | None = None) -> list[dict[str, str | None]]:
        found = [attrs for name, attrs in self.elements if name == tag]
        return [a for a in found if class_ is None or class_ in (a.get("class") or "").split()]
