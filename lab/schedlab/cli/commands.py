# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands in their groups, how one is added to the parser, and how --help looks.

Help looks the same under every version of Python, and errors are one line.
"""

import argparse
import sys
from collections.abc import Callable, Iterable
from typing import NoReturn

from schedlab.campaign import where
from schedlab.errors import BAD_INPUT, unknown

_WIDTH = 88
_COLUMN = 26


COMMANDS = {
    "measure": {
        "choose": "find the scheduler that is best for this machine and this work",
        "compare": "compare schedulers",
        "run": "compare schedulers as a campaign file says",
        "bisect": "find the kernel or the commit of a policy at which a number became worse",
        "history": "draw a number over commits or kernels, with where its level changes",
        "hunt": "find a policy's worst case, make it small, and try it on a real kernel",
        "study": "run a published study again and lay its claims beside ours",
        "report": "make tables and report again from the records in a directory",
        "decisions": "the first decision in which the simulator and a real kernel differ",
        "agree": "how far the simulator's numbers lie from a real kernel's",
        "trace": "write down what runs when in one cell, for Perfetto or as ftrace text",
    },
    "bring your own work": {
        "record": "record a program's scheduling as a workload",
        "snapshot": "keep what a scheduler's own program sets up, to simulate it",
        "calibrate": "measure how long a workload's tasks run and block, into a profile",
    },
    "write a scheduler": {
        "check": "try a policy on a real kernel, then on random simulated machines under checkers",
        "explain": "say in three sentences why the kernel threw a scheduler out, from its debug dump",
        "compatibility": "try other people's schedulers in the simulator, beside a real kernel",
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


class Parser(argparse.ArgumentParser):
    """Errors are one line; no abbreviations, so that a new option breaks no script."""

    def __init__(self, *arguments: object, **keywords: object) -> None:
        keywords.setdefault("formatter_class", Formatter)
        keywords.setdefault("allow_abbrev", False)
        super().__init__(*arguments, **keywords)  # type: ignore[arg-type]
        self._positionals.title = "arguments"

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}; see {self.prog} --help", file=sys.stderr)
        raise SystemExit(BAD_INPUT)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            kind = action.metavar if isinstance(action.metavar, str) else action.dest
            self.error(str(unknown(kind.lower(), str(value), action.choices)))


class Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str, **keywords: object) -> None:
        super().__init__(prog, max_help_position=_COLUMN, width=_WIDTH)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """-o, --output DIR"""
        if not action.option_strings:
            return super()._format_action_invocation(action)
        names = ", ".join(action.option_strings)
        if action.nargs == 0:
            return names
        return f"{names} {self._format_args(action, action.dest.upper())}"

    def _format_action(self, action: argparse.Action) -> str:
        """Nothing for the commands, which the description lists in groups."""
        if isinstance(action, argparse._SubParsersAction):
            return ""
        return super()._format_action(action)


def groups(commands: dict[str, dict[str, str]]) -> str:
    """Commands with their one line each, under headings."""
    parts = []
    for title, group in commands.items():
        lines = [f"  {name:<{_COLUMN - 4}}  {about}" for name, about in group.items()]
        parts.append("\n".join([f"{title}:", *lines]))
    return "\n\n".join(parts)


def add(commands: argparse._SubParsersAction, name: str, function: str, **more: str) -> argparse.ArgumentParser:
    about = _ABOUT[name]
    more.setdefault("prog", f"schedlab {name}")
    parser = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".", **more)
    parser.set_defaults(command=_lazy(*function.rsplit(".", 1)))
    return parser


def percent(text: str, above_zero: bool = False) -> float:
    """An option's value."""
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < 100 or (above_zero and not value):
        least = "above 0" if above_zero else "from 0"
        raise argparse.ArgumentTypeError(f"expected per cent, {least} and below 100, got '{text}'")
    return value


class Places(list[str]):
    """For an option's choices: these places by name, a fleet by its file, a cluster by its address."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(where.SHOWN[name] for name in names)

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and where.is_place(text) and where.SHOWN[where.name_of(text)] in self[:]


ANYWHERE = Places(where.PLACES)
# Where something is measured that another machine's load changes.
ON_MACHINES = Places(name for name in where.PLACES if name not in where.CLUSTERS)
# Commands that need more of a place than cells; a study needs these or a cluster.
HERE = Places(name for name in where.PLACES if name not in (where.SSH, *where.CLUSTERS))
IN_STUDIES = Places(name for name in where.PLACES if name != where.SSH)


def add_api(container: argparse._ActionsContainer) -> None:
    container.add_argument(
        "--api",
        metavar="RELEASE",
        help="the kernel release whose interface simulated policies see: 6.12 to 7.2 (default: 7.2)",
    )


def _lazy(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """--help must not wait for NumPy and rich."""

    def command(options: argparse.Namespace) -> int:
        from importlib import import_module

        return getattr(import_module(f"schedlab.cli.{module}"), function)(options)

    return command
