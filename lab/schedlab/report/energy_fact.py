# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of the counters behind `energy_j`, in one line; where there are none, why."""

from collections.abc import Iterable

from schedlab.collect.records import Record
from schedlab.format.numbers import number


def energy(found: Iterable[Record]) -> str:
    """Empty where nobody looked for counters, as in the simulator."""
    origins = [record.provenance for record in found if "energy" in record.provenance]
    measured = [origin for origin in origins if "energy_step_uj" in origin]
    lines = sorted({origin["energy"] for origin in origins})
    if measured:
        step_mj = min(origin["energy_step_uj"] for origin in measured) / 1e3
        idle_w = [origin["energy_idle_mw"] / 1e3 for origin in measured if "energy_idle_mw" in origin]
        range_w = [origin["energy_idle_range_mw"] / 1e3 for origin in measured if "energy_idle_range_mw" in origin]
        lines.append(f"smallest step seen {number(step_mj, 3)} mJ")
        if idle_w:
            span = " to ".join(dict.fromkeys(number(watts, 1) for watts in (min(idle_w), max(idle_w))))
            lines.append(f"without work {span} W, single measurements within {number(max(range_w, default=0), 1)} W")
    return "; ".join(lines)
