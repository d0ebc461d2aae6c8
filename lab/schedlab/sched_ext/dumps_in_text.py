# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds debug dumps in text as people have it: a journal, dmesg, what a loader printed, a trace, something pasted.

An end of a scheduler shows up to three times: in the kernel's log, in its loader's EXIT line, and as the dump. What
says the same is taken as one.
"""

import re
from dataclasses import dataclass, field

from schedlab.sched_ext import dump
from schedlab.sched_ext.dump import Dump

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Control characters, and those that turn the direction of writing.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LONGEST = 4096
_MONTH = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
_PREFIX = re.compile(
    r"^(?:"
    # journalctl: a time, the host, the program
    rf"(?:{_MONTH}(?:\.\d+)?|\d{{4}}-\d\d-\d\d[T ]\S+) \S+ [^\s:]+(?:\[\d+\])?: ?"
    # dmesg: seconds since boot, or -T's date; the task or CPU that said it
    rf"|(?:<\d+>)?\[(?: *\d+\.\d+|[A-Z][a-z]{{2}} {_MONTH} \d{{4}})\](?:\[ *[TC]\d+\])? ?"
    # a quotation
    r"|> ?"
    r")"
)
_PREFIXES_AT_MOST = 3
_EVENT = " sched_ext_dump:"  # of ftrace
_START = re.compile(r"\] triggered exit kind \d+(?: on CPU \d+)?:\s*$|^\s*Debug dump triggered by ")
_STATES = re.compile(r"^\s*CPU states\s*$")
_OPS = re.compile(r"^\s*\S+: (?:root|sub\d+-\d+\b.*)$")
_EXIT = re.compile(r"\bEXIT: (.+)$")
_DISABLED = re.compile(r'sched_ext: BPF scheduler "([^"]*)" disabled \((.*)\)\s*$')
_SAID = re.compile(r"sched_ext: ([^:]+): (.+)$")
# Ends that are none of the policy's mistakes, and have no dump.
_IN_ORDER = ("unregistered from", "disabled by sysrq", "BPF scheduler unregistered", "Scheduler unregistered")
_SUSPECT = re.compile(r"stall|ock|OCK")
_LOCKUPS = {
    "an RCU stall": re.compile(r"\brcu:? .*\b(?:self-)?detected (?:expedited )?stall|\bRCU CPU stall detected"),
    "a lockup": re.compile(r"\b(?:soft lockup|hard LOCKUP|hard lockup)\b"),
    "a task that hung": re.compile(r"\btask .* blocked for more than \d+ seconds"),
}


@dataclass
class Found:
    """The ends of schedulers in a text, in its order, and what else the text tells of that holds up CPUs."""

    dumps: list[Dump] = field(default_factory=list)
    lockups: list[str] = field(default_factory=list)


def find(text: str) -> Found:
    lines = [_bare(line) for line in text.splitlines()]
    found = _find(lines)
    if "nr_run=" in text and not any(each.cpus for each in found.dumps):
        # journalctl -r has the newest line first.
        turned = _find(lines[::-1])
        if any(each.cpus for each in turned.dumps):
            return turned
    return found


def _find(lines: list[str]) -> Found:
    starts = _starts(lines)
    inside = {}
    for at, start in enumerate(starts):
        end = starts[at + 1] if at + 1 < len(starts) else len(lines)
        inside[start] = dump.read(_body(lines[start:end]))
    suspects = [line for line in lines if _SUSPECT.search(line)]
    found = Found(lockups=[what for what, mark in _LOCKUPS.items() if any(map(mark.search, suspects))])
    for number, line in enumerate(lines):
        if number in inside:
            _take(found.dumps, inside[number])
        elif "sched_ext: BPF" in line and (told := _DISABLED.search(line)):
            _take(found.dumps, Dump(ops=told[1], reason=told[2], message=_message(lines, number, told[1])))
        elif "EXIT: " in line and (told := _EXIT.search(line)):
            reason, message = dump.reason_of(told[1])
            _take(found.dumps, Dump(reason=reason, message=message))
    return found


def _message(lines: list[str], at: int, ops: str) -> str:
    """The kernel tells it in the next line; other messages may come between the two."""
    for line in lines[at + 1 : at + 4]:
        if _DISABLED.search(line):
            break
        if (told := _SAID.search(line)) and told[1] == ops:
            return told[2].strip()
    return ""


def _bare(line: str) -> str:
    """Without prefixes, and without what would do something to a terminal."""
    line = line[:_LONGEST].rstrip("\r")
    # A journal has millions of lines, of which few need either.
    if not line.isprintable():
        line = _CONTROL.sub("\ufffd", _COLOUR.sub("", line))
    if _EVENT in line:
        line = line.partition(_EVENT)[2].removeprefix(" ")
    for _ in range(_PREFIXES_AT_MOST):
        line, count = _PREFIX.subn("", line, count=1)
        if not count:
            break
    return line


def _starts(lines: list[str]) -> list[int]:
    """Where dumps begin: at their heads, with the scheduler's name before it; at the states, where the head is gone."""
    starts: list[int] = []
    headed = False  # the last start is a head whose states have not come yet
    for number, line in enumerate(lines):
        if "triggered" in line and _START.search(line):
            named = number > 0 and _OPS.match(lines[number - 1])
            starts.append(number - 1 if named else number)
            headed = True
        elif _STATES.match(line):
            if not headed:
                starts.append(number)
            headed = False
    return starts


def _body(lines: list[str]) -> list[str]:
    """Up to the line by which a loader or the kernel goes on after the dump."""
    for number, line in enumerate(lines):
        if number and (_EXIT.search(line) or _DISABLED.search(line)):
            return lines[:number]
    return lines


def _take(dumps: list[Dump], new: Dump) -> None:
    if new.reason.startswith(_IN_ORDER):
        return
    last = dumps[-1] if dumps else None
    if last is None or not _same(last, new):
        dumps.append(new)
        return
    if new.has_states or new.kind is not None:
        new.ops = new.ops or last.ops
        dumps[-1] = new
    else:
        last.ops = last.ops or new.ops
        last.reason = last.reason or new.reason
        last.message = last.message or new.message


def _same(last: Dump, new: Dump) -> bool:
    whole = [each for each in (last, new) if each.has_states or each.kind is not None]
    if len(whole) == 2:
        return False
    reasons = not last.reason or not new.reason or last.reason == new.reason
    messages = not last.message or not new.message or last.message == new.message
    return reasons and messages
