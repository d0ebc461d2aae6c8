# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab snapshot: what a scheduler's program or a user sets up, in a file that is a scheduler from then on."""

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from schedlab import atomic
from schedlab.catalogue import schedulers
from schedlab.errors import InputError
from schedlab.places import set_up
from schedlab.vm import tiers


def snapshot(options: argparse.Namespace) -> int:
    if not options.passed_on:
        raise InputError("expected a scheduler's program after --, with its options")
    named, *words = options.passed_on
    program = Path(named) if options.rodata else _program(named)
    output = Path(options.output or f"{schedulers.policy_name(program)}{schedulers.SNAPSHOT}")
    if not output.name.endswith(schedulers.SNAPSHOT):
        raise InputError(f"-o {output}: expected a name that ends in {schedulers.SNAPSHOT}")
    if options.rodata:
        if words:
            raise InputError("--rodata: nothing is started, so that there are no options after the program")
        taken = set_up.with_values(program, Path(options.rodata))
    else:
        taken = set_up.snapshot(program, words, _guest(options))
    atomic.write(output, json.dumps(taken) + "\n")
    _tell(taken, output)
    return 0


def _program(named: str) -> Path:
    found = shutil.which(named)
    if found is None:
        raise InputError(f"{named}: no such program")
    return Path(found).absolute()


def _guest(options: argparse.Namespace) -> set_up.Guest | None:
    if options.on == "host":
        return None
    topology = options.topology and tiers.topology(options.topology)
    return set_up.Guest(options.tier, options.cpus, tiers.memory_mib(options.memory), topology)


def _tell(taken: dict[str, Any], output: Path) -> None:
    program, known, cpus = taken["program"], taken["set_up"], taken["cpus"]
    entries = sum(len(found["entries"]) for found in known["maps"].values())
    where = f", for {cpus} CPUs, on Linux {taken['kernel']}" if cpus else ""
    print(
        f"{output}: {program['version'] or program['name']}{where}: {len(known['data'])} sections of data, "
        f"{entries} entries of {len(known['maps'])} maps, {len(known['runs'])} runs of programs"
    )
    for line in taken["absent"]:
        print(f"schedlab: absent: {line}", file=sys.stderr)
    path = output if "/" in str(output) else f"./{output}"
    print(f"simulate: schedlab compare {path},default" + (f" -m MACHINE, which has {cpus} CPUs" if cpus else ""))
    if not cpus:
        print(f"a real kernel: schedlab compare {path},default --on vm")
