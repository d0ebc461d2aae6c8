# SPDX-License-Identifier: GPL-2.0-or-later
"""Follows a process tree through a trace."""

from dataclasses import dataclass
from pathlib import PurePath

from schedlab.capture.events import (
    Asked,
    Clone,
    Event,
    Exec,
    Exit,
    Fork,
    Member,
    Migrate,
    MoveToCgroup,
    Packet,
    SetAffinity,
    SetNice,
    SetPolicy,
    Softirq,
    Switch,
    Wakeup,
    Waking,
)
from schedlab.capture.tasks import (
    Affinity,
    Change,
    Image,
    Nice,
    Policy,
    Post,
    Recording,
    Sleep,
    Start,
    Task,
    Until,
    Wait,
    is_ordinary,
    nice,
    prio_of,
)
from schedlab.capture.ticks import Ticks
from schedlab.capture.trace_file import Trace
from schedlab.errors import InputError

_IDLE = 0
_ITSELF = "/proc/self/exe"
# The kernel's numbers; ordinary tasks of sched_ext (7) are ordinary tasks.
_POLICIES = {0: "other", 1: "fifo:{}", 2: "rr:{}", 3: "batch", 5: "idle", 7: "other"}
_ROUND_ROBIN = 2
# The kernel's flag of a thread. A child of vfork shares its parent's memory, too, but only until it runs its program.
_CLONE_THREAD = 0x10000
# The soft interrupt that takes packets in.
_NET_RX = 3


@dataclass
class _Waker:
    """Who woke a task, and where in its own progress it did."""

    at_ns: int
    post: Post | None  # None: something outside the tree


@dataclass
class _Live:
    task: Task
    running_since_ns: int | None = None
    # Since when it has been without the CPU that it could use.
    runnable_since_ns: int | None = None
    blocked_at_ns: int | None = None
    # A wake-up that came while the task was about to block.
    early: _Waker | None = None
    # Its nice value: at first that of who forked it. It is not seen while the task is a real-time one.
    nice: int = 0
    round_robin: bool = False
    exits: bool = False


def follow(trace: Trace, root: str | None = None, others: bool = False) -> Recording:
    """The tree of `root`, a thread id or a name; None: as the recorder noted. `others`: with what else ran."""
    if not any(isinstance(event, Switch) for event in trace.events):
        raise InputError(f"{trace.name}: expected sched_switch events, found none")
    tid, start = _find_root(trace, root)
    return _Follower(trace, tid, others).follow(trace.events[start:])


def _find_root(trace: Trace, root: str | None) -> tuple[int, int]:
    """The root's thread id, and the first event that counts."""
    wanted = root or trace.notes.get("root", "")
    if not wanted:
        raise InputError(f"{trace.name}: does not say which program was recorded: add --root PID or --root NAME")
    begun: tuple[int, int] | None = None
    for index, event in enumerate(trace.events):
        if isinstance(event, Exec) and wanted in (str(event.task), event.comm, PurePath(event.filename).name):
            # What ran before exec belongs to the program that started it.
            return event.task, index
        if begun is None and isinstance(event, Switch) and wanted in (str(event.next), event.next_comm):
            begun = event.next, index
    if begun is None:
        raise InputError(f"{trace.name}: --root {wanted}: no such task begins to run in this trace")
    return begun


def _program(event: Exec) -> str:
    return event.comm if event.filename == _ITSELF else PurePath(event.filename).name


class _Follower:
    def __init__(self, trace: Trace, root: int, others: bool) -> None:
        self.trace = trace
        self.others = others
        self.ticks = Ticks.of(trace) if others else None
        round_robin = trace.notes.get("policy") == str(_ROUND_ROBIN)
        self.task = Task(0, root, "", round_robin=round_robin)
        self.tasks = [self.task]
        self.live = {root: _Live(self.task, round_robin=round_robin)}
        self.voluntary = self.involuntary = self.interrupted = self.migrations = 0
        self.waiting_ns = 0
        self.displaced: dict[int, int] = {}  # by CPU
        self.flags: dict[int, int] = {}  # of tasks that are being made
        self.asking: dict[int, SetAffinity | SetPolicy | SetNice] = {}  # by task
        self.senders: dict[int, int] = {}  # who gave a packet to the loopback device last, by CPU
        self.receiving: set[int] = set()  # CPUs
        self.unknown_policies = 0
        self.cgroup_moves = 0
        self.unexplained = 0
        self.ended_at_ns: int | None = None
        self.now_ns = 0
        self.last_cpu = max(event.cpu for event in trace.events if isinstance(event, Switch))

    def follow(self, events: list[Event]) -> Recording:
        began_ns = self.began_ns = self.now_ns = events[0].at_ns
        if isinstance(events[0], Exec):
            # What starts the program is no part of it.
            self.live[self.task.tid].running_since_ns = began_ns
            self.task.comm = _program(events[0])
            events = events[1:]
        for event in events:
            self.now_ns = event.at_ns
            self._take(event)
        for live in self.live.values():
            self._ran(live)
            # A parent hears of its child's end before the child's last switch, so the trace may end in between.
            live.task.ended = live.exits
        if self.ended_at_ns is None and self.task.ended:
            self.ended_at_ns = self.now_ns
        ended_ns = self.now_ns if self.ended_at_ns is None else self.ended_at_ns
        return Recording(
            self.task,
            self.tasks,
            ended_ns - began_ns,
            self.waiting_ns,
            self.voluntary,
            self.involuntary,
            self.interrupted,
            self.migrations,
            # Where the trace does not note how many CPUs there are: those that were seen.
            {"cpus": str(1 + self.last_cpu)} | self.trace.notes,
            self._remarks(),
        )

    def _take(self, event: Event) -> None:
        match event:
            case Switch():
                self._meet(event)
                self._out(event)
                self._in(event)
            case Waking():
                self._wake(event)
            case Wakeup():
                self._awake(event)
            case Fork():
                self._fork(event)
            case Clone():
                self.flags[event.child] = event.flags
            case Member():
                if event.task in self.live:
                    self.live[event.task].task.thread = event.process != event.task
            case Exec():
                self._exec(event)
            case Exit():
                if event.task in self.live:
                    self.live[event.task].exits = True
            case Migrate():
                self.migrations += event.task in self.live
            case MoveToCgroup():
                self.cgroup_moves += event.task in self.live
            case SetAffinity() | SetPolicy() | SetNice():
                self.asking[event.task] = event
            case Asked():
                asked = self.asking.pop(event.task, None)
                if asked and event.granted:
                    self._granted(asked)
            case Packet(device="lo"):
                self.senders[event.cpu] = event.task
            case Softirq() if event.vector == _NET_RX:
                self._receive(event)

    def _meet(self, event: Switch) -> None:
        """A task that is no part of the tree sleeps until it first runs."""
        if not self.others or event.next == _IDLE or event.next in self.live:
            return
        task = Task(len(self.tasks), event.next, event.next_comm, other=True)
        task.steps.append(self._until(self.now_ns))
        self.tasks.append(task)
        self.live[event.next] = _Live(task)

    def _until(self, at_ns: int) -> Until:
        return Until(self.ticks.moved(self.began_ns, at_ns) if self.ticks else at_ns - self.began_ns)

    def _granted(self, asked: SetAffinity | SetPolicy | SetNice) -> None:
        live = self.live.get(asked.target or asked.task)
        if live is None:
            return
        match asked:
            case SetAffinity():
                self._ask(asked.task, live, Affinity(asked.cpus))
            case SetNice():
                self._renice(asked.task, live, asked.nice)
            case SetPolicy() if asked.policy in _POLICIES:
                self._ask(asked.task, live, Policy(_POLICIES[asked.policy].format(asked.rt_priority)))
                live.round_robin = asked.policy == _ROUND_ROBIN
                if asked.nice is not None and not asked.rt_priority:
                    self._renice(asked.task, live, asked.nice)
            case SetPolicy():
                self.unknown_policies += 1

    def _renice(self, asker: int, live: _Live, value: int) -> None:
        if live.task.prio is None:
            # It has not run yet: what it began with shows no more.
            live.task.prio = prio_of(live.nice)
        if value != live.nice:
            self._ask(asker, live, Nice(value))
            live.nice = value

    def _ask(self, asker: int, live: _Live, to: Nice | Policy | Affinity) -> None:
        """The step of who asks: of the task itself, or of another. Of one that is not recorded it is the task's own."""
        by = self.live.get(asker, live)
        self._ran(by)
        by.task.steps.append(to if by is live else Change(live.task, to))

    def _receive(self, event: Softirq) -> None:
        """Packets of the loopback device are taken in on the CPU that sent them, mostly in the sender's own call."""
        if event.begins:
            self.receiving.add(event.cpu)
            return
        self.receiving.discard(event.cpu)
        self.senders.pop(event.cpu, None)

    def _out(self, event: Switch) -> None:
        live = self.live.get(event.prev)
        if live is None:
            return
        self._ran(live)
        live.running_since_ns = None
        self._prio(live, event.prev_prio)
        if event.preempted:
            live.runnable_since_ns = self.now_ns
            if event.next in self.live:
                self.involuntary += 1
            else:
                self.displaced[event.cpu] = event.prev
            return
        if event.ended:
            live.task.ended = True
            del self.live[event.prev]
            if live.task is self.task:
                self.ended_at_ns = self.now_ns
            return
        self.voluntary += 1
        live.blocked_at_ns = self.now_ns
        if live.early:
            self._unblock(live, live.early)

    def _in(self, event: Switch) -> None:
        live = self.live.get(event.next)
        if live is None:
            return
        displaced = self.displaced.pop(event.cpu, None)
        if displaced is not None:
            # A task outside the tree had displaced it; after that task the CPU runs the same one again, or another.
            self.interrupted += displaced == event.next
            self.involuntary += displaced != event.next
        if live.blocked_at_ns is not None:
            self.unexplained += 1
            self._unblock(live, _Waker(self.now_ns, None))
        live.early = None
        if live.runnable_since_ns is not None:
            self.waiting_ns += self.now_ns - live.runnable_since_ns
            live.runnable_since_ns = None
        live.task.comm = event.next_comm
        live.running_since_ns = self.now_ns
        self._prio(live, event.next_prio)

    def _wake(self, event: Waking | Wakeup) -> None:
        live = self.live.get(event.task)
        if live is None or live.task.ended:
            return
        if live.blocked_at_ns is None and live.running_since_ns is None:
            return
        waker = self._waker(event)
        if live.blocked_at_ns is not None:
            self._unblock(live, waker)
        else:
            live.early = waker

    def _awake(self, event: Wakeup) -> None:
        live = self.live.get(event.task)
        if live is None:
            return
        if live.blocked_at_ns is not None:
            self._wake(event)  # a trace without sched_waking
        else:
            live.early = None  # the task had not blocked, so the early wake-up had no effect

    def _waker(self, event: Waking | Wakeup) -> _Waker:
        live = self.live[event.task]
        sender = self.senders.get(event.cpu) if event.cpu in self.receiving else None
        by = self.live.get(event.waker if sender is None else sender)
        if by is None or by is live or by.task.other or live.task.other or (event.interrupt and sender is None):
            return _Waker(self.now_ns, None)
        self._ran(by)
        post = Post(live.task)
        by.task.steps.append(post)
        return _Waker(self.now_ns, post)

    def _unblock(self, live: _Live, waker: _Waker) -> None:
        assert live.blocked_at_ns is not None
        ns = max(0, waker.at_ns - live.blocked_at_ns)
        if live.task.other:
            live.task.steps.append(self._until(waker.at_ns))
        elif waker.post:
            waker.post.real = True
            live.task.steps.append(Wait(ns))
        else:
            live.task.steps.append(Sleep(ns))
        live.runnable_since_ns = max(waker.at_ns, live.blocked_at_ns)
        live.blocked_at_ns = live.early = None

    def _fork(self, event: Fork) -> None:
        parent = self.live.get(event.parent)
        if parent is None or parent.task.other:
            return
        self._ran(parent)
        thread = bool(self.flags.pop(event.child, 0) & _CLONE_THREAD)
        child = Task(len(self.tasks), event.child, event.child_comm, round_robin=parent.round_robin, thread=thread)
        self.tasks.append(child)
        self.live[event.child] = _Live(
            child, runnable_since_ns=self.now_ns, nice=parent.nice, round_robin=parent.round_robin
        )
        parent.task.steps.append(Start(child))

    def _exec(self, event: Exec) -> None:
        live = self.live.pop(event.old_task, None)
        if live is None:
            return
        # exec ends the other threads, and the caller takes over the leader's thread id.
        self.live[event.task] = live
        self._ran(live)
        live.task.steps.append(Image())
        live.task.comm = _program(event)

    def _ran(self, live: _Live) -> None:
        """The time on the CPU until now."""
        if live.running_since_ns is not None:
            live.task.run(self.now_ns - live.running_since_ns)
            live.running_since_ns = self.now_ns

    def _prio(self, live: _Live, prio: int) -> None:
        if live.task.prio is None:
            live.task.prio = prio
            live.nice = nice(prio)
        elif is_ordinary(prio) and nice(prio) != live.nice:
            live.nice = nice(prio)
            live.task.steps.append(Nice(live.nice))

    def _remarks(self) -> list[str]:
        remarks = []
        if not self.trace.tells_interrupts:
            remarks.append(
                "the trace does not say what interrupts did: a timer's wake-up counts as one by the task it interrupted"
            )
        if self.unexplained:
            remarks.append(f"{self.unexplained} tasks ran again without a wake-up in the trace: taken as sleeps")
        if self.trace.notes.get("attributes") != "yes" and any(task.rt_priority for task in self.tasks):
            remarks.append("the trace does not tell SCHED_RR from SCHED_FIFO: real-time tasks are taken for FIFO")
        if self.unknown_policies:
            remarks.append(f"{self.unknown_policies} times a task asked for a policy that has no counterpart here")
        if self.cgroup_moves:
            remarks.append(f"{self.cgroup_moves} times a task was moved to another cgroup, which is not replayed")
        if self.ended_at_ns is None:
            remarks.append("the trace ends before the program does")
        if self.trace.lost:
            remarks.append(f"{self.trace.lost} events are lost")
        return remarks
