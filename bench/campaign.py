# SPDX-License-Identifier: GPL-2.0-or-later
"""What `schedlab run` costs beside its cells: from its start to its end, report and tables included."""

import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from figures import Figure, NotMeasured, at_least, at_most

from schedlab.collect.records import Record

FILE = Path(__file__).with_name("campaign.toml")
CELLS = 10_000


def figures(run: Callable[[str], Path], read: Callable[[Path], Sequence[Record]]) -> Iterator[Figure]:
    """`run` carries out a campaign file and returns the folder of its results, `read` the records there.

    A cell's time is its own record's. What others use of the CPUs meanwhile lengthens cells and all else alike, but
    not what only one CPU has work for; the CPU time of all our processes, in the last column, knows nothing of them.
    """
    before, start = _cpu_s(), time.monotonic()
    folder = run(str(FILE))
    wall_s, cpu_s = time.monotonic() - start, _cpu_s() - before
    found = read(folder)
    if len(found) != CELLS:
        raise NotMeasured(f"{FILE}: {len(found)} cells instead of {CELLS:,}")
    there_s = wall_s * len(os.sched_getaffinity(0))
    cells_s = sum(record.cost["wall_s"] for record in found)
    yield at_least("10,000 cells, share of all CPUs in cells", 100 * cells_s / there_s, "%", 95)
    overhead_ms = 1e3 * (there_s - cells_s) / CELLS
    yield at_most("10,000 cells, all else per cell", overhead_ms, "ms", 1, f"CPU time in all {1e3 * cpu_s / CELLS:.2f}")


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
