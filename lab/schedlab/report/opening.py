# SPDX-License-Identifier: GPL-2.0-or-later
"""How a page begins: in which world it ran, one sentence, how sure that is, one picture, and the exact command.

All of it is there without scrolling.
"""

from schedlab.format.finding import sentence
from schedlab.format.numbers import number
from schedlab.format.sentences import repetitions
from schedlab.report import gains_picture, world
from schedlab.report.html import Markup, element, join
from schedlab.report.palette import swatch
from schedlab.statistics import design
from schedlab.statistics.summary import Summary, measures
from schedlab.statistics.verdict import ALPHA


def section(summary: Summary) -> Markup:
    place = summary.manifest.data["place"]
    # What a race came to is its own sentence, of which the page shows the runs.
    chosen = summary.manifest.data.get("chosen")
    said = element("div", world.badge(place), element("p", chosen or sentence(summary), class_="finding"))
    picture = gains_picture.draw(summary)
    drawn = element("div", _legend(summary), picture, class_="picture") if picture else Markup("")
    more = element("div", element("p", _sure(summary, bool(chosen)), class_="note"), _command(summary))
    return element("section", said, drawn, more, class_="opening" if picture else "opening alone", id="finding")


def _sure(summary: Summary, raced: bool) -> str:
    every = measures(summary)
    if len(summary.manifest.labels) < 2 or not every:
        return ""
    runs = repetitions([row for measure in every for row in measure.rows])
    what = {design.SEEDS: "seeds", design.BLOCKS: "blocks", design.HOSTS: "blocks"}[summary.design]
    known = any(c.model_pct > 0 for measure in every for row in measure.rows for c in row.against.values())
    text = f"How sure: ranges are 95 % intervals over {runs} {what}"
    text += ", with what the simulator may be off by where that was measured" if known else ""
    text += (
        f"; a claim is beyond {number(summary.negligible_pct, 1)} % and allows for {summary.tested} comparisons "
        f"(p below {ALPHA}, Holm)."
        if summary.tested
        else f"; a claim is beyond {number(summary.negligible_pct, 1)} %."
    )
    if raced:
        text += (
            " The race was tested after every block, which the intervals below do not know of: they are those of a "
            "comparison whose number of runs was fixed beforehand."
        )
    return text


def _command(summary: Summary) -> Markup:
    command = element("code", summary.manifest.data["command"])
    link = element("a", "what it ran on", href="#provenance")
    return element("p", command, Markup("<br>"), "makes this page; ", link, ".", class_="command")


def _legend(summary: Summary) -> Markup:
    """Of those that the picture shows; it has no buttons, as the picture stays as it is."""
    entries = [
        element("span", Markup(f'<svg viewBox="0 0 12 12" aria-hidden="true">{swatch(at)}</svg>'), label)
        for at, label in enumerate(summary.manifest.labels)
        if at
    ]
    return element("p", join(entries), class_="legend")
