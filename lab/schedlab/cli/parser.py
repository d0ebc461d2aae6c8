# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole command line: its description, and the options of every command."""

import argparse

from schedlab import __version__
from schedlab.cli import machine_options, measure_options, workload_options
from schedlab.cli.commands import COMMANDS
from schedlab.cli.help import Parser, groups

_DESCRIPTION = f"""\
Which CPU scheduler is best for this machine and this work, and how sure are we?

{groups(COMMANDS)}"""

_EPILOG = """\
examples:
  schedlab compare bfs,cfs                        in the simulator, four workloads
  schedlab compare bfs,bfs:rules=424 -w latt      two variants of one scheduler
  schedlab compare bfs,cfs --on vm --tier exact   on a real kernel in a virtual machine
  sudo schedlab load bfs                          run this machine under BFS

exit status: 0 ok, 1 a comparison or check failed, 2 bad usage or input,
3 the place is not available here, 130 interrupted"""


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="schedlab", description=_DESCRIPTION, epilog=_EPILOG, usage="schedlab COMMAND [options]")
    parser.add_argument("--version", action="version", version=f"schedlab {__version__}", help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", dest="name", required=True, parser_class=Parser)
    for options in (measure_options, workload_options, machine_options):
        options.add_all(commands)
    return parser
