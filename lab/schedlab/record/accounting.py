# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel accounts for each process of a command, where there is no tracing.

Processes are looked at every few milliseconds, so those that live shorter are missed; runs and blocks are means of a
process's life: its CPU time and its waits, divided by its voluntary switches.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import PlaceError
from schedlab.record.kinds import Kind

_PERIOD_S = 0.005
_PROC = Path("/proc")


@dataclass
class _Seen:
    comm: str
    cpu_ns: int
    waited_ns: int
    blocks: int
    first_s: float
    last_s: float


def account(command: Sequence[str]) -> tuple[dict[str, Kind], int]:
    """The kinds of the command's processes, and its exit status. Its output goes to standard error."""
    if not (_PROC / "self" / "schedstat").exists():
        raise PlaceError("neither tracing nor /proc/PID/schedstat here: try --on vm")
    seen: dict[tuple[int, int], _Seen] = {}
    with subprocess.Popen(list(command), stdout=sys.stderr, stdin=subprocess.DEVNULL) as child:
        try:
            while child.poll() is None:
                _look(child.pid, seen)
                time.sleep(_PERIOD_S)
        except BaseException:
            child.terminate()
            raise
    return _kinds(seen), child.returncode


def _look(root: int, seen: dict[tuple[int, int], _Seen]) -> None:
    now_s = time.monotonic()
    stats = dict(filter(None, (_stat(int(name)) for name in os.listdir(_PROC) if name.isdigit())))
    tree = {root}
    # A child's number may be below its parent's: go on until none is added.
    while grown := {pid for pid, (parent, *_) in stats.items() if parent in tree} - tree:
        tree |= grown
    for pid in tree & stats.keys():
        _, comm, started = stats[pid]
        try:
            cpu_ns, waited_ns, _ = map(int, (_PROC / str(pid) / "schedstat").read_text().split())
            status = (_PROC / str(pid) / "status").read_text()
        except (OSError, ValueError):
            continue  # it has just gone
        found = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE)
        first_s = seen[pid, started].first_s if (pid, started) in seen else now_s
        seen[pid, started] = _Seen(comm, cpu_ns, waited_ns, int(found[1]) if found else 0, first_s, now_s)


def _stat(pid: int) -> tuple[int, tuple[int, str, int]] | None:
    """Parent, name and start time."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    comm = text[text.index("(") + 1 : text.rindex(")")]
    rest = text[text.rindex(")") + 2 :].split()
    return pid, (int(rest[1]), comm, int(rest[19]))


def _kinds(seen: dict[tuple[int, int], _Seen]) -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    for one in seen.values():
        kind = found.setdefault(one.comm, Kind())
        kind.tasks += 1
        kind.cpu.append(one.cpu_ns)
        kind.run += [one.cpu_ns // (one.blocks + 1)] * (one.blocks + 1)
        blocked_ns = round((one.last_s - one.first_s) * 1e9) - one.cpu_ns - one.waited_ns
        kind.sleep += [max(0, blocked_ns) // one.blocks] * one.blocks if one.blocks else []
    return dict(sorted(found.items(), key=lambda item: (-sum(item[1].cpu), item[0])))
