# SPDX-License-Identifier: GPL-2.0-or-later
"""The doctor's words, for people and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from schedlab.distribution import Distribution
from schedlab.doctor.requirement import PLACES, Check

TITLES = {
    "build": "build and run",
    "sim": "simulator",
    "vm": "real kernel in a virtual machine",
    "host": "this machine's own kernel",
    "applications": "real applications, on a real kernel",
}

# What the simulator uses of what the checkout is built with.
SIM_USES = ("clang", "python")


def places(checks: Sequence[Check]) -> dict[str, bool]:
    """Where schedlab works on this machine now."""
    failed = {place: [c for c in checks if c.place == place and not (c.ok or c.optional)] for place in PLACES}
    runs = not any(check.name in SIM_USES for check in failed["build"])
    return {place: runs and not failed[place] for place in ("sim", "vm", "host")}


def text(distribution: Distribution, checks: Sequence[Check]) -> str:
    width = max(len(check.name) for check in checks)
    lines = [distribution.title]
    for place in PLACES:
        lines.append(f"\n{TITLES[place]}")
        for check in checks:
            if check.place == place:
                mend = f"; mend: {check.mend}" if check.mend else ""
                lines.append(f"  {'ok' if check.ok else 'missing':8} {check.name:{width}}  {check.detail}{mend}")
    works = (f"{place}: {'yes' if fine else 'no'}" for place, fine in places(checks).items())
    return "\n".join([*lines, "\nworks here  " + "   ".join(works)])


def as_json(distribution: Distribution, checks: Sequence[Check]) -> str:
    said = {
        "distribution": distribution.name,
        "title": distribution.title,
        "places": places(checks),
        "checks": [asdict(check) for check in checks],
    }
    return json.dumps(said, indent=2, ensure_ascii=False)
