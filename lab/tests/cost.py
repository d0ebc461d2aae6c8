# SPDX-License-Identifier: GPL-2.0-or-later
"""What a computation costs, for the tests that hold why something is computed here although SciPy has it."""

import time
from collections.abc import Callable


def seconds(work: Callable[[], object]) -> float:
    """Of CPU time, so that what else the machine does hardly matters; the best of a few."""
    work()
    taken = []
    for _ in range(5):
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    return min(taken)
