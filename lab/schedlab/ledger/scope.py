# SPDX-License-Identifier: GPL-2.0-or-later
"""Which cells the ledger has.

The workloads are those whose tasks their file describes (behind an application's name the simulator has a model of it,
which is another question), and which write to no disk, because the exact tier has none. Of these NOT_RUN are left out.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from schedlab.campaign.request import split
from schedlab.catalogue import workloads
from schedlab.catalogue.schedulers import DEFAULT
from schedlab.places import applications

SCHEDULERS = "default,bfs,bfs:rules=424,cfs,eevdf,o1,sd,mlfq,rr,fifo,vtime"
REPETITIONS = 3
# Runs of the simulator whose least and most say what the seed alone does. Of as many runs of one world, the next lies
# outside of their range in one of ten.
SEEDS = 19

NOT_RUN = {
    "schbench": "100 s of a CPU's time for a cell of 3 s in the exact guest",
    "slices": "the ledger is older than the weights of control groups under `default` in the simulator",
}

# Sizes in both worlds where a workload's own would take a guest too long: the ledger is to be made within an hour. And
# where it is so short that a count or a length tells how many batches fitted into it: with 10 ms an interval of
# lmbench's loops is over after four batches or five.
_SIZES = [
    "cyclictest.duration_s=5",
    "hackbench.loops=10",
    "pi.work_us=40000",
    "pipe.trips=3000",
    "playback.frames=100",
    "rt-pipe.interval_ms=100",
    "rt-tcp.interval_ms=100",
]


@dataclass(frozen=True)
class Scope:
    """What both worlds are asked for, in the words of a request (campaign.request)."""

    schedulers: str = SCHEDULERS
    workloads: str | None = None
    load: str | None = None
    repetitions: int = REPETITIONS
    param: list[str] = field(default_factory=list)

    def asked(self) -> dict[str, object]:
        """The kernel's own scheduler is always there: signs are taken against it."""
        there = DEFAULT in (part.strip() for part in self.schedulers.split(","))
        names = split(self.workloads, "-w") if self.workloads else synthetic()
        return {
            "schedulers": self.schedulers if there else f"{DEFAULT},{self.schedulers}",
            "workload_names": ",".join(names),
            "load": self.load,
            "repetitions": self.repetitions,
            "param": [*sizes(names), *self.param],
        }


# A sample for every day: a herd, messages of pairs and of groups, under three policies, in one boot.
SHORT = Scope("default,bfs,cfs", "latt,pipe,hackbench", "1,4", 1)


def synthetic() -> list[str]:
    files = workloads.files().items()
    described = [name for name, path in files if applications.command(path) is None]
    return [name for name in described if name not in NOT_RUN and not applications.wants_disk([workloads.path(name)])]


def sizes(names: Iterable[str]) -> list[str]:
    """Parameters for the workloads of these names."""
    chosen = set(names)
    return [size for size in _SIZES if size.partition(".")[0] in chosen]
