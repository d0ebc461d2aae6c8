# SPDX-License-Identifier: GPL-2.0-or-later
"""The columns of a comparison: a scheduler with its tunables, in the virtual machine on a kernel.

A list of schedulers is separated by commas; tunables follow a colon and are joined by plus signs. A kernel follows the
scheduler's name:

    bfs,cfs
    bfs:rules=424,bfs:rr_interval_us=3000+rules=311
    ./my/policy:slice_us=500,./mine.bpf.o,default
    default@6.12,default@./linux/arch/x86/boot/bzImage,bfs@7.2:rules=424

A program that loads its scheduler itself has one tunable, the options it is started with. Quotation marks keep a comma
in them, and words together, as in a shell. exec: looks for the program where a shell does:

    default,/usr/bin/scx_mine:options=-m "0,1"
    default,bfs,exec:"scx_mine --fast"
"""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from schedlab.campaign import installed
from schedlab.campaign.where import named
from schedlab.catalogue import described, schedulers
from schedlab.catalogue.schedulers import DEFAULT, OPTIONS, Scheduler
from schedlab.errors import InputError

# One that is not between quotation marks.
_COMMA = re.compile(r""",(?=(?:[^"']|"[^"]*"|'[^']*')*$)""")


@dataclass(frozen=True)
class Arm:
    label: str
    scheduler: Scheduler
    tunables: dict[str, str] = field(default_factory=dict)
    control: bool = False  # the second default of the A/A control
    built_in: bool = False  # simulated as a part of the kernel instead of as a BPF policy
    kernel: str = ""  # that the guest boots, as the user wrote it; empty: the usual one

    @property
    def names_kernel(self) -> bool:
        """Whether its own kernel was asked for, and not one for all."""
        return bool(self.kernel) and f"@{self.kernel}" in self.label

    def runs_as(self, other: "Arm") -> bool:
        """Whether nothing but the label tells them apart."""
        mine, theirs = ((arm.scheduler.name, arm.tunables, arm.built_in, arm.kernel) for arm in (self, other))
        return mine == theirs


def parse(text: str, place: str, built_in: bool = False, kernel: str = "") -> list[Arm]:
    """`built_in`: all of them, and not the kernel's own alone, are simulated as parts of the kernel. `kernel` is that
    of those that name none.
    """
    arms: list[Arm] = []
    parts = [part.strip() for part in _COMMA.split(installed.spelled(text))]
    if not all(parts):
        raise InputError(f"schedulers '{text}': expected NAME[@KERNEL][:KEY=VALUE[+KEY=VALUE…]], separated by commas")
    split = [_split_kernel(part) for part in parts]
    described_parts = described.entries(schedulers=[part for part, _ in split])["schedulers"]
    for entry, (part, own) in zip(described_parts, split, strict=True):
        if own and place != "vm":
            raise InputError(f"scheduler '{part}@{own}': only a guest boots a kernel of one's choice (--on vm)")
        arm = replace(_arm(entry, part, place, built_in), kernel=own or kernel)
        if own:
            arm = replace(arm, label=schedulers.written(f"{arm.scheduler.name}@{own}", arm.tunables))
        for other in arms:
            if other.label == arm.label:
                raise InputError(f"schedulers '{text}': '{arm.label}' is given twice")
            if other.runs_as(arm):
                raise InputError(f"schedulers '{text}': '{other.label}' and '{arm.label}' are the same scheduler here")
            if other.scheduler.name == arm.scheduler.name and other.scheduler.origin != arm.scheduler.origin:
                raise InputError(f"schedulers '{text}': two of them are named '{arm.scheduler.name}'")
        arms.append(arm)
    return arms


def _split_kernel(part: str) -> tuple[str, str]:
    """`bfs@6.16:rules=424` is bfs:rules=424, 6.16. An at sign in the path of a policy belongs to the path."""
    scheduler, colon, tunables = part.partition(":")
    name, at, kernel = scheduler.rpartition("@")
    if not at or Path(scheduler).exists():
        return part, ""
    if not name or not kernel:
        raise InputError(f"scheduler '{part}': expected NAME@KERNEL")
    return f"{name}{colon}{tunables}", kernel


def _arm(entry: described.Entry, part: str, place: str, built_in: bool) -> Arm:
    # The tunables are what the runners read of it; where a scheduler of that name is, the catalogue knows.
    if "scheduler" not in entry:
        raise InputError(entry["error"])
    tunables = entry["set"]
    scheduler = schedulers.find(entry["scheduler"])
    label = schedulers.written(scheduler.name, tunables)
    if scheduler.name == DEFAULT:
        if tunables:
            raise InputError(f"scheduler '{part}': the kernel's own scheduler takes no tunables")
        if named(place).simulated:
            return Arm(label, _simulated_default(entry["means"]), built_in=True)
    if scheduler.is_program and tunables and named(place).simulated:
        raise InputError(
            f"scheduler '{part}': the simulator runs the object in a program and not the program, "
            f"so that it has no {OPTIONS} there"
        )
    return Arm(label, scheduler, tunables, built_in=built_in)


def _simulated_default(name: str) -> Scheduler:
    known = schedulers.known()
    if name not in known:
        others = ", ".join(other for other in known if other != DEFAULT) or "none"
        raise InputError(
            f"scheduler 'default' means '{name}' in the simulator, and there is no "
            f"schedulers/{name} yet; choose among {others}, or use --on vm"
        )
    return known[name]
