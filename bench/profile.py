#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a context switch goes: every instruction of a stretch of an exact guest, counted by kernel function.

    bench/profile.py bfs -w workloads/pipe.toml --load 8 -p trips=2000

The guest is that of `schedlab compare --profile`: a run of the workload warms up, and what is counted lies within the
run after it, in its middle unless --after says when. A stretch that is too short may miss a phase of the workload: look
at the number of switches. With --policy the instructions are told apart by callback, helper and kfunc instead.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

from callbacks import Callbacks

from schedlab.campaign.matrix import campaign
from schedlab.campaign.request import request
from schedlab.collect.function_counts import FunctionCounts, of_stretch
from schedlab.errors import LabError
from schedlab.places import profiled, real_kernel, vm


def table(found: FunctionCounts, top: int) -> list[str]:
    if not found.switches:
        raise LabError("no context switch within so many instructions; give more with --instructions")
    total, switches = found.total, found.switches
    lines = [
        f"{total:,} instructions, {switches:,} switches, {total / switches:,.0f} instructions each",
        f"{'a switch':>9} {'share':>6} {'calls':>7}  function",
    ]
    for name, count in sorted(found.instructions.items(), key=lambda pair: -pair[1])[:top]:
        calls = found.calls.get(name)
        called = f"{calls / switches:7.2f}" if calls else " " * 7
        lines.append(f"{count / switches:9.1f} {count / total:6.1%} {called}  {name}")
    return lines


def profile(options: argparse.Namespace) -> list[str]:
    asked = request(
        options.scheduler,
        workload_names=options.workload,
        load=str(options.load),
        machine_names=str(options.cpus),
        place="vm",
        kernel=options.kernel,
        repetitions=1,
        param=options.param,
        controlled=False,
    )
    planned = campaign(asked, vm.engine())
    cell = planned.measured()[0]
    with tempfile.TemporaryDirectory(prefix="schedlab-profile-") as folder:
        objects = real_kernel.objects(vm.engine(), planned.arms, Path(folder))
        stretch, named = profiled.counted_cell(
            planned, cell, objects, options.instructions, after_s=options.after, in_order=options.policy
        )
    if not options.policy:
        return table(of_stretch(stretch, named), options.top)
    callbacks = Callbacks(named)
    for order in stretch.order.values():
        callbacks.take(order)
    return callbacks.table()


def main() -> int:
    parser = argparse.ArgumentParser(description="Instructions by kernel function, in the exact virtual machine.")
    parser.add_argument("scheduler", help="as for compare")
    parser.add_argument("-w", "--workload", required=True, metavar="FILE")
    parser.add_argument("--load", type=int, required=True)
    parser.add_argument("-p", "--param", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--cpus", type=int, default=1)
    parser.add_argument("--kernel", help="as for compare (default: 7.2)")
    parser.add_argument(
        "--instructions", type=int, default=profiled.MOST, help=f"how many to count (default: {profiled.MOST})"
    )
    parser.add_argument("--after", default="", metavar="S", help="seconds from the run's start to the stretch")
    parser.add_argument("--policy", action="store_true", help="tell callbacks, helpers and kfuncs apart")
    parser.add_argument("--top", type=int, default=60, help="functions to print (default: 60)")
    options = parser.parse_args()
    try:
        print("\n".join(profile(options)))
    except LabError as error:
        print(f"bench/profile.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
