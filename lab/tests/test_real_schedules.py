# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures and Perfetto files of a real kernel's cells, out of traces of a guest."""

import html
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import GenericKernelTaskStateEvent, Trace, TrackEvent

from lab.tests.real_schedules import drawn, lines_of, planned
from schedlab.campaign.cells import CONTROL
from schedlab.campaign.matrix import PlannedCell
from schedlab.campaign.shown import shown
from schedlab.capture import trace_file
from schedlab.cli import traced_runs
from schedlab.collect import traces
from schedlab.collect.store import Store
from schedlab.decisions.as_simulated import TracedCell, traced_cell
from schedlab.errors import InputError, LabError, PlaceError
from schedlab.places import pictured
from schedlab.trace import perfetto
from schedlab.trace.simulated import IDLE

KERNEL = "7.2.13+deb14-cloud-amd64"
RUNNING = GenericKernelTaskStateEvent.TASK_STATE_RUNNING


def traced(lines: list[str]) -> TracedCell:
    return traced_cell(trace_file.parse(lines, "t", allow_lost=True))


def data_of(section: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" class="schedule">(.*?)</script>', section)
    assert found
    return json.loads(found[1])


def test_the_cells_tasks_have_the_workloads_names_and_others_their_own() -> None:
    cell = traced(lines_of("bfs"))
    assert sorted(cell.cell.values()) == ["client"] * 4 + ["parent"]
    assert cell.whole_until_ns is None
    # The workload runs for a second.
    assert 1.0e9 < cell.end_ns - cell.begin_ns < 1.1e9
    named = {event.pid("next_"): event.comm("next_") for event in cell.events if event.name == "sched_switch"}
    assert {named[pid] for pid in cell.cell} == {"client", "parent"}
    assert named[IDLE] == "swapper"
    assert "schedlab-host" in named.values()


def test_who_runs_follows_from_switch_to_switch() -> None:
    running: dict[int, int] = {}
    for event in traced(lines_of("default")).events:
        if event.name == "sched_switch":
            assert running.get(event.cpu, event.pid("prev_")) == event.pid("prev_")
            running[event.cpu] = event.pid("next_")
    assert set(running) == {0, 1}


def test_a_picture_says_where_it_was_made_and_that_its_runs_are_none_of_the_measured(tmp_path: Path) -> None:
    section = drawn(tmp_path, {"bfs": lines_of("bfs"), "default": lines_of("default")})
    assert f'<b class="world">virtual machine (exact), Linux {KERNEL}</b>' in section
    assert "traced, which takes time of its own: they are runs apart, and none of the measured ones" in section
    assert "simulated" not in section
    assert 'class="schedule virtual"' in section
    data = data_of(section)
    assert [panel["scheduler"] for panel in data["panels"]] == ["bfs", "default"]
    assert data["groups"] == ["parent", "client", "other tasks of the machine"]
    for panel in data["panels"]:
        assert len(panel["rows"]) == 5  # the cell's tasks, and no other's
        own = [task for task in panel["tasks"] if task[1] == 2]
        assert all(len(task) == 3 for task in own)
        waiting = {panel["tasks"][wait[0]][1] for wait in panel["waits"]}
        assert 2 not in waiting
        # No CPU runs two tasks at once.
        for cpu in panel["cpus"]:
            runs = sorted((start, start + length) for at, _, start, length in panel["runs"] if at == cpu)
            assert all(end <= after for (_, end), (after, _) in pairwise(runs))
    assert any(task[1] == 2 for panel in data["panels"] for task in panel["tasks"])
    here = drawn(tmp_path, {"bfs": lines_of("bfs")}, "host")
    assert f"this machine, Linux {KERNEL}" in here
    assert "virtual machine" not in here


def test_each_kernel_is_named_where_there_are_several(tmp_path: Path) -> None:
    other = [line.replace(KERNEL, "6.12.1") for line in lines_of("default")]
    section = drawn(tmp_path, {"bfs": lines_of("bfs"), "default": other})
    assert f"Linux {KERNEL}, Linux 6.12.1</b>" in section
    assert "<b>default</b> on Linux 6.12.1:" in section


def test_lost_events_void_a_picture_and_it_says_so(tmp_path: Path) -> None:
    lost = [line.replace("dropped=0", "dropped=7") for line in lines_of("default")]
    section = drawn(tmp_path, {"bfs": lines_of("bfs"), "default": lost})
    assert "No picture of default: void, its trace lost 7 events." in section
    assert [panel["scheduler"] for panel in data_of(section)["panels"]] == ["bfs"]
    alone = drawn(tmp_path, {"default": lost})
    assert alone == '<p class="note">No picture of the schedule: default: void, its trace lost 7 events.</p>'


def until(lines: list[str], ns: int) -> list[str]:
    """As if CPU 1 had nothing to write to from then on, so long after the cell's beginning."""
    last_s = (traced(lines).begin_ns + ns) / 1e9
    kept = []
    for line in lines:
        found = re.search(r"\[001\] \S+ +(\d+\.\d+): ", line)
        if not found or float(found[1]) < last_s:
            kept.append("# schedlab: full=1" if line.startswith("# schedlab: full=") else line)
    return kept


def test_a_full_buffer_voids_what_comes_later_only(tmp_path: Path) -> None:
    window = data_of(drawn(tmp_path, {"bfs": lines_of("bfs")}))
    early = until(lines_of("default"), window["start_ns"])
    section = drawn(tmp_path, {"bfs": lines_of("bfs"), "default": early})
    assert "No picture of default: void, its trace lost what came later than " in section
    late = until(lines_of("default"), window["end_ns"] + 400_000_000)
    both = data_of(drawn(tmp_path, {"bfs": lines_of("bfs"), "default": late}))
    whole = data_of(drawn(tmp_path, {"bfs": lines_of("bfs"), "default": lines_of("default")}))
    assert both == whole


def test_a_buffer_that_is_full_before_the_cell_begins_voids_all(tmp_path: Path) -> None:
    lines = lines_of("bfs")
    made = next(at for at, line in enumerate(lines) if "newcomm=client" in line)
    short = ["# schedlab: full=0 1" if line.startswith("# schedlab: full=") else line for line in lines[:made]]
    short.append(next(line for line in lines if line.startswith(traces.RECORD)))
    section = html.unescape(drawn(tmp_path, {"bfs": short}))
    assert "bfs: void, the trace's buffer was full before the workload's tasks were let go." in section


def test_what_could_not_be_traced_says_why(tmp_path: Path) -> None:
    section = drawn(tmp_path, {"bfs": lines_of("bfs"), "default": [f"{traces.FAULT}no tracefs that can be written"]})
    assert "No picture of default: no tracefs that can be written." in section
    (tmp_path / "traces" / "id-bfs.trace.gz").unlink()
    section = drawn(tmp_path, {"default": [f"{traces.FAULT}no tracefs that can be written"]})
    assert section.endswith("No picture of the schedule: default: no tracefs that can be written.</p>")
    ejected = [
        line.replace('"status":"ok","reason":""', '"status":"ejected","reason":"a stall"') for line in lines_of("bfs")
    ]
    assert "bfs: ejected: a stall." in drawn(tmp_path, {"bfs": ejected})


def test_traces_are_kept_the_same_and_read_back(tmp_path: Path) -> None:
    lines = lines_of("bfs")
    traces.keep(tmp_path, "one", lines)
    traces.keep(tmp_path, "two", lines)
    one, two = (tmp_path / "traces" / f"{name}.trace.gz" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert traces.read(tmp_path, "one") == lines
    assert traces.is_there(tmp_path, "one")
    one.write_bytes(two.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"one\.trace\.gz: cannot be read"):
        traces.read(tmp_path, "one")
    with pytest.raises(LabError, match="it was not traced"):
        traces.read(tmp_path, "three")


def test_shown_are_the_measured_cells_of_highest_load_and_first_seed() -> None:
    cells = [
        planned("default", role=CONTROL),
        *(planned(name, load=load, seed=seed) for name in "abcde" for load in (1, 4) for seed in (2, 1)),
        planned("a", machine="4"),
        planned("a", workload="pipe"),
    ]
    found = shown(cells, "latt", "2")
    assert list(found) == ["a", "b", "c", "d"]
    assert {(cell.data["load"], cell.data["seed"]) for cell in found.values()} == {(4, 1)}
    assert shown(cells, "other", "2") == {}


class Request(SimpleNamespace):
    place = "host"
    machines = (SimpleNamespace(name="2"),)
    workloads = (SimpleNamespace(name="latt"),)


def test_only_cells_without_a_trace_run_and_a_place_that_cannot_trace_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    campaign = SimpleNamespace(request=Request(), cells=[planned("bfs"), planned("default")])
    ran: list[str] = []

    def take(_: object, wanted: list[PlannedCell], kib: int, keep: Callable, say: Callable) -> None:
        for cell in wanted:
            ran.append(cell.label)
            if cell.label == "bfs":
                keep(cell, lines_of("bfs"))
        raise PlaceError("no tracefs\nhere")

    monkeypatch.setattr(pictured, "take", take)
    said: list[str] = []
    traced_runs.take(campaign, store, said.append)  # type: ignore[arg-type]
    assert ran == ["bfs", "default"]
    assert said == ["2 cells run once more, traced, for the pictures of their schedules"]
    with pytest.raises(LabError, match=r"^no tracefs here$"):
        traces.read(tmp_path, "id-default")
    traced_runs.take(campaign, store, said.append)  # type: ignore[arg-type]
    assert ran == ["bfs", "default", "default"]
    campaign.request.place = "sim"
    traced_runs.take(campaign, store, said.append)  # type: ignore[arg-type]
    assert len(ran) == 3


def test_a_perfetto_file_of_a_kernel_says_so_and_has_every_run() -> None:
    cell = traced(lines_of("bfs"))
    origin = perfetto.Origin("Linux", KERNEL, "exact guest, traced", {139: 137}, {cell.begin_ns: "begin"})
    packets = Trace.FromString(b"".join(perfetto.encode(cell.events, origin))).packet
    made = packets[0].system_info.utsname
    assert (made.sysname, made.release, made.version) == ("Linux", KERNEL, "exact guest, traced")
    runs = [
        (p.timestamp, p.generic_kernel_task_state_event.tid)
        for p in packets
        if p.generic_kernel_task_state_event.state == RUNNING
    ]
    switches = [event for event in cell.events if event.name == "sched_switch" and event.pid("next_") != IDLE]
    assert runs == [(event.time_ns, event.pid("next_")) for event in switches]
    threads = {t.tid: t.pid for p in packets for t in p.generic_kernel_process_tree.threads}
    assert threads[139] == 137
    assert threads[138] == 138
    instants = [p.track_event.name for p in packets if p.track_event.type == TrackEvent.TYPE_INSTANT]
    assert instants[0] == "begin"
    moved = sum(event.name == "sched_migrate_task" for event in cell.events)
    assert sum(name.startswith("migrate ") for name in instants) == moved > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tier", "exact"], "--tier exact: only a real kernel has one"),
        (["--buffer-kib", "64"], "--buffer-kib 64: only a real kernel has one"),
        (["--on", "vm", "--api", "6.12"], "--api 6.12: only the simulator"),
        (["--on", "vm", "-m", "2,3"], "expected one machine, found 2"),
        (["--on", "vm", "-m", "desktop-4"], "expected a number of CPUs"),
        (["--on", "vm", "--buffer-kib", "0"], "--buffer-kib 0: expected 1 or more"),
        (["--on", "vm", "--seed", "-1"], "--seed -1: expected 0 or more"),
        (["--on", "host", "--tier", "exact"], "only the virtual machine has tiers"),
    ],
)
def test_bad_input_of_trace_is_one_line(lab: Callable, arguments: list[str], message: str) -> None:
    result = lab("trace", "bfs", "-w", "latt", "-o", "out.pftrace", *arguments)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr


def test_without_a_guest_trace_says_so(lab: Callable, checkout: Path) -> None:
    result = lab("trace", "bfs", "-w", "latt", "-o", "out.pftrace", "--on", "vm", PATH="/nowhere")
    assert result.returncode == 3
    assert len(result.stderr.splitlines()) == 1
    assert not list(checkout.glob("*.pftrace"))


def test_traced_runs_are_a_real_kernels(lab: Callable) -> None:
    result = lab("compare", "bfs,cfs", "-w", "latt", "--no-traced-runs", "-o", "out")
    assert (result.returncode, len(result.stderr.splitlines())) == (2, 1)
    assert "--no-traced-runs: only a real kernel's pictures need runs of their own" in result.stderr


def test_a_simulated_picture_says_that_it_is(lab: Callable, checkout: Path) -> None:
    assert lab("compare", "bfs,cfs", "-w", "latt", "-n", "1", "-o", "out").returncode == 0
    (figure,) = re.findall(
        r'<figure class="schedule simulated">.*?</figure>', (checkout / "out" / "report.html").read_text()
    )
    assert '<b class="world">simulated</b>' in figure
    assert "Linux" not in figure
    assert "traced" not in figure
