# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trace tells, whoever wrote it, and how it is read out of the text after an event's name.

Times are nanoseconds, tasks are thread ids. Names of tasks may hold blanks and signs, so the keys around them are the
marks.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Switch:
    at_ns: int
    cpu: int
    prev: int
    prev_prio: int
    prev_state: str
    next: int
    next_prio: int
    next_comm: str
    prev_comm: str = ""

    @property
    def preempted(self) -> bool:
        return self.prev_state.startswith("R")

    @property
    def ended(self) -> bool:
        return self.prev_state[0] in "XxZ"


@dataclass(frozen=True, slots=True)
class Waking:
    """Somebody begins to wake a task (sched_waking): in the waker's own context, which sched_wakeup need not be."""

    at_ns: int
    cpu: int
    waker: int
    task: int
    interrupt: bool  # an interrupt woke it, and `waker` is only who was interrupted


@dataclass(frozen=True, slots=True)
class Wakeup:
    """The task is runnable (sched_wakeup, of a new one sched_wakeup_new), on the CPU `target`."""

    at_ns: int
    cpu: int
    waker: int
    task: int
    interrupt: bool
    comm: str = ""
    prio: int = 120
    target: int = 0
    new: bool = False


@dataclass(frozen=True, slots=True)
class Fork:
    at_ns: int
    parent: int
    child: int
    child_comm: str


@dataclass(frozen=True, slots=True)
class Clone:
    """The flags of clone for a new task, just before sched_process_fork."""

    at_ns: int
    child: int
    flags: int


@dataclass(frozen=True, slots=True)
class Member:
    """The task is a thread of this process: when it first ran, and when that changed."""

    at_ns: int
    task: int
    process: int


@dataclass(frozen=True, slots=True)
class Exec:
    at_ns: int
    task: int
    old_task: int  # another thread's id, where not the leader called exec
    comm: str
    filename: str


@dataclass(frozen=True, slots=True)
class Exit:
    at_ns: int
    task: int


@dataclass(frozen=True, slots=True)
class Migrate:
    """Somebody on the CPU `by` moves a task to the CPU `cpu`."""

    at_ns: int
    task: int
    cpu: int
    by: int = 0
    origin: int = 0
    comm: str = ""
    prio: int = 120


@dataclass(frozen=True, slots=True)
class SetAffinity:
    """A task asks for CPUs, for itself or (`target` above 0) for another."""

    at_ns: int
    task: int
    target: int
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SetPolicy:
    """A task asks for a policy, by the kernel's number."""

    at_ns: int
    task: int
    target: int
    policy: int
    rt_priority: int
    nice: int | None = None  # None: it keeps what it has


@dataclass(frozen=True, slots=True)
class SetNice:
    """A task asks for a nice value."""

    at_ns: int
    task: int
    target: int
    nice: int


@dataclass(frozen=True, slots=True)
class MoveToCgroup:
    """A task is moved to another cgroup."""

    at_ns: int
    task: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What the task asked for last was granted, or was not."""

    at_ns: int
    task: int
    granted: bool


@dataclass(frozen=True, slots=True)
class Rename:
    """A task is called so from now on: it said so itself, or runs another program."""

    at_ns: int
    task: int
    comm: str


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal is sent to a task, by its number."""

    at_ns: int
    task: int
    number: int


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A task is put into a queue: a DSQ by its number, with a virtual time, or the fair class's, with a deadline."""

    at_ns: int
    task: int
    dsq: int | None  # None: of the fair class
    slice_ns: int
    key: int


@dataclass(frozen=True, slots=True)
class Packet:
    """A task gives a packet to a network device."""

    at_ns: int
    cpu: int
    task: int
    device: str


@dataclass(frozen=True, slots=True)
class Softirq:
    """A CPU begins or ends a soft interrupt."""

    at_ns: int
    cpu: int
    vector: int
    begins: bool


Event = (
    Switch
    | Waking
    | Wakeup
    | Fork
    | Clone
    | Member
    | Exec
    | Exit
    | Migrate
    | SetAffinity
    | SetPolicy
    | SetNice
    | MoveToCgroup
    | Asked
    | Rename
    | Signal
    | Enqueued
    | Packet
    | Softirq
)


class Prefix:
    """What stands before an event's name: who was running where, when, and whether in an interrupt."""

    __slots__ = ("at_ns", "comm", "cpu", "interrupt", "task")

    def __init__(self, at_ns: int, cpu: int, task: int, comm: str, interrupt: bool) -> None:
        self.at_ns, self.cpu, self.task, self.comm, self.interrupt = at_ns, cpu, task, comm, interrupt


_SWITCH = re.compile(
    r"prev_comm=(.*) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=([A-Za-z][A-Za-z|+]*) ==> "
    r"next_comm=(.*) next_pid=(\d+) next_prio=(-?\d+)"
)
# perf prints some events its own way: make:12 [120] S ==> swapper/1:0 [120]
_SWITCH_SHORT = re.compile(r"(.*):(\d+) \[(-?\d+)\] ([A-Za-z][A-Za-z|+]*) ==> (.*):(\d+) \[(-?\d+)\]")
_WAKE = re.compile(r"comm=(.*) pid=(\d+) prio=(-?\d+)(?: success=\d)? target_cpu=(\d+)")
_WAKE_SHORT = re.compile(r"(.*):(\d+) \[(-?\d+)\](?: success=\d)?(?: |<CANT FIND FIELD success>)*CPU:(\d+)")
_FORK = re.compile(r"comm=.* pid=(\d+) child_comm=(.*) child_pid=(\d+)")
_CLONE = re.compile(r"pid=(\d+) comm=.* clone_flags=([0-9a-f]+) oom_score_adj=-?\d+")
_EXEC = re.compile(r"filename=(.*) pid=(\d+) old_pid=(\d+)")
_EXIT = re.compile(r"comm=.* pid=(\d+) prio=-?\d+(?: group_dead=\w+)?")
_MIGRATE = re.compile(r"comm=(.*) pid=(\d+) prio=(-?\d+) orig_cpu=(\d+) dest_cpu=(\d+)")
_RENAME = re.compile(r"(?:pid=(\d+) )?oldcomm=.* newcomm=(.*) oom_score_adj=-?\d+")
_CGROUP = re.compile(r"dst_root=\d+ dst_id=\d+ dst_level=\d+ dst_path=.* pid=(\d+) comm=.*")
_SIGNAL = re.compile(r"sig=(\d+) errno=-?\d+ code=-?\d+ comm=.* pid=(\d+) grp=\d res=\d")

# Events of the probes that tracing.sh sets; the task is in the line's prefix.
_AFFINITY = re.compile(r"\(\S+\) pid=(-?\d+) len=(\d+)((?: m\d+=0x[0-9a-f]+)+)")
_POLICY = re.compile(r"\(\S+\) pid=(-?\d+) policy=(\d+) priority=(\d+)(?: nice=(-?\d+))?")
_NICE = re.compile(r"\(\S+\) which=(\d+) who=(-?\d+) nice=(-?\d+)")
_ASKED = re.compile(r"\(\S+\) ret=(-?\d+)")
# Events of the probes that decisions/traced_cell.sh sets.
_INSERT = re.compile(r"\(\S+\) pid=(\d+) dsq=(0x[0-9a-f]+) slice=(\d+) vtime=(\d+)")
_FAIR = re.compile(r"\(.*\) pid=(\d+) slice=(\d+) deadline=(\d+)")
_DEVICE = re.compile(r"dev=(\S+) .*")
_VECTOR = re.compile(r"vec=(\d+) .*")
# A flag beside the policy: children begin without it.
_RESET_ON_FORK = 0x4000_0000
# One task, by its id; others are groups of processes, and all of a user.
_PRIO_PROCESS = 0


def _switch(prefix: Prefix, text: str) -> Event | None:
    found = _SWITCH.fullmatch(text) or _SWITCH_SHORT.fullmatch(text)
    if not found:
        return None
    left, prev, prev_prio, state, comm, next_, next_prio = found.groups()
    return Switch(prefix.at_ns, prefix.cpu, int(prev), int(prev_prio), state, int(next_), int(next_prio), comm, left)


def _waking(prefix: Prefix, text: str) -> Event | None:
    found = _WAKE.fullmatch(text) or _WAKE_SHORT.fullmatch(text)
    return found and Waking(prefix.at_ns, prefix.cpu, prefix.task, int(found[2]), prefix.interrupt)


def _wakeup(new: bool) -> Callable[[Prefix, str], Event | None]:
    def read(prefix: Prefix, text: str) -> Event | None:
        found = _WAKE.fullmatch(text) or _WAKE_SHORT.fullmatch(text)
        if not found:
            return None
        at_ns, cpu, task, interrupt = prefix.at_ns, prefix.cpu, prefix.task, prefix.interrupt
        comm, woken, prio, target = found.groups()
        return Wakeup(at_ns, cpu, task, int(woken), interrupt, comm, int(prio), int(target), new)

    return read


def _fork(prefix: Prefix, text: str) -> Event | None:
    found = _FORK.fullmatch(text)
    return found and Fork(prefix.at_ns, int(found[1]), int(found[3]), found[2])


def _clone(prefix: Prefix, text: str) -> Event | None:
    found = _CLONE.fullmatch(text)
    return found and Clone(prefix.at_ns, int(found[1]), int(found[2], 16))


def _exec(prefix: Prefix, text: str) -> Event | None:
    found = _EXEC.fullmatch(text)
    return found and Exec(prefix.at_ns, int(found[2]), int(found[3]), prefix.comm, found[1])


def _exit(prefix: Prefix, text: str) -> Event | None:
    found = _EXIT.fullmatch(text)
    return found and Exit(prefix.at_ns, int(found[1]))


def _migrate(prefix: Prefix, text: str) -> Event | None:
    found = _MIGRATE.fullmatch(text)
    if not found:
        return None
    comm, task, prio, origin, cpu = found.groups()
    return Migrate(prefix.at_ns, int(task), int(cpu), prefix.cpu, int(origin), comm, int(prio))


def _affinity(prefix: Prefix, text: str) -> Event | None:
    found = _AFFINITY.fullmatch(text)
    if not found:
        return None
    # Words of the mask, by their offset in bytes; what lies beyond its length is not part of it.
    words = (word.partition("=") for word in found[3].split())
    mask = sum(int(value, 16) << 8 * int(name[1:]) for name, _, value in words)
    mask &= (1 << 8 * int(found[2])) - 1
    cpus = tuple(cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)
    return SetAffinity(prefix.at_ns, prefix.task, int(found[1]), cpus)


def _policy(prefix: Prefix, text: str) -> Event | None:
    found = _POLICY.fullmatch(text)
    if not found:
        return None
    target, policy, rt_priority = map(int, found.groups()[:3])
    nice = None if found[4] is None else int(found[4])
    return SetPolicy(prefix.at_ns, prefix.task, target, policy & ~_RESET_ON_FORK, rt_priority, nice)


def _nice(prefix: Prefix, text: str) -> Event | None:
    found = _NICE.fullmatch(text)
    if not found:
        return None
    which, target, nice = map(int, found.groups())
    # -1 is no task: what it comes to shows when the tasks run again.
    return SetNice(prefix.at_ns, prefix.task, target if which == _PRIO_PROCESS else -1, max(-20, min(19, nice)))


def _cgroup(prefix: Prefix, text: str) -> Event | None:
    found = _CGROUP.fullmatch(text)
    return found and MoveToCgroup(prefix.at_ns, int(found[1]))


def _asked(prefix: Prefix, text: str) -> Event | None:
    found = _ASKED.fullmatch(text)
    return found and Asked(prefix.at_ns, prefix.task, int(found[1]) >= 0)


def _rename(prefix: Prefix, text: str) -> Event | None:
    found = _RENAME.fullmatch(text)
    return found and Rename(prefix.at_ns, int(found[1] or prefix.task), found[2])


def _signal(prefix: Prefix, text: str) -> Event | None:
    found = _SIGNAL.fullmatch(text)
    return found and Signal(prefix.at_ns, int(found[2]), int(found[1]))


def _insert(prefix: Prefix, text: str) -> Event | None:
    found = _INSERT.fullmatch(text)
    if not found:
        return None
    task, dsq, slice_ns, vtime = (int(value, 0) for value in found.groups())
    return Enqueued(prefix.at_ns, task, dsq, slice_ns, vtime)


def _fair(prefix: Prefix, text: str) -> Event | None:
    found = _FAIR.fullmatch(text)
    if not found:
        return None
    task, slice_ns, deadline = map(int, found.groups())
    return Enqueued(prefix.at_ns, task, None, slice_ns, deadline)


def _packet(prefix: Prefix, text: str) -> Event | None:
    found = _DEVICE.fullmatch(text)
    return found and Packet(prefix.at_ns, prefix.cpu, prefix.task, found[1])


def _softirq(begins: bool) -> Callable[[Prefix, str], Event | None]:
    def read(prefix: Prefix, text: str) -> Event | None:
        found = _VECTOR.fullmatch(text)
        return found and Softirq(prefix.at_ns, prefix.cpu, int(found[1]), begins)

    return read


READERS: dict[str, Callable[[Prefix, str], Event | None]] = {
    "sched_switch": _switch,
    "sched_waking": _waking,
    "sched_wakeup": _wakeup(new=False),
    "sched_wakeup_new": _wakeup(new=True),
    "sched_process_fork": _fork,
    "task_newtask": _clone,
    "sched_process_exec": _exec,
    "sched_process_exit": _exit,
    "sched_migrate_task": _migrate,
    "schedlab_affinity": _affinity,
    "schedlab_attr": _policy,
    "schedlab_policy": _policy,
    "schedlab_nice": _nice,
    "schedlab_asked": _asked,
    "schedlab_asked2": _asked,
    "schedlab_asked3": _asked,
    "schedlab_asked4": _asked,
    "cgroup_attach_task": _cgroup,
    "task_rename": _rename,
    "signal_generate": _signal,
    "schedlab_insert": _insert,
    "schedlab_fair": _fair,
    "net_dev_queue": _packet,
    "softirq_entry": _softirq(True),
    "softirq_exit": _softirq(False),
}

# Where the prefix does not say whether an interrupt runs (perf's does not), these do.
INTERRUPT_BEGINS = ("irq_handler_entry", "softirq_entry", "hrtimer_expire_entry")
INTERRUPT_ENDS = ("irq_handler_exit", "softirq_exit", "hrtimer_expire_exit")
