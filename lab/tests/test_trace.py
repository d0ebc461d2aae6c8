# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab trace: what goes into the file comes out again."""

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    GenericKernelTaskStateEvent,
    Trace,
    TracePacket,
    TrackEvent,
)

from schedlab.trace import perfetto, simulated
from schedlab.trace.schedule import Wanted, schedule

COUNTER, INSTANT = TrackEvent.TYPE_COUNTER, TrackEvent.TYPE_INSTANT


def decoded(data: bytes) -> list[TracePacket]:
    return list(Trace.FromString(data).packet)


@pytest.fixture
def packets(lab: Callable, checkout: Path) -> list[TracePacket]:
    result = lab("trace", "bfs", "-w", "latt", "-o", "out.pftrace")
    assert result.returncode == 0, result.stderr
    assert result.stderr.startswith("schedlab: out.pftrace: ")
    return decoded((checkout / "out.pftrace").read_bytes())


def test_states_of_tasks_are_those_of_the_trace(packets: list[TracePacket]) -> None:
    states = defaultdict(list)
    for packet in packets:
        if packet.HasField("generic_kernel_task_state_event"):
            event = packet.generic_kernel_task_state_event
            states[event.comm, event.tid].append((packet.timestamp, event.state, event.cpu))
            assert event.prio == 120
    assert set(states) == {("first", 1000), ("second", 1001), ("third", 1002)}
    runnable, running, sleeping = (
        GenericKernelTaskStateEvent.TaskStateEnum.Value(f"TASK_STATE_{name}")
        for name in ("RUNNABLE", "RUNNING", "INTERRUPTIBLE_SLEEP")
    )
    assert states["first", 1000][:3] == [
        (10_000_000, runnable, 0),
        (10_000_200, running, 0),
        (15_000_200, runnable, 0),
    ]
    seen = Counter(state for found in states.values() for _, state, _ in found)
    # Ten turns; all but the two last are followed by waiting.
    assert seen == {runnable: 3 + 8, running: 10, sleeping: 2}
    threads = [t for packet in packets for t in packet.generic_kernel_process_tree.threads]
    assert {(t.tid, t.comm) for t in threads} == {(pid, name) for name, pid in states}


def test_queues_have_counters(packets: list[TracePacket]) -> None:
    names = {p.track_descriptor.uuid: p.track_descriptor.name for p in packets if p.HasField("track_descriptor")}
    counted = defaultdict(list)
    for packet in packets:
        if packet.HasField("track_event") and packet.track_event.type == COUNTER:
            counted[names[packet.track_event.track_uuid]].append(packet.track_event.counter_value)
    # Three inserted at once; the first turns take them out.
    assert counted["queue 0x7"] == [1, 2, 3, 2, 1, 0]
    assert counted["tasks waiting"][:5] == [1, 2, 3, 2, 1]
    assert all(value >= 0 for values in counted.values() for value in values)
    units = [p.track_descriptor.counter.unit_name for p in packets if p.track_descriptor.HasField("counter")]
    assert set(units) == {"tasks"}


def test_decisions_carry_slice_and_deadline(packets: list[TracePacket]) -> None:
    found = [p.track_event for p in packets if p.HasField("track_event") and p.track_event.type == INSTANT]
    assert [event.name for event in found] == ["insert first 1000", "insert second 1001", "insert third 1002"]
    notes = [{note.name: note.uint_value for note in event.debug_annotations} for event in found]
    assert [(note["slice_ns"], note["vtime"]) for note in notes] == [(5_000_000, 0), (5_000_000, 1), (5_000_000, 2)]
    assert packets[0].sequence_flags == TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    assert {packet.trusted_packet_sequence_id for packet in packets} == {1}


def test_text_is_what_the_simulator_wrote(lab: Callable, checkout: Path) -> None:
    assert lab("trace", "bfs", "-w", "latt", "-o", "out.data", "--format", "ftrace").returncode == 0
    text = (checkout / "out.data").read_text()
    assert text.startswith("# tracer: nop\n#")
    events = list(simulated.events(text.splitlines()))
    assert len(events) == len(text.splitlines()) - 2
    assert list(checkout.glob(".out*")) == []


def test_the_simulator_is_told_what_was_asked_for(lab: Callable, checkout: Path) -> None:
    asked = ["--load", "7", "--seed", "3", "--api", "6.12"]
    assert lab("trace", "bfs", "-w", "latt", "-o", "out.txt", *asked).returncode == 0
    told = (checkout / "out.txt").read_text().splitlines()[1]
    assert " ".join(asked) in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "out.dat"], "-o out.dat: expected a name that ends in .pftrace"),
        (["-o", "nowhere/out.txt"], "-o nowhere/out.txt: there is no folder nowhere"),
        (["-o", "out.txt", "--load", "0"], "--load 0: expected 1 to 1,000,000"),
        (["-o", "out.txt", "--seed", "-1"], "--seed -1: expected 0 or more"),
        (["-o", "out.txt", "-m", "toaster"], "unknown machine 'toaster'"),
    ],
)
def test_bad_input_is_one_line(lab: Callable, arguments: list[str], message: str) -> None:
    result = lab("trace", "bfs", "-w", "latt", *arguments)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr


def _line(time_ns: int, rest: str, cpu: int = 0) -> str:
    return f"  x-1 [{cpu:03}] ..... 0.{time_ns:09d}: {rest}"


def test_names_may_hold_spaces_and_what_is_no_trace_is_said() -> None:
    line = _line(5, "sched_wakeup: comm=a b-c pid=1000 prio=120 target_cpu=001")
    (event,) = simulated.events([line])
    assert (event.time_ns, event.comm(), event.pid()) == (5, "a b-c", 1000)
    with pytest.raises(ValueError, match="line 2 of the trace"):
        list(simulated.events([line, "something: else"]))


def test_an_insertion_dated_after_its_switch_is_in_no_queue() -> None:
    lines = [
        _line(10, "sched_wakeup: comm=one pid=1000 prio=120 target_cpu=000"),
        _line(15, "scx_insert: comm=one pid=1000 prio=120 dsq=0x7 slice_ns=5 vtime=1"),
        _line(
            20,
            "sched_switch: prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R ==> "
            "next_comm=one next_pid=1000 next_prio=120",
        ),
        _line(25, "scx_insert: comm=one pid=1000 prio=120 dsq=local cpu=0 slice_ns=5"),
    ]
    packets = decoded(b"".join(perfetto.encode(simulated.events(lines))))
    names = {p.track_descriptor.name for p in packets if p.track_descriptor.HasField("counter")}
    assert names == {"tasks waiting", "queue 0x7"}
    assert [p.track_event.counter_value for p in packets if p.track_event.type == COUNTER] == [
        1,
        1,
        0,
        0,
    ]


def test_a_schedule_is_cut_at_the_windows_edges() -> None:
    idle, one = "comm=swapper {0}pid=0 {0}prio=120", "comm=one {0}pid=1000 {0}prio=120"
    lines = [
        _line(10, "sched_wakeup: comm=one pid=1000 prio=120 target_cpu=000"),
        _line(20, f"sched_switch: prev_{idle.format('prev_')} prev_state=R ==> next_{one.format('next_')}"),
        _line(80, f"sched_switch: prev_{one.format('prev_')} prev_state=S ==> next_{idle.format('next_')}"),
        _line(90, "sched_wakeup: comm=one pid=1000 prio=120 target_cpu=000"),
    ]
    found = schedule(simulated.events(lines), Wanted(15, 50, 100))
    assert found
    assert [(run.cpu, run.start_ns, run.end_ns) for run in found.runs] == [(0, 20, 50)]
    assert [(wait.pid, wait.start_ns, wait.end_ns) for wait in found.waits] == [(1000, 15, 20)]
    assert found.names == {1000: "one"}
    # A wait as short as that is the way to the CPU: nobody queues.
    assert schedule(simulated.events(lines), Wanted(0, 50, 100, somebody_waits=True)) is None
