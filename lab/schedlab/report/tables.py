# SPDX-License-Identifier: GPL-2.0-or-later
"""Values and changes as text, for all tables of the page."""

import math
from itertools import groupby

from schedlab.catalogue.metrics import metric, sort_key
from schedlab.format.numbers import decimals, interval, number, p_value, percent, scale, spread
from schedlab.format.sentences import WORDS, model_error, repetitions, runs_needed, same_within
from schedlab.report.html import Markup, element, join, table
from schedlab.statistics import verdict
from schedlab.statistics.comparison import Comparison
from schedlab.statistics.estimates import Change, Value
from schedlab.statistics.oneway import Omnibus
from schedlab.statistics.rows import Row

_CLASS = {"good": "better", "bad": "worse"}


def style(word: str) -> str | None:
    return _CLASS.get(WORDS[word].tone) if word in WORDS else None


def value(found: Value | None, factor: float) -> Markup:
    """In the unit of the table for people; in the metric's own, with all digits, for programs."""
    if found is None or not math.isfinite(found.value):
        return Markup("–")
    places = decimals(found.value * factor)
    exact = element("data", number(found.value * factor, places), value=repr(found.value))
    return Markup(exact + element("small", spread(found.half_width * factor, places)))


def cell(found: Value | None, against: Comparison | None, factor: float) -> Markup:
    """A table cell: the value, and below it the change against the reference: effect, interval, word, p."""
    if against is None or not math.isfinite(against.change.pct):
        return element("td", value(found, factor))
    word = against.verdict
    long = WORDS[word].long
    if word == verdict.SAME:
        line: list[object] = [same_within(against.smaller_than_pct)]
    else:
        change = element("b", percent(against.change.pct))
        line = [element("span", change, _range(against.change), model_error(against), class_="whole"), f" {long}"]
        if word != verdict.UNKNOWN and math.isfinite(against.p_adjusted):
            line.append(f", {p_value(against.p_adjusted)}")
        if word == verdict.UNCLEAR and (runs := runs_needed(against)):
            line.append(f", {runs}")
    return element("td", value(found, factor), Markup("<br>"), element("small", *line), class_=style(word))


def control(change: Change | None) -> Markup:
    """The A/A control: a change where there is none."""
    if change is None or not math.isfinite(change.pct):
        return Markup("–")
    return element("small", percent(change.pct) + _range(change))


def _range(change: Change) -> str:
    return interval(change.interval.low, change.interval.high)


def method(rows: list[Row]) -> str:
    """What p comes from, in rows of one measure."""
    names = sorted({c.method for row in rows for c in row.against.values() if not math.isnan(c.p)})
    return ", ".join(names)


def together(found: Omnibus | None) -> Markup:
    """All schedulers at once."""
    if found is None or math.isnan(found.p):
        return Markup("–")
    df = f"{number(found.df_between, 0)}, {number(found.df_within, 0 if found.df_within.is_integer() else 1)}"
    text = f"ω² = {number(found.omega_squared, 2)}, F({df}) = {number(found.f)}, {p_value(found.p)}"
    return element("small", text, Markup("<br>"), f"{found.method}: {found.why}")


def by_measure(rows: list[Row]) -> list[list[Row]]:
    def key(row: Row) -> tuple:
        return (sort_key(row.metric), row.statistic)

    return [list(part) for _, part in groupby(sorted(rows, key=key), key=key)]


def caption(rows: list[Row]) -> Markup:
    better = metric(rows[0].metric).better
    return join([element("b", rows[0].title), f", {better} is better" if better else ""])


def numbers(rows: list[Row], labels: list[str], load_name: str, where: str = "") -> Markup:
    factor, unit = scale(metric(rows[0].metric).unit, [v.value for row in rows for v in row.values.values()])
    header: list[object] = [load_name, *labels]
    body: list[list[object]] = [
        [str(row.load), *[cell(row.values.get(x), row.against.get(x), factor) for x in labels]] for row in rows
    ]
    if any(row.control for row in rows):
        header.append("default against itself")
        for line, row in zip(body, rows, strict=True):
            line.append(control(row.control))
    if len(labels) > 2 and any(row.omnibus for row in rows):
        header.append("all together")
        for line, row in zip(body, rows, strict=True):
            line.append(together(row.omnibus))
    title = rows[0].title + (f" ({unit})" if unit else "") + f"{where}, n = {repetitions(rows)}"
    tested = method(rows)
    title += f"; p: {tested}, Holm" if tested else ""
    return table(header, body, title, class_="numbers", data_measure=f"{rows[0].metric} {rows[0].statistic}")
