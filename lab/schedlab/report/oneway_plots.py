# SPDX-License-Identifier: GPL-2.0-or-later
"""Every run: one-way plots and quantile tables.

A plot shows every run, its quantiles and the mean of each scheduler, and below them what any two differ by. The tables
hold quantiles of the repetitions' own values, by the (n+1)p rule.
"""

import math
from typing import Any

import numpy as np

from schedlab.catalogue.metrics import metric
from schedlab.format.numbers import decimals, number, scale
from schedlab.report import palette
from schedlab.report.figure import WIDTH, figure
from schedlab.report.html import Markup, element, join, table
from schedlab.statistics.oneway import OneWay, Pair
from schedlab.statistics.rows import Row
from schedlab.statistics.runs import SHARES
from schedlab.statistics.summary import Summary

_ROW_HEIGHT = 46
_PAIR_HEIGHT = 26
_AXIS = {"labelLimit": 180, "domain": False, "ticks": False, "labelPadding": 8, "grid": False}
_LETTER_PX = 6.5
_INK, _SOFT, _LINE = palette.INK[0], palette.SOFT[0], palette.LINE[0]


_QUANTILES = {
    "min": "min",
    "q10": "10 %",
    "q25": "25 %",
    "median": "median",
    "q75": "75 %",
    "q90": "90 %",
    "max": "max",
}


def draw(rows: list[Row], labels: list[str], load_name: str) -> Markup:
    """A figure per load at which runs differ from each other."""
    figures = [_figure(row, labels, load_name) for row in rows if _spread(row)]
    still = [str(row.load) for row in rows if not _spread(row)]
    parts = [element("div", *figures, class_="charts")] if figures else []
    if still:
        where = f"At {load_name} {', '.join(still)} every" if figures else "Every"
        text = (
            f"{rows[0].title}: {where[0].lower()}{where[1:]} run of a scheduler gave the same value: nothing to plot."
        )
        parts.append(element("p", text, class_="note"))
    return join(parts)


def _spread(row: Row) -> bool:
    return bool(row.oneway) and any(len(r.values) > 1 and np.ptp(r.values) > 0 for r in row.runs.values())


def _figure(row: Row, labels: list[str], load_name: str) -> Markup:
    factor, unit = scale(row.unit, [float(v) for runs in row.runs.values() for v in runs.values])
    there = [label for label in labels if label in row.runs and len(row.runs[label].values)]
    found = row.oneway
    assert found is not None
    # Both parts begin at the same place, beside the longest name.
    names = [*there, *[_name(pair) for pair in found.pairs]]
    extent = min(190.0, 14 + _LETTER_PX * max(map(len, names)))
    parts = [_runs(row, there, labels, factor, unit, found, extent)]
    if pairs := _pairs(found, factor, unit, extent):
        parts.append(pairs)
    for part in parts:
        part["width"] = WIDTH - 30 - extent
    caption = join([element("b", row.title), f" at {load_name} {row.load}", _tested(found)])
    return figure(caption, {"vconcat": parts, "spacing": 26})


def _tested(found: OneWay) -> str:
    return f"; below: differences, {found.method} 95 %" if any(math.isfinite(p.low) for p in found.pairs) else ""


def _runs(
    row: Row, there: list[str], labels: list[str], factor: float, unit: str, found: OneWay, extent: float
) -> dict[str, Any]:
    dots, boxes = [], []
    for label in there:
        values = row.runs[label].values
        for at, value in enumerate(values):
            # Beside each other in the order of the seeds, not at random.
            aside = ((at % 5) - 2) * 0.09
            dots.append({"scheduler": label, "value": float(value) * factor, "aside": aside})
        box = {name: value * factor for name, value in row.runs[label].quantiles.items()}
        mean = found.means.get(label)
        low_high = (mean.low, mean.high) if mean and math.isfinite(mean.low) else (math.nan, math.nan)
        boxes.append(
            {
                "scheduler": label,
                **{key: box[name] for key, name in _QUANTILES.items()},
                "mean": mean.mean * factor if mean else None,
                "low": low_high[0] * factor if math.isfinite(low_high[0]) else None,
                "high": low_high[1] * factor if math.isfinite(low_high[1]) else None,
            }
        )
    y = {"field": "scheduler", "type": "nominal", "sort": there, "title": None, "axis": _AXIS | {"minExtent": extent}}
    colours = [palette.colour(labels.index(label)) for label in there]
    colour = {"field": "scheduler", "type": "nominal", "legend": None, "scale": {"domain": there, "range": colours}}

    def x(field: str) -> dict[str, Any]:
        return {
            "field": field,
            "type": "quantitative",
            "title": unit or "count",
            "scale": {"zero": False, "padding": 10},
            "axis": {"tickCount": 5, "gridColor": _LINE},
        }

    def mark(kind: str, fields: tuple[str, str], **how: Any) -> dict[str, Any]:
        encoding = {"y": y, "x": x(fields[0]), "x2": {"field": fields[1]}}
        return {"data": {"values": boxes}, "mark": {"type": kind, **how}, "encoding": encoding}

    def tick(field: str, size: int, **how: Any) -> dict[str, Any]:
        found = {"type": "tick", "size": size, "thickness": 1.5, "color": _SOFT, "opacity": 1, **how}
        return {"data": {"values": boxes}, "mark": found, "encoding": {"y": y, "x": x(field)}}

    return {
        "height": _ROW_HEIGHT * len(there),
        "layer": [
            mark("rule", ("min", "max"), color=_SOFT, strokeWidth=1),
            mark("bar", ("q25", "q75"), height=26, fill=_LINE, stroke=_SOFT, opacity=0.55),
            tick("q10", 12),
            tick("q90", 12),
            tick("min", 6),
            tick("max", 6),
            tick("median", 26, thickness=2.5, color=_INK),
            {
                "data": {"values": dots},
                "mark": {"type": "circle", "size": 26, "opacity": 0.85},
                "encoding": {
                    "y": y,
                    "yOffset": {"field": "aside", "type": "quantitative", "scale": {"domain": [-0.5, 0.5]}},
                    "x": x("value"),
                    "color": colour,
                },
            },
            mark("rule", ("low", "high"), color=_INK, strokeWidth=3, opacity=0.9),
            {
                "data": {"values": boxes},
                "mark": {"type": "point", "shape": "diamond", "filled": True, "size": 80, "color": _INK, "opacity": 1},
                "encoding": {"y": y, "x": x("mean")},
            },
        ],
    }


def _name(pair: Pair) -> str:
    return f"{pair.other} − {pair.reference}"


def _pairs(found: OneWay, factor: float, unit: str, extent: float) -> dict[str, Any] | None:
    pairs = [
        {
            "pair": _name(pair),
            "difference": pair.difference * factor,
            "low": pair.low * factor,
            "high": pair.high * factor,
        }
        for pair in found.pairs
        if math.isfinite(pair.low)
    ]
    if not pairs:
        return None
    names = [pair["pair"] for pair in pairs]
    y = {"field": "pair", "type": "nominal", "sort": names, "title": None, "axis": _AXIS | {"minExtent": extent}}
    title = f"difference of means ({unit or 'count'})"

    def x(field: str) -> dict[str, Any]:
        return {"field": field, "type": "quantitative", "title": title, "axis": {"tickCount": 5}}

    return {
        "height": _PAIR_HEIGHT * len(pairs),
        "data": {"values": pairs},
        "layer": [
            {"data": {"values": [{"at": 0}]}, "mark": {"type": "rule", "color": _SOFT}, "encoding": {"x": x("at")}},
            {
                "mark": {"type": "rule", "color": _INK, "strokeWidth": 2},
                "encoding": {"y": y, "x": x("low"), "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 50, "color": _INK, "opacity": 1},
                "encoding": {"y": y, "x": x("difference")},
            },
        ],
    }


def quantile_tables(summary: Summary, rows: list[Row]) -> Markup:
    """One table per measure that varies: the headlines, and whatever is one number a repetition."""
    shown = [row for row in rows if row.headline or not row.distribution]
    measures = dict.fromkeys((row.metric, row.statistic) for row in shown)
    return join(_table(summary, [row for row in shown if (row.metric, row.statistic) == key]) for key in measures)


def _table(summary: Summary, rows: list[Row]) -> Markup:
    name = rows[0].metric
    factor, unit = scale(metric(name).unit, [v for row in rows for runs in row.runs.values() for v in runs.values])
    lines: list[list[object]] = []
    for row in rows:
        for label in summary.manifest.labels:
            quantiles = row.runs[label].quantiles if label in row.runs else {}
            if quantiles and quantiles["min"] < quantiles["max"]:
                places = decimals(quantiles["median"] * factor)
                lines.append([f"{row.load}, {label}", *[number(v * factor, places) for v in quantiles.values()]])
    if not lines:
        return Markup("")
    what = (
        f"quantiles of each repetition's {rows[0].title}" if rows[0].distribution else f"quantiles of {rows[0].title}"
    )
    return table(["load", *SHARES], lines, what + (f" ({unit})" if unit else "") + " over repetitions")
