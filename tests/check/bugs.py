# SPDX-License-Identifier: GPL-2.0-or-later
"""The planted bugs: who finds each, and how small the case is that shows it.

`python -m tests.check.bugs [SEEDS]` prints the table of docs/checking.md.
"""

import sys
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from tests.check.conftest import POLICIES, check


@dataclass(frozen=True)
class Bug:
    """A mistake, the checkers that may find it, and bounds of the case it shrinks to."""

    name: str
    by: frozenset[str]
    cpus: int
    tasks: int
    actions: int


def _bug(name: str, by: str, cpus: int, tasks: int, actions: int) -> Bug:
    return Bug(name, frozenset(by.split(", ")), cpus, tasks, actions)


BUGS = [
    _bug("affinity_ignored", "kernel", 6, 6, 2),
    _bug("deadline_overflow", "starvation", 4, 8, 2),
    _bug("double_insert", "kernel", 2, 2, 1),
    _bug("lost_wakeup", "work conservation", 8, 10, 5),
    _bug("pinned_unread", "work conservation, starvation", 4, 4, 2),
    _bug("slice_never_refilled", "slice", 4, 6, 2),
    _bug("stale_cpu", "starvation, work conservation", 4, 8, 3),
    _bug("starves_nice_19", "starvation", 4, 10, 2),
    _bug("unbounded_loop", "endless loop", 12, 12, 3),
    _bug("wrong_queue", "work conservation, starvation", 6, 12, 3),
]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def main() -> None:
    seeds = range(1, 1 + int(sys.argv[1]) if len(sys.argv) > 1 else 6)
    print("| bug | found by | in run, of seeds " + ", ".join(map(str, seeds)) + " | the case of seed 1 |")
    print("| --- | --- | --- | --- |")
    for bug in BUGS:
        policy = POLICIES / "bugs" / f"{bug.name}.bpf.c"
        with TemporaryDirectory() as folder:
            found = [check(policy, "--seed", str(seed), "-C", folder).finding for seed in seeds]
        by = ", ".join(sorted({one["by"] for one in found}))
        size = found[0]["size"]
        parts = [_count(size[key], key[:-1]) for key in ("cpus", "tasks", "actions")]
        words = ", ".join([*parts, f"{size['duration_ms']} ms"]).replace("cpu", "CPU")
        print(f"| `{bug.name}` | {by} | {', '.join(str(one['run']) for one in found)} | {words} |")


if __name__ == "__main__":
    main()
