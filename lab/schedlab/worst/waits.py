# SPDX-License-Identifier: GPL-2.0-or-later
"""Every wait of a cell's tasks in a trace: a kernel's records do not tell them, and the simulator's do."""

from collections import Counter
from collections.abc import Iterable, Sequence

from schedlab.collect.histogram import Histogram, ns_per_unit
from schedlab.statistics.agreement import Measure
from schedlab.statistics.samples import Distributions, of_all
from schedlab.trace.schedule import Schedule, Wanted, schedule
from schedlab.trace.simulated import Event

LONGEST, EVERY = "starvation_max_us", "waiting_us"
# What is measured by a trace on a real kernel.
TRACED = (LONGEST, EVERY)
_FOR_EVER = 1 << 62


def whole(events: Iterable[Event]) -> Schedule | None:
    """From when the tasks were let go until the trace's end."""
    return schedule(events, Wanted(0, _FOR_EVER, _FOR_EVER))


def number(found: Schedule, measure: Measure) -> float | None:
    """In microseconds; None where nobody waited."""
    waited = sorted(wait.end_ns - wait.start_ns for wait in found.waits)
    if not waited:
        return None
    name, statistic = measure
    return waited[-1] / 1e3 if name == LONGEST else of_all(_distribution(waited)).get(statistic)


def _distribution(waited: Sequence[int]) -> Distributions:
    counts = Counter(waited)
    made = Histogram.of(len(waited), waited[0], waited[-1], sum(waited), list(counts.items()))
    return Distributions([1], [made], ns_per_unit(EVERY))
