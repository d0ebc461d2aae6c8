# SPDX-License-Identifier: GPL-2.0-or-later
"""README's picture and table of results, from the committed groups.csv of a comparison.

python -m schedlab.report.readme [results/readme]    writes picture.svg there and the table into README.md
"""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab import atomic, checkout
from schedlab.catalogue.metrics import metric
from schedlab.format.numbers import decimals, number, scale
from schedlab.report import charts, markdown, palette
from schedlab.report.html import escape
from schedlab.report.palette import swatch


@dataclass(frozen=True)
class Shown:
    workload: str
    metric: str
    statistic: str
    load_name: str
    title: str


PANELS = [
    Shown("latt", "wakeup_latency_us", "p99", "clients", "latt: wake-up latency, p99"),
    Shown("pipe", "elapsed_s", "mean", "pairs", "pipe: elapsed time"),
]
TABLE = [
    (16, Shown("latt", "wakeup_latency_us", "p50", "clients", "latt, 16 clients: wake-up latency, p50")),
    (16, Shown("latt", "wakeup_latency_us", "p99", "clients", "latt, 16 clients: wake-up latency, p99")),
    (16, Shown("latt", "turnaround_us", "p50", "clients", "latt, 16 clients: turnaround, p50")),
    (16, Shown("latt", "turnaround_us", "p99", "clients", "latt, 16 clients: turnaround, p99")),
    (8, Shown("pipe", "elapsed_s", "mean", "pairs", "pipe, 8 pairs: elapsed time")),
    (8, Shown("pipe", "probe_latency_us", "p99", "pairs", "pipe, 8 pairs: starting a program beside them, p99")),
]
MARK = "results"
_GAP, _MARGIN, _HEAD = 30, 16, 58
# Behind the charts, so that they read well wherever they stand.
_PAPER = ("#ffffff", "#15181b")


def read(folder: Path) -> list[dict[str, str]]:
    with (folder / "groups.csv").open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def labels(rows: list[dict[str, str]]) -> list[str]:
    return list(dict.fromkeys(row["label"] for row in rows))


def _of(rows: list[dict[str, str]], shown: Shown) -> list[dict[str, str]]:
    wanted = shown.workload, shown.metric, shown.statistic
    return [row for row in rows if (row["workload"], row["metric"], row["statistic"]) == wanted]


def draw(rows: list[dict[str, str]]) -> str:
    """One SVG, light or dark as its reader's system is."""
    drawn, x, height = [], _MARGIN, 0.0
    for shown in PANELS:
        svg, wide, high = charts.plain(*_points(rows, shown), labels(rows), shown.load_name)
        drawn.append(f'<text class="title" x="{x}" y="{_HEAD - 30}">{escape(shown.title)}</text>')
        drawn.append(f'<g transform="translate({x} {_HEAD})">{svg}</g>')
        x, height = x + round(wide) + _GAP, max(height, high)
    wide, high = x - _GAP + _MARGIN, round(height) + _HEAD + 34
    drawn += _legend(labels(rows), high - 14)
    rules = palette.dark_rules().replace("svg ", "")
    style = (
        f".title {{ font-weight: 600; font-size: 15px; }} .title, .name {{ fill: {palette.INK[0]}; }}\n"
        f"@media (prefers-color-scheme: dark) {{\n.title, .name {{ fill: {palette.INK[1]}; }}\n"
        f".paper {{ fill: {_PAPER[1]}; }}\n{rules}\n}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        'font-family="system-ui, sans-serif" font-size="13">\n<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n'
        f"<style>{style}</style>\n"
        f'<rect class="paper" width="{wide}" height="{high}" rx="8" fill="{_PAPER[0]}"/>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


def _points(rows: list[dict[str, str]], shown: Shown) -> tuple[list[dict[str, Any]], str]:
    mine = _of(rows, shown)
    factor, unit = scale(metric(shown.metric).unit, [float(row["value"]) for row in mine])
    order = labels(rows)
    points = [
        {
            "scheduler": row["label"],
            "index": order.index(row["label"]),
            "load": int(row["load"]),
            **{key: float(row[key]) * factor for key in ("value", "low", "high")},
        }
        for row in mine
    ]
    return points, unit


def _legend(names: list[str], y: int) -> list[str]:
    parts, x = [], _MARGIN
    for index, name in enumerate(names):
        parts.append(f'<g transform="translate({x} {y - 10})">{swatch(index)}</g>')
        parts.append(f'<text class="name" x="{x + 18}" y="{y}">{escape(name)}</text>')
        x += 46 + 8 * len(name)
    return parts


def table(rows: list[dict[str, str]]) -> str:
    """In Markdown: a value with its 95 % interval for each scheduler."""
    order = labels(rows)
    lines = []
    for load, shown in TABLE:
        here = {row["label"]: row for row in _of(rows, shown) if int(row["load"]) == load}
        factor, unit = scale(metric(shown.metric).unit, [float(row["value"]) for row in here.values()])
        cells = [_cell(here[label], factor, unit) for label in order]
        counts = "–".join(sorted({row["n"] for row in here.values()}))
        lines.append([shown.title, *cells, counts])
    return markdown.table(["lower is better", *order, "n"], lines)


def _cell(row: dict[str, str], factor: float, unit: str) -> str:
    value, low, high = (float(row[key]) * factor for key in ("value", "low", "high"))
    places = decimals(value)
    texts = [number(each, places) for each in (value, low, high)]
    return f"{texts[0]} {unit}" + (f" [{texts[1]}, {texts[2]}]" if len(set(texts)) > 1 else "")


def main(folder: str = "results/readme") -> None:
    rows = read(Path(folder))
    page = checkout.root() / "README.md"
    atomic.write(Path(folder) / "picture.svg", draw(rows))
    atomic.write(page, markdown.put(page.read_text(encoding="utf-8"), MARK, table(rows)))


if __name__ == "__main__":
    main(*sys.argv[1:])
