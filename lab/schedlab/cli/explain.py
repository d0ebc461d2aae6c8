# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab explain: a debug dump of sched_ext in three sentences, and a simulated case that ends the same way.

A dump comes from another machine or another person: it is text to show, and nothing of it is markup or a command.
"""

import argparse
import json
import shlex
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from schedlab import foreign
from schedlab.cli import stall_case
from schedlab.errors import InputError
from schedlab.sched_ext import dumps_in_text, explanation, stall
from schedlab.sched_ext.dumps_in_text import Found
from schedlab.sched_ext.stall import Stall

_STDIN = "-"


def explain(options: argparse.Namespace) -> int:
    """Exit status: 0 explained, and a case found where one is asked for; 1 none found; 2 no dump."""
    if options.output and not options.case:
        raise InputError("-o DIR is for --case")
    name = "standard input" if options.dump == _STDIN else options.dump
    found = dumps_in_text.find(_read(options.dump))
    what = _chosen(found, name, options.nth)
    search = stall_case.Search.of(what, options) if options.case else None
    source = _STDIN if options.dump == _STDIN else shlex.quote(options.dump)
    if not options.json:
        _show(what, found, source)
    case = search.run() if search else None
    if options.json:
        print(json.dumps(_plain(what, found, source, case), ensure_ascii=False, indent=1))
    elif case:
        case.show()
    return 0 if case is None else case.status


def _read(path: str) -> str:
    try:
        data = sys.stdin.buffer.read() if path == _STDIN else Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    # Names of tasks are anybody's.
    return foreign.lines(data.decode(errors="replace"))


def _chosen(found: Found, name: str, nth: int | None) -> Stall:
    count = len(found.dumps)
    if not count:
        raise InputError(f"{name}: no debug dump of sched_ext in it, and no scheduler that the kernel threw out")
    if nth is not None and not 1 <= nth <= count:
        raise InputError(f"--nth {nth}: {name} has {count} dump{'s' if count > 1 else ''}")
    if count > 1:
        number = count if nth is None else nth
        print(f"schedlab: dump {number} of {count} in {name}; --nth K chooses another", file=sys.stderr)
    return stall.of(found.dumps[-1 if nth is None else nth - 1])


def _show(what: Stall, found: Found, source: str) -> None:
    dump = what.dump
    console = Console(markup=False, highlight=False)
    head = Text(dump.why or "a debug dump without its head", style="bold")
    if dump.ops:
        head.append(f", {dump.ops}", style="not bold")
    lines = [head, *map(Text, explanation.sentences(what, found.lockups))]
    lines.append(Text(f"next: {explanation.next_step(what, source)}", style="dim"))
    for line in lines:
        # What is piped on has a line a sentence, however narrow a terminal would be.
        console.print(line, soft_wrap=not console.is_terminal)
    sys.stdout.flush()


def _plain(what: Stall, found: Found, source: str, case: stall_case.Outcome | None) -> dict:
    data = explanation.facts(what, found.lockups)
    data["sentences"] = list(explanation.sentences(what, found.lockups))
    data["next"] = explanation.next_step(what, source)
    data["dumps"] = len(found.dumps)
    if case:
        data["case"] = case.as_json()
    return data
