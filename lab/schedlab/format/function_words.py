# SPDX-License-Identifier: GPL-2.0-or-later
"""What a table of functions says, for the page and the terminal alike."""

from schedlab.format.numbers import number

HEADING = "where the instructions went"


def amount(value: float) -> str:
    return number(value, 0 if value >= 1000 else 1)


def difference(value: float) -> str:
    text = amount(abs(value))
    return text if not text.strip("0.") else f"{'−' if value < 0 else '+'}{text}"


def share(value: float, total: float) -> str:
    return f"{number(100 * value / total, 1)} %" if total else "–"
