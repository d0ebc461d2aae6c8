# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of history."""

import argparse

from schedlab.cli.bisect_options import add_walk, percent
from schedlab.cli.commands import add

_EPILOG = """\
Every step runs once: a policy's commits as bisect walks them, or kernels. history.html draws
the number with its levels and names the steps at which the level changes; bisect finds one
such step in a long history with fewer runs.

exit status: 0 done, 1 no step has a value, 2 bad input, 3 the place is not available

examples:
  schedlab history --policy schedulers/bfs --from v1 -w latt --load 15 \\
      --metric wakeup_latency_us.p99
  schedlab history --kernels 6.12,6.16,7.2 -w pipe --load 8"""


def add_all(commands: argparse._SubParsersAction) -> None:
    usage = (
        "schedlab history --policy POLICY --from REV [--to REV] -w WORKLOAD [options]\n"
        "       schedlab history --kernels A,B,… -w WORKLOAD [options]"
    )
    parser = add(commands, "history", "history.history", usage=usage, epilog=_EPILOG)
    add_walk(parser, "first", "last", "history")
    parser.add_argument_group("what is a change").add_argument(
        "--smallest",
        metavar="PCT",
        type=percent,
        default=1.0,
        help="levels that differ by no more than so many per cent are one (default: 1 %%)",
    )
