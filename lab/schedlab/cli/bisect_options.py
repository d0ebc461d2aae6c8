# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of bisect."""

import argparse
import re

from schedlab.campaign.where import PLACES
from schedlab.cli.commands import add

_EPILOG = """\
The good end comes first, then the worse one, then what lies halfway, and so on. One run tells,
because a second one would say the same: in the simulator, or in a guest of the exact tier.
What cannot be had, built, booted or attached is passed over, and where it lies beside the
first worse one, the answer is a range.

Commits are those of the first parents' line that change the policy's folder or file; each is
built as it was, with the headers of this schedlab. No work tree is touched.

exit status: 0 found, 1 the last is not worse than the first or an end has no value, 2 bad
input, 3 the place is not available

examples:
  schedlab bisect --kernels 6.16,6.18,7.2 -w pipe --load 8 --worse-by '5 %'
  schedlab bisect --kernels ./a,./b,./c,./d --scheduler bfs -w hackbench --load 4
  schedlab bisect --policy schedulers/bfs --from v1 --to HEAD -w latt --load 15 \\
      --metric wakeup_latency_us.p99"""


def add_all(commands: argparse._SubParsersAction) -> None:
    usage = (
        "schedlab bisect --kernels A,B,… -w WORKLOAD [options]\n"
        "       schedlab bisect --policy POLICY --from REV --to REV -w WORKLOAD [options]"
    )
    parser = add(commands, "bisect", "bisect.bisect", usage=usage, epilog=_EPILOG)
    add_walk(parser, "good", "worse")
    parser.add_argument_group("how much is worse").add_argument(
        "--worse-by",
        metavar="PCT",
        type=percent,
        default=5.0,
        help="what is worse than the good end by more than so many per cent is bad (default: 5 %%)",
    )


def add_walk(parser: argparse.ArgumentParser, first: str, last: str, results: str = "bisect") -> None:
    """What is walked, what is asked of each step, and where: for all commands that walk. `first`, `last`: the ends."""
    walked = parser.add_argument_group("what is walked")
    walked.add_argument("--kernels", metavar="LIST", help=f"kernels as for --kernel of compare, the {first} one first")
    walked.add_argument(
        "--scheduler", metavar="NAME", help="what runs on them, with tunables (default: default, the kernel's own)"
    )
    walked.add_argument("--policy", metavar="POLICY", help="a policy's folder, .bpf.c file or name, with tunables")
    walked.add_argument("--from", dest="good", metavar="REV", help=f"the {first} end of its history")
    walked.add_argument("--to", dest="worse", metavar="REV", help=f"the {last} end (default: HEAD)")
    what = parser.add_argument_group("what is asked of each")
    what.add_argument("-w", "--workload", metavar="NAME", required=True, help="a workload, by name or file")
    what.add_argument("--load", metavar="N", type=int, help="load level (default: the workload's least)")
    what.add_argument("-p", "--param", metavar="K=V", action="append", default=[], help="a workload's parameter")
    what.add_argument("--seed", metavar="S", type=int, default=1, help="of the workload's draws (default: 1)")
    what.add_argument(
        "--metric",
        metavar="METRIC",
        default="elapsed_s",
        help="a metric, of a distribution with its statistic: wakeup_latency_us.p99 (default: elapsed_s)",
    )
    where = parser.add_argument_group("where to run")
    where.add_argument(
        "--on", choices=["sim", "vm"], metavar="PLACE", help="sim, vm (default: sim for a policy, vm for kernels)"
    )
    where.add_argument(
        "-m",
        "--machine",
        metavar="NAME",
        help=f"simulated machine (default: {PLACES['sim'].default_machine}), or number of guest CPUs (default: 1)",
    )
    where.add_argument("--kernel", metavar="K", help="that a policy's guest boots, as for compare (default: 7.2)")
    out = parser.add_argument_group("results")
    out.add_argument(
        "-o", "--output", metavar="DIR", help=f"where records go and are found (default: results/{results}-NAME)"
    )
    out.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")


def percent(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%?", text.strip())
    if not found:
        raise argparse.ArgumentTypeError(f"expected per cent, such as '5 %', got '{text}'")
    return float(found[1])
