# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab calibrate: a workload's real tasks, measured once, as a profile."""

import argparse
import datetime
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from schedlab import atomic, checkout
from schedlab.capture import accounting, model, process_tree, profile, trace_file, tracing
from schedlab.capture.profile import Kind, kinds
from schedlab.catalogue import toml, workloads
from schedlab.catalogue.workloads import Workload
from schedlab.cli import machine_costs
from schedlab.cli.guest import guest
from schedlab.errors import InputError, LabError
from schedlab.places import applications, traced
from schedlab.places.traced import RUNNER


def calibrate(options: argparse.Namespace) -> int:
    if options.workload == machine_costs.NAME:
        return machine_costs.measure(options)
    workload = workloads.find(options.workload)
    params = dict(_pair(text) for text in options.param)
    output = Path(options.output) if options.output else checkout.writable() / "profiles" / f"{workload.name}.toml"
    if options.model:
        if options.load is not None:
            raise InputError(f"--load {options.load}: expected none with --model, the profile has its own")
        return _beside_model(workload, output, params)
    load = workload.loads_on(_cpus(options))[0] if options.load is None else options.load
    made: dict[str, Any] = {"workload": workload.name, "load": load}
    if params:
        made["params"] = ", ".join(f"{name}={value}" for name, value in sorted(params.items()))
    command = applications.command(workload.path) or {}
    if packages := {*command.get("tools", {}).values(), *command.get("packages", [])}:
        made["packages"] = _versions(sorted(packages))
        if digests := _digests(workload, load, params):
            made["input"] = digests
    made["date"] = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    found, remarks, status = _measure(options, workload, load, params, made)
    found = _of_the_workload(found, workload)
    if status:
        raise LabError(f"{workload.name}: the run failed, so that there is nothing to make a profile of")
    if not found:
        raise InputError(f"{workload.name}: the trace has no task of this workload")
    output.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(output, profile.text(made, found, remarks))
    _tell(output, found, remarks)
    return 0


def _cpus(options: argparse.Namespace) -> int:
    return options.cpus if options.on == "vm" else os.cpu_count() or 1


def _measure(
    options: argparse.Namespace, workload: Workload, load: int, params: dict[str, str], made: dict[str, Any]
) -> tuple[dict[str, Kind], list[str], int]:
    if options.source:
        read = trace_file.read(Path(options.source))
        return _traced(read, options.root, made), [], 0
    place = guest(options)
    if place is None and not tracing.can_trace():
        made |= _here()
        found, status = accounting.account(traced.command(workload, load, params))
        return found, list(accounting.REMARKS), status
    if place is None:
        command = traced.command(workload, load, params)
    else:
        command = traced.command_in_guest(workload, load, params)
        place = traced.equipped(place, workload, load, params)
    lines, status = tracing.capture(command, place, options.buffer_kib)
    read = trace_file.parse(lines, "the trace")
    return _traced(read, None, made), [], status


def _traced(read: trace_file.Trace, root: str | None, made: dict[str, Any]) -> dict[str, Kind]:
    recording = process_tree.follow(read, root)
    for key in ("date", "place", "kernel", "cpus", "ops"):
        if recording.notes.get(key):
            made[key] = recording.notes[key]
    made["method"] = "tracing of sched_switch and sched_waking"
    return kinds(recording.tasks)


def _here() -> dict[str, Any]:
    return {
        "place": "host",
        "kernel": os.uname().release,
        "cpus": len(os.sched_getaffinity(0)),
        "method": accounting.METHOD,
    }


def _of_the_workload(found: dict[str, Kind], workload: Workload) -> dict[str, Kind]:
    """Without the runner's own processes; where tasks are described, those and no others."""
    if workload.path.suffix == workloads.RT_APP or applications.command(workload.path) is not None:
        return {name: kind for name, kind in found.items() if not name.startswith(RUNNER[:15])}
    described = {str(task.get("name", ""))[:15] for task in toml.read(workload.path).get("task", [])}
    return {name: kind for name, kind in found.items() if name in described}


def _beside_model(workload: Workload, profile: Path, params: dict[str, str]) -> int:
    """What the real tasks were measured to do, and what the simulated ones do at the same load."""
    rows = model.sides(workload.path, toml.read(profile), params)
    print(f"{'':<16}{'CPU, ms':^36}{'blocks for a second of CPU':^36}")
    print(f"{'task':<16}" + 2 * f"{'measured':>13}{'model':>13}{'ratio':>10}")
    for name, real, ours in rows:
        cells = [_pair_of(*(side and getattr(side, of) for side in (real, ours))) for of in ("cpu_ms", "blocks_per_s")]
        print(f"{name:<16}" + "".join(cells))
    if found := model.out_of_bounds(rows, workload.leaves_out):
        where = f"is off by more than {model.CPU_PCT} % of {profile}"
        raise LabError(f"{workload.name}: the model's CPU time {where}: {', '.join(found)}")
    return 0


def _pair_of(real: float | None, ours: float | None) -> str:
    ratio = f"{ours / real:>10.2f}" if real and ours is not None else f"{'-':>10}"
    return "".join(f"{'-':>13}" if value is None else f"{value:>13.1f}" for value in (real, ours)) + ratio


def _versions(packages: list[str]) -> str:
    """What the real application was, as the package manager knows it."""
    try:
        form = "${Package} ${Version}\n"
        shown = subprocess.run(
            ["dpkg-query", "-W", f"-f={form}", *packages], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    # A package without a version is not installed.
    return ", ".join(line for line in shown.stdout.splitlines() if not line.endswith(" "))


def _digests(workload: Workload, load: int, params: dict[str, str]) -> str:
    """What the real application worked on: files and the first digits of their SHA-256."""
    folders = applications.prepared(checkout.need_binary(RUNNER), workload.path, load, params)
    sums = (line.split() for folder in folders for line in (folder / "SHA256SUMS").read_text().splitlines())
    return ", ".join(f"{Path(name).name} {digest[:16]}" for digest, name in sums)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"-p {text}: expected NAME=VALUE")
    return name, value


def _tell(output: Path, found: dict[str, Kind], remarks: list[str]) -> None:
    print(f"{output}:")
    print(f"{'task':<16}{'tasks':>7}  {'what':<6}{'count':>8}{'mean_us':>12}{'median_us':>12}{'sigma':>8}")
    for name, kind in found.items():
        for what, of in kind.distributions().items():
            figures = f"{len(of.values_ns):>8}{of.mean_ns / 1e3:>12.1f}{of.median_ns / 1e3:>12.1f}{of.sigma:>8.2f}"
            print(f"{name:<16}{kind.tasks:>7}  {what:<6}{figures}")
    for remark in remarks:
        print(f"schedlab: {remark}", file=sys.stderr)
