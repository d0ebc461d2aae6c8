# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a recorded workload in the simulator and lays it beside the recording."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from schedlab import simulator
from schedlab.capture import workload_file as machines
from schedlab.capture.tasks import Recording
from schedlab.catalogue import toml
from schedlab.errors import LabError

ELAPSED_PCT = 10.0
SWITCHES_PCT = 20.0


@dataclass(frozen=True)
class Figure:
    name: str
    recorded: float
    replayed: float
    bound_pct: float | None

    @property
    def change_pct(self) -> float:
        return (self.replayed / self.recorded - 1) * 100 if self.recorded else 0.0

    @property
    def good(self) -> bool:
        return self.bound_pct is None or abs(self.change_pct) <= self.bound_pct


def replay(recording: Recording, workload: Path, scheduler: str, machine: str | None = None) -> list[Figure]:
    """The figures of both; without a machine, one as large as that of the recording."""
    if machine and toml.is_path(machine):
        machine = str(Path(machine).resolve())
    with tempfile.TemporaryDirectory(prefix="schedlab-replay-") as folder:
        if machine is None:
            notes = recording.notes
            machine = str(machines.write_machine(Path(folder), notes.get("cpus") or 1, notes.get("hz") or 250))
        record = simulator.record(simulator.command(scheduler, workload, machine))
    if record["status"] != "ok":
        raise LabError(f"the replay {record['status']}: {record['reason']}")
    metrics = record["metrics"]
    switches = metrics["switches_voluntary"] + metrics["switches_involuntary"]
    return [
        Figure("elapsed_s", recording.elapsed_ns / 1e9, metrics["elapsed_s"], ELAPSED_PCT),
        Figure("switches", recording.switches, switches, SWITCHES_PCT),
        Figure("cpu_s", recording.cpu_ns / 1e9, metrics["cpu_s"], None),
        Figure("switches_voluntary", recording.voluntary, metrics["switches_voluntary"], None),
        Figure("switches_involuntary", recording.involuntary, metrics["switches_involuntary"], None),
        Figure("migrations", recording.migrations, metrics["migrations"], None),
    ]
