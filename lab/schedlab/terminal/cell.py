# SPDX-License-Identifier: GPL-2.0-or-later
"""One result as text: a value, a change, and the word that says without colour what it means."""

import math

from rich.text import Text

from schedlab.format.numbers import decimals, interval, number, p_value, percent, spread
from schedlab.statistics import verdict
from schedlab.statistics.change import Change
from schedlab.statistics.comparison import Comparison
from schedlab.statistics.row import Row
from schedlab.statistics.value import Value

_STYLE = {"good": "green", "bad": "red"}


def heading(row: Row, unit: str) -> str:
    """wake-up latency, p99 (ms), lower is better"""
    words = row.title + (f" ({unit})" if unit else "")
    return words + (f", {row.better} is better" if row.better else "")


def value(found: Value | None, factor: float) -> Text:
    if found is None or not math.isfinite(found.value):
        return Text("–")
    places = decimals(found.value * factor)
    text = Text(number(found.value * factor, places))
    return text.append(spread(found.half_width * factor, places), style="dim")


def comparison(found: Comparison | None) -> Text:
    """Effect, interval, p, word; empty for the reference."""
    if found is None or not math.isfinite(found.change.pct):
        return Text()
    word = found.verdict
    words = verdict.WORDS[word]
    if word == verdict.SAME:
        return Text(f"{words.short}, < {number(found.smaller_than_pct, 1)} %", style="dim")
    style = _STYLE.get(words.tone, "")
    text = Text(percent(found.change.pct), style=style)
    text.append(interval(found.change.interval.low, found.change.interval.high), style="dim")
    if word != verdict.UNKNOWN and math.isfinite(found.p_adjusted):
        text.append(f" {p_value(found.p_adjusted)}", style="dim")
    if words.short:
        text.append(f" {words.short}", style=style or "dim")
    return text


def control(found: Change) -> Text:
    if not math.isfinite(found.pct):
        return Text("–")
    return Text(percent(found.pct) + interval(found.interval.low, found.interval.high), style="dim")
