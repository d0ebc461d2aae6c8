#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long schedulers live: all troubles of bench/troubles mixed for some minutes, and stress again and again.

Each in a guest of its own with two emulated CPUs. A scheduler is a policy of this tree, or a program that loads one.
Latencies are of cyclictest's four threads beside four hogs, at the beginning and at the end.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

from schedlab import checkout, vm
from schedlab.collect.histogram import Histogram
from schedlab.errors import InputError, LabError, PlaceError

SCRIPTS = checkout.root() / "tests/vm_policies"
TROUBLES = checkout.root() / "bench/troubles"
STRESS_S = 45
STORM_S = 5
SOAKED = ["survived", "rounds", "loads", "stalls", "rejected", "p50 / p99, µs", "available, MiB", "loader, MiB"]
# Beyond what a guest does for itself: booting, loading, and rounds that are drawn out by real-time hogs.
SPARE_S = 600
MEMORY_MIB = 2048


@dataclass
class Scheduler:
    """How the guest loads it, and the files that it needs there."""

    name: str
    command: list[str]
    files: dict[str, Path] = field(default_factory=dict)


def scheduler(text: str) -> Scheduler:
    if "/" not in text:
        return Scheduler(text, ["schedlab-host", "load", text])
    program = Path(text)
    if not program.is_file():
        raise InputError(f"{text}: no such program")
    inside = f"/bin/{program.name}"
    return Scheduler(program.name, [inside], {inside: program})


def said(one: Scheduler, script: Path, arguments: list[str], limit_s: float) -> list[dict[str, Any]]:
    """The events that a script in a guest tells of."""
    stress_ng = shutil.which("stress-ng")
    if stress_ng is None:
        raise PlaceError("stress-ng is not installed: make setup")
    inside = {
        "/bin/schedlab-host": checkout.need_binary("schedlab-host"),
        "/bin/stress-ng": Path(stress_ng),
        "/test/common.sh": SCRIPTS / "common.sh",
        "/test/script.sh": script,
        "/troubles": TROUBLES,
        "/workloads": checkout.root() / "workloads",
        **one.files,
    }
    lines: list[str] = []
    vm.run(
        ["sh", "/test/script.sh", *arguments],
        inside,
        cpus=2,
        memory_mib=MEMORY_MIB,
        limit_s=limit_s,
        on_line=lines.append,
        on_error_line=lambda line: print(f"{one.name}: {line}", file=sys.stderr, flush=True),
        again=lines.clear,
    )
    return [json.loads(line) for line in lines if line.startswith("{")]


def of(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event for event in events if event["event"] == name]


def latency_us(event: dict[str, Any]) -> str:
    found = Histogram.parse(event["record"]["histograms"]["wakeup_latency_us"])
    return " / ".join(f"{found.percentile_ns(percent) / 1e3:,.0f}" for percent in (50, 99))


def soaked(one: Scheduler, minutes: int, seed: int) -> list[str]:
    """What stands in the columns of SOAKED."""
    limit_s = minutes * 60 + SPARE_S
    events = said(one, TROUBLES / "soak.sh", [str(minutes), str(seed), *one.command], limit_s)
    (end,) = of(events, "end")
    if "rounds" not in end:
        return ["not loaded", *["–"] * (len(SOAKED) - 1)]
    latencies = [latency_us(event) for event in of(events, "latency")]
    available = [event["available_kib"] / 1024 for event in of(events, "memory")]
    loaders = [event["loader_kib"] / 1024 for event in of(events, "memory")]
    survived = "all"
    if not end["survived"]:
        why = end["kernel"] or "a round did not end"
        survived = f"{end['minutes']} min: {why}"
        print(f"{one.name}: {why}, in {end['last']}; {end['loader'][-400:]}", file=sys.stderr)
    return [
        survived,
        str(end["rounds"]),
        str(end["loaded"]),
        str(end["stalls"]),
        str(end["rejected"]),
        " → ".join(latencies),
        " → ".join(f"{value:,.0f}" for value in available),
        " → ".join(f"{value:,.1f}" for value in loaders),
    ]


def stressed(one: Scheduler, times: int) -> Iterator[str]:
    """What ended each of so many runs of the stress; empty where nothing did."""
    for _ in range(times):
        name = one.name if not one.files else next(iter(one.files))
        limit_s = 2 * (STRESS_S + 2 * STORM_S) + SPARE_S
        events = said(one, SCRIPTS / "stress.sh", [name, str(STORM_S), str(STRESS_S)], limit_s)
        phases = [event for event in events if event["event"] in ("forks", "yields", "hotplug")]
        bad = [event for event in phases if event["state"] != "enabled" or "stall" in event["log"]]
        if len(phases) < 3:
            yield "not loaded"
        elif bad:
            yield f"{bad[0]['event']}: {bad[0]['log'][-300:]}"
        else:
            yield ""


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def tables(chosen: list[Scheduler], options: argparse.Namespace) -> Iterator[str]:
    """Line by line, as each is known."""
    if options.minutes:
        yield row("scheduler", *SOAKED)
        yield row(*["---"] * (1 + len(SOAKED)))
        for one in chosen:
            yield row(one.name, *soaked(one, options.minutes, options.seed))
        yield ""
    if options.stress:
        yield row("scheduler", "survived")
        yield row("---", "---")
        for one in chosen:
            ends = list(stressed(one, options.stress))
            for end in filter(None, ends):
                print(f"{one.name}: {end}", file=sys.stderr)
            yield row(one.name, f"{ends.count('')} of {len(ends)}")


def main() -> int:
    parser = argparse.ArgumentParser(description="How long schedulers live under all kinds of trouble.")
    parser.add_argument("schedulers", metavar="SCHED", nargs="*", help="a policy, or a program's path (default: bfs)")
    parser.add_argument("--minutes", type=int, default=20, help="of all troubles mixed (default: 20; 0: none)")
    parser.add_argument("--seed", type=int, default=1, help="of the mix (default: 1)")
    parser.add_argument("--stress", type=int, default=20, help="so many runs of the stress (default: 20)")
    options = parser.parse_args()
    try:
        for line in tables([scheduler(text) for text in options.schedulers or ["bfs"]], options):
            print(line, flush=True)
    except LabError as error:
        print(f"bench/soak.py: {error}", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
