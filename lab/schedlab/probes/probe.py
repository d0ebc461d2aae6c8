# SPDX-License-Identifier: GPL-2.0-or-later
"""The probes: which small workload tells which cost.

A probe is measured under the kernel's own scheduler, or under a policy where a switch or a wake-up is part of it: what
a policy executes is counted, and what the kernel's own scheduler does is not. Each cost is found with the others as
they are known so far, again and again until none changes: a ring of tasks shows the wake-up once a switch's cost is
known.
Probes are never workloads of a comparison, so that what a machine file predicts there is prediction.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from schedlab import checkout
from schedlab.catalogue.schedulers import DEFAULT

ELAPSED, CPU = "elapsed_s", "cpu_s"
LOST = "elapsed_s less cpu_s"
INSTRUCTION = "policy_instruction_ps"
# What it does is little, and counted.
_TRIVIAL = "vtime"
_SPIN = "./machines/probes/scx_spin.bpf.c"
# What no probe tells apart from the rest.
UNMEASURED = ("warm_messages", "ipi_send_ns", "lock_transfer_ns", "smt_speed_pct")
# What a probe needs, and not every place has.
DISK, REALTIME, SCHED_EXT = "a disk", "real-time tasks", "sched_ext"


@dataclass(frozen=True)
class Probe:
    cost: str  # of the machine file
    workload: str  # in machines/probes
    load: int
    scheduler: str = DEFAULT
    params: Mapping[str, str] = field(default_factory=dict, hash=False)
    least_cpus: int = 1
    metric: str = ELAPSED  # that the cost is seen in
    on_each_cpu: bool = False  # so many tasks
    needs: str = ""

    @property
    def path(self) -> Path:
        return checkout.root() / "machines/probes" / f"{self.workload}.toml"

    @property
    def name(self) -> str:
        """Of its measurement, which several costs may share."""
        words = [self.workload, *(f"{key}={value}" for key, value in self.params.items()), self.scheduler]
        return " ".join(words)

    def of(self, metrics: Mapping[str, float]) -> float:
        """What a run's metrics say of the cost, in seconds."""
        return self.load * metrics[ELAPSED] - metrics[CPU] if self.metric == LOST else metrics[self.metric]

    def with_cpus(self, cpus: int) -> "Probe":
        """As it is run on so many CPUs."""
        return replace(self, load=self.load * cpus, on_each_cpu=False) if self.on_each_cpu else self

    @property
    def all_needs(self) -> set[str]:
        return {self.needs, SCHED_EXT if self.scheduler != DEFAULT else ""} - {""}

    @property
    def told(self) -> str:
        """What a machine file says of where a cost is from."""
        return self.name if self.metric == ELAPSED else f"{self.name}, {self.metric}"


# What takes the CPU from tasks that are alone. It would run beside them where a CPU is free.
WORK = Probe("kthread_ns", "work", 1, params={"work_ms": "3000"}, metric=LOST, on_each_cpu=True)
ENDS = Probe("exit_ns", "ends", 64)
# Small requests, and large ones.
_SMALL = {"writes": "500", "block_kib": "4"}
_LARGE = {"writes": "100", "block_kib": "256"}
PROBES = [
    # So many instructions that whatever else the hops cost is small beside them.
    Probe(INSTRUCTION, "ring", 3, scheduler=f"{_SPIN}:loops=50000", params={"rounds": "200"}),
    Probe("program_step_ns", "steps", 1),
    Probe("syscall_ns", "own-queue", 1),
    Probe("copy_kib_ns", "own-queue", 1, params={"bytes": "4096"}),
    Probe("socket_ns", "own-queue", 1, params={"kind": "socket", "bytes": "100"}),
    # Both ways: most messages over TCP are answered, and an answer carries the acknowledgement.
    Probe("tcp_ns", "own-reply", 1),
    # 4,000 messages wait.
    Probe("cold_message_ns", "backlog", 1, params={"depth": "200"}),
    Probe("tick_ns", "work", 1),
    WORK,
    Probe("switch_ns", "turns", 2, scheduler=_TRIVIAL),
    Probe("wakeup_ns", "ring", 3, scheduler=_TRIVIAL),
    Probe("kick_ns", "ring", 3, scheduler=f"{_SPIN}:kicks=1"),
    Probe("refill_kib_ns", "cold", 2),
    # A real-time task's timer has no slack, and so says what else there is.
    Probe("idle_exit_ns", "sleeps", 1, params={"policy": "fifo"}, needs=REALTIME),
    Probe("timer_slack_ns", "sleeps", 1, needs=REALTIME),
    Probe("timer_ns", "sleeps", 1, metric=CPU),
    Probe("runner_begin_ns", "begins", 1, params={"threads": "200"}),
    Probe("runner_touch_ns", "begins", 200),
    ENDS,
    # A task of `ends` does nothing but to note what it has used, which is not all that its end takes.
    Probe("runner_account_ns", "ends", 64, metric=CPU),
    Probe("close_ns", "ends", 64, params={"queues": "400"}),
    Probe("child_ns", "children", 1),
    Probe("exec_ns", "children", 1, params={"execs": "5"}),
    Probe("thread_ns", "threads", 1),
    Probe("ipi_ns", "across", 2, least_cpus=2),
    Probe("disk_cpu_kib_ns", "disk", 1, params=_LARGE, metric=CPU, needs=DISK),
    Probe("disk_kib_ns", "disk", 1, params=_LARGE, needs=DISK),
    Probe("disk_request_ns", "disk", 1, params=_SMALL, needs=DISK),
]

# What start and end of a task take of the runner's CPU time, and its start of its own, the records of `ends` tell.
RUNNER_COSTS = {"fork_ns": "runner_fork_us", "runner_task_ns": "runner_task_us", "runner_reap_ns": "runner_reap_us"}

# How far apart these preemptions are; not one of them is an exit's.
PERIOD = "kthread_period_ns"

# Which no cost is found by: how far the simulator is off there says how good the file is.
CHECKS = [
    Probe("", "ring", 2),
    Probe("", "ring", 3, scheduler="eevdf"),
    Probe("", "ring", 3, scheduler="bfs"),
]
# Instructions of the kernel's own code that are counted, not solved for (docs/simulator.md): of sched_ext for a switch
# and a wake-up, and of a queue that a task is put into or taken from.
COUNTED = {"ext_switch_ns": 600, "ext_wakeup_ns": 210, "lock_hold_ns": 240}
