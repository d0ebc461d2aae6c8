# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab agree: policies, workloads and loads in the simulator and on a real kernel, number beside number."""

import argparse
import json
import math
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from schedlab import atomic, checkout
from schedlab.campaign.matrix import CONTROL_LABEL
from schedlab.campaign.request import request
from schedlab.campaign.where import PLACES
from schedlab.catalogue import machines
from schedlab.catalogue.machines import Machine
from schedlab.catalogue.schedulers import DEFAULT
from schedlab.cli import agree_applications, agree_search
from schedlab.cli.agree_options import DIRECTORY, MACHINE
from schedlab.cli.agree_told import Told
from schedlab.cli.agree_worlds import Worlds
from schedlab.collect.records import kernel_release
from schedlab.errors import CHECK_FAILED, InputError, PlaceError
from schedlab.export.plain import finite
from schedlab.ledger import causes, entries, knobs, limits, own_machines, scope
from schedlab.ledger.entries import Entry, Ledger
from schedlab.ledger.measures import MEASURES
from schedlab.ledger.scope import Scope
from schedlab.ledger.tallies import of_measure, tally
from schedlab.places import trial
from schedlab.report import agreement_tables as page
from schedlab.sched_ext import sysfs
from schedlab.statistics.agreement import Place, Repeated


def agree(options: argparse.Namespace) -> int:
    _consistent(options)
    machine = _machine(options)
    if options.search:
        return agree_search.search(options, machine)
    if options.applications:
        return agree_applications.compare(options, machine)
    directory = Path(options.output or _directory(machine, options.on))
    told = Told.into(options.page, page.HOST_MARK if options.on == "host" else page.mark(machine.cpus))
    known = causes.read(directory / causes.NAME)
    if options.short:
        return _short(options, machine, directory / "short")
    own = Scope(
        ",".join(options.schedulers) or scope.SCHEDULERS,
        options.workloads,
        options.load,
        scope.REPETITIONS if options.repetitions is None else options.repetitions,
        options.param or [],
    )
    asked = own.asked()
    request(**asked, machine_names=str(machine.path))  # what is wrong with it is said before anything boots
    own_alone = options.on == "host" and not sysfs.there()
    if reason := trial.why_not(options.on, own_alone):
        raise PlaceError(reason)
    on_kernel = asked
    if own_alone:
        print(f"schedlab: this kernel has no sched_ext: only its own scheduler, {DEFAULT}, runs on it", file=sys.stderr)
        on_kernel = asked | {"schedulers": DEFAULT}
    worlds = Worlds(machine, options.on, directory, options.jobs)
    own_asked = asked | {"schedulers": worlds.for_the_simulator(str(asked["schedulers"]))}
    simulated, kernel = worlds.simulated(own_asked, _simulated_in(options)), worlds.kernel(on_kernel)
    seeds = worlds.simulated({**own_asked, "repetitions": scope.SEEDS}, f"{_simulated_in(options)}-seeds").numbers
    made = entries.ledger(simulated.numbers, kernel.numbers, CONTROL_LABEL, seeds)
    by_knob = {name: moves for name, moves in _turned(worlds, own_asked, simulated.numbers) if moves}
    still = knobs.still(by_knob)
    rows = [e for e in made.entries if (e.place.workload, (e.place.metric, e.place.statistic)) not in still]
    data = {
        "format": 1,
        "machine": machine.name,
        "cpus": machine.cpus,
        "place": kernel.manifest.data["place"],
        "kernel": kernel_release(kernel.found.values()),
        "repetitions": own.repetitions,
        "seeds": scope.SEEDS,
        "schedulers": [DEFAULT] if own_alone else simulated.manifest.labels,
        "workloads": list(simulated.manifest.titles()),
        "params": asked["param"],
        "below_floor": _counted(made),
        "still": [
            _measured(measure) | {"workload": name, "largest_pct": pct} for (name, measure), pct in still.items()
        ],
        "moved": [_moved(one) for one in knobs.moved(by_knob)],
        "again": list(_again(made)),
        "troubles": [*simulated.troubles("simulator"), *kernel.troubles("kernel")],
    }
    if options.on == "host":
        text = _kept_of_hosts(directory, data, rows, known)
        names = [own_machines.ROWS, own_machines.REST]
    else:
        atomic.write(directory / "ledger.csv", entries.as_csv(rows))
        atomic.write(directory / "ledger.json", json.dumps(data, ensure_ascii=False, indent=1) + "\n")
        # As it is read from the file, so that the page can be made again of it to the last digit.
        told_as = page.text if machine.cpus == 1 else page.short_text
        text = told_as(data, entries.from_csv(directory / "ledger.csv"), known)
        names = ["ledger.csv", "ledger.json"]
    return told.tell(text, directory, names, data["troubles"])


def _directory(machine: Machine, on: str) -> str:
    """Guests with more CPUs have ledgers of their own."""
    return DIRECTORY if on == "host" or machine.cpus == 1 else f"{DIRECTORY}/{machine.cpus}-cpus"


def _simulated_in(options: argparse.Namespace) -> str:
    """The simulator's cells of one machine are not another's, in the same directory."""
    return "sim" if options.on == "vm" else "host-sim"


def _kept_of_hosts(directory: Path, data: dict[str, Any], rows: Sequence[Entry], known: Sequence[causes.Cause]) -> str:
    """Beside the rows of other machines that are there; the text of them all."""
    own_machines.keep(directory, data, rows)
    kept = own_machines.read(directory)
    return "\n".join(page.short_text(own, entries_of, known) for own, entries_of in kept)


def _consistent(options: argparse.Namespace) -> None:
    own = {
        "SCHED": [] if options.search else options.schedulers,
        "-w": options.workloads,
        "--load": options.load,
        "-n": options.repetitions,
        "-p": options.param,
        "--page": options.page,
    }
    given = [name for name, value in own.items() if value not in (None, [])]
    if options.short and given:
        raise InputError(f"--short: its cells are fixed: expected no {', '.join(given)}")
    if options.search and (refused := [*given, *(["--short"] if options.short else [])]):
        raise InputError(f"--search: its cells are drawn: expected no {', '.join(refused)}")
    if options.applications:
        of_others = {
            "--load": options.load,
            "-p": options.param,
            "--short": options.short or None,
            "--search": options.search or None,
            "--on host": options.on if options.on == "host" else None,
        }
        if refused := [name for name, value in of_others.items() if value not in (None, [])]:
            raise InputError(f"--applications: sizes and place are fixed: expected no {', '.join(refused)}")
    if options.keep and not options.short:
        raise InputError("--keep: expected with --short, whose limits it writes")
    bounds = {"--seed": options.seed, "--cases": options.cases, "--minutes": options.minutes}
    if not options.search and (lost := [name for name, value in bounds.items() if value is not None]):
        raise InputError(f"{', '.join(lost)}: expected with --search")


def _machine(options: argparse.Namespace) -> Machine:
    if options.on == "host" and options.machine is None:
        raise InputError("--on host: expected -m FILE, this machine as 'schedlab calibrate machine' wrote it")
    machine = machines.find(options.machine or MACHINE)
    if options.on == "host" and (there := PLACES["host"].machine("host").cpus) != machine.cpus:
        raise InputError(
            f"-m {options.machine}: expected a machine of {there} CPUs, as this one has, found {machine.cpus}"
        )
    return machine


def _short(options: argparse.Namespace, machine: Machine, directory: Path) -> int:
    file = Path(options.limits)
    held = {} if options.keep else limits.read(file)
    if reason := trial.why_not(options.on):
        raise PlaceError(reason)
    worlds = Worlds(machine, options.on, directory, options.jobs)
    if options.keep:
        runs = [_run(worlds, number).entries for number in range(limits.RUNS)]
        atomic.write(file, limits.as_csv(runs))
        print(f"{file}: limits of {len(runs[0])} rows")
        return 0
    found = _worse(worlds, held, 0)
    if found:
        found = limits.in_most([found, *(_worse(worlds, held, number) for number in range(1, 1 + limits.MORE_RUNS))])
    for one in found:
        print(f"{' '.join(map(str, one.place))}: {one.why}\n  again: {_again_with(one.place, machine, options.on)}")
    steady = sum(map(math.isfinite, held.values()))
    print(f"{steady} of {len(held)} rows are held to their limits, {len(found)} are worse")
    return CHECK_FAILED if found else 0


def _worse(worlds: Worlds, held: Mapping[Place, float], number: int) -> list[limits.Worse]:
    made = _run(worlds, number)
    return list(limits.worse(held, made.entries, made.below_floor))


def _run(worlds: Worlds, number: int) -> Ledger:
    """The run with this number: with the same seeds the exact guest would do the same again, to the nanosecond."""
    there = replace(worlds, directory=worlds.directory / f"run-{number}")
    asked = scope.SHORT.asked() | {"seed_base": 1 + number}
    return entries.ledger(there.simulated(asked, "sim").numbers, there.kernel(asked).numbers, CONTROL_LABEL)


def _again_with(place: Place, machine: Machine, on: str) -> str:
    """The command that shows one row's cell."""
    words = [checkout.command(), "agree", place.label, "-w", place.workload, "--load", str(place.load), "-n", "1"]
    where = [] if on == "vm" else ["--on", on]
    return shlex.join([*words, *where, "-m", machine.name, "-o", "results/agreement-one"])


def _turned(
    worlds: Worlds, asked: Mapping[str, Any], base: Mapping[Place, Repeated]
) -> Iterator[tuple[str, knobs.Moves]]:
    """Knob by knob, how far it moves the simulator's numbers."""
    folder = worlds.directory / "knobs"
    folder.mkdir(parents=True, exist_ok=True)
    faster = folder / f"{worlds.machine.name}.toml"
    atomic.write(faster, knobs.faster_ticks(worlds.machine))
    yield knobs.HZ, knobs.moves(base, worlds.simulated(asked, "knobs/hz", str(faster)).numbers, {})
    labels = {place.label for place in base}
    for knob, turned in knobs.TURNED.items():
        own = {text: label for label, text in turned.items() if label in labels}
        if own:
            name = knob.partition(" ")[0]
            other = worlds.simulated({**asked, "schedulers": ",".join(own)}, f"knobs/{name}")
            yield knob, knobs.moves(base, other.numbers, own)
    yield knobs.POLICY, knobs.exchanges(base)


def _moved(one: knobs.Moved) -> dict[str, Any]:
    told = {key: value for key, value in asdict(one).items() if key != "measure"}
    return _measured(one.measure) | {k: finite(v) if isinstance(v, float) else v for k, v in told.items()}


def _measured(measure: tuple[str, str]) -> dict[str, Any]:
    return dict(zip(("metric", "statistic"), measure, strict=True))


def _counted(made: Ledger) -> dict[str, int]:
    names = [place.metric for place in made.below_floor]
    return {name: names.count(name) for name, _ in MEASURES if name in names}


def _again(made: Ledger) -> Iterator[dict[str, Any]]:
    for measure in MEASURES:
        own: list[Entry] = of_measure(made.again, measure)
        if own:
            found = tally(own)
            told = {"rows": found.rows, "median_pct": found.median_pct, "largest_pct": found.largest_pct}
            yield _measured(measure) | told
