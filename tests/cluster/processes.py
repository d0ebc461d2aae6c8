# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes of this machine, as tests of clusters look for them."""

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.waiting import wait


def children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(word) for word in (task / "children").read_text().split()]
    return found


def below(pid: int) -> list[int]:
    """All that it started, and what these did."""
    found = []
    for child in children(pid):
        found += [child, *below(child)]
    return found


def runners(pid: int) -> list[int]:
    """The simulators among them."""
    return [child for child in below(pid) if _program(child) == "schedlab-sim"]


def running_in(folder: Path) -> list[int]:
    """Processes whose working directory is in the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and Path(os.readlink(entry / "cwd")).is_relative_to(folder):
                found.append(int(entry.name))
    return found


def ended(pid: int) -> bool:
    """Gone, or waited for by nobody."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _program(pid: int) -> str:
    with suppress(OSError):
        return Path(os.readlink(f"/proc/{pid}/exe")).name
    return ""


def kill_with_a_hand(
    find: Callable[[], list[tuple[int, int]]], head: subprocess.Popen[str], said: Callable[[], str]
) -> None:
    """The first worker found, by its number and that of a runner of its, which ends with it."""
    found: list[tuple[int, int]] = []

    def look() -> bool:
        found[:] = find()
        return bool(found) or head.poll() is not None

    wait(look, 600)
    assert found, f"{head.stderr.read() if head.poll() is not None and head.stderr else ''}\n{said()}"
    worker, runner = found[0]
    os.kill(worker, signal.SIGKILL)
    assert wait(lambda: ended(runner), 20)
