# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of hunt."""

import argparse

from schedlab.cli.commands import add

BUDGET = 1_000
METRIC = "starvation_max_us"

_EPILOG = """\
Cases are drawn, the worst are changed for the worse, and what is found is made small, as long
as it is still four fifths as bad. How bad is the number over what CPUs, work and weights
explain, or over --against's in the same case. The same seed and budget find the same case; the
same command goes on where it was interrupted. No task is real-time or of SCHED_IDLE.

The find is then tried on a real kernel, in a guest of the exact tier: confirmed is one that is
half as bad there.

exit status: 0 found, 1 nothing worse than what is explained, or gone with --replay, 2 bad
input, 3 the simulator is not built, 130 interrupted, with the worst so far kept

examples:
  schedlab hunt bfs:rules=232
  schedlab hunt eevdf --against bfs --metric wakeup_latency_us.p99 --budget 5000
  schedlab hunt ./my/scx_mine.bpf.c --metric elapsed_s --no-guest
  schedlab hunt --replay results/hunt/o1/case"""


def add_all(commands: argparse._SubParsersAction) -> None:
    usage = "schedlab hunt POLICY [options]\n       schedlab hunt --replay DIR [options]"
    parser = add(commands, "hunt", "hunting.hunt", usage=usage, epilog=_EPILOG)
    parser.add_argument(
        "policy", nargs="?", metavar="POLICY", help="a name, .bpf.c file, folder or object, with tunables"
    )
    what = parser.add_argument_group("what is hunted for")
    what.add_argument("--against", metavar="POLICY", help="how much worse than this one (default: than shares explain)")
    what.add_argument(
        "--metric",
        metavar="METRIC",
        help=f"a metric, of a distribution with its statistic: wakeup_latency_us.p99 (default: {METRIC})",
    )
    how = parser.add_argument_group("the search")
    how.add_argument("--budget", metavar="N", type=int, help=f"so many simulated runs (default: {BUDGET:,})")
    how.add_argument("--seed", metavar="S", type=int, help="of what is drawn (default: 1)")
    how.add_argument("--jobs", metavar="N", type=int, help="runs at a time (default: one a CPU)")
    how.add_argument("--no-guest", action="store_true", help="do not try it on a real kernel")
    how.add_argument("--replay", metavar="DIR", help="run a case that was kept once more")
    out = parser.add_argument_group("results")
    out.add_argument("-o", "--output", metavar="DIR", help="where files go and are found (default: results/hunt-NAME)")
    out.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")
