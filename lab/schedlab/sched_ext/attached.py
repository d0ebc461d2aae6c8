# SPDX-License-Identifier: GPL-2.0-or-later
"""The scheduler that is attached to the running kernel: loaded and ended by schedlab, or put back after a campaign.

A loaded scheduler's process is remembered across commands.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from schedlab import atomic
from schedlab.errors import LabError, PlaceError
from schedlab.sched_ext import sysfs

FOLDER = Path("/run/schedlab")
# Loading verifies the policy and switches every task over; a software-emulated machine takes its time.
_PATIENCE_S = 60.0


_SERVICE = "scx.service"


@dataclass(frozen=True)
class Loaded:
    name: str
    command: list[str]
    pid: int
    started: str  # the process's start time in ticks: a reused PID has another


def find() -> Loaded | None:
    """What was loaded and still runs."""
    try:
        loaded = Loaded(**json.loads((FOLDER / "loaded.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return loaded if _start_time(loaded.pid) == loaded.started else None


def start(name: str, command: list[str]) -> Loaded:
    """Start the scheduler's program and wait until the kernel runs under it."""
    with atomic.write_errors_explained(FOLDER):
        FOLDER.mkdir(parents=True, exist_ok=True)
    log = FOLDER / f"{name}.log"
    before = sysfs.read()
    with log.open("wb") as output:
        try:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            raise PlaceError(f"{command[0]}: cannot be started: {error.strerror}") from error
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        if child.poll() is not None:
            last = (log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["it said nothing"])[-1]
            raise LabError(f"{name} did not stay: status {child.returncode}: {last} (log: {log})")
        state = sysfs.read()
        if state.state == "enabled" and state.enable_seq != before.enable_seq:
            loaded = Loaded(name, command, child.pid, _start_time(child.pid))
            atomic.write(FOLDER / "loaded.json", json.dumps(asdict(loaded)))
            return loaded
        time.sleep(0.05)
    _end(child.pid)
    raise LabError(f"{name} was not enabled within {_PATIENCE_S:.0f} s (log: {log})")


def stop(loaded: Loaded) -> None:
    """End the program and wait for the kernel's own scheduler."""
    _end(loaded.pid)
    (FOLDER / "loaded.json").unlink(missing_ok=True)
    if not sysfs.wait(enabled=False, patience_s=_PATIENCE_S):
        raise LabError(f"{loaded.name} has ended, and {sysfs.ROOT}/state says: {sysfs.read().state}")


def _end(pid: int) -> None:
    started = _start_time(pid)
    for sign, patience_s in ((signal.SIGINT, 20.0), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sign)
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            with contextlib.suppress(ChildProcessError):
                # A child of this process stays a zombie until it is waited for.
                os.waitpid(pid, os.WNOHANG)
            if _start_time(pid) != started:
                return
            time.sleep(0.02)


def _start_time(pid: int) -> str:
    """Field 22 of /proc/PID/stat; empty where the process is gone or only its exit status is left."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


@contextmanager
def put_back(say: Callable[[str], None]) -> Iterator[None]:
    """Stop the running scheduler and start it again at the end; refuse where it could not be started again."""
    state = sysfs.read()
    if not state.enabled:
        yield
        return
    ours = find()
    if ours:
        say(f"stopping {ours.name}; it is put back at the end")
        stop(ours)
        try:
            yield
        finally:
            start(ours.name, ours.command)
            say(f"{ours.name} runs again")
    elif _service("is-active"):
        say(f"stopping {_SERVICE} ({state.ops}); it is put back at the end")
        if not _service("stop") or not sysfs.wait(enabled=False, patience_s=30):
            raise PlaceError(f"{state.ops} is running and {_SERVICE} cannot be stopped: stop it first")
        try:
            yield
        finally:
            done = _service("start") and sysfs.wait(enabled=True, patience_s=30)
            say(f"{_SERVICE} {'runs again' if done else 'could not be started again: systemctl start ' + _SERVICE}")
    else:
        raise PlaceError(
            f"{state.ops or 'a scheduler'} is running and was not started by schedlab or {_SERVICE}, so that nobody "
            "could put it back: stop it first, with Ctrl-C where it was started, or with scxctl stop"
        )


def _service(verb: str) -> bool:
    if not shutil.which("systemctl"):
        return False
    return subprocess.run(["systemctl", "--quiet", verb, _SERVICE], capture_output=True, check=False).returncode == 0
