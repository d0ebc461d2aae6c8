# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict, before anything else: every headline of every workload, all loads in one line."""

from schedlab.format.numbers import interval, number, percent
from schedlab.report import tables
from schedlab.report.html import Markup, element, join, table
from schedlab.statistics import overview, verdict
from schedlab.statistics.overview import MIXED, Line
from schedlab.statistics.summary import Summary
from schedlab.terminal.legend import repetitions
from schedlab.terminal.table import machine_name


def sentences(summary: Summary) -> Markup:
    found = []
    every = overview.lines(summary)
    for label in summary.manifest.labels[1:]:
        seen = [line.word(label) for line in every]
        parts = [
            f"{phrase} in {seen.count(word)}"
            for word, phrase in (
                (verdict.BETTER, "better"),
                (verdict.WORSE, "worse"),
                (MIXED, "better at some loads and worse at others"),
                (verdict.MORE, "more"),
                (verdict.LESS, "less"),
                (verdict.SAME, "no difference found"),
                (verdict.OPEN, "open"),
                (verdict.NOISE, "within what the default differs from itself"),
                (verdict.UNKNOWN, "too few repetitions to say"),
            )
            if word in seen
        ]
        found.append(
            element(
                "li",
                element("b", label),
                f" against {summary.reference}: ",
                ", ".join(parts),
                f" of {len(every)} measures.",
            )
        )
    return element("ul", *found, class_="verdict") if found else Markup("")


def glance(summary: Summary) -> Markup:
    others = summary.manifest.labels[1:]
    if not others:
        return Markup("")
    rows: list[list[object]] = []
    for line in overview.lines(summary):
        first = line.first
        link = element("a", first.workload, href=f"#{first.workload}")
        name = join(
            [
                link,
                f" on {machine_name(first.machine)}",
                Markup("<br>"),
                element("small", f"{first.title}, n = {repetitions(line.rows)}"),
            ]
        )
        rows.append([name, *[_cell(line, label) for label in others]])
    return table(["", *[f"{label} against {summary.reference}" for label in others]], rows, class_="glance stacked")


def _cell(line: Line, label: str) -> Markup:
    ends = line.extremes(label)
    if ends is None:
        return element("td", "–")
    word = line.word(label)
    agreeing = line.agreeing(label)
    where = f" at {agreeing} of {len(line.rows)} loads" if 0 < agreeing < len(line.rows) else ""
    changes = [row.changes[label] for row in (ends[:1] if ends[0] is ends[1] else ends)]
    spans = [
        element("span", percent(c.pct), interval(c.interval.low, c.interval.high), class_="whole") for c in changes
    ]
    text = element("b", verdict.WORDS[word].long if word in verdict.WORDS else "better and worse")
    span: object = join(spans, " to ")
    if word == verdict.SAME:
        span = f"smaller than {number(line.smaller_than_pct(label), 1)} %"
    return element("td", text, where, Markup("<br>"), element("small", span), class_=tables.style(word))
