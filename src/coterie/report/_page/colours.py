"""Colours and style of the page.

Ten colours for clusters, once for a light and once for a dark background: found by a search that keeps them
apart for normal sight and for the three kinds of colour blindness (distances in OKLab after simulation), each
with a contrast of at least 3 against its backgrounds; text has at least 4.5. From the eleventh cluster on
colours repeat with another marker: dots, then squares, then crosses.
"""

from __future__ import annotations

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

_RULES = """
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
main,.head,footer{max-width:1120px;margin:0 auto;padding:0 24px}
.head{padding-top:40px}
.over{margin:0;color:var(--soft);font-size:.8125rem;letter-spacing:.08em;text-transform:uppercase}
h1{margin:.15em 0 .4em;font-size:clamp(1.6rem,4vw,2.3rem);line-height:1.2;letter-spacing:-.015em}
h2{margin:0 0 .2em;font-size:1.3rem;letter-spacing:-.01em}
h3{margin:0;font-size:1rem}
h4{margin:14px 0 4px;font-size:.8125rem;font-weight:600;color:var(--soft)}
p{margin:.4em 0}
.soft{color:var(--soft)}
.small{font-size:.875rem}
.name,code,pre{overflow-wrap:anywhere}
.verdict{display:flex;gap:12px;align-items:baseline;margin:0 0 20px;padding:12px 16px;border-radius:10px;
font-size:1.125rem;font-weight:500;background:var(--good-bg);color:var(--good)}
.verdict.bad{background:var(--warn-bg);color:var(--warn)}
.verdict.mixed{background:var(--note-bg);color:var(--note)}
.verdict span{color:inherit}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:0 0 8px;
padding:0;list-style:none}
.tiles li{padding:14px 16px;background:var(--card);border:1px solid var(--line);border-radius:10px}
.tiles b{display:block;font-size:1.5rem;line-height:1.25;font-weight:650;letter-spacing:-.01em}
.tiles span{color:var(--soft);font-size:.875rem}
.tiles.inner li{background:var(--bg)}
.method{margin:14px 0 0;color:var(--soft)}
.method b{color:var(--ink)}
nav{margin:18px 0 0;font-size:.9375rem}
nav a{display:inline-block;margin:0 18px 4px 0;padding:4px 0}
a{color:var(--accent)}
section{margin:24px 0;padding:24px;background:var(--card);border:1px solid var(--line);border-radius:14px}
h2+p{margin-top:0}
figure{margin:14px 0 0}
figure svg{display:block;width:100%;height:auto}
.map{border:1px solid var(--line);border-radius:10px;overflow:hidden;background:var(--card)}
.axes{display:flex;flex-wrap:wrap;justify-content:space-between;gap:2px 24px;margin:6px 0 0;color:var(--soft);
font-size:.8125rem}
.dots{fill:var(--c);fill-opacity:.82;stroke:var(--card);stroke-width:.8}
.dots.hollow{fill:none;stroke:var(--c);stroke-width:3}
.many{fill:none;stroke:var(--c);stroke-opacity:.62}
.many.square{stroke-linecap:square}
.many.dot{stroke-linecap:round}
.many.cross{stroke-width:1.6}
.dots .doubt{fill-opacity:.15;stroke:var(--c);stroke-width:1.6}
.dots.hollow .doubt{stroke-opacity:.35;stroke-width:3}
.many.doubt{stroke-opacity:.2}
.links line{stroke:var(--ink);stroke-opacity:.5;stroke-width:1.3;vector-effect:non-scaling-stroke}
.links.crowd line{stroke-opacity:.24}
.links .apart{stroke-dasharray:5 4}
.links line.broken{stroke:var(--broken);stroke-opacity:1;stroke-width:3}
.links.crowd line.broken{stroke-opacity:1;stroke-width:2}
.ring{fill:none;stroke:var(--broken);stroke-width:2.2;vector-effect:non-scaling-stroke}
.legend{display:flex;flex-wrap:wrap;gap:6px 8px;margin:14px 0 0;padding:0;list-style:none;font-size:.875rem}
.legend li{display:inline-flex;align-items:center;gap:7px;padding:3px 11px 3px 9px;
border:1px solid var(--line);border-radius:999px;white-space:nowrap}
.legend+p{margin-top:14px}
.legend svg{width:26px;height:10px;flex:none}
.mark{display:inline-block;flex:none;width:11px;height:11px;background:var(--c)}
.mark.dot{border-radius:50%}
.mark.cross{width:13px;height:13px;clip-path:polygon(36% 0,64% 0,64% 36%,100% 36%,100% 64%,64% 64%,64% 100%,
36% 100%,36% 64%,0 64%,0 36%,36% 36%)}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,310px),1fr));gap:16px;margin-top:16px}
.card{padding:16px 18px;border:1px solid var(--line);border-top:4px solid var(--c);border-radius:10px;
background:var(--card);min-width:0;break-inside:avoid}
.card header{display:flex;align-items:center;gap:9px}
.card header .size{margin-left:auto;color:var(--soft);font-size:.9375rem}
.traits{margin:4px 0 0;padding:0;list-style:none}
.traits li{padding:6px 0;border-top:1px solid var(--faint);font-size:.9375rem}
.traits li:first-child{border-top:0}
.traits .line{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 10px}
.traits .value{margin-left:auto;text-align:right}
.effect{position:relative;height:6px;margin:5px 0 2px;border-radius:3px;background:var(--faint)}
.effect::before{content:"";position:absolute;left:50%;top:-2px;width:1px;height:10px;background:var(--soft)}
.effect i{position:absolute;top:0;height:100%;background:var(--c);border-radius:3px}
.words{display:flex;flex-wrap:wrap;gap:6px;margin:4px 0 0;padding:0;list-style:none}
.words li{padding:1px 9px;border-radius:999px;background:var(--faint);font-size:.9375rem;
overflow-wrap:anywhere}
.items{margin:0;padding:0;list-style:none;font-size:.9375rem}
.items li{padding:1px 0}
.items.row li{display:inline}
.items.row li+li::before{content:" · ";color:var(--soft)}
.scroll{overflow-x:auto;margin-top:14px}
.scroll+h3,.notes+h3{margin-top:24px}
table{overflow-wrap:break-word;width:100%;border-collapse:collapse;font-size:.9375rem}
th,td{padding:7px 12px 7px 0;border-bottom:1px solid var(--faint);text-align:left;vertical-align:top}
thead th{color:var(--soft);font-size:.8125rem;font-weight:600;border-bottom:1px solid var(--line);
white-space:nowrap}
tbody th{font-weight:500;white-space:nowrap}
th.n,td.n{text-align:right;white-space:nowrap}
td.wide{width:100%;min-width:110px}
td.pair{min-width:13em;width:26%}
td.why{width:45%;min-width:15em}
details{margin-top:14px}
summary{cursor:pointer;font-weight:600;color:var(--accent)}
details[open]>summary{margin-bottom:-4px}
tr>:last-child{padding-right:0}
.cell{display:inline-flex;align-items:center;gap:8px}
.bar{position:relative;height:12px;margin-top:6px;border-radius:3px;background:var(--faint)}
.bar i{position:absolute;left:0;top:0;height:100%;min-width:2px;border-radius:3px;
background:var(--c,var(--out))}
.bar.thin{height:7px;margin-top:4px}
.bar.before i{background:var(--out)}
.bar b{position:absolute;top:-4px;width:2px;height:20px;background:var(--ink)}
.pill{display:inline-block;padding:0 9px;border-radius:999px;font-size:.8125rem;font-weight:600;
white-space:nowrap;background:var(--good-bg);color:var(--good)}
.pill.bad{background:var(--warn-bg);color:var(--warn)}
.pill.none{background:var(--faint);color:var(--soft)}
.trace{fill:none;stroke:var(--accent);stroke-width:2;vector-effect:non-scaling-stroke;stroke-linejoin:round}
.course svg{height:170px}
.under{fill:var(--accent);fill-opacity:.12}
.ends{display:flex;justify-content:space-between;gap:16px;color:var(--soft);font-size:.875rem;margin-top:4px}
.notes{margin:8px 0;padding-left:1.2em}
.groups{margin:0;padding-left:1.1em;font-size:.9375rem}
pre{margin:8px 0;padding:12px 14px;border:1px solid var(--line);border-radius:8px;background:var(--bg);
font:.875rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre-wrap}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,240px),1fr));gap:6px 24px;margin:8px 0}
dl div{display:flex;justify-content:space-between;gap:12px;border-bottom:1px solid var(--faint);
font-size:.9375rem;min-width:0}
dt{color:var(--soft)}
dd{margin:0;text-align:right;overflow-wrap:anywhere;min-width:0}
footer{padding-top:4px;padding-bottom:48px;color:var(--soft);font-size:.875rem}
@media (max-width:680px){
body{font-size:15px}
main,.head,footer{padding-left:14px;padding-right:14px}
.head{padding-top:22px}
section{padding:16px 14px;margin:16px 0;border-radius:12px}
.tiles{grid-template-columns:repeat(2,minmax(0,1fr));gap:8px}
.tiles li{padding:10px 12px}
.tiles b{font-size:1.25rem;overflow-wrap:anywhere}
.map circle.pt{r:9px}
table{font-size:.875rem}
th,td{padding-right:8px}
td.wide{min-width:52px}
.pill{padding:0 7px}
.stack thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.stack tr{display:block;padding:8px 0;border-bottom:1px solid var(--line)}
.stack th,.stack td{display:block;width:auto;min-width:0;padding:1px 0;border:0;text-align:left;
white-space:normal}
.stack td[data-label]::before{content:attr(data-label) ": ";color:var(--soft)}
}
@media print{
body{background:#fff;font-size:11pt}
nav{display:none}
section{border:0;padding:0;break-inside:auto}
.card,figure,tr{break-inside:avoid}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
}
"""


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
        f"{classes}.out{{--c:var(--out)}}{_RULES}"
    )


def colour_class(cluster: int) -> str:
    """The class that gives a cluster its colour; -1 is in no cluster."""
    return "out" if cluster < 0 else f"c{cluster % len(LIGHT)}"


def marker_of(cluster: int) -> str:
    """The marker of a cluster on the map."""
    return "dot" if cluster < 0 else MARKERS[cluster // len(LIGHT) % len(MARKERS)]
