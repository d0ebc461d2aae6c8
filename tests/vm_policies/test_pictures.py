# SPDX-License-Identifier: GPL-2.0-or-later
"""The schedule of a cell in a guest: in the page of a comparison, and as a Perfetto file."""

import json
import re
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import GenericKernelTaskStateEvent, Trace

from tests.command_line import schedlab

ROOT = Path(__file__).resolve().parents[2]
# One second with clients that wait for each other on two CPUs.
CELL = ["-w", "latt", "--load", "4", "-p", "duration_s=1", "--on", "vm"]


@pytest.mark.usefixtures("can_boot", "loader")
def test_a_page_has_the_schedules_of_a_guest(tmp_path: Path) -> None:
    done = schedlab("compare", "vtime,default", *CELL, "-n", "1", "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "2 cells run once more, traced" in done.stderr
    text = (tmp_path / "out" / "report.html").read_text()
    (figure,) = re.findall(r'<figure class="schedule virtual">.*?</figure>', text, re.DOTALL)
    kernel = json.loads((tmp_path / "out" / "guests.json").read_text())[0]["kernel"]
    assert f'<b class="world">virtual machine (exact), Linux {kernel}</b>' in figure
    assert "simulated" not in figure
    found = re.search(r'<script type="application/json" class="schedule">(.*?)</script>', figure)
    assert found
    data = json.loads(found[1])
    assert [panel["scheduler"] for panel in data["panels"]] == ["vtime", "default"]
    for panel in data["panels"]:
        assert panel["cpus"] == [0, 1]
        names = [data["groups"][task[1]] for task in panel["tasks"]]
        assert names.count("client") == 4
        assert any(length > 1_000_000 for _, _, length in panel["waits"])
    # Measured are others than these: the records of both have the ids of their cells alone.
    assert len(list((tmp_path / "out" / "traces").iterdir())) == 2
    again = schedlab("compare", "vtime,default", *CELL, "-n", "1", "-o", str(tmp_path / "out"))
    assert "traced" not in again.stderr
    assert (tmp_path / "out" / "report.html").read_text().count('class="schedule virtual"') == 1


@pytest.mark.usefixtures("can_boot", "loader")
def test_a_cell_of_a_guest_as_a_perfetto_file(tmp_path: Path) -> None:
    out = tmp_path / "latt.pftrace"
    done = schedlab("trace", "vtime", *CELL, "-o", str(out))
    assert done.returncode == 0, done.stderr
    packets = Trace.FromString(out.read_bytes()).packet
    made = packets[0].system_info.utsname
    assert made.sysname == "Linux"
    assert re.fullmatch(r"exact guest, QEMU [\d.]+, traced", made.version)
    states = [p.generic_kernel_task_state_event for p in packets if p.HasField("generic_kernel_task_state_event")]
    assert {event.cpu for event in states} == {0, 1}
    running = [event for event in states if event.state == GenericKernelTaskStateEvent.TASK_STATE_RUNNING]
    assert len({event.tid for event in running if event.comm == "client"}) == 4
    assert any(event.comm == "schedlab-host" for event in running)


@pytest.mark.usefixtures("can_boot", "loader")
def test_a_trace_that_loses_events_is_void(tmp_path: Path) -> None:
    out = tmp_path / "latt.pftrace"
    cell = ["-w", "hackbench", "--load", "4", "-p", "loops=20", "--on", "vm"]
    done = schedlab("trace", "default", *cell, "--buffer-kib", "16", "-o", str(out))
    assert done.returncode == 1
    said = r"schedlab: default, hackbench: void, the trace's buffer was full .*: expected a whole trace, try a larger "
    assert re.fullmatch(f"{said}--buffer-kib", done.stderr.strip())
    assert not out.exists()
