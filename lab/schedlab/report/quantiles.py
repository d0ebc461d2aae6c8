# SPDX-License-Identifier: GPL-2.0-or-later
"""Quantile tables of the repetitions' own values, by the (n+1)p rule."""

from schedlab.format.numbers import decimals, number, scale
from schedlab.metrics import metric
from schedlab.report.html import Markup, join, table
from schedlab.statistics.quantiles import SHARES
from schedlab.statistics.row import Row
from schedlab.statistics.summary import Summary


def tables(summary: Summary, rows: list[Row]) -> Markup:
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
