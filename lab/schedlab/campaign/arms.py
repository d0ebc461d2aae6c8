# SPDX-License-Identifier: GPL-2.0-or-later
"""The columns of a comparison: a scheduler with its tunables.

A list of schedulers is separated by commas; tunables follow a colon and are joined by plus signs:

    bfs,cfs
    bfs:rules=424,bfs:rr_interval_us=3000+rules=311
    ./my/policy:slice_us=500,default
"""

import re
from dataclasses import dataclass, field

from schedlab.catalogue import schedulers
from schedlab.catalogue.schedulers import DEFAULT, Scheduler
from schedlab.errors import InputError

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SIMULATED_DEFAULT = "eevdf"


@dataclass(frozen=True)
class Arm:
    label: str
    scheduler: Scheduler
    tunables: dict[str, str] = field(default_factory=dict)
    control: bool = False  # the second default of the A/A control


def parse(text: str, place: str) -> list[Arm]:
    arms: list[Arm] = []
    for part in text.split(","):
        arm = _parse_one(part.strip(), text, place)
        for other in arms:
            if other.label == arm.label:
                raise InputError(f"schedulers '{text}': '{arm.label}' is given twice")
            if (other.scheduler.name, other.tunables) == (arm.scheduler.name, arm.tunables):
                raise InputError(f"schedulers '{text}': '{other.label}' and '{arm.label}' are the same scheduler here")
            if other.scheduler.name == arm.scheduler.name and other.scheduler.folder != arm.scheduler.folder:
                raise InputError(f"schedulers '{text}': two folders hold a scheduler named '{arm.scheduler.name}'")
        arms.append(arm)
    return arms


def _parse_one(part: str, whole: str, place: str) -> Arm:
    name, colon, rest = part.partition(":")
    if not name:
        raise InputError(f"schedulers '{whole}': expected NAME[:KEY=VALUE[+KEY=VALUE…]], separated by commas")
    tunables = parse_tunables(rest, part) if colon else {}
    scheduler = schedulers.find(name)
    label = scheduler.name
    if name == DEFAULT:
        if tunables:
            raise InputError(f"scheduler '{part}': the kernel's own scheduler takes no tunables")
        if place == "sim":
            scheduler = _simulated_default()
    if tunables:
        label += ":" + "+".join(f"{key}={value}" for key, value in tunables.items())
    return Arm(label, scheduler, tunables)


def parse_tunables(text: str, whole: str) -> dict[str, str]:
    tunables: dict[str, str] = {}
    for pair in text.split("+"):
        key, equals, value = pair.partition("=")
        if not equals or not _KEY.fullmatch(key) or not value:
            raise InputError(f"scheduler '{whole}': tunable '{pair}': expected KEY=VALUE, several joined by '+'")
        if key in tunables:
            raise InputError(f"scheduler '{whole}': tunable '{key}' is given twice")
        tunables[key] = value
    return dict(sorted(tunables.items()))


def _simulated_default() -> Scheduler:
    known = schedulers.known()
    if SIMULATED_DEFAULT not in known:
        others = ", ".join(name for name in known if name != DEFAULT) or "none"
        raise InputError(
            f"scheduler 'default' means '{SIMULATED_DEFAULT}' in the simulator, and there is no "
            f"schedulers/{SIMULATED_DEFAULT} yet; choose among {others}, or use --on vm"
        )
    return known[SIMULATED_DEFAULT]
