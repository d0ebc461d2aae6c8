# SPDX-License-Identifier: GPL-2.0-or-later
"""The planted bugs: who finds each, and how small the case is that shows it.

`python -m tests.check.bugs [SEEDS]` prints the tables of docs/checking.md.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
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
    # Where somebody met it, and what was said to have waited for how long.
    report: str = ""

    @property
    def policy(self) -> Path:
        return POLICIES / ("field" if self.report else "bugs") / f"{self.name}.bpf.c"


def _bug(name: str, by: str, cpus: int, tasks: int, actions: int, report: str = "") -> Bug:
    return Bug(name, frozenset(by.split(", ")), cpus, tasks, actions, report)


BUGS = [
    _bug("affinity_ignored", "kernel", 6, 6, 2),
    _bug("deadline_overflow", "starvation", 4, 8, 2),
    _bug("double_insert", "kernel", 2, 2, 1),
    _bug("group_queue_gone", "kernel", 4, 6, 4),
    _bug("left_behind", "work conservation, starvation", 4, 8, 2),
    _bug("limit_last_goes_on", "cpu limit", 4, 6, 2),
    _bug("limit_refilled_by_wake_ups", "cpu limit", 4, 8, 3),
    _bug("lost_wakeup", "work conservation", 8, 10, 5),
    _bug("moved_uncounted", "work conservation, starvation", 4, 6, 3),
    _bug("pinned_unread", "work conservation, starvation", 4, 4, 2),
    _bug("place_never_lost", "starvation", 4, 8, 3),
    _bug("slice_never_refilled", "slice", 4, 6, 2),
    _bug("stale_cpu", "starvation, work conservation", 4, 8, 3),
    _bug("starves_nice_19", "starvation", 4, 10, 2),
    _bug("unbounded_loop", "endless loop", 12, 12, 3),
    _bug("wrong_queue", "work conservation, starvation", 6, 12, 3),
]

# Mistakes that ended schedulers of the field, in policies of our own.
FIELD = [
    _bug("context_missing", "kernel", 4, 8, 3, "scx 3564: task_ctx_stor first lookup failed"),
    _bug("cpu_queue_unkicked", "work conservation, starvation", 4, 4, 2, "scx 353: panel-91-system, 5.761 s, CPU idle"),
    _bug("kthread_last", "starvation", 4, 8, 2, "scx 674, 3247, 2369: kworker of one CPU, 7.040 s, 6.927 s, 33.815 s"),
    _bug(
        "queue_of_another_llc", "work conservation, starvation", 4, 8, 2, "scx 1678: plasmashel:cs0, 24.000 s, CPU idle"
    ),
    _bug("section_elsewhere", "work conservation, starvation", 4, 12, 4, "bazzite 5527: systemd, 34.276 s, CPU idle"),
]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def main() -> None:
    seeds = range(1, 1 + int(sys.argv[1]) if len(sys.argv) > 1 else 6)
    _table(BUGS, seeds, "bug", lambda bug: f"`{bug.name}`")
    print()
    _table(FIELD, seeds, "bug | report", lambda bug: f"`{bug.name}` | {bug.report}")


def _table(bugs: Iterable[Bug], seeds: Sequence[int], head: str, names: Callable[[Bug], str]) -> None:
    columns = f"{head} | found by | in run, of seeds {', '.join(map(str, seeds))} | the case of seed 1"
    print(f"| {columns} |")
    print("|" + " --- |" * (1 + columns.count("|")))
    for bug in bugs:
        with TemporaryDirectory() as folder:
            found = [check(bug.policy, "--seed", str(seed), "-C", folder).finding for seed in seeds]
        by = ", ".join(sorted({one["by"] for one in found}))
        size = found[0]["size"]
        parts = [_count(size[key], key[:-1]) for key in ("cpus", "tasks", "actions")]
        words = ", ".join([*parts, f"{size['duration_ms']} ms"]).replace("cpu", "CPU")
        print(f"| {names(bug)} | {by} | {', '.join(str(one['run']) for one in found)} | {words} |")


if __name__ == "__main__":
    main()
