"""Colours of the page; `page.css` has its style.

Ten colours for clusters, once for a light and once for a dark background: found by a search that keeps them
apart for normal sight and for the three kinds of colour blindness (distances in OKLab after simulation), each
with a contrast of at least 3 against its backgrounds; text has at least 4.5. From the eleventh cluster on
colours repeat with another marker: dots, then squares, then crosses.
"""

from __future__ import annotations

from importlib import resources

LIGHT = (
    "#0072b2",
    "#d55e00",
    "#00855f",
    "#9078fc",
    "#605400",
    "#843060",
    "#0c9ca8",
    "#60180c",
    "#3c3cc0",
    "#540084",
)
DARK = (
    "#4ba3e3",
    "#f08a4b",
    "#2fb98f",
    "#7878fc",
    "#fcc000",
    "#a85478",
    "#54d8fc",
    "#847800",
    "#a8e4a8",
    "#006cc0",
)
MARKERS = ("dot", "square", "cross")

# Names of what a page is made of, in light and in dark.
LIGHT_THEME = {
    "bg": "#f5f5f2",
    "card": "#ffffff",
    "ink": "#1b1f24",
    "soft": "#565e68",
    "line": "#dfe0da",
    "faint": "#ecece7",
    "accent": "#0b5c96",
    "good": "#17653f",
    "good-bg": "#e6f3ec",
    "warn": "#b3001e",
    "warn-bg": "#fdecec",
    "broken": "#cc0033",
    "note": "#754700",
    "note-bg": "#fdf1d8",
    "out": "#7b828a",
}
DARK_THEME = {
    "bg": "#14161a",
    "card": "#1c1f25",
    "ink": "#e8eaed",
    "soft": "#a6aeb8",
    "line": "#343a43",
    "faint": "#272b32",
    "accent": "#8cc4f2",
    "good": "#79d6a7",
    "good-bg": "#183226",
    "warn": "#ff8f8a",
    "warn-bg": "#3a1d20",
    "broken": "#ff4d6a",
    "note": "#f0bf6c",
    "note-bg": "#332813",
    "out": "#8b939d",
}


def style_sheet() -> str:
    """The style of the page, light and dark."""

    def variables(theme: dict[str, str], clusters: tuple[str, ...]) -> str:
        named = {**theme, **{f"c{at}": colour for at, colour in enumerate(clusters)}}
        return "".join(f"--{name}:{value};" for name, value in named.items())

    light, dark = variables(LIGHT_THEME, LIGHT), variables(DARK_THEME, DARK)
    classes = "".join(f".c{at}{{--c:var(--c{at})}}" for at in range(len(LIGHT)))
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        f"{classes}.out{{--c:var(--out)}}\n{resources.files(__package__).joinpath('page.css').read_text()}"
    )


def colour_class(cluster: int) -> str:
    """The class that gives a cluster its colour; -1 is in no cluster."""
    return "out" if cluster < 0 else f"c{cluster % len(LIGHT)}"


def marker_of(cluster: int) -> str:
    """The marker of a cluster on the map."""
    return "dot" if cluster < 0 else MARKERS[cluster // len(LIGHT) % len(MARKERS)]
