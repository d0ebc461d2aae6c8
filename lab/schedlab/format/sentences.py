# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said in words about a result, for the terminal and the page alike."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.format.numbers import interval, number, p_value, percent
from schedlab.statistics.comparison import Comparison
from schedlab.statistics.design import MOST_RUNS
from schedlab.statistics.estimates import Change
from schedlab.statistics.rows import Row
from schedlab.statistics.summary import Summary
from schedlab.statistics.verdict import ALPHA, BETTER, LESS, MODEL, MORE, NOISE, SAME, UNCLEAR, UNKNOWN, WORSE


@dataclass(frozen=True)
class Words:
    short: str  # beside a number
    long: str  # as a sentence of its own
    tone: str  # good, bad or neither


WORDS = {
    BETTER: Words("better", "better", "good"),
    WORSE: Words("worse", "worse", "bad"),
    MORE: Words("more", "more", ""),
    LESS: Words("less", "less", ""),
    SAME: Words("same", "same", ""),
    UNCLEAR: Words("unclear", "unclear", ""),
    NOISE: Words("within noise", "within what the default differs from itself", ""),
    MODEL: Words("within the model's error", "within the model's error", ""),
    UNKNOWN: Words("", "too few repetitions", ""),
}


def machine_name(name: str) -> str:
    if name == "host":
        return "this machine"
    if cpus := re.fullmatch(r"(\d+)-cpus", name):
        return f"hosts with {cpus[1]} CPU{'s' if cpus[1] != '1' else ''}"
    if re.fullmatch(r"\d+x\d+x\d+", name):
        return f"a guest with CPUs {name}"
    return f"a guest with {name} CPU{'s' if name != '1' else ''}" if name.isdigit() else name


def enumerated(names: Sequence[str]) -> str:
    """One, two and three; at least one."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def same_within(pct: float) -> str:
    """How far apart two can still be that are the same."""
    return f"same within {number(pct, 1)} %"


def runs_needed(found: Comparison) -> str:
    """What it takes to see a difference of one per cent, beside an unclear one; empty where there are runs enough."""
    if math.isnan(found.runs_for_1_pct) or not found.more_runs:
        return ""
    return f"{number(found.more_runs, 0)} more runs" if math.isfinite(found.more_runs) else f"> {MOST_RUNS:,} runs"


def model_error(found: Comparison) -> str:
    """±5 % model: what the simulator may be off by, beside an interval over seeds; empty where it is not known."""
    return f" ±{number(found.model_pct, 1)} % model" if found.model_pct > 0 else ""


def repetitions(rows: list[Row]) -> str:
    """10, or 8 to 10: of every value and change in these rows."""
    counts = {value.n for row in rows for value in row.values.values()}
    counts |= {c.change.n for row in rows for c in row.against.values() if c.change.n}
    if not counts:
        return "0"
    return str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


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
