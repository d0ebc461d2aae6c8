# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab calibrate machine: what things cost on a real machine, as a machine file of the simulator."""

import argparse
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from rich.console import Console

from schedlab import atomic, checkout
from schedlab.campaign.cells import MEASURED
from schedlab.campaign.request import request
from schedlab.catalogue.machine_file import Description, Topology, text
from schedlab.cli.compare import execute
from schedlab.collect.records import OK, Record
from schedlab.errors import InputError, LabError
from schedlab.export import results
from schedlab.probes.probe import CHECKS, DISK, ENDS, PROBES, REALTIME, SCHED_EXT, UNMEASURED, WORK, Probe
from schedlab.probes.solve import simulated, solve_all, with_period, with_runner
from schedlab.sched_ext import sysfs

NAME = "machine"  # in the place of a workload's


def measure(options: argparse.Namespace) -> int:
    if not options.output:
        raise InputError("calibrate machine: expected -o machines/NAME.toml")
    output = Path(options.output)
    if output.suffix != ".toml":
        raise InputError(f"-o {output}: expected a file NAME.toml")
    cpus = options.cpus if options.on == "vm" else os.cpu_count() or 1
    tier = None if options.on == "host" else "exact" if options.tier == "auto" else options.tier
    if tier == "exact" and cpus > 1:
        raise InputError(
            "--cpus: expected 1 with --tier exact: its CPUs take turns, and the costs are the same with more of them "
            "(one_clock in a machine file)"
        )
    folder = checkout.writable() / "results" / f"probes-{options.on}-{tier or ''}-{cpus}".replace("--", "-")
    where = _Where(options, tier, cpus, folder)
    probes = [probe.with_cpus(cpus) for probe in PROBES if cpus >= probe.least_cpus]
    measured, checks = where.run(probes), where.run(CHECKS)
    found = {probe: run for probe, run in measured.items() if not run.lack}
    left_out = _left_out(cpus, measured)
    machine = _described(output.stem, options.on, tier, cpus, found[ENDS].records[0], left_out)
    machine = with_runner(machine, [record.cost for record in found[ENDS].records])
    machine = with_period(machine, [record.metrics for record in found[WORK.with_cpus(cpus)].records])
    machine, rows = solve_all({probe: run.values for probe, run in found.items()}, machine)
    output.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(output, text(machine))
    print(f"{output}:")
    print(f"{'cost':<24}{'value':>12}{'least':>12}{'most':>12}{'simulated':>11}  probe")
    for probe, one in rows.items():
        values = f"{one.value:>12,}{one.low:>12,}{one.high:>12,}{one.reached:>11.3f}"
        print(f"{probe.cost:<24}{values}  {probe.told}")
    for probe, run in checks.items():
        if not run.lack:
            ratio = simulated(probe, machine) / (sum(run.values) / len(run.values))
            print(f"{'none: a check':<24}{'':>36}{ratio:>11.3f}  {probe.name}")
    for reason, costs in left_out.items():
        print(f"not measured: {', '.join(costs)}{': ' if reason else ''}{reason}")
    return 0


@dataclass(frozen=True)
class _Run:
    """A probe's values, one a repetition, and all its records; or what the place lacks for it."""

    values: list[float] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    lack: str = ""


@dataclass(frozen=True)
class _Where:
    options: argparse.Namespace
    tier: str | None
    cpus: int
    folder: Path

    def run(self, probes: Sequence[Probe]) -> dict[Probe, _Run]:
        return {probe: self._run(probe) for probe in probes}

    def _run(self, probe: Probe) -> _Run:
        if lack := self._lack_of(probe):
            return _Run(lack=lack)
        values, records = _run(probe, self.options, self.tier, self.cpus, self.folder)
        if bad := next((record for record in records if record.status != OK), None):
            if REALTIME in probe.all_needs:
                return _Run(lack=f"no real-time task could run ({bad.reason.partition(';')[0]})")
            raise LabError(f"{probe.name}: {bad.status}: {bad.reason}")
        if len(values) < self.options.repetitions:
            raise LabError(f"{probe.name}: {len(values)} of {self.options.repetitions} runs")
        if DISK in probe.all_needs and not all(map(_waited, records)):
            return _Run(lack="no write waited for a disk: files are in memory where TMPDIR or /var/tmp is")
        return _Run(values, records)

    def _lack_of(self, probe: Probe) -> str:
        """What is known before it runs."""
        if DISK in probe.all_needs and self.tier == "exact":
            return "a guest of the exact tier has no disk"
        if SCHED_EXT in probe.all_needs and self.options.on == "host" and not sysfs.there():
            return "this kernel has no sched_ext, and takes no policy"
        return ""


def _waited(record: Record) -> bool:
    """Whether its task blocked for every write, or nearly."""
    return record.metrics["switches_voluntary"] >= 0.9 * int(record.cell["params"]["writes"])


def _run(
    probe: Probe, options: argparse.Namespace, tier: str | None, cpus: int, folder: Path
) -> tuple[list[float], list[Record]]:
    """Its values, one a repetition, and all its records. In a folder of its own, so that the same command resumes."""
    asked = request(
        probe.scheduler,
        workload_names=str(probe.path),
        load=str(probe.load),
        machine_names=str(cpus) if options.on == "vm" else None,
        place=options.on,
        tier=tier,
        repetitions=options.repetitions,
        param=[f"{key}={value}" for key, value in probe.params.items()],
    )
    own = folder / "".join(c if c.isalnum() else "-" for c in f"{probe.name} {probe.load}")
    with execute(asked, own, None, Console(markup=False, stderr=True), with_report=False) as (manifest, store, _):
        found, _ = store.load(cell.id for cell in manifest.cells)
    rows = [row for row in results.rows(manifest, found) if row["label"] == asked.arms[0].label]
    runs = {row["cell"] for row in rows if row["role"] == MEASURED}
    values = [probe.of(found[run].metrics) for run in sorted(runs) if found[run].status == OK]
    return values, list(found.values())


def _described(
    name: str, place: str, tier: str | None, cpus: int, record: Record, left_out: Mapping[str, list[str]]
) -> Description:
    kernel, hz = record.provenance["kernel"], int(record.provenance["hz"])
    where = f"guest of the {tier} tier" if place == "vm" else "machine"
    machine = Description(
        name=name,
        title=f"a {where}, {cpus} CPU{'s' if cpus > 1 else ''}, as measured",
        source=f"schedlab calibrate machine, Linux {kernel}",
        hz=hz,
        topology=Topology(cores_per_llc=cpus) if place == "vm" else _topology(),
        head=(
            f"Written by: schedlab calibrate machine --on {place}"
            + (f" --tier {tier} --cpus {cpus}" if place == "vm" else "")
            + f" -o {name}.toml",
            "Each cost is what makes a probe (machines/probes) take as long in the simulator as on the machine.",
            *(
                f"Not measured, and so as docs/machines.md has it: {', '.join(costs)}{f' ({reason})' * bool(reason)}."
                for reason, costs in left_out.items()
            ),
        ),
    )
    if tier == "exact":
        # QEMU counts instructions and has no caches, no second thread and no time for them.
        machine = replace(machine, costs={"lock_transfer_ns": 0}, remarks={"lock_transfer_ns": "there are no caches"})
    return machine


def _left_out(cpus: int, measured: Mapping[Probe, _Run]) -> dict[str, list[str]]:
    """Costs that keep their defaults, by the reason; what no probe tells has none."""
    few = sorted({probe.cost for probe in PROBES if cpus < probe.least_cpus})
    found = {"": [*UNMEASURED, *few]}
    for probe, run in measured.items():
        if run.lack:
            found.setdefault(run.lack, []).append(probe.cost)
    return found


def _topology() -> Topology:
    """Of this machine, as lscpu tells it; parts of different sizes are refused."""
    done = subprocess.run(["lscpu", "-J", "-e=SOCKET,CACHE,CORE,CPU"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"lscpu: {done.stderr.strip()}")
    # The last of a CPU's caches, in a column named after all of them, is the one that it shares with most.
    places = []
    for row in json.loads(done.stdout)["cpus"]:
        cache = next((shared.rpartition(":")[2] for key, shared in row.items() if ":" in key), "")
        places.append((row["socket"], cache, row["core"], row["cpu"]))
    counts = [len({place[: level + 1] for place in places}) for level in range(4)]
    for larger, smaller in pairwise(counts):
        if smaller % larger:
            raise LabError("this machine's sockets, caches or cores differ in size, which a machine file cannot tell")
    sockets, llcs, cores, cpus = counts
    threads = cpus // cores
    first = [int(cpu) for _, _, core, cpu in places if core == places[0][2]]
    return Topology(
        sockets,
        llcs // sockets,
        cores // llcs,
        threads,
        "adjacent" if threads == 1 or first[1] - first[0] == 1 else "split",
    )
