# SPDX-License-Identifier: GPL-2.0-or-later
"""The text of ftrace, as the simulator writes it (crates/kernel/src/trace.rs), line by line."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_LINE = re.compile(
    r"\s*(?P<comm>.*)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\] \S+ (?P<s>\d+)\.(?P<ns>\d{9}): (?P<name>\w+): (?P<rest>.*)"
)
# Names of tasks may hold spaces; no key does.
_FIELD = re.compile(r"(\w+)=(.*?)(?=\s+(?:==>\s+)?\w+=|\s*$)")
IDLE = 0


@dataclass(frozen=True)
class Event:
    time_ns: int
    cpu: int
    name: str
    fields: dict[str, str]

    def pid(self, prefix: str = "") -> int:
        return int(self.fields[f"{prefix}pid"])

    def comm(self, prefix: str = "") -> str:
        return self.fields[f"{prefix}comm"]


def events(lines: Iterable[str], only: str = "") -> Iterator[Event]:
    """`only`: what the names of the wanted events begin with; the others cost less."""
    wanted = f": {only}"
    for number, line in enumerate(lines, 1):
        if wanted not in line or line.startswith("#") or not line.strip():
            continue
        found = _LINE.match(line)
        if not found:
            raise ValueError(f"line {number} of the trace is not one of ftrace's: {line.rstrip()!r}")
        fields = dict(_FIELD.findall(found["rest"]))
        yield Event(int(found["s"]) * 1_000_000_000 + int(found["ns"]), int(found["cpu"]), found["name"], fields)
