# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of choose."""

import argparse
from functools import partial

from schedlab.campaign.request import TIERS
from schedlab.cli.commands import ON_MACHINES, add, percent

MINUTES = 10.0
WORTH_PCT = 2.0
AMONG = "default,bfs"
MIXES = ("desktop", "build", "server")

_EPILOG = f"""\
Candidates take turns in blocks: each runs once in every block, in a random order. After each
block a test decides whether it is clear, and stops as soon as it is. The first candidate is
the incumbent, which stays unless another is proven better. One alone races against itself.

  false winner        in at most 5 of 100 runs, over all looks, candidates and measures together
  'no difference'     said in at most 5 of 100 where there is one of --worth or more
  a loss overlooked   a winner is worse by --worth at something else in at most 5 of 100
docs/choose.md says how, and what no such test can tell.

A command runs in this folder and environment, under sudo as who called it. Its elapsed time
is what counts, or with --frames the 99th percentile of its frame times: FILE is a CSV as
MangoHud writes it, or a folder in which the command leaves one. On --on vm the command has
its program and libraries, and no other file of this machine.

exit status: 0 a winner, none that is worth a switch, or a trade; 1 not decided, or a trial
failed; 2 bad usage or input; 3 the place is not available here; 130 interrupted, after what is
known so far. With the same -o the same command goes on where it ended.

examples:
  sudo schedlab choose                                     {AMONG}, a mix of desktop work
  sudo schedlab choose --minutes 30 -- make -j8            for a build of one's own
  sudo schedlab choose --frames logs -- mangohud ./game --benchmark
  sudo schedlab choose --among 'default,bfs,exec:"scx_lavd --performance"' --mix server
  schedlab choose --on vm                                  in guests, without root
  schedlab choose --on sim -m desktop-4 --among default,bfs,cfs"""


def add_all(commands: argparse._SubParsersAction) -> None:
    usage = "schedlab choose [options] [-- COMMAND]"
    parser = add(commands, "choose", "choose.choose", usage=usage, epilog=_EPILOG)
    what = parser.add_argument_group("what to race")
    what.add_argument(
        "--among",
        metavar="LIST",
        default=AMONG,
        help=f"schedulers as for compare; the first is the incumbent (default: {AMONG})",
    )
    what.add_argument(
        "--mix",
        choices=MIXES,
        metavar="MIX",
        help=f"without a command: {', '.join(MIXES)} (default: {MIXES[0]})",
    )
    what.add_argument("--frames", metavar="FILE", help="frame times that the command leaves; their tail counts")
    what.add_argument(
        "--worth",
        metavar="PCT",
        type=partial(percent, above_zero=True),
        default=WORTH_PCT,
        help=f"smaller differences are not worth a switch (default: {WORTH_PCT:g})",
    )
    what.add_argument("--seed", metavar="S", type=int, default=1, help="of orders and draws (default: 1)")
    limits = parser.add_argument_group("how long")
    limits.add_argument(
        "--minutes", metavar="M", type=float, default=MINUTES, help=f"for the whole (default: {MINUTES:g})"
    )
    limits.add_argument("--blocks", metavar="N", type=int, help="at most so many (default: as time allows)")
    where = parser.add_argument_group("where to run")
    where.add_argument(
        "--on", choices=ON_MACHINES, default="host", metavar="PLACE", help="host (default), vm, sim, ssh:FILE"
    )
    where.add_argument("-m", "--machine", metavar="NAME", help="simulated machine, or number of guest CPUs")
    where.add_argument("--tier", choices=TIERS, metavar="TIER", help="of the virtual machine (default: exact)")
    where.add_argument("--kernel", metavar="K", help="of the virtual machine, as for compare")
    where.add_argument("-j", "--jobs", metavar="N", type=int, help="simulated cells at once (default: one per CPU)")
    out = parser.add_argument_group("results")
    out.add_argument("-o", "--output", metavar="DIR", help="where they go (default: results/choose-NAME)")
    out.add_argument("--json", action="store_true", help="print the answer as JSON and nothing else")
    out.add_argument("--no-report", action="store_true", help="do not write report.html")
