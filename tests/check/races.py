# SPDX-License-Identifier: GPL-2.0-or-later
"""The planted races: each is found with --interleave within so many runs of a seed, and not without.

Real-time tasks are left out: they starve who waits in the queue of a CPU that they hold, without any race. So are
control groups, which these races have nothing to do with.

`python -m tests.check.races [SEEDS]` prints the table of docs/checking.md.
"""

import sys
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from tests.check.conftest import POLICIES, check


@dataclass(frozen=True)
class Race:
    """A race, a seed with which it is found soon, in so many runs, and how many switches it takes at most."""

    name: str
    seed: int
    runs: int
    switches: int


PLAIN = ("--no-real-time", "--no-cgroups")

RACES = [
    Race("idle_mask", 4, 100, 3),
    Race("offline_queue", 18, 300, 2),
    Race("timer_swaps", 3, 100, 2),
    Race("two_steps", 2, 100, 2),
    Race("unlocked_queue", 3, 100, 2),
]


def main() -> None:
    seeds = range(1, 1 + int(sys.argv[1]) if len(sys.argv) > 1 else 3)
    print("| race | found by | in run, of seeds " + ", ".join(map(str, seeds)) + " | the switches of the last seed |")
    print("| --- | --- | --- | --- |")
    for race in RACES:
        policy = POLICIES / "races" / f"{race.name}.bpf.c"
        with TemporaryDirectory() as folder:
            options = ["--interleave", *PLAIN, "--runs", "5000", "-C", folder]
            found = [check(policy, "--seed", str(seed), *options).finding for seed in seeds]
        by = ", ".join(sorted({one["by"] for one in found}))
        switches = "; ".join(made["what"] for made in found[-1]["switches"])
        print(f"| `{race.name}` | {by} | {', '.join(str(one['run']) for one in found)} | {switches} |")


if __name__ == "__main__":
    main()
