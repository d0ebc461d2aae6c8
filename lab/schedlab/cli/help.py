# SPDX-License-Identifier: GPL-2.0-or-later
"""How --help looks, the same under every version of Python, and errors of one line."""

import argparse
import sys
from typing import NoReturn

from schedlab.errors import BAD_INPUT, unknown

_WIDTH = 88
_COLUMN = 26


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
        """The commands stand in the description, in groups."""
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
