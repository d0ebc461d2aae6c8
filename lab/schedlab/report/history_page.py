# SPDX-License-Identifier: GPL-2.0-or-later
"""A number over commits or kernels, with its levels: one sentence, one picture, a table, the command."""

from typing import Any

from schedlab.bisection.series import Series
from schedlab.bisection.series_rows import as_json
from schedlab.format.numbers import percent
from schedlab.format.sentences import machine_name
from schedlab.report import palette, world
from schedlab.report.document import document, raw_data
from schedlab.report.figure import figure
from schedlab.report.html import Markup, element, join, table
from schedlab.statistics.agreement import title

_WIDTH, _HEIGHT = 330, 190
# More names do not fit below the axis.
_MOST_NAMES = 24


def render(found: Series, steps: str) -> str:
    """`steps`: what they are, commits or kernels."""
    asked = found.asked
    place = "sim" if asked.place == "sim" else "vm-exact"
    what = f"{title(asked.measure)} of {asked.workload.name}"
    params = "".join(f", {key}={value}" for key, value in asked.params.items())
    where = f"At load {asked.load}{params} on {machine_name(asked.machine.name)}, seed {asked.seed}."
    first, *others = found.sentences()
    opening = [
        world.badge(place),
        element("p", f"{first[:1].upper()}{first[1:]}", class_="finding"),
        element("ul", *[element("li", line.strip()) for line in others]) if others else "",
        element("div", _picture(found), class_="history") if found.measured else "",
        element("p", element("code", found.command), Markup("<br>"), "makes this page.", class_="command"),
    ]
    body = [
        element("h1", f"{what} over {len(found.points)} {steps}"),
        element("p", where, class_="lead"),
        element("section", *opening, class_="opening alone", id="finding"),
        element("section", element("h2", "Every step"), _table(found), _method(found), id="steps"),
        raw_data(as_json(found), "All steps"),
    ]
    return document(f"{what} over {steps}", body, with_charts=False, place=place)


def _picture(found: Series) -> Markup:
    factor, unit = found.scale
    better = "lower" if found.asked.is_worse_upwards() else "higher"
    names = [point.name for point in found.points]
    at = {name: position for position, name in enumerate(names)}
    measured = found.measured
    points = [{"x": at[p.name], "y": p.value * factor} for p in measured if p.value is not None]
    levels = [
        {"x": at[measured[s.start].name] - 0.4, "x2": at[measured[s.end - 1].name] + 0.4, "y": s.level * factor}
        for s in found.levels
    ]
    changes = [
        {"x": at[c.at.name] - 0.5, "says": f"{percent(c.pct)} {'worse' if c.worse else 'better'}"}
        for c in found.changes
    ]
    shown = [position for position in range(len(names)) if len(names) <= _MOST_NAMES or not position % _step(names)]
    said = "[" + ",".join(f"'{_short(name)}'" for name in names) + "]"
    x: dict[str, Any] = {
        "type": "quantitative",
        "scale": {"domain": [-0.6, len(names) - 0.4], "nice": False},
        "axis": {
            "title": None,
            "values": shown,
            "labelExpr": f"{said}[datum.value]",
            "labelAngle": -45,
            "labelAlign": "right",
            "labelOverlap": False,
            "grid": False,
        },
    }
    y: dict[str, Any] = {
        "field": "y",
        "type": "quantitative",
        "scale": {"zero": False, "padding": 16},
        "axis": {"title": unit or "count", "tickCount": 5},
    }
    ink, first, second = palette.INK[0], palette.colour(0), palette.colour(1)
    spec = {
        "width": _WIDTH,
        "height": _HEIGHT,
        "layer": [
            {
                "data": {"values": changes},
                "mark": {"type": "rule", "strokeDash": [4, 3], "stroke": second, "strokeWidth": 1.5},
                "encoding": {"x": x | {"field": "x"}},
            },
            {
                "data": {"values": levels},
                "mark": {"type": "rule", "stroke": first, "strokeWidth": 2.5},
                "encoding": {"x": x | {"field": "x"}, "x2": {"field": "x2"}, "y": y},
            },
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "size": 36, "opacity": 1, "color": first},
                "encoding": {"x": x | {"field": "x"}, "y": y},
            },
            {
                "data": {"values": changes},
                "mark": {"type": "text", "align": "left", "dx": 3, "baseline": "top", "color": ink},
                "encoding": {"x": x | {"field": "x"}, "y": {"value": 0}, "text": {"field": "says"}},
            },
        ],
    }
    caption = join(
        [
            element("b", title(found.asked.measure)),
            f", {better} is better. Points: one run each; lines: levels; dashed: where the level changes.",
        ]
    )
    return figure(caption, spec)


def _step(names: list[str]) -> int:
    return -(-len(names) // _MOST_NAMES)


def _short(name: str) -> str:
    """Safe inside an expression: a kernel may be a path, of which the end tells. Of a commit it is the beginning."""
    kept = "".join(letter for letter in name if letter.isalnum() or letter in "._-/+")
    return kept[:8] if len(kept) <= 12 else f"…{kept[-8:]}"


def _table(found: Series) -> Markup:
    changed = {change.at.name: change for change in found.changes}
    rows: list[list[object]] = []
    for point in found.points:
        value = found.shown(point.value) if point.value is not None else f"none: {point.why}"
        change = changed.get(point.name)
        kind = ("worse" if change.worse else "better") if change else None
        text = f"{kind}, {percent(change.pct)}" if change else ""
        rows.append([element("code", point.name), point.title, value, element("td", text, class_=kind)])
    return table(["step", "what", "value", "level changes"], rows, class_="glance stacked")


def _method(found: Series) -> Markup:
    return element(
        "p",
        "Levels: optimal partitioning (Jackson et al. 2005) of the values' logarithms, penalty 3 s² ln n for each "
        "change, s from the median difference of neighbours; levels that differ by no more than "
        f"{found.smallest_pct:g} % are one. Each step ran once, with one seed: in the simulator and in the exact guest "
        "a second run says the same, but another seed may move a number by more than a commit did.",
        class_="note",
    )
