# SPDX-License-Identifier: GPL-2.0-or-later
"""Who is better at what: a line for each measure, on which each scheduler has a point for each load.

Right of the middle is better than the reference, whichever way the metric counts; the axis is one of ratios, so that
twice as good and half as good lie equally far away. What is claimed is full, all else hollow.
"""

import math
from collections.abc import Sequence
from typing import Any

from schedlab.format.finding import certain_log
from schedlab.format.sentences import machine_name
from schedlab.report import palette
from schedlab.report.figure import figure
from schedlab.report.html import Markup, element, join
from schedlab.statistics.comparison import Comparison
from schedlab.statistics.summary import Measure, Summary, measures
from schedlab.statistics.verdict import BETTER, SAME, WORSE

# More do not fit above the fold of a phone.
_MOST_MEASURES = 7
_LINE, _NAME, _WIDTH = 11, 17, 360
_TICKS = [1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 30, 100, 1_000, 10_000, 100_000, 1_000_000]


def draw(summary: Summary) -> Markup:
    """Empty where no measure has a better and a worse side, or nothing is compared."""
    others = summary.manifest.labels[1:]
    every = [measure for measure in measures(summary) if measure.first.better and _points(measure, others)]
    drawn = [measure for measure in every if not all(measure.word(label) == SAME for label in others)]
    if not drawn:
        return Markup("")
    shown = _largest(drawn, others)
    points = [point for measure in shown for point in _points(measure, others)]
    names = [_name(summary, measure) for measure in shown]
    spec = _spec(summary, [point | {"measure": names[shown.index(point["measure"])]} for point in points], names)
    caption: list[object] = [
        element("b", f"Against {summary.reference}"),
        ". Full: claimed; hollow: not. Lines are 95 % intervals",
    ]
    if any(found.model_pct > 0 for measure in shown for found in _comparisons(measure, others)):
        caption.append(" with the model's error")
    caption.append(". A point is a load.")
    if left := len(drawn) - len(shown):
        caption.append(f" Of {len(drawn)} measures that differ, the {len(shown)} with the largest certain changes;")
        caption.append(f" {left} more are in the table.")
    return figure(join(caption), spec)


def _comparisons(measure: Measure, others: Sequence[str]) -> list[Comparison]:
    return [row.against[label] for row in measure.rows for label in others if label in row.changes]


def _largest(drawn: Sequence[Measure], others: Sequence[str]) -> list[Measure]:
    """In the page's order."""

    def size(measure: Measure) -> float:
        claims = [c for c in _comparisons(measure, others) if c.verdict in (BETTER, WORSE)]
        return max((certain_log(found) for found in claims), default=-1.0)

    kept = sorted(drawn, key=size, reverse=True)[:_MOST_MEASURES]
    return [measure for measure in drawn if measure in kept]


def _name(summary: Summary, measure: Measure) -> str:
    first, data = measure.first, summary.manifest.data
    machine = f" on {machine_name(first.machine)}" if len(data["machines"]) > 1 else ""
    return f"{first.workload}: {first.title}{machine}"


def _points(measure: Measure, others: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for label in others:
        for row in measure.rows:
            against = row.against.get(label)
            if against is None or not math.isfinite(against.change.pct):
                continue
            sign = 1 if row.better == "higher" else -1
            gain, *ends = (
                math.exp(sign * math.log1p(max(pct, -99.9) / 100))
                for pct in (against.change.pct, against.whole.interval.low, against.whole.interval.high)
            )
            low, high = sorted(ends) if all(map(math.isfinite, ends)) else (gain, gain)
            claimed = against.verdict in (BETTER, WORSE)
            found.append(
                {
                    "measure": measure,
                    "scheduler": label,
                    "gain": gain,
                    "low": low,
                    "high": high,
                    "claimed": claimed,
                }
            )
    return found


def _spec(summary: Summary, points: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
    labels, others = summary.manifest.labels, summary.manifest.labels[1:]
    band = _NAME + _LINE * len(others)
    for point in points:
        at = names.index(point["measure"]) * band + _NAME
        point["y"] = at + _LINE * others.index(point["scheduler"]) + _LINE / 2
    furthest = max(max(point["high"], 1 / point["low"]) for point in points) * 1.04
    ticks = _ticks(furthest)
    x: dict[str, Any] = {
        "type": "quantitative",
        "scale": {"type": "log", "domain": [1 / furthest, furthest], "nice": False},
        "axis": {
            "title": None,
            "grid": False,
            "values": [1 / tick for tick in ticks] + [1.0, *ticks],
            "labelExpr": _ticks_said(ticks),
            "labelOverlap": "greedy",
        },
    }
    y = {
        "field": "y",
        "type": "quantitative",
        "scale": {"domain": [len(names) * band + 2, 0], "nice": False},
        "axis": None,
    }
    colour = {
        "field": "scheduler",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": labels, "range": [palette.colour(i) for i in range(len(labels))]},
    }
    shape = colour | {"scale": {"domain": labels, "range": [palette.shape(i) for i in range(len(labels))]}}
    said = [{"y": index * band + _NAME / 2 + 1, "text": name} for index, name in enumerate(names)]
    soft, line = palette.SOFT[0], palette.LINE[0]
    return {
        "width": _WIDTH,
        "height": len(names) * band + 2,
        "layer": [
            {
                "data": {"values": [{"at": 1.0}]},
                "mark": {"type": "rule", "stroke": line, "strokeWidth": 2},
                "encoding": {"x": x | {"field": "at"}},
            },
            {
                "data": {"values": points},
                "mark": {"type": "rule", "strokeWidth": 2, "strokeCap": "round", "opacity": 0.55},
                "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}, "y": y, "color": colour},
            },
            {
                "data": {"values": [p for p in points if p["claimed"]]},
                "mark": {"type": "point", "filled": True, "size": 46, "opacity": 1},
                "encoding": {"x": x | {"field": "gain"}, "y": y, "color": colour, "shape": shape},
            },
            {
                "data": {"values": [p for p in points if not p["claimed"]]},
                "mark": {"type": "point", "filled": False, "size": 34, "strokeWidth": 1.4, "opacity": 1},
                "encoding": {"x": x | {"field": "gain"}, "y": y, "color": colour, "shape": shape},
            },
            {
                "data": {"values": said},
                "mark": {"type": "text", "align": "left", "baseline": "middle", "fontSize": 12, "limit": _WIDTH},
                "encoding": {"x": {"value": 0}, "y": y, "text": {"field": "text"}},
            },
            {
                "data": {"values": [{"x": 0, "text": "← worse"}]},
                "mark": {"type": "text", "align": "left", "baseline": "top", "fontSize": 12, "color": soft, "dy": 27},
                "encoding": {"x": {"value": 0}, "y": {"value": len(names) * band + 2}, "text": {"field": "text"}},
            },
            {
                "data": {"values": [{"x": 0, "text": "better →"}]},
                "mark": {"type": "text", "align": "right", "baseline": "top", "fontSize": 12, "color": soft, "dy": 27},
                "encoding": {"x": {"value": _WIDTH}, "y": {"value": len(names) * band + 2}, "text": {"field": "text"}},
            },
        ],
    }


def _ticks(furthest: float) -> list[float]:
    """At most three a side, as evenly as round numbers allow."""
    inside = [tick for tick in _TICKS if tick <= furthest]
    if len(inside) <= 3:
        return inside
    chosen: list[float] = []
    for share in (1 / 3, 2 / 3, 1):
        goal = math.log(furthest) * share
        near = min(inside, key=lambda tick: abs(math.log(tick) - goal))
        if near not in chosen:
            chosen.append(near)
    return chosen


def _ticks_said(ticks: list[float]) -> str:
    """1.5× on both sides; at the middle the reference itself."""
    small = "format(max(datum.value, 1 / datum.value), '.2~f')"
    large = "format(round(max(datum.value, 1 / datum.value)), ',')"
    return f"datum.value == 1 ? 'same' : (max(datum.value, 1 / datum.value) < 9 ? {small} : {large}) + '×'"
