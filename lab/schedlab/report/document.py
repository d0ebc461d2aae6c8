# SPDX-License-Identifier: GPL-2.0-or-later
"""The frame of every page: one file that asks for nothing, and whose scripts only add to what is there.

It holds the style, the charts' JavaScript (Vega, Vega-Lite and Vega-Embed as they come in the vl-convert package) and
the raw data, plain where small and compressed where large, with a button that saves them.
"""

import base64
import gzip
from pathlib import Path
from typing import Any

import vl_convert

from schedlab import cache, version
from schedlab.report import palette, world
from schedlab.report.figure import json_text
from schedlab.report.html import Markup, element, escape, join

_MOST_PLAIN_BYTES = 600_000
# The highest level takes twice as long and saves a few per cent.
_LEVEL = 6


MOST_BYTES = 5_000_000
_HERE = Path(__file__).parent
# The page may load nothing from anywhere; Vega compiles its expressions, which needs unsafe-eval.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:"


def raw_data(content: dict[str, Any], what: str) -> Markup:
    text = json_text(content)
    note = f"{what} are in this file as JSON, in the element with the id “data”"
    if len(text.encode()) > _MOST_PLAIN_BYTES:
        packed = base64.b64encode(gzip.compress(text.encode(), _LEVEL, mtime=0)).decode()
        script = f'<script type="application/gzip" id="data">{packed}</script>'
        note += " (base64 of gzip)"
    else:
        script = f'<script type="application/json" id="data">{text}</script>'
    save = element("button", "Save as JSON", type="button", id="save", hidden="")
    return element("section", element("h2", "Raw data"), element("p", note + ". ", save), Markup(script), id="raw")


def _charts_script() -> str:
    """Bundling takes seconds, so the bundle is kept by the package's version."""
    path = cache.root() / "charts" / f"vega-{vl_convert.__version__}.js"
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        pass
    text = vl_convert.javascript_bundle()
    if "</script" in text.lower():
        raise ValueError("the charts' JavaScript would end the element that holds it")
    try:
        cache.write(path, text)
    except Exception:  # a cache that cannot be written costs time, not the report
        return text
    return text


def document(title: str, body: list[Markup], with_charts: bool = True, place: str = "") -> str:
    """`place`: where all of it ran, as records name it; every picture says so by its line."""
    scripts = [*([_charts_script()] if with_charts else []), *(_own(name) for name in ("page.js", "schedule.js"))]
    foot = element("footer", element("p", element("small", f"made by schedlab {version.told()}")))
    begin = f'<body class="{world.kind(place)}">' if place else "<body>"
    loaded = "\n".join(f"<script>{text}</script>" for text in scripts)
    return (
        "<!doctype html>\n<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<style>\n{_styles()}</style></head>\n"
        f"{begin}<main>\n{join(body, chr(10))}\n</main>\n{foot}\n{loaded}</body></html>\n"
    )


def _own(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _styles() -> str:
    text = (_HERE / "style.css").read_text(encoding="utf-8")
    return text + "@media screen and (prefers-color-scheme: dark) {\n" + palette.dark_rules() + "\n}\n"
