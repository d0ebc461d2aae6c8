# SPDX-License-Identifier: GPL-2.0-or-later
"""What a place requires of this machine, whether it is there, and how that is told to people and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from schedlab.distribution import Distribution

# Where a requirement is needed. `build` is needed by the three places, `applications` by those workloads alone.
PLACES = ("build", "sim", "vm", "host", "applications")


TITLES = {
    "build": "build and run",
    "sim": "simulator",
    "vm": "real kernel in a virtual machine",
    "host": "this machine's own kernel",
    "applications": "real applications, on a real kernel",
}
# What the simulator uses of what the checkout is built with.
SIM_USES = ("clang", "python")


@dataclass(frozen=True)
class Requirement:
    """One line of the doctor: `mend` is the one command that mends a gap, empty where there is none or no gap.

    `optional` says that the place works without it, less well or in another way that `detail` names.
    """

    place: str
    name: str
    ok: bool
    detail: str
    mend: str = ""
    optional: bool = False


def places(requirements: Sequence[Requirement]) -> dict[str, bool]:
    """Where schedlab works on this machine now."""
    failed = {place: [c for c in requirements if c.place == place and not (c.ok or c.optional)] for place in PLACES}
    runs = not any(requirement.name in SIM_USES for requirement in failed["build"])
    return {place: runs and not failed[place] for place in ("sim", "vm", "host")}


def verdict(requirements: Sequence[Requirement]) -> str:
    """In one line: where schedlab works, or the first thing that keeps it from working at all."""
    works = places(requirements)
    if not any(works.values()):
        needed = (r for r in requirements if r.place in ("build", "sim") and not (r.ok or r.optional))
        gap = next(needed, None)
        mend = f"; mend: {gap.mend}" if gap and gap.mend else ""
        return f"not ready: {gap.name}: {gap.detail}{mend}" if gap else "not ready"
    here = ", ".join(TITLES[place] for place, fine in works.items() if fine)
    absent = ", ".join(TITLES[place] for place, fine in works.items() if not fine)
    return f"ready: {here}" + (f"; not here: {absent}" if absent else "")


def as_text(distribution: Distribution, requirements: Sequence[Requirement]) -> str:
    width = max(len(requirement.name) for requirement in requirements)
    lines = [verdict(requirements), distribution.title]
    for place in PLACES:
        lines.append(f"\n{TITLES[place]}")
        for requirement in requirements:
            if requirement.place == place:
                mend = f"; mend: {requirement.mend}" if requirement.mend else ""
                state = "ok" if requirement.ok else "missing"
                lines.append(f"  {state:8} {requirement.name:{width}}  {requirement.detail}{mend}")
    return "\n".join(lines)


def as_json(distribution: Distribution, requirements: Sequence[Requirement]) -> str:
    said = {
        "distribution": distribution.name,
        "title": distribution.title,
        "places": places(requirements),
        "checks": [asdict(requirement) for requirement in requirements],
    }
    return json.dumps(said, indent=2, ensure_ascii=False)
