# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands in their groups, each with its one line, and how one is added to the parser."""

import argparse
from collections.abc import Callable

COMMANDS = {
    "measure": {
        "compare": "compare schedulers",
        "run": "compare schedulers as a campaign file says",
        "study": "run a published study again and lay its claims beside ours",
        "report": "make tables and report again from the records in a directory",
        "trace": "write down all that one simulated cell decides, for Perfetto or as ftrace text",
    },
    "bring your own work": {
        "record": "record a program's scheduling as a workload",
        "calibrate": "measure how long a workload's tasks run and block, into a profile",
    },
    "write a scheduler": {
        "check": "try a policy on a real kernel, then on random simulated machines under checkers",
    },
    "find out": {
        "list": "list schedulers, workloads, machines or studies",
        "doctor": "what this machine can do, and the command that mends each gap",
    },
    "this machine's scheduler": {
        "load": "run this machine under a scheduler",
        "status": "say which scheduler runs",
        "unload": "go back to the kernel's own scheduler",
    },
    "virtual machine": {
        "vm": "set up a guest with a sched_ext kernel, run a command or a shell in it",
    },
}
_ABOUT = {name: about for group in COMMANDS.values() for name, about in group.items()}


def add(commands: argparse._SubParsersAction, name: str, function: str, **more: str) -> argparse.ArgumentParser:
    about = _ABOUT[name]
    more.setdefault("prog", f"schedlab {name}")
    parser = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".", **more)
    parser.set_defaults(command=_lazy(*function.rsplit(".", 1)))
    return parser


def _lazy(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """--help must not wait for NumPy and rich."""

    def command(options: argparse.Namespace) -> int:
        from importlib import import_module

        return getattr(import_module(f"schedlab.cli.{module}"), function)(options)

    return command
