# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a real kernel takes a policy, and keeps it under stress: in a guest, or on this machine."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab import checkout
from schedlab.errors import LabError, PlaceError
from schedlab.sched_ext import dumps_in_text, sysfs

_SCRIPT = Path(__file__).with_name("stress.sh")
_VALUES = "/check/values.toml"  # in the guest
_BOOT_LIMIT_S = 300.0
_CPUS = 2
# The line that the script prints for this program; all others are for people.
_MARK = "schedlab-check: "
_BEGIN, _END = "BEGIN PROG LOAD LOG", "END PROG LOAD LOG"


@dataclass(frozen=True)
class Outcome:
    """What became of the policy on the real kernel."""

    place: str
    kernel: str
    loaded: bool
    kept: bool
    summary: str
    log: tuple[str, ...]  # of the verifier, or of the loader

    @property
    def good(self) -> bool:
        return self.loaded and self.kept


def why_not(place: str, own_alone: bool = False) -> str:
    """Why a policy cannot be tried there, or, with `own_alone`, the kernel's own scheduler not be measured; empty where
    it can.
    """
    try:
        if place == "host":
            if not own_alone:
                sysfs.read()
            sysfs.need_root("measuring on this machine" if own_alone else "loading a policy on this machine")
        else:
            from schedlab.vm import kernel, qemu

            qemu.find()
            kernel.resolve()
        checkout.need_binary("schedlab-host")
    except LabError as error:
        return str(error)
    return ""


def try_out(place: str, policy: Path, tunables: Mapping[str, str], values: Path | None, stress_s: int) -> Outcome:
    """Load the object with tunables and a file of values, stress the machine, look whether it still schedules, unload
    it.
    """
    options = [f"--{name.replace('_', '-')}={value}" for name, value in tunables.items()]
    lines: list[str] = []
    trial = _here if place == "host" else _in_a_guest
    status = trial(policy, options, values, stress_s, lines)
    found = next((line.removeprefix(_MARK) for line in lines if line.startswith(_MARK)), None)
    if found is None:
        last = next((line for line in reversed(lines) if line.strip()), "it said nothing")
        raise LabError(f"{place}: the trial of {policy.name} ended with status {status}: {last}")
    return outcome_of(place, json.loads(found), [line for line in lines if not line.startswith(_MARK)])


def outcome_of(place: str, found: Mapping[str, Any], log: list[str]) -> Outcome:
    loaded = bool(found["loaded"])
    kept = loaded and found["state"] == "enabled" and found["stress"] == 0 and not found["ended"]
    if not loaded:
        summary = "\n".join(_summary(log)) or "the loader ended without a word"
        log = _verifier(log) or log
    elif kept:
        summary = f"{found['ops']} was loaded, and scheduled through {found['seconds']} s of stress"
        log = []
    else:
        summary = _lost(found, log)
    return Outcome(place, str(found["kernel"]), loaded, kept, summary, tuple(log))


def _lost(found: Mapping[str, Any], log: list[str]) -> str:
    why = _ejection(log)
    if why:
        return f"the kernel threw it out under stress: {why}"
    if found["stress"] != 0:
        return f"the stress itself failed with status {found['stress']}"
    return f"it does not schedule any more after the stress (sched_ext is {found['state']})"


def _summary(log: list[str]) -> list[str]:
    """The loader's own account, from the line that begins with its name to the end."""
    for number, line in enumerate(log):
        _, mark, rest = line.partition("cannot load ")
        if mark:
            told = [f"cannot load {rest}"]
            told.extend(more for more in log[number + 1 :] if more.startswith("    "))
            return told
    why = _ejection(log)
    if why:
        return [f"the kernel threw it out before it scheduled: {why}"]
    return [line for line in log if line.strip()][-1:]


def _ejection(log: list[str]) -> str:
    """The reason, which the loader prints before a dump that may be long."""
    ends = dumps_in_text.find("\n".join(log)).dumps
    return ends[-1].why if ends else ""


def _verifier(log: list[str]) -> list[str]:
    begin = next((number for number, line in enumerate(log) if _BEGIN in line), None)
    if begin is None:
        return []
    end = next((number for number, line in enumerate(log) if _END in line and number > begin), len(log))
    return log[begin + 1 : end]


def _in_a_guest(policy: Path, options: list[str], values: Path | None, stress_s: int, lines: list[str]) -> int:
    from schedlab import vm

    files = {
        "/check/stress.sh": _SCRIPT,
        "/bin/schedlab-host": checkout.need_binary("schedlab-host"),
        f"/check/{policy.name}": policy,
    }
    if values:
        options = [*options, f"--rodata={_VALUES}"]
        files[_VALUES] = values
    stress = shutil.which("stress-ng")
    if stress:
        files["/bin/stress-ng"] = Path(stress)
    result = vm.run(
        ["sh", "/check/stress.sh", str(stress_s), "hotplug", f"/check/{policy.name}", *options],
        files,
        cpus=_CPUS,
        limit_s=_BOOT_LIMIT_S + 10 * stress_s,
        on_line=lines.append,
        on_error_line=lines.append,
        again=lines.clear,
    )
    return result.exit_code


def _here(policy: Path, options: list[str], values: Path | None, stress_s: int, lines: list[str]) -> int:
    state = sysfs.read()
    if state.enabled:
        raise PlaceError(f"{state.ops or 'a scheduler'} is running: stop it first")
    folder = str(checkout.need_binary("schedlab-host").parent)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ.get('PATH', '')}"}
    # Somebody may be using this machine, so none of its CPUs goes offline.
    given = [f"--rodata={values}"] if values else []
    command = ["sh", str(_SCRIPT), str(stress_s), "no-hotplug", str(policy), *options, *given]
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    result = subprocess.run(command, **both, text=True, errors="replace", env=environment, check=False)
    lines.extend(result.stdout.splitlines())
    return result.returncode
