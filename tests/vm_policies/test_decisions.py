# SPDX-License-Identifier: GPL-2.0-or-later
"""A cell's decisions in a real kernel: traced whole, its tasks found, the same again from the kept trace."""

import json
from pathlib import Path

import pytest

from schedlab.capture import trace_file
from schedlab.decisions import from_kernel
from schedlab.decisions.moments import Queued, Switch
from tests.command_line import schedlab

ROOT = Path(__file__).resolve().parents[2]
TRIPS = 20
WORDS = ["decisions", "vtime", "-w", "pipe", "-p", f"trips={TRIPS}"]


@pytest.mark.usefixtures("can_boot", "loader")
def test_a_cell_twice_in_the_guest(tmp_path: Path) -> None:
    kept = tmp_path / "kernel.trace"
    done = schedlab(*WORDS, "--keys", "--control", "--trace", str(kept), "--json")
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert set(found["sides"]) == {"kernel", "the kernel again"}
    assert found["agree"] <= min(side["decisions"] for side in found["sides"].values())
    first = kept.read_text().partition("# schedlab: run=2\n")[0]
    side = from_kernel.side(trace_file.parse(first.splitlines(), "first"), {"client", "server", "prober", "probe"})
    assert side.cell == {"client[0]", "server[0]", "prober[0]", "probe[0.0]"}
    picks = [moment.next for moment in side.moments if isinstance(moment, Switch) and moment.next in side.cell]
    # Each trip blocks both, whatever the policy decides.
    assert min(picks.count("client[0]"), picks.count("server[0]")) >= TRIPS
    keys = [moment for moment in side.moments if isinstance(moment, Queued) and moment.key]
    assert {"client[0]", "server[0]"} <= {moment.task for moment in keys}

    said = schedlab(*WORDS, "--from", str(kept), "--json")
    assert said.returncode in (0, 1), said.stderr
    again = json.loads(said.stdout)
    assert set(again["sides"]) == {"kernel", "simulator"}
    assert again["sides"]["kernel"]["decisions"] == found["sides"]["kernel"]["decisions"]


@pytest.mark.usefixtures("can_boot", "loader")
def test_a_trace_that_loses_events_is_void() -> None:
    done = schedlab(*WORDS, "--buffer-kib", "4")
    assert done.returncode == 1
    assert "the kernel's trace: void, " in done.stderr
    assert "events are lost: expected none, try a larger --buffer-kib" in done.stderr
