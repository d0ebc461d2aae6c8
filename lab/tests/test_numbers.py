# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers as people read them."""

import math

import pytest

from schedlab.format.numbers import interval, number, p_value, percent, scale, spread


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0 %"),
        (-0.04, "0.0 %"),
        (0.06, "+0.1 %"),
        (-3.21, "−3.2 %"),
        (99.94, "+99.9 %"),
        (99.96, "+100 %"),
        (320.4, "+320 %"),
        (1100.0, "×12.0"),
        (math.nan, "–"),
    ],
)
def test_changes(value: float, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.23456, "1.23"), (12.3456, "12.3"), (123.456, "123"), (12345.6, "12,346"), (0.00123, "0.00123"), (0, "0")],
)
def test_three_significant_digits(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("unit", "values", "expected"),
    [
        ("µs", [3.0, 5.0, 900.0], (1.0, "µs")),
        ("µs", [9_000.0, 11_000.0, 20_000.0], (1e-3, "ms")),
        ("µs", [4e6], (1e-6, "s")),
        ("s", [0.085, 0.1], (1e3, "ms")),
        ("s", [2.0], (1.0, "s")),
        ("s", [0.0], (1.0, "s")),
        ("J", [0.004, 0.2], (1e3, "mJ")),
        ("J", [12.0, 300.0], (1.0, "J")),
        ("J", [65_532.0], (1e-3, "kJ")),
        ("1/s", [61_000.0], (1e-3, "1000/s")),
        ("", [5.0], (1.0, "")),
    ],
)
def test_units_leave_readable_numbers(unit: str, values: list[float], expected: tuple) -> None:
    assert scale(unit, values) == expected


def test_nothing_is_said_where_nothing_varies() -> None:
    assert spread(0.04, 1) == ""
    assert spread(0.06, 1) == " ±0.1"
    assert spread(math.nan, 1) == ""
    assert interval(math.nan, math.nan) == ""


def test_an_interval_is_shown_even_where_it_is_narrow() -> None:
    assert interval(4.01, 4.02) == " [+4.0, +4.0]"
    assert interval(-1.0, 4.02) == " [−1.0, +4.0]"


@pytest.mark.parametrize(
    ("p", "text"), [(0.0, "p<0.001"), (0.0011, "p=0.001"), (0.0496, "p=0.050"), (0.1, "p=0.10"), (math.nan, "no p")]
)
def test_p(p: float, text: str) -> None:
    assert p_value(p) == text
