# SPDX-License-Identifier: GPL-2.0-or-later
"""When the recorded CPUs' ticks came, and when the simulator's come: at multiples of their period from the start.

The kernel's own timers run at ticks, and slices end there too. A task that a tick woke has to be woken just before a
tick of the simulator, or it preempts a task that nothing interrupted in the recording.
"""

from collections import Counter
from dataclasses import dataclass

from schedlab.capture.events import Waking
from schedlab.capture.trace_file import Trace

# A tick's timers wake tasks at most so long after it; the replay wakes them so long before the simulator's tick.
_LATE_NS = 100_000
_BEFORE_NS = 2_000
_BIN_NS = 10_000


@dataclass(frozen=True)
class Ticks:
    period_ns: int
    phase_ns: int  # of the first wake-up that a tick brings, in the trace's clock

    @staticmethod
    def of(trace: Trace) -> "Ticks | None":
        """None where the trace does not note HZ, or most wake-ups by interrupts do not follow a tick."""
        if not trace.notes.get("hz", "").isdigit():
            return None
        period_ns = 1_000_000_000 // int(trace.notes["hz"])
        bins = Counter(
            event.at_ns % period_ns // _BIN_NS
            for event in trace.events
            if isinstance(event, Waking) and event.interrupt
        )
        rows, width = period_ns // _BIN_NS, _LATE_NS // _BIN_NS
        held = {low: sum(bins[(low + step) % rows] for step in range(width)) for low in bins}
        if not held:
            return None
        low = max(sorted(held), key=lambda low: held[low])
        return Ticks(period_ns, low * _BIN_NS) if held[low] > bins.total() / 2 else None

    def moved(self, began_ns: int, at_ns: int) -> int:
        """A time of the recording as time since the start, where the first tick after `began_ns` is the start."""
        since_ns = at_ns - began_ns - (self.phase_ns - began_ns) % self.period_ns
        ticks, late_ns = divmod(since_ns, self.period_ns)
        if late_ns < _LATE_NS:
            return max(0, ticks * self.period_ns - _BEFORE_NS)
        return max(0, since_ns)
