# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands under the tables: how to read them, how sure they are, what is missing."""

import math

from rich.console import Console
from rich.text import Text

from schedlab.format.numbers import interval, number, p_value, percent
from schedlab.statistics import design
from schedlab.statistics.change import Change
from schedlab.statistics.interval import CONSTANT
from schedlab.statistics.power import MOST_RUNS
from schedlab.statistics.row import Row
from schedlab.statistics.summary import Summary
from schedlab.statistics.verdict import ALPHA, CLAIMS, FEWEST, NOISE, OPEN, SAME

_ONE_REPETITION = {design.SEEDS: "seed", design.BLOCKS: "block"}


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


def repetitions(rows: list[Row]) -> str:
    """10, or 8 to 10: of every value and change in these rows."""
    counts = {value.n for row in rows for value in row.values.values()}
    counts |= {c.change.n for row in rows for c in row.against.values() if c.change.n}
    if not counts:
        return "0"
    return str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


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
    if summary.tested and words & (CLAIMS | {OPEN, NOISE}):
        methods = sorted({c.method for row in rows for c in row.against.values() if not math.isnan(c.p)})
        text.append(f"p: {', '.join(methods)}; Holm's adjustment over all {summary.tested} comparisons.")
    if any(math.isnan(c.p) and c.verdict in CLAIMS for row in rows for c in row.against.values()):
        text.append("Changes without p were the same in every repetition.")
    if SAME in words:
        text.append("no difference: none found, and one as large as the figure is ruled out at 95 %.")
    if OPEN in words:
        text.append(f"open: the interval excludes zero, but p over all comparisons is not below {ALPHA}.")
    if NOISE in words:
        text.append("within noise: the default differs as much from itself.")
    return text


def _advice(summary: Summary) -> list[str]:
    """The measure that is least certain: what it would take to see one percent there."""
    undecided = [
        (c, row)
        for row in summary.headlines()
        for c in row.against.values()
        if c.verdict in (SAME, OPEN) and not math.isnan(c.runs_for_1_pct) and c.more_runs
    ]
    if not undecided:
        return []
    c, row = max(undecided, key=lambda pair: pair[0].detectable_pct)
    more = f"{number(c.more_runs, 0)} more runs" if math.isfinite(c.more_runs) else f"more than {MOST_RUNS:,} runs"
    return [
        f"Least certain: {where(row)}, {c.label}: these runs find a change of {number(c.detectable_pct, 1)} % four "
        f"times in five; to see 1 % there you need {more}."
    ]


def where(row: Row) -> str:
    """wake-up latency, p99, of pipe at load 8 on desktop-4"""
    return f"{row.title}, of {row.workload} at load {row.load} on {row.machine}"


def certainty(summary: Summary) -> list[str]:
    """What the machine itself did: the A/A control and its drift."""
    found = []
    if summary.noise:
        worst = summary.noise.worst
        found.append(
            f"A/A control: the default differed from itself by {number(summary.noise.median_pct, 1)} % "
            f"(median over {summary.noise.rows} rows), {percent(worst.pct)}{interval(*_ends(worst))} at most, "
            f"n = {worst.n}. No claim is made below that of its own measure."
        )
    if summary.ends:
        ends = summary.ends
        found.append(
            f"Drift from the first to the last default of a block: {percent(ends.pct)}{interval(*_ends(ends))}, "
            f"n = {ends.n}; {percent(max(summary.drifts_pct, key=abs))} at most."
        )
    drifts = [(row.drift, row) for row in summary.headlines() if row.drift and not math.isnan(row.drift.p)]
    if drifts:
        worst_drift, row = min(drifts, key=lambda pair: pair[0].p)
        p = min(1.0, worst_drift.p * len(drifts))
        found.append(
            f"Drift over the blocks: {percent(worst_drift.change_pct)} in {where(row)} "
            f"({p_value(p)} over {len(drifts)} rows, n = {worst_drift.n})."
            if p < ALPHA
            else f"No drift over the blocks found ({p_value(p)} at least, over {len(drifts)} rows)."
        )
    return found


def _ends(change: Change) -> tuple[float, float]:
    return change.interval.low, change.interval.high
