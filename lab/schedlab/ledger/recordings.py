# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs recorded in a guest: their traces, which are kept, what the traces say, and the workload to replay.

The program runs under every scheduler, traced. What ran under the kernel's own is the workload that the simulator
replays under all of them; what ran under another says how near that replay came.
"""

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab import atomic, checkout
from schedlab.campaign import cells
from schedlab.campaign.arms import Arm
from schedlab.capture import process_tree, trace_file, tracing, workload_file
from schedlab.capture.tasks import Recording
from schedlab.capture.tracing import Guest
from schedlab.catalogue import schedulers, workloads
from schedlab.errors import LabError
from schedlab.ledger.application_scope import Recorded
from schedlab.ledger.measures import WAIT
from schedlab.places import applications, real_kernel, traced, vm
from schedlab.places.place import Say
from schedlab.statistics.agreement import TOTAL, Place, Repeated
from schedlab.statistics.samples import MEAN

# Of the replay: it runs one copy of the program.
_LOAD = 1


@dataclass(frozen=True)
class Recorder:
    """Records under each of the arms, in a guest with so many CPUs, and keeps what it recorded in the directory."""

    arms: Sequence[Arm]
    load: int  # of the application
    tier: str
    cpus: int
    directory: Path
    say: Say

    def record(self, application: str, what: Recorded) -> dict[str, Recording]:
        """By the arm's label."""
        return {arm.label: self._follow(arm, application, what) for arm in self.arms if not arm.control}

    def _follow(self, arm: Arm, application: str, what: Recorded) -> Recording:
        file = self._kept(arm, application, what)
        recording = process_tree.follow(trace_file.read(file), what.root)
        if not recording.root.ended:
            raise LabError(f"{file}: expected the end of {what.root}, found none")
        return recording

    def _kept(self, arm: Arm, application: str, what: Recorded) -> Path:
        """The trace, which is recorded where there is none of these sources yet."""
        workload = workloads.find(application)
        identity = {
            "scheduler": arm.scheduler.name,
            "tunables": arm.tunables,
            "workload": application,
            "load": self.load,
            "params": what.params,
            "place": self.tier,
            "cpus": self.cpus,
            "digests": {
                "scheduler": schedulers.digest(arm.scheduler),
                "workload": workload.digest,
                "engine": cells.engine_digest(checkout.need_binary(traced.RUNNER)),
            },
        }
        file = self.directory / f"{what.name}-{cells.cell_id(identity)}.trace.gz"
        if file.exists():
            return file
        self.say(f"recording {what.root} of {application} under {arm.label}")
        scheduler, files = self._scheduler(arm)
        place = Guest(tier=self.tier, cpus=self.cpus, files=files, limit_s=applications.CELL_LIMIT_S)
        command = traced.command_in_guest(workload, self.load, what.params, scheduler)
        lines, status = tracing.capture(command, traced.equipped(place, workload, self.load, what.params))
        if status:
            raise LabError(f"{application} under {arm.label}: the recorded run ended with status {status}")
        # What cannot be read is not kept.
        trace_file.parse(lines, str(file))
        atomic.write_into(file, gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
        return file

    def _scheduler(self, arm: Arm) -> tuple[str, dict[str, Path]]:
        """As the runner in the guest reads it, and the files that it is of."""
        if arm.scheduler.path is None or real_kernel.is_held(arm.scheduler):
            return schedulers.written(arm.scheduler.name, arm.tunables), {}
        objects = real_kernel.objects(checkout.need_binary(traced.RUNNER), [arm], self.directory / "objects")
        inside, path = vm.within(arm.scheduler, objects)
        return schedulers.written(inside, arm.tunables), {inside: path}


def write_workload(recording: Recording, what: Recorded, folder: Path) -> Path:
    """The file that the simulator replays."""
    file = folder / f"{what.name}.toml"
    atomic.write_into(file, workload_file.text(recording, what.name, recording.root.comm))
    return file


def write_machine(recording: Recording, folder: Path) -> Path:
    """The machine to replay it on: as many CPUs, and no costs but those that were taken off what was recorded."""
    notes = recording.notes
    return workload_file.write_machine(folder, notes.get("cpus") or 1, notes.get("hz") or 250)


def numbers(recordings: Mapping[str, Mapping[str, Recording]]) -> dict[Place, Repeated]:
    """Of recordings by name and by label, what the simulator measures of their replays as well."""
    found = {}
    for name, by_label in recordings.items():
        for label, recording in by_label.items():
            values = {
                ("elapsed_s", MEAN): recording.elapsed_ns / 1e9,
                ("cpu_s", MEAN): recording.cpu_ns / 1e9,
                ("switches_voluntary", MEAN): recording.voluntary,
                ("switches_involuntary", MEAN): recording.involuntary,
                (WAIT[0], TOTAL): recording.waiting_ns / 1e3,
            }
            for (metric, statistic), value in values.items():
                found[Place(label, name, _LOAD, metric, statistic)] = Repeated(value, value, value)
    return found
