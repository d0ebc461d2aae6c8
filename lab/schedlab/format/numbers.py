# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers for people: a readable unit, and no more digits than were measured."""

import math

# Factor from the metric's own unit, in rising order of size.
_SCALES = {
    "µs": [(1.0, "µs"), (1e-3, "ms"), (1e-6, "s")],
    "s": [(1e6, "µs"), (1e3, "ms"), (1.0, "s")],
    "J": [(1e3, "mJ"), (1.0, "J"), (1e-3, "kJ")],
    "1/s": [(1.0, "1/s"), (1e-3, "1000/s"), (1e-6, "million/s")],
}


def scale(unit: str, values: list[float]) -> tuple[float, str]:
    """The factor and unit in which the middle value has one to four digits before the point."""
    choices = _SCALES.get(unit, [(1.0, unit)])
    positive = sorted(abs(v) for v in values if v and math.isfinite(v))
    if not positive:
        return choices[0] if unit != "s" else (1.0, "s")
    middle = positive[len(positive) // 2]
    chosen = choices[0]
    for factor, name in choices:
        if middle * factor >= 1 or name == choices[0][1]:
            chosen = (factor, name)
    return chosen


def decimals(value: float, digits: int = 3) -> int:
    """Digits after the point that leave `digits` significant ones."""
    if not value or not math.isfinite(value):
        return 0
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))


def number(value: float, places: int | None = None) -> str:
    if math.isnan(value):
        return "–"
    places = decimals(value) if places is None else places
    return f"{value:,.{min(places, 6)}f}".replace("-", "−")


def percent(value: float, unit: str = " %") -> str:
    """A change: sign always, one decimal below 100 %, a factor where a percentage would read badly."""
    if not math.isfinite(value):
        return "–"
    if value >= 900:
        return f"×{number(1 + value / 100)}"
    text = f"{value:+.1f}" if abs(value) < 99.95 else f"{value:+.0f}"
    if not text.strip("+-0."):
        text = "0.0"
    return text.replace("-", "−") + unit


def spread(half_width: float, places: int) -> str:
    """±0.3; nothing where it would read ±0.0."""
    text = number(half_width, places)
    return f" ±{text}" if math.isfinite(half_width) and text.strip("0.") else ""


def interval(low: float, high: float) -> str:
    """Both ends, after a space; nothing where there is no interval."""
    return f" [{percent(low, '')}, {percent(high, '')}]" if math.isfinite(low) and math.isfinite(high) else ""


def p_value(p: float) -> str:
    """p=0.012; smaller ones are not told apart."""
    if not math.isfinite(p):
        return "no p"
    return "p<0.001" if p < 0.001 else f"p={p:.3f}" if p < 0.1 else f"p={p:.2f}"
