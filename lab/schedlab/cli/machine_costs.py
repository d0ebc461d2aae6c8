# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab calibrate machine: what things cost on a real machine, as a machine file of the simulator."""

import argparse
import json
import os
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from rich.console import Console

from schedlab import atomic, checkout
from schedlab.campaign.cells import MEASURED
from schedlab.campaign.request import request
from schedlab.catalogue.machine_file import Description, Topology, text
from schedlab.cli.compare import execute
from schedlab.collect.records import Record
from schedlab.errors import InputError, LabError
from schedlab.export import results
from schedlab.probes.probe import CHECKS, ENDS, PROBES, UNMEASURED, WORK, Probe
from schedlab.probes.solve import simulated, solve_all, with_period, with_runner

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
            "--cpus: expected 1 with --tier exact, whose CPUs take turns on one clock, which no machine file can tell"
        )
    folder = checkout.root() / "results" / f"probes-{options.on}-{tier or ''}-{cpus}".replace("--", "-")
    probes = [probe.with_cpus(cpus) for probe in PROBES if cpus >= probe.least_cpus]
    measured, checks = ([_run(probe, options, tier, cpus, folder) for probe in some] for some in (probes, CHECKS))
    machine = _described(output.stem, options.on, tier, cpus, measured[0][1][0])
    machine = with_runner(machine, [record.cost for record in measured[probes.index(ENDS)][1]])
    machine = with_period(machine, [record.metrics for record in measured[probes.index(WORK.with_cpus(cpus))][1]])
    machine, rows = solve_all({probe: values for probe, (values, _) in zip(probes, measured, strict=True)}, machine)
    output.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(output, text(machine))
    print(f"{output}:")
    print(f"{'cost':<24}{'value':>12}{'least':>12}{'most':>12}{'simulated':>11}  probe")
    for probe, found in rows.items():
        values = f"{found.value:>12,}{found.low:>12,}{found.high:>12,}{found.reached:>11.3f}"
        print(f"{probe.cost:<24}{values}  {probe.told}")
    for probe, (values, _) in zip(CHECKS, checks, strict=True):
        ratio = simulated(probe, machine) / (sum(values) / len(values))
        print(f"{'none: a check':<24}{'':>36}{ratio:>11.3f}  {probe.name}")
    print(f"not measured: {', '.join(_left_out(cpus))}")
    return 0


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
    with execute(asked, own, None, Console(stderr=True), with_report=False) as (manifest, store, _):
        found, _ = store.load(cell.id for cell in manifest.cells)
    for record in found.values():
        if record.status != "ok":
            raise LabError(f"{probe.name}: {record.status}: {record.reason}")
    rows = [row for row in results.rows(manifest, found) if row["label"] == asked.arms[0].label]
    runs = {row["cell"] for row in rows if row["role"] == MEASURED}
    values = [probe.of(found[run].metrics) for run in sorted(runs)]
    if len(values) < options.repetitions:
        raise LabError(f"{probe.name}: {len(values)} of {options.repetitions} runs")
    return values, list(found.values())


def _described(name: str, place: str, tier: str | None, cpus: int, record: Record) -> Description:
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
            f"Not measured, and so as docs/machines.md has it: {', '.join(_left_out(cpus))}.",
        ),
    )
    if tier == "exact":
        # QEMU counts instructions and has no caches, no second thread and no time for them.
        machine = replace(machine, costs={"lock_transfer_ns": 0}, remarks={"lock_transfer_ns": "there are no caches"})
    return machine


def _left_out(cpus: int) -> list[str]:
    return [*UNMEASURED, *sorted({probe.cost for probe in PROBES if cpus < probe.least_cpus})]


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
