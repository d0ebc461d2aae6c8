# SPDX-License-Identifier: GPL-2.0-or-later
"""What a scheduler's program sets up, as a snapshot: it runs in a guest or here until its scheduler is enabled."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab import atomic, cache, checkout
from schedlab.errors import InputError, InterruptedRun, LabError, PlaceError
from schedlab.sched_ext import sysfs

_RUNNER = "schedlab-host"
_LINKER = "schedlab-sim"
_LIMIT_S = 600.0


@dataclass(frozen=True)
class Guest:
    """The machine that the program is to set its scheduler up for."""

    tier: str
    cpus: int
    memory_mib: int
    topology: tuple[int, int, int] | None  # sockets, cores, threads


def snapshot(program: Path, options: list[str], guest: Guest | None) -> dict[str, Any]:
    """What the loader prints (docs/compatibility.md); `guest` None: this machine.

    Raises InputError for a program that holds no scheduler, PlaceError without a kernel, LabError with the program's
    last words where it does not get its scheduler enabled.
    """
    take = _here if guest is None else _in_guest
    lines: list[str] = []
    messages: list[str] = []
    status = take(program, options, guest, lines, messages)
    for line in lines:
        if line.startswith('{"format"'):
            return json.loads(line)
    said = _said(messages) or f"{program.name}: no snapshot came of it (status {status})"
    kinds = {2: InputError, 3: PlaceError, 130: InterruptedRun}
    raise kinds.get(status, LabError)(said)


def kept(file: Path, program: Path, options: list[str], digest: str, guest: Guest | None) -> dict[str, Any]:
    """The same, from the file where it holds one of this program for as many CPUs; else the file holds it then."""
    found = cache.read_json(file)
    others = found is not None and guest is not None and found["cpus"] != guest.cpus
    if found is None or found["program"]["digest"] != digest or others:
        found = snapshot(program, options, guest)
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(file, json.dumps(found) + "\n")
    return found


def with_values(policy: Path, values: Path) -> dict[str, Any]:
    """The same of an object or a program's object where nothing is started: values of its globals, out of a TOML file.

    Raises InputError, which names file, line and key.
    """
    command = [str(checkout.need_binary(_LINKER)), "set-up", str(policy), "--rodata", str(values)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise InputError(done.stderr.strip().removeprefix(f"{_LINKER}: ") or f"{policy}: cannot be set up")
    return json.loads(done.stdout)


def _said(messages: list[str]) -> str:
    """The loader's own words and what it quotes of the program's."""
    begin = next((number for number, line in enumerate(messages) if line.startswith(f"{_RUNNER}: ")), 0)
    return "\n".join(messages[begin:]).removeprefix(f"{_RUNNER}: ")


def _here(program: Path, options: list[str], guest: None, lines: list[str], messages: list[str]) -> int:
    sysfs.read()
    sysfs.need_root("loading a scheduler on this machine")
    command = [str(checkout.need_binary(_RUNNER)), "snapshot", "--", str(program), *options]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    lines += done.stdout.splitlines()
    messages += done.stderr.splitlines()
    return done.returncode


def _in_guest(program: Path, options: list[str], guest: Guest, lines: list[str], messages: list[str]) -> int:
    from schedlab import vm

    inside = f"/lab/programs/{program.name}"
    try:
        result = vm.run(
            ["/lab/schedlab-host", "snapshot", "--", inside, *options],
            {"/lab/schedlab-host": checkout.need_binary(_RUNNER), inside: program},
            tier=guest.tier,
            cpus=guest.cpus,
            memory_mib=guest.memory_mib,
            topology=guest.topology,
            limit_s=_LIMIT_S,
            on_line=lines.append,
            on_error_line=messages.append,
        )
    except vm.GuestFailed as error:
        for line in messages:
            print(line, file=sys.stderr)
        raise LabError(str(error)) from error
    return result.exit_code
