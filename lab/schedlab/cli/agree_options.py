# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of agree."""

import argparse

from schedlab.cli.commands import add

_PLACES = ("vm", "host")
MACHINE = "guest-exact-1"
DIRECTORY = "results/agreement"
LEDGER = f"{DIRECTORY}/ledger.csv"

_EPILOG = """\
The same cells run in the simulator, on the machine of -m, and on a real kernel: in a guest of
the exact tier with as many CPUs, or here with --on host, where -m names the file that
'schedlab calibrate machine' wrote of this machine. The kernel's own scheduler always runs. Of
a scheduler's program the simulator gets a snapshot.

Results in DIR: ledger.csv, a row for every number of every cell with both values and the
error, and ledger.json with the rest of what the page is made of. causes.toml in DIR says why
rows differ. The same command again resumes. With --on host the files are host.csv and
host.json, which keep the rows of other machines, and --page has a part of its own for them; on
a kernel without sched_ext only default runs. With a machine of several CPUs DIR is
results/agreement/N-cpus, and --page has a part for each N.

--applications compares real applications that a guest can run with their models, and recorded
programs with their replays: compile-e2fsprogs, lrzip, transcode, mplayer and oltp, or those of
-w, at fixed sizes; of the first three it also records a program under every scheduler. The
rows are applications.csv and applications.json in DIR, and a part of the page of their own.

--short runs a few fixed cells once and fails where a row's error is larger than its limit.

--search draws small workloads and values of the schedulers' tunables, runs each once in both
worlds, and keeps those whose numbers lie furthest apart, measured by what nine in ten rows of
results/agreement/ledger.csv lie within. These are run with three seeds, where the ranges must
lie apart, and shrunk for as long as the same number stays half as far off. DIR/cases has a
workload file of each, which says what both worlds said and what shows it again, and
DIR/search.json all of it. The same seed and --cases give the same cases.

exit status: 0 ok, 1 a cell has failed or a row of --short is worse, 2 bad input, 3 the
place is not available

examples:
  schedlab agree --page docs/agreement.md
  schedlab agree bfs ./my/policy -w latt,pipe --load 4 -n 1 -o results/mine
  schedlab agree --applications --page docs/agreement.md
  schedlab agree --short
  schedlab agree --search bfs,cfs --seed 7 --minutes 20"""


def add_all(commands: argparse._SubParsersAction) -> None:
    parser = add(commands, "agree", "agree.agree", usage="schedlab agree [SCHED…] [options]", epilog=_EPILOG)
    parser.add_argument(
        "schedulers", metavar="SCHED", nargs="*", help="as for compare (default: the tree's, and the kernel's own)"
    )
    what = parser.add_argument_group("what to run")
    what.add_argument(
        "-w",
        "--workloads",
        metavar="LIST",
        help="names or files (default: all that are no application and use no disk)",
    )
    what.add_argument("--load", metavar="LIST", help="load levels (default: each workload's own)")
    what.add_argument(
        "-p", "--param", metavar="K=V", action="append", help="a workload's parameter, over the ledger's own sizes"
    )
    what.add_argument("-n", "--repetitions", metavar="N", type=int, help="runs of each cell (default: 3)")
    what.add_argument("--applications", action="store_true", help="real applications and recorded programs instead")
    what.add_argument("--short", action="store_true", help="a few fixed cells, held to their limits")
    what.add_argument("--keep", action="store_true", help="with --short: write the limits instead, from twelve runs")
    attack = parser.add_argument_group("search for disagreement")
    attack.add_argument("--search", action="store_true", help="random cases; SCHED without tunables, which are drawn")
    attack.add_argument("--seed", metavar="S", type=int, help="of the draws (default: 1)")
    attack.add_argument("--cases", metavar="N", type=int, help="draw so many (default: 96)")
    attack.add_argument("--minutes", metavar="M", type=float, help="instead: draw for half of that time, then shrink")
    attack.add_argument("--keep-cases", metavar="N", type=int, default=3, help="so many at most (default: 3)")
    where = parser.add_argument_group("where to run")
    where.add_argument("--on", choices=_PLACES, default="vm", metavar="PLACE", help="real kernel: vm (default), host")
    where.add_argument(
        "-m", "--machine", metavar="NAME", help=f"simulated machine (default: {MACHINE}; none with --on host)"
    )
    where.add_argument(
        "-j", "--jobs", metavar="N", type=int, help="simulated cells or exact guests at once (default: one per CPU)"
    )
    out = parser.add_argument_group("results")
    out.add_argument(
        "-o", "--output", metavar="DIR", help=f"where they go (default: {DIRECTORY}; for --search its folder search)"
    )
    out.add_argument("--page", metavar="FILE", help="put the tables into this page too, between its lines for them")
    limits = f"{DIRECTORY}/short.csv"
    out.add_argument("--limits", metavar="FILE", default=limits, help=f"of --short (default: {limits})")
