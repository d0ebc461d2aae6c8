# SPDX-License-Identifier: GPL-2.0-or-later
"""Values and changes as text, for all tables of the page."""

import math

from schedlab.format.numbers import decimals, interval, number, p_value, percent, spread
from schedlab.report.html import Markup, element
from schedlab.statistics import verdict
from schedlab.statistics.change import Change
from schedlab.statistics.comparison import Comparison
from schedlab.statistics.omnibus import Omnibus
from schedlab.statistics.row import Row
from schedlab.statistics.value import Value

_CLASS = {"good": "better", "bad": "worse"}


def style(word: str) -> str | None:
    return _CLASS.get(verdict.WORDS[word].tone) if word in verdict.WORDS else None


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
    long = verdict.WORDS[word].long
    if word == verdict.SAME:
        line: list[object] = [f"{long}, smaller than {number(against.smaller_than_pct, 1)} %"]
    else:
        change = element("b", percent(against.change.pct))
        line = [element("span", change, _range(against.change), class_="whole"), f" {long}"]
        if word != verdict.UNKNOWN and math.isfinite(against.p_adjusted):
            line.append(f", {p_value(against.p_adjusted)}")
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
