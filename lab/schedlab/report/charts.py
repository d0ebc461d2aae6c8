# SPDX-License-Identifier: GPL-2.0-or-later
"""Metric against load: an interval and a point per scheduler, with what a pointer asks for where JavaScript is on."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from schedlab.catalogue.metrics import metric
from schedlab.format.numbers import decimals, number, percent, scale
from schedlab.report import palette
from schedlab.report.figure import drawing, figure
from schedlab.report.html import Markup
from schedlab.statistics.rows import Row

# Loads or values that span more than this are shown on a logarithmic axis.
_WIDE_LOADS = 8
_MANY_LOADS = 12
_MANY_PRINTED = 24
_WIDE_VALUES = 30
_DODGE = 0.012
_ROW_HEIGHT = 34


def draw(
    caption: Markup,
    rows: list[Row],
    labels: list[str],
    load_name: str,
    printed: Mapping[tuple[str, int], float] | None = None,
) -> Markup:
    """`rows`: one metric and statistic on one machine, a row per load. `printed`: by label and load, as published."""
    factor, unit = scale(metric(rows[0].metric).unit, [v.value for row in rows for v in row.values.values()])

    def shown(value: float, places: int) -> str:
        return number(value, places)

    points = []
    for row, index, label in _each(rows, labels):
        value = row.values.get(label)
        if value and math.isfinite(value.value):
            ends = value.interval.low * factor, value.interval.high * factor
            points.append(_point(row, index, label, value.value * factor, *ends, value.n, shown))
    others = [
        {"scheduler": label, "index": labels.index(label), "load": load, "value": value * factor}
        for (label, load), value in (printed or {}).items()
    ]
    return _chart(caption, points, labels, load_name, unit, others)


def plain(points: list[dict[str, Any]], unit: str, labels: list[str], load_name: str) -> tuple[str, float, float]:
    """A chart by itself: SVG, width and height. The fields of a point: scheduler, index, load, value, low, high."""
    _set_aside(points, len(labels))
    return drawing(_against_load(points, labels, load_name, unit, False))


def draw_changes(caption: Markup, rows: list[Row], labels: list[str], load_name: str) -> Markup:
    """The change against the reference in percent, where the values themselves hide it."""

    def shown(value: float, places: int) -> str:
        return percent(value, "")

    points = []
    for row, index, label in _each(rows, labels):
        if label in row.changes and math.isfinite(row.changes[label].pct):
            change = row.changes[label]
            ends = change.interval.low, change.interval.high
            points.append(_point(row, index, label, change.pct, *ends, change.n, shown))
    return _chart(caption, points, labels, load_name, "%")


def _chart(
    caption: Markup,
    points: list[dict[str, Any]],
    labels: list[str],
    load_name: str,
    unit: str,
    others: list[dict[str, Any]] | None = None,
) -> Markup:
    if not points:
        return Markup("")
    for point in points:
        point["shown"] = f"{point['shown']} {unit}".rstrip()
    loads = {point["load"] for point in points}
    printed = [point for point in others or [] if point["load"] in loads]
    for point in printed:
        point["shown"] = f"{number(point['value'], decimals(point['value']))} {unit}".rstrip()
    _set_aside(points + printed, len(labels))
    draw_it = _against_load if len(loads) > 1 else _side_by_side
    return figure(caption, *(draw_it(points, labels, load_name, unit, live, printed) for live in (False, True)))


def _each(rows: list[Row], labels: list[str]) -> Iterator[tuple[Row, int, str]]:
    return ((row, index, label) for row in rows for index, label in enumerate(labels))


def _point(
    row: Row,
    index: int,
    label: str,
    value: float,
    low: float,
    high: float,
    n: int,
    shown: Callable[[float, int], str],
) -> dict[str, Any]:
    places = decimals(value)
    if not (math.isfinite(low) and math.isfinite(high)):
        low = high = value
    return {
        "scheduler": label,
        "index": index,
        "load": row.load,
        "value": value,
        "low": low,
        "high": high,
        "shown": shown(value, places),
        "interval": f"{shown(low, places)} to {shown(high, places)}",
        "n": n,
    }


def _set_aside(points: list[dict[str, Any]], count: int) -> None:
    """Points of schedulers with similar values would hide each other, so they are set side by side."""
    axis = _Axis([point["load"] for point in points])
    for point in points:
        beside = (point.pop("index") - (count - 1) / 2) * _DODGE
        point["x"] = axis.moved(point["load"], 0 if axis.many else beside)


class _Axis:
    """The loads: linear, or logarithmic where they span much."""

    def __init__(self, loads: list[int]) -> None:
        self.loads = sorted(set(loads))
        self.many = len(self.loads) > _MANY_LOADS
        self.logarithmic = self.loads[-1] >= _WIDE_LOADS * self.loads[0] and not self.many

    def moved(self, load: int, share: float) -> float:
        """A little aside, by a share of the axis."""
        first, last = self.loads[0], self.loads[-1]
        return load * (last / first) ** share if self.logarithmic else load + (last - first) * share

    def scale(self) -> dict[str, Any]:
        return (
            {"type": "log", "base": 2, "nice": False, "padding": 14}
            if self.logarithmic
            else {"zero": False, "nice": False, "padding": 14}
        )


def _against_load(
    points: list[dict[str, Any]],
    labels: list[str],
    load_name: str,
    unit: str,
    live: bool,
    printed: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    axis = _Axis([point["load"] for point in points])
    x = {
        "field": "x",
        "type": "quantitative",
        "title": load_name,
        "scale": axis.scale(),
        "axis": {"format": "d", "grid": False, "labelOverlap": "greedy"}
        | ({"tickCount": 8} if axis.many else {"values": axis.loads}),
    }
    y = {"field": "low", "type": "quantitative", **_values(points, unit, printed)}
    colour = _colours(labels)
    return {
        **_source(points, labels, live),
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.18},
                "encoding": {"x": x, "y": y, "y2": {"field": "high"}, "color": colour},
            },
            {
                "mark": {"type": "line", "strokeWidth": 1.8},
                "encoding": {"x": x, "y": y | {"field": "value"}, "color": colour},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 24 if axis.many else 52, "opacity": 1},
                "encoding": {"x": x, "y": y | {"field": "value"}, "color": colour, "shape": _shapes(labels)},
            },
            *_printed(printed, x, y, labels, live),
            *(_asked(x, y, load_name) if live else []),
        ],
    }


def _side_by_side(
    points: list[dict[str, Any]],
    labels: list[str],
    load_name: str,
    unit: str,
    live: bool,
    printed: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """One load: a point and its interval per scheduler."""
    y = {
        "field": "scheduler",
        "type": "nominal",
        "sort": labels,
        "title": None,
        "axis": {"labelLimit": 150, "domain": False, "ticks": False, "labelPadding": 8, "grid": False},
    }
    x = {"field": "low", "type": "quantitative", **_values(points, unit, printed)}
    colour = _colours(labels)
    return {
        "height": _ROW_HEIGHT * len(labels),
        **_source(points, labels, live),
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2.5, "strokeCap": "round"},
                "encoding": {"y": y, "x": x, "x2": {"field": "high"}, "color": colour},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
                "encoding": {"y": y, "x": x | {"field": "value"}, "color": colour, "shape": _shapes(labels)},
            },
            *_printed(printed, x, y, labels, live),
            *(_asked(x, y, load_name) if live else []),
        ],
    }


def _source(points: list[dict[str, Any]], labels: list[str], live: bool) -> dict[str, Any]:
    """The data; the page's legend sets `shown`."""
    source: dict[str, Any] = {"data": {"values": points}}
    if live:
        source["params"] = [{"name": "shown", "value": labels}]
        source["transform"] = [{"filter": "indexof(shown, datum.scheduler) >= 0"}]
    return source


def _asked(x: dict[str, Any], y: dict[str, Any], load_name: str) -> list[dict[str, Any]]:
    """An invisible point, larger than the visible one, that the pointer meets for its tooltip."""
    fields = {"scheduler": "scheduler", "load": load_name, "shown": "value", "interval": "95 % interval", "n": "n"}
    tooltip = [{"field": f, "title": t, "type": "nominal"} for f, t in fields.items()]
    mark = {"type": "point", "filled": True, "size": 400, "opacity": 0}
    return [{"mark": mark, "encoding": _at_value(x, y) | {"tooltip": tooltip}}]


def _printed(
    printed: Sequence[dict[str, Any]], x: dict[str, Any], y: dict[str, Any], labels: list[str], live: bool
) -> list[dict[str, Any]]:
    """Published values: hollow and larger points, so that ours are seen inside."""
    if not printed:
        return []
    layer: dict[str, Any] = {
        "data": {"values": list(printed)},
        "mark": {
            "type": "point",
            "filled": False,
            "size": 40 if len(printed) > _MANY_PRINTED else 110,
            "strokeWidth": 1.6,
            "opacity": 1,
        },
        "encoding": _at_value(x, y) | {"color": _colours(labels), "shape": _shapes(labels)},
    }
    if live:
        layer["transform"] = [{"filter": "indexof(shown, datum.scheduler) >= 0"}]
        titles = {"scheduler": "published under", "shown": "value"}
        layer["encoding"]["tooltip"] = [{"field": f, "title": t, "type": "nominal"} for f, t in titles.items()]
    return [layer]


def _at_value(x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    return {key: axis | {"field": "value"} if axis["field"] == "low" else axis for key, axis in (("x", x), ("y", y))}


def _values(points: list[dict[str, Any]], unit: str, printed: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Scale and axis of the measured values: from zero, or logarithmic where they span much."""
    beside = [point["value"] for point in printed]
    smallest = min([*beside, *(point["low"] for point in points)])
    largest = max([*beside, *(point["high"] for point in points)])
    # 20k for 20,000; smaller numbers are left as they are.
    label = "datum.value >= 10000 ? format(datum.value, '~s') : format(datum.value, '~r')"
    axis = {"title": unit or "count", "labelExpr": label, "tickCount": 5}
    if smallest <= 0 or largest / smallest <= _WIDE_VALUES:
        return {"scale": {"zero": True, "nice": True}, "axis": axis}
    first, last = math.floor(math.log10(smallest)), math.ceil(math.log10(largest))
    decades = [10.0**power for power in range(first, last + 1)]
    scale = {"type": "log", "domain": [decades[0], decades[-1]], "nice": False}
    return {"scale": scale, "axis": axis | {"values": decades}}


def _colours(labels: list[str]) -> dict[str, Any]:
    return {
        "field": "scheduler",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": labels, "range": [palette.colour(i) for i in range(len(labels))]},
    }


def _shapes(labels: list[str]) -> dict[str, Any]:
    encoding = _colours(labels)
    encoding["scale"] = {"domain": labels, "range": [palette.shape(i) for i in range(len(labels))]}
    return encoding
