# SPDX-License-Identifier: GPL-2.0-or-later
"""A history as CSV, one row a step, and as plain data."""

from typing import Any

from schedlab.bisection.series import Series
from schedlab.catalogue.metrics import metric
from schedlab.export.results import csv_lines

_COLUMNS = ["name", "title", "value", "level", "changed_pct", "why"]


def as_csv(found: Series) -> str:
    return ",".join(_COLUMNS) + "\n" + csv_lines(_COLUMNS, _steps(found))


def as_json(found: Series) -> dict[str, Any]:
    name, statistic = found.asked.measure
    return {
        "format": 1,
        "command": found.command,
        "place": found.asked.place,
        "metric": name,
        "statistic": statistic,
        "unit": metric(name).unit,
        "smallest_pct": found.smallest_pct,
        "steps": _steps(found),
        "changes": [{"at": c.at.name, "pct": c.pct, "worse": c.worse} for c in found.changes],
    }


def _steps(found: Series) -> list[dict[str, Any]]:
    levels = {at: one.level for one in found.levels for at in range(one.start, one.end)}
    changed = {change.at.name: change.pct for change in found.changes}
    places = {point.name: at for at, point in enumerate(found.measured)}
    rows = []
    for point in found.points:
        row: dict[str, Any] = {"name": point.name, "title": point.title}
        if point.value is None:
            row["why"] = point.why
        else:
            row |= {"value": point.value} | ({"level": levels[places[point.name]]} if levels else {})
        if point.name in changed:
            row["changed_pct"] = changed[point.name]
        rows.append(row)
    return rows
