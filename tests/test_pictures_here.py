# SPDX-License-Identifier: GPL-2.0-or-later
"""The schedule of a cell on this machine, under the scheduler that it has: in a page, and as a Perfetto file."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from schedlab import checkout
from schedlab.capture import tracing
from tests.command_line import schedlab

ROOT = Path(__file__).resolve().parents[1]
# Some have to wait for a CPU, however many there are.
CLIENTS = min(512, 2 * (os.cpu_count() or 1))
CELL = ["-w", "latt", "--load", str(CLIENTS), "-p", "duration_s=1", "--on", "host"]
KERNEL = os.uname().release


@pytest.fixture(autouse=True)
def can_trace() -> None:
    checkout.need_binary("schedlab-host")
    if not tracing.can_trace():
        pytest.skip(f"this machine cannot be traced: {tracing.NO_TRACEFS}")


def test_a_page_has_the_schedule_of_this_machine(tmp_path: Path) -> None:
    done = schedlab("compare", "default", *CELL, "-n", "1", "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "1 cell runs once more, traced" in done.stderr
    text = (tmp_path / "out" / "report.html").read_text()
    (figure,) = re.findall(r'<figure class="schedule real">.*?</figure>', text, re.DOTALL)
    assert f'<b class="world">this machine, Linux {KERNEL}</b>' in figure
    assert "simulated" not in figure
    assert "virtual" not in figure


def test_no_traced_runs_on_demand(tmp_path: Path) -> None:
    done = schedlab("compare", "default", *CELL, "-n", "1", "--no-traced-runs", "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "out" / "traces").exists()
    assert "No picture of the schedule: default: it was not traced." in (tmp_path / "out" / "report.html").read_text()


def test_a_cell_of_this_machine_as_a_file(tmp_path: Path) -> None:
    out = tmp_path / "latt.pftrace"
    done = schedlab("trace", "default", *CELL, "-o", str(out))
    assert done.returncode == 0, done.stderr
    packets = Trace.FromString(out.read_bytes()).packet
    made = packets[0].system_info.utsname
    assert (made.sysname, made.release, made.version) == ("Linux", KERNEL, "this machine, traced")
    names = {p.generic_kernel_task_state_event.comm for p in packets}
    assert {"client", "parent", "schedlab-host"} <= names
    text = tmp_path / "latt.txt"
    assert schedlab("trace", "default", *CELL, "-o", str(text)).returncode == 0
    assert "sched_switch: prev_comm=" in text.read_text()


@pytest.fixture
def instances(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tracefs"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tracefs", "tracefs", str(folder)], check=True)
    yield folder / "instances"
    subprocess.run(["umount", str(folder)], check=True)


def test_an_interrupted_trace_leaves_nothing_behind(tmp_path: Path, instances: Path) -> None:
    before = set(instances.iterdir())
    command = [sys.executable, "-m", "schedlab", "trace", "default", *CELL[:4], "-p", "duration_s=300", "--on", "host"]
    out = tmp_path / "latt.pftrace"
    with subprocess.Popen([*command, "-o", str(out)], cwd=ROOT / "lab", stderr=subprocess.PIPE, text=True) as child:
        deadline = time.monotonic() + 60
        while set(instances.iterdir()) == before and time.monotonic() < deadline:
            time.sleep(0.1)
        assert set(instances.iterdir()) != before
        child.send_signal(signal.SIGTERM)
        _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert said.splitlines()[-1] == "schedlab: interrupted"
    assert set(instances.iterdir()) == before
    assert not out.exists()
