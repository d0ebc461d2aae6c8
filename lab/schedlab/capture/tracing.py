# SPDX-License-Identifier: GPL-2.0-or-later
"""Records a command: on this machine, or in a guest."""

import datetime
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from schedlab.errors import LabError, PlaceError

BUFFER_KIB = 32_768
PLACES = ("host", "vm")

SCRIPT = Path(__file__).with_name("tracing.sh")
_TRACING = (Path("/sys/kernel/tracing/instances"), Path("/sys/kernel/debug/tracing/instances"))
NO_TRACEFS = (
    "no tracefs that can be written here, nor can it be mounted: run as root, on a kernel with tracing; or --on vm"
)
_TRACING_FAILED = 125
_PATIENCE_S = 10.0


@dataclass(frozen=True)
class Guest:
    """The guest in which a command is traced."""

    tier: str = "auto"
    cpus: int = 2
    memory_mib: int = 1024
    files: Mapping[str, Path] = field(default_factory=dict)
    limit_s: float = 600.0
    environment: Mapping[str, str] = field(default_factory=dict)


def capture(
    command: Sequence[str], where: Guest | None, buffer_kib: int = BUFFER_KIB, others: bool = False
) -> tuple[list[str], int]:
    """The trace's lines, and the command's exit status. What the command prints goes to standard error.

    The trace has the command and its descendants, with `others` everything that runs.
    """
    lines: list[str] = [
        f"# schedlab: date={datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
        f"# schedlab: command={shlex.join(command).replace(chr(10), ' ')}",
    ]
    arguments = [str(buffer_kib), "all" if others else "tree", *command]
    status = _on_host(arguments, lines.append) if where is None else _in_guest(arguments, where, lines)
    if status == _TRACING_FAILED:
        raise PlaceError("tracing failed: the lines above say why")
    return lines, status


def can_trace() -> bool:
    """Whether tracefs is there, or can be mounted for the time."""
    return any(os.access(path, os.W_OK) for path in _TRACING) or _can_mount()


def _can_mount() -> bool:
    """Only trying tells: root in a container may be allowed to, or not."""
    if os.geteuid() != 0:
        return False
    with tempfile.TemporaryDirectory(prefix="schedlab-tracefs-") as folder:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        try:
            mounted = subprocess.run(["mount", "-t", "tracefs", "tracefs", folder], **quiet, check=False)
            return mounted.returncode == 0 and not subprocess.run(["umount", folder], **quiet, check=False).returncode
        except FileNotFoundError:
            return False


def _on_host(arguments: Sequence[str], take: Callable[[str], None]) -> int:
    if not can_trace():
        raise PlaceError(NO_TRACEFS)
    return run(["sh", str(SCRIPT), *arguments], take)


def run(script: Sequence[str], take: Callable[[str], None]) -> int:
    """A script that traces, and whose output is a trace. It is asked to clean up where we are interrupted."""
    # In our process group, so that the command may use the terminal.
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True, errors="replace") as child:
        try:
            assert child.stdout
            for line in child.stdout:
                take(line.rstrip("\n"))
            return child.wait()
        except BaseException:
            _end(child)
            raise


def _end(child: subprocess.Popen) -> None:
    """The script ends the command and its tracing instance. Its output is closed first: a full pipe would block it."""
    assert child.stdout
    child.stdout.close()
    for sign in (signal.SIGTERM, signal.SIGKILL):
        child.send_signal(sign)
        try:
            child.wait(_PATIENCE_S)
            return
        except subprocess.TimeoutExpired:
            continue


def _in_guest(arguments: Sequence[str], guest: Guest, lines: list[str]) -> int:
    from schedlab import vm

    try:
        result = vm.run(
            ["sh", "/schedlab/tracing.sh", *arguments],
            {**guest.files, "/schedlab/tracing.sh": SCRIPT},
            tier=guest.tier,
            cpus=guest.cpus,
            memory_mib=guest.memory_mib,
            environment=guest.environment,
            limit_s=guest.limit_s,
            on_line=lines.append,
            on_error_line=lambda line: print(line, file=sys.stderr, flush=True),
        )
    except vm.GuestFailed as error:
        raise LabError(str(error)) from error
    lines.insert(2, f"# schedlab: place={result.tier} guest, QEMU {result.qemu_version}")
    return result.exit_code
