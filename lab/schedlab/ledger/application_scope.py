# SPDX-License-Identifier: GPL-2.0-or-later
"""Which real applications are compared with the simulator, and what of them.

An application and its model are not the same work: the model is made from a description, and its tasks take what a
profile says, at the speed of the machine where that was taken. What a comparison of schedulers needs of it is the
change against the kernel's own scheduler, so changes are compared, and their signs. A recorded program is the same
work, and has absolute numbers.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from schedlab.campaign.request import split
from schedlab.catalogue.schedulers import DEFAULT
from schedlab.errors import unknown
from schedlab.ledger.entries import Entry

SCHEDULERS = "default,bfs,cfs"
REPETITIONS = 3
# Of jobs, threads or clients: with one of them there would be little to schedule.
LOAD = 2


@dataclass(frozen=True)
class Recorded:
    """What is recorded of an application: the tree of its first task that runs this program."""

    name: str  # of the recording
    root: str
    params: dict[str, str] = field(default_factory=dict)


# Sizes that take the exact guest seconds, and what is recorded. The model of a database's run is as long as the run.
SIZES: dict[str, dict[str, str]] = {
    "compile-e2fsprogs": {"scale_pct": "5"},
    "lrzip": {"scale_pct": "1"},
    "transcode": {"scale_pct": "1", "frames": "8"},
    "mplayer": {"scale_pct": "10"},
    "oltp": {"scale_pct": "1", "duration_ms": "1000"},
}
RECORDED: dict[str, Recorded] = {
    "compile-e2fsprogs": Recorded("recorded-make-lib-et", "make", {"scale_pct": "5"}),
    "lrzip": Recorded("recorded-lrzip", "lrzip", {"scale_pct": "1"}),
    "transcode": Recorded("recorded-ffmpeg", "ffmpeg", {"scale_pct": "1", "frames": "8"}),
}

LEFT_OUT = {
    "kbuild": "262 s for a cell in the exact guest at its smallest size",
}


@dataclass(frozen=True)
class Applications:
    """What both worlds are asked for, in the words of a request (campaign.request)."""

    schedulers: str = SCHEDULERS
    workloads: str | None = None
    repetitions: int = REPETITIONS

    @property
    def names(self) -> list[str]:
        names = split(self.workloads, "-w") if self.workloads else list(SIZES)
        for name in names:
            if name not in SIZES:
                raise unknown("application", name, SIZES)
        return names

    @property
    def recorded(self) -> dict[str, Recorded]:
        """By the application."""
        return {name: RECORDED[name] for name in self.names if name in RECORDED}

    def asked(self, names: Iterable[str]) -> dict[str, object]:
        """Of some of its applications. The kernel's own scheduler is always there: changes are taken against it."""
        chosen = list(names)
        there = DEFAULT in (part.strip() for part in self.schedulers.split(","))
        return {
            "schedulers": self.schedulers if there else f"{DEFAULT},{self.schedulers}",
            "workload_names": ",".join(chosen),
            "load": str(LOAD),
            "repetitions": self.repetitions,
            "param": [f"{name}.{key}={value}" for name in chosen for key, value in SIZES[name].items()],
        }


def gap_pct(entry: Entry) -> float:
    """How far the simulator's ratio to `default` lies from the kernel's; NaN where there is none."""
    return ((100 + entry.simulator.change_pct) / (100 + entry.kernel.change_pct) - 1) * 100


def of(entries: Iterable[Entry], workloads: Collection[str]) -> list[Entry]:
    return [entry for entry in entries if entry.place.workload in workloads]
