# SPDX-License-Identifier: GPL-2.0-or-later
"""A Vega-Lite chart in the page: an SVG that needs nothing, and the specification that page.js makes it live with."""

import json
import re
from typing import Any

from schedlab.report import palette
from schedlab.report.html import Markup, element

# Drawn near the width of a phone, so that its letters stay readable there; a desktop shows two side by side.
WIDTH = 400
HEIGHT = 230
_FONT = "system-ui, sans-serif"


def figure(caption: Markup, spec: dict[str, Any], live: dict[str, Any] | None = None) -> Markup:
    """`live`: the specification where JavaScript is on; none: the SVG is all there is."""
    import vl_convert

    svg, width = _responsive(vl_convert.vegalite_to_svg(spec | frame()))
    parts = [Markup(svg.replace("<svg", f'<svg role="img" aria-label="{text_of(caption)}"', 1))]
    if live:
        text = json_text(live | frame())
        parts.append(Markup(f'<script type="application/json" class="spec">{text}</script>'))
    chart = element("div", *parts, class_="chart", style=f"max-width:{width:.0f}px")
    return element("figure", element("figcaption", caption), chart)


def text_of(caption: Markup) -> str:
    """What a screen reader calls the picture: escaped, without tags."""
    return re.sub(r"<[^>]*>", "", caption).replace('"', "&quot;")


def drawing(spec: dict[str, Any]) -> tuple[str, float, float]:
    """The drawing alone, with its width and height."""
    import vl_convert

    svg, _ = _responsive(vl_convert.vegalite_to_svg(spec | frame()))
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    if not found:
        raise ValueError("a chart without a size")
    return re.sub(r"^<svg[^>]*>|</svg>$", "", svg), float(found[1]), float(found[2])


def frame() -> dict[str, Any]:
    ink, soft, line = palette.INK[0], palette.SOFT[0], palette.LINE[0]
    return {
        "background": None,
        "padding": 4,
        "config": {
            "font": _FONT,
            "aria": False,  # the tables hold the same values
            "view": {"stroke": None, "continuousWidth": WIDTH - 70, "continuousHeight": HEIGHT - 60},
            "axis": {
                "labelColor": soft,
                "titleColor": soft,
                "labelFontSize": 12,
                "titleFontSize": 12,
                "titleFontWeight": "normal",
                "labelOverlap": "greedy",
                "labelSeparation": 8,  # browsers' fonts are wider than the one that labels are measured with
                "gridColor": line,
                "domainColor": line,
                "tickColor": line,
            },
            "axisY": {
                "titleAngle": 0,
                "titleAlign": "left",
                "titleAnchor": "end",
                "titleY": -8,
                "titleX": -30,
                "domain": False,
            },
            "text": {"color": ink, "fontSize": 12},
        },
    }


def json_text(content: object) -> str:
    """JSON in which no text can close the element that holds it."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _responsive(svg: str) -> tuple[str, float]:
    """Sized by the page; the drawing's own size is its largest useful one."""
    found = re.match(r'<svg[^>]*?width="([\d.]+)" height="([\d.]+)"', svg)
    if not found:
        raise ValueError("a chart without a size")
    svg = re.sub(r'^(<svg[^>]*?) width="[\d.]+" height="[\d.]+"', r"\1", svg, count=1)
    svg = re.sub(r' version="[^"]*"| xmlns(:\w+)?="[^"]*"| (aria-\w+|role)="[^"]*"| pointer-events="none"', "", svg)
    svg = re.sub(r'<path class="foreground"[^>]*/>|<path class="background"[^>]*/>', "", svg)
    # A tenth of a pixel is enough.
    svg = re.sub(r' (?:d|transform)="[^"]*"', lambda m: re.sub(r"(\.\d)\d+", r"\1", m[0]), svg)
    return svg, float(found[1]) * 1.25
