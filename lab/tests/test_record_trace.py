# SPDX-License-Identifier: GPL-2.0-or-later
# ruff: noqa: E501 - lines as the kernel and perf write them
"""Scheduling traces: what is read, and what is refused with its line."""

from pathlib import Path

import pytest

from schedlab.capture.events import Clone, Exec, Exit, Fork, Member, Migrate, Softirq, Switch, Wakeup, Waking
from schedlab.capture.trace_file import Trace, parse
from schedlab.capture.trace_file import read as read_file
from schedlab.errors import InputError, PlaceError

FTRACE = """\
# tracer: nop
#
# entries-in-buffer/entries-written: 8/8   #P:2
            make-120   [000] .....     1.000000: sched_process_exec: filename=/usr/bin/make pid=120 old_pid=120
            make-120   (    120) [000] d..2.     1.000100: sched_process_fork: comm=make pid=120 child_comm=make child_pid=121
          <idle>-0     [001] dNh4.     1.000200: sched_waking: comm=a b=c ==> d pid=121 prio=139 target_cpu=001
         my-prog-7     [000] d..2.     1.000300: sched_wakeup: comm=cc pid=121 prio=120 target_cpu=000
            make-120   [000] d..2.     1.000400: sched_switch: prev_comm=make prev_pid=120 prev_prio=120 prev_state=R+ ==> next_comm=a => b next_pid=121 next_prio=100
           <...>-121   [000] d..2. 1000000.000500: sched_migrate_task: comm=x pid=120 prio=120 orig_cpu=0 dest_cpu=1
              cc-121   [000] ..... 1000000.000600: sched_process_exit: comm=cc pid=121 prio=120 group_dead=true
              cc-121   [000] ..... 1000000.000700: sched_stat_runtime: comm=cc pid=121 runtime=1 [ns]
"""

PERF = """\
            make   120 [000]     1.000000: sched:sched_process_exec: filename=/usr/bin/make pid=120 old_pid=120
            make  120/120  [000]     1.000100123: sched:sched_process_fork: comm=make pid=120 child_comm=make child_pid=121
         swapper     0 [001]     1.000150: irq:softirq_entry: vec=1 [action=TIMER]
         swapper     0 [001]     1.000200: sched:sched_waking: comm=cc pid=121 prio=120 target_cpu=001
         swapper     0 [001]     1.000250: irq:softirq_exit: vec=1 [action=TIMER]
         my prog     7 [000]     1.000300:          1 sched:sched_wakeup: cc:121 [120] success=1 CPU:001
        ffffffff81234567 try_to_wake_up+0x123 ([kernel.kallsyms])

            make   120 [000]     1.000400: sched:sched_switch: make:120 [120] S ==> a:b c:121 [100]
              cc   121 [000]     1.000500: sched:sched_waking: comm=make pid=120 prio=120 target_cpu=000
"""


def read(text: str, allow_lost: bool = False) -> Trace:
    return parse(text.splitlines(keepends=True), "t", allow_lost)


def test_ftrace() -> None:
    trace = read(FTRACE)
    second = 1_000_000_000
    assert trace.events == [
        Exec(second, 120, 120, "make", "/usr/bin/make"),
        Member(second + 100_000, 120, 120),
        Fork(second + 100_000, 120, 121, "make"),
        Waking(second + 200_000, 1, 0, 121, interrupt=True),
        Wakeup(second + 300_000, 0, 7, 121, False, "cc", 120, 0),
        Switch(second + 400_000, 0, 120, 120, "R+", 121, 100, "a => b", "make"),
        Migrate(1_000_000 * second + 500_000, 120, 1, 0, 0, "x", 120),
        Exit(1_000_000 * second + 600_000, 121),
    ]
    assert trace.tells_interrupts


def test_perf_script() -> None:
    trace = read(PERF)
    second = 1_000_000_000
    assert trace.events == [
        Exec(second, 120, 120, "make", "/usr/bin/make"),
        Member(second + 100_123, 120, 120),
        Fork(second + 100_123, 120, 121, "make"),
        Softirq(second + 150_000, 1, 1, begins=True),
        Waking(second + 200_000, 1, 0, 121, interrupt=True),
        Softirq(second + 250_000, 1, 1, begins=False),
        Wakeup(second + 300_000, 0, 7, 121, False, "cc", 120, 1),
        Switch(second + 400_000, 0, 120, 120, "S", 121, 100, "a:b c", "make"),
        Waking(second + 500_000, 0, 121, 120, interrupt=False),
    ]
    assert trace.tells_interrupts


def test_what_is_made_and_whose_thread_a_task_is() -> None:
    lines = [
        "make-120 (-------) [000] ..... 1.000000: task_newtask: pid=121 comm=a pid=7 clone_flags=3d0f00 oom_score_adj=-5",
        "make-121 (    120) [000] ..... 1.000100: sched_process_exit: comm=make pid=121 prio=120",
        "make-121 (    120) [000] ..... 1.000200: sched_process_exit: comm=make pid=121 prio=120",
        "make-121 (    121) [000] ..... 1.000300: sched_stat_runtime: comm=cc pid=121 runtime=1 [ns]",
    ]
    assert read("\n".join(lines)).events == [
        Clone(1_000_000_000, 121, 0x3D0F00),
        Member(1_000_100_000, 121, 120),
        Exit(1_000_100_000, 121),
        Exit(1_000_200_000, 121),
        Member(1_000_300_000, 121, 121),
    ]
    of_perf = "make -1/-1 [000] 1.000000: task:task_newtask: pid=121 comm=a clone_flags=4111 oom_score_adj=0"
    assert read(of_perf).events == [Clone(1_000_000_000, 121, 0x4111)]


def test_perf_without_interrupts_says_so() -> None:
    assert not read("".join(line for line in PERF.splitlines(keepends=True) if "irq:" not in line)).tells_interrupts


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("prev_pid=120", "prev_pid=", 8, "cannot read this sched_switch"),
        ("child_pid=121", "child_pid=x", 5, "cannot read this sched_process_fork"),
        ("next_prio=100", "next_prio", 8, "cannot read this sched_switch"),
        ("[000] d..2.     1.000400", "[000] d..2.     0.000400", 8, "older than the one before it"),
        ("[001] dNh4.     1.000200: sched_waking", "[001] dNh4.     1", 6, "expected an event"),
        ("     1.000200", "     1234567", 6, "expected an event"),
    ],
)
def test_a_line_that_cannot_be_read_is_an_error(old: str, new: str, line: int, reason: str) -> None:
    assert old in FTRACE
    with pytest.raises(InputError, match=rf"^t:{line}: .*{reason}") as error:
        read(FTRACE.replace(old, new, 1))
    assert "\n" not in str(error.value)


def test_forms_are_not_mixed() -> None:
    with pytest.raises(InputError, match=r"^t:12: expected an event"):
        read(FTRACE + PERF)


@pytest.mark.parametrize(
    ("lost", "count"),
    [
        ("CPU:1 [LOST 23 EVENTS]\n", 23),
        ("CPU:0 [LOST EVENTS]\n", 1),
        ("# entries-in-buffer/entries-written: 100/142   #P:2\n", 42),
    ],
)
def test_lost_events_make_a_recording_void(lost: str, count: int) -> None:
    with pytest.raises(InputError, match=f"t: {count} events are lost"):
        read(FTRACE + lost)
    assert read(FTRACE + lost, allow_lost=True).lost == count


def test_perf_tells_lost_events_too() -> None:
    lost = "            make   120 [000]     1.000600: PERF_RECORD_LOST lost 7\n"
    with pytest.raises(InputError, match="7 events are lost"):
        read(PERF + lost)
    assert read(PERF + lost, allow_lost=True).lost == 7


def test_nothing_to_read() -> None:
    with pytest.raises(InputError, match="found none"):
        read("# tracer: nop\n")


def test_perfs_own_files_are_read_by_perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "perf.data"
    data.write_bytes(b"PERFILE2\0\0\0")
    (tmp_path / "text").write_text(PERF)
    perf = tmp_path / "bin" / "perf"
    perf.parent.mkdir()
    monkeypatch.setenv("PATH", f"{perf.parent}:/usr/bin:/bin")
    perf.write_text(f'#!/bin/sh\n[ "$1" = script ] && [ "$7" = {data} ] && cat {tmp_path}/text\n')
    perf.chmod(0o755)
    assert read_file(data).events == read(PERF).events
    perf.write_text("#!/bin/sh\necho 'incompatible file format' >&2\nexit 255\n")
    with pytest.raises(InputError, match=r"perf\.data: perf cannot read it: incompatible file format"):
        read_file(data)
    perf.unlink()
    monkeypatch.setenv("PATH", str(perf.parent))
    with pytest.raises(PlaceError, match=r"perf\.data: perf is not here to read it"):
        read_file(data)
