# SPDX-License-Identifier: GPL-2.0-or-later
"""Entry point: the whole command line is parsed, one command runs, errors become one line and an exit status."""

import argparse
import gc
import os
import signal
import sys
from types import FrameType

from schedlab import foreign, version
from schedlab.cli import (
    agree_options,
    bisect_options,
    choose_options,
    history_options,
    hunt_options,
    machine_options,
    measure_options,
    workload_options,
)
from schedlab.cli.commands import COMMANDS, Parser, groups
from schedlab.errors import INTERRUPTED, LabError

_DESCRIPTION = f"""\
Which CPU scheduler is best for this machine and this work, and how sure are we?

{groups(COMMANDS)}"""

_EPILOG = """\
examples:
  sudo schedlab choose -- make -j4                which scheduler is best here for this
  schedlab compare bfs,cfs                        in the simulator, four workloads
  schedlab compare bfs,bfs:rules=424 -w latt      two variants of one scheduler
  schedlab compare bfs,cfs --on vm --tier exact   on a real kernel in a virtual machine
  sudo schedlab load bfs                          run this machine under BFS

exit status: 0 ok, 1 a comparison or check failed, 2 bad usage or input,
3 the place is not available here, 130 interrupted"""


class _TellVersion(argparse.Action):
    """Only who asks for it waits for git."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"schedlab {version.told()}")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="schedlab", description=_DESCRIPTION, epilog=_EPILOG, usage="schedlab COMMAND [options]")
    parser.add_argument("--version", action=_TellVersion, nargs=0, help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", dest="name", required=True, parser_class=Parser)
    for options in (
        choose_options,
        measure_options,
        bisect_options,
        history_options,
        hunt_options,
        agree_options,
        workload_options,
        machine_options,
    ):
        options.add_all(commands)
    return parser


def main(arguments: list[str] | None = None) -> int:
    # A command is over soon and keeps what it reads; looking through ten thousand records for cycles finds none.
    gc.disable()
    # The matrices are small: threads that wait for each other make everything take twice as long on a busy machine.
    # NumPy reads this when it is first imported, which only commands do.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A request to end is Ctrl-C by another name: finished records stay, schedulers are put back.
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if not arguments:
            from schedlab.cli.this_machine import first_look

            return first_look()
        options = build_parser().parse_args(*_split(arguments))
        return options.command(options)
    except LabError as error:
        for line in str(error).splitlines():
            # It may quote a file of anybody's.
            print(f"schedlab: {foreign.lines(line)}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("schedlab: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has closed it: end quietly, without the interpreter's complaint at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    finally:
        gc.enable()


def _split(arguments: list[str]) -> tuple[list[str], argparse.Namespace]:
    """What follows '--' is for the scheduler that is loaded, or the program to run; argparse would look into it."""
    if arguments[:1] not in (["choose"], ["load"], ["record"], ["snapshot"], ["vm"]) or "--" not in arguments:
        return arguments, argparse.Namespace(passed_on=[])
    at = arguments.index("--")
    return arguments[:at], argparse.Namespace(passed_on=arguments[at + 1 :])


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
