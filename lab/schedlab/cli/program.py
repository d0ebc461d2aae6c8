# SPDX-License-Identifier: GPL-2.0-or-later
"""Entry point: parse, run one command, turn errors into one line and an exit status."""

import argparse
import os
import signal
import sys
from types import FrameType

from schedlab.cli.parser import build_parser
from schedlab.errors import INTERRUPTED, LabError


def main(arguments: list[str] | None = None) -> int:
    # A request to end is Ctrl-C by another name: finished records stay, schedulers are put back.
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        options = build_parser().parse_args(*_split(arguments))
        return options.command(options)
    except LabError as error:
        print(f"schedlab: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("schedlab: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has left; so do we, without the interpreter's complaint at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _split(arguments: list[str]) -> tuple[list[str], argparse.Namespace]:
    """What follows '--' is for the scheduler that is loaded, or the program to run; argparse would look into it."""
    if arguments[:1] not in (["load"], ["record"], ["vm"]) or "--" not in arguments:
        return arguments, argparse.Namespace(passed_on=[])
    at = arguments.index("--")
    return arguments[:at], argparse.Namespace(passed_on=arguments[at + 1 :])


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
