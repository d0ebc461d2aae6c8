# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands under the tables: how to read them, how sure they are, what is missing."""

import math

from rich.console import Console
from rich.text import Text

from schedlab.format.numbers import number
from schedlab.format.sentences import certainty, repetitions, where
from schedlab.statistics import design
from schedlab.statistics.bootstrap import CONSTANT
from schedlab.statistics.design import MOST_RUNS
from schedlab.statistics.summary import Summary
from schedlab.statistics.verdict import ALPHA, CLAIMS, FEWEST, MODEL, NOISE, SAME, UNCLEAR

_ONE_REPETITION = {design.SEEDS: "seed", design.BLOCKS: "block", design.HOSTS: "block"}


def show(summary: Summary, console: Console) -> None:
    for line in lines(summary):
        console.print(Text(line))


def lines(summary: Summary) -> list[str]:
    found = []
    if summary.headlines():
        found += _legend(summary)
        found += _advice(summary)
    found += certainty(summary)
    counts = summary.counts
    kinds = ", ".join(
        f"{counts[kind]} {kind}" for kind in ("ok", "ejected", "failed", "void", "missing") if counts[kind]
    )
    found.append(f"{counts['planned']} cells: {kinds or 'none'}")
    return found


def _legend(summary: Summary) -> list[str]:
    rows = summary.headlines()
    n = repetitions(rows)
    what = _ONE_REPETITION[summary.design] + ("" if n == "1" else "s")
    # In the simulator order means nothing; on a real kernel it is shuffled within a block.
    what += ", paired" if summary.design == design.SEEDS else " in random order, paired"
    if summary.manifest.data["repetitions"] < FEWEST:
        return [f"n = {n} {what}: too few for a claim, {FEWEST} are needed (-n {FEWEST})"]
    against = f"; changes are against {summary.reference}" if len(summary.manifest.labels) > 1 else ""
    text = [f"n = {n} {what}; ± and [ ] are 95 % intervals{against}."]
    if CONSTANT in [v.interval.method for row in rows for v in row.values.values()]:
        text.append("Values without ± came out the same every time, to the digits shown.")
    words = {c.verdict for row in rows for c in row.against.values()}
    if summary.tested and words & (CLAIMS | {UNCLEAR, NOISE}):
        methods = sorted({c.method for row in rows for c in row.against.values() if not math.isnan(c.p)})
        text.append(f"p: {', '.join(methods)}; Holm's adjustment over all {summary.tested} comparisons.")
    if any(math.isnan(c.p) and c.verdict in CLAIMS for row in rows for c in row.against.values()):
        text.append("Changes without p were the same in every repetition.")
    negligible = f"{number(summary.negligible_pct, 1)} %"
    if SAME in words:
        text.append(f"same: no difference above {negligible}; one as large as the figure is ruled out at 95 %.")
    if UNCLEAR in words:
        text.append(
            f"unclear: the interval reaches below {negligible}, or p over all comparisons is not below {ALPHA}; "
            "beside it the runs to add to see 1 %."
        )
    if any(c.model_pct > 0 for row in rows for c in row.against.values()):
        text.append("± % model: what the simulator may be off by, at 95 % (docs/agreement.md).")
    if MODEL in words:
        text.append(
            "within the model's error: clear over the seeds, but a real kernel may show nothing, or the opposite."
        )
    if NOISE in words:
        text.append("within noise: the default differs as much from itself.")
    return text


def _advice(summary: Summary) -> list[str]:
    """The measure that is least certain: what it would take to see one percent there."""
    undecided = [
        (c, row)
        for row in summary.headlines()
        for c in row.against.values()
        if c.verdict == UNCLEAR and not math.isnan(c.runs_for_1_pct) and c.more_runs
    ]
    if not undecided:
        return []
    c, row = max(undecided, key=lambda pair: pair[0].detectable_pct)
    more = f"{number(c.more_runs, 0)} more runs" if math.isfinite(c.more_runs) else f"more than {MOST_RUNS:,} runs"
    return [
        f"Least certain: {where(row)}, {c.label}: these runs find a change of {number(c.detectable_pct, 1)} % four "
        f"times in five; to see 1 % there you need {more}."
    ]
