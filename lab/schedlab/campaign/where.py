# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a campaign can run: what has to be known of each place before its module of schedlab.places runs the cells."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from schedlab.campaign import fleet_file
from schedlab.campaign.fleet_file import Fleet
from schedlab.catalogue import machines
from schedlab.catalogue.machines import Machine
from schedlab.errors import InputError

MAX_VCPUS = 64


@dataclass(frozen=True)
class Where:
    # Cells may run in any order and any number at once, and a seed gives all schedulers the same draws. Otherwise they
    # run in shuffled blocks, each with the kernel's own scheduler as its control.
    simulated: bool
    default_machine: str
    machine: Callable[[str], Machine]  # by a name of -m


def _guest(name: str) -> Machine:
    """By a number of CPUs, or by SOCKETSxCORESxTHREADS."""
    if "x" in name:
        from schedlab.vm import tiers

        cpus = math.prod(tiers.topology(name, "-m"))
        if cpus > MAX_VCPUS:
            raise InputError(f"-m {name}: makes {cpus} CPUs; expected at most {MAX_VCPUS}")
        return Machine(name, None, f"guest with {cpus} CPUs, {name}", cpus)
    if not name.isascii() or not name.isdigit() or not 1 <= int(name) <= MAX_VCPUS:
        raise InputError(
            f"-m '{name}': in the virtual machine expected a number of CPUs, 1 to {MAX_VCPUS}, or such as 1x4x2"
        )
    return Machine(str(int(name)), None, f"guest with {int(name)} CPUs", int(name))


def _host(name: str) -> Machine:
    if name != "host":
        raise InputError(f"-m '{name}': on the host the only machine is 'host'")
    return Machine("host", None, "this machine", os.cpu_count() or 1)


def _fleet(name: str) -> Machine:
    raise InputError(f"-m '{name}': the machines of a fleet are those of its file ({SSH}:FILE)")


SIMULATOR = "sim"
# Other machines, through OpenSSH. A command line names it with its file of hosts behind a colon.
SSH = "ssh"
# The simulator on many machines: what runs on them is not ours. An address of Dask's scheduler may follow a colon.
DASK = "dask"
SLURM = "slurm"
CLUSTERS = (DASK, SLURM)

_SIMULATED = Where(simulated=True, default_machine="desktop-4", machine=machines.find)
PLACES = {
    SIMULATOR: _SIMULATED,
    "vm": Where(simulated=False, default_machine="2", machine=_guest),
    "host": Where(simulated=False, default_machine="host", machine=_host),
    SSH: Where(simulated=False, default_machine="", machine=_fleet),
    DASK: _SIMULATED,
    SLURM: _SIMULATED,
}
# As a command line or file names them.
SHOWN = {name: name for name in PLACES} | {SSH: f"{SSH}:FILE", DASK: f"{DASK}[:ADDRESS]"}
NAMES = list(SHOWN.values())


def is_place(text: str) -> bool:
    kind, colon, more = text.partition(":")
    if kind == SSH or (kind == DASK and colon):
        return bool(more)
    return text in PLACES


def name_of(text: str) -> str:
    """The place's own name, without what stands behind a colon."""
    return text.partition(":")[0]


def kept_as(text: str) -> str:
    """The place that its records name: a cell is the same on a cluster as in the simulator here."""
    name = name_of(text)
    return SIMULATOR if name in CLUSTERS else name


def address_of(text: str) -> str:
    """Of a cluster's scheduler, as a command line gives it; empty where it gives none."""
    kind, _, address = text.partition(":")
    return address if kind == DASK else ""


def fleet_of(text: str) -> Fleet | None:
    """The hosts that a command line names; None where the place is another."""
    kind, _, file = text.partition(":")
    return _fleet_in(Path(file)) if kind == SSH and file else None


@cache
def _fleet_in(path: Path) -> Fleet:
    return fleet_file.read(path)


def named(text: str) -> Where:
    """What is known of a place that a command line names."""
    fleet = fleet_of(text)
    return Where(False, fleet.machines, fleet.machine) if fleet else PLACES[name_of(text)]


def of_record(place: str) -> Where:
    """Records name a place, and behind a hyphen its tier."""
    return PLACES[place.partition("-")[0]]
