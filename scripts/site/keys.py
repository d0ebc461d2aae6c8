# SPDX-License-Identifier: GPL-2.0-or-later
"""Which keys the program takes in workload and machine files, and what it expects of each, asked of its own parser.

Nothing here lists a key: a name that nobody knows makes the parser name those that it knows there, leaving one out
shows whether it must be given, and a date, which is never a value, makes it say what it expects. Only samples are
given: a smallest file with one of each table in it, so that the parser comes to look into that table.
"""

import copy
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab.catalogue import described

# Too far from every key for the parser to suggest one.
_UNKNOWN = "zzzzzzzzzzzzzzzzzzzzzzzz"
_NAMED = re.compile(r"expected one of (.+?)(?:, found .+)?$")
_EXPECTED = re.compile(r"expected (.+?), found ")
_CHOICE = re.compile(r"expected (one of .+$|.+?(?=, found ))")
_ANY_INTEGER = re.compile(r"an integer from -?\d+ to 9223372036854775807")

Path_ = tuple[str | int, ...]


class Date:
    """A value that no key takes."""


@dataclass(frozen=True)
class Key:
    name: str
    must: bool
    expected: str


@dataclass(frozen=True)
class Table:
    """A table of a file: what it is called in the reference, and where the sample has one."""

    title: str
    at: Path_


MACHINE: dict[str, Any] = {
    "name": "x",
    "title": "x",
    "source": "x",
    "hz": 250,
    "topology": {"sockets": 1, "llcs_per_socket": 1, "cores_per_llc": 2, "threads_per_core": 1},
    "costs": {},
    "spread_pct": {},
}
MACHINE_TABLES = [
    Table("the file", ()),
    Table("`[topology]`", ("topology",)),
    Table("`[costs]`", ("costs",)),
    Table("`[spread_pct]`", ("spread_pct",)),
]

_STEPS = [{"run_us": 1}]
WORKLOAD: dict[str, Any] = {
    "name": "x",
    "title": "x",
    "source": "x",
    "load": "n",
    "loads": [1],
    "params": {
        "n": {"default": 1, "min": 1, "max": 2, "about": "x"},
        "m": {"default": 1, "min": 1, "max": 2, "about": "x"},
        "c": {"default": "pipe", "choices": ["pipe"], "about": "x"},
    },
    "queue": [{"name": "q", "kind": "pipe"}],
    "lock": [{"name": "l"}],
    "semaphore": [{"name": "s"}],
    "condition": [{"name": "d"}],
    "variable": [{"name": "v"}],
    "cgroup": [{"name": "g", "max_us": 5000, "period_us": 10_000}],
    "task": [
        {"name": "t", "program": [*_STEPS, {"recv": "q"}, {"sleep_us": 1}, {"stamp": True}, {"count": "answers"}]},
        {"name": "f", "start": "fork", "program": _STEPS},
        {"name": "w", "program": [{"fork": "f"}, {"send": "q", "bytes": 1}]},
    ],
    "metrics": {"promises": ["elapsed_s"], "throughput": "answers"},
}
WORKLOAD_TABLES = [
    Table("the file", ()),
    Table("`[params]`: a number", ("params", "m")),
    Table("`[params]`: a choice", ("params", "c")),
    Table("`[[queue]]`", ("queue", 0)),
    Table("`[[lock]]`", ("lock", 0)),
    Table("`[[semaphore]]`", ("semaphore", 0)),
    Table("`[[condition]]`", ("condition", 0)),
    Table("`[[variable]]`", ("variable", 0)),
    Table("`[[cgroup]]`", ("cgroup", 0)),
    Table("`[[task]]`", ("task", 0)),
    Table("`[metrics]`", ("metrics",)),
]
# An application has no control groups beside it.
APPLICATION: dict[str, Any] = {key: value for key, value in WORKLOAD.items() if key != "cgroup"} | {
    "command": {
        "tools": {"true": "coreutils"},
        "run": "true",
        "input": {"tools": {"true": "coreutils"}, "make": "true"},
    },
}
# A file has one of these; each is asked for its own key alone.
ENDS: list[dict[str, Any]] = [{"after_s": 1}, {"after_ms": 1}, {"task": "t"}]
APPLICATION_TABLES = [Table("`[command]`", ("command",)), Table("`[command.input]`", ("command", "input"))]

# A step of each kind; the parser says whether one is missing here. Steps that differ in their unit stand for all units.
STEPS: list[dict[str, Any]] = [
    {"run_us": 1},
    {"sleep_us": 1},
    {"timer_us": 1},
    {"until_us": 1},
    {"draw_us": "a", "from": {"uniform": [1, 2]}},
    {"elapsed_us": "a", "since": "start"},
    {"cpu": "a"},
    {"send": "q", "bytes": 1},
    {"recv": "q"},
    {"poll": "q", "into": "a", "first": 0, "of": 1},
    {"lock": "l"},
    {"spin": "l"},
    {"unlock": "l"},
    {"wait": "s"},
    {"post": "s"},
    {"await": "d"},
    {"signal": "d"},
    {"add": "v", "by": 1, "into": "a"},
    {"store": "v", "value": 1},
    {"fill": 1, "buffer": 1},
    {"read": 1},
    {"write": 1},
    {"fork": "f"},
    {"exec": True},
    {"exit": True},
    {"reap": True},
    {"alive": "a"},
    {"yield": True},
    {"nice": 1},
    {"policy": "other"},
    {"affinity": [0]},
    {"confine": "t", "cpus": [0]},
    {"cgroup": "g"},
    {"weight": 1, "of": "g"},
    {"max_us": 5000, "of": "g", "period_us": 10000},
    {"cpuset": [0], "of": "g"},
    {"remove_cgroup": "g"},
    {"make_cgroup": "g"},
    {"stamp": True},
    {"log": "turnaround_us", "since": "start"},
    {"count": "answers"},
    {"set": "a", "value": 1},
    {"loop": _STEPS},
    {"repeat": 1, "do": _STEPS},
    {"for": "a", "to": 1, "do": _STEPS},
    {"while": 1, "do": _STEPS},
    {"if": 1, "do": _STEPS},
    {"migrate_disable": _STEPS},
]


def toml(value: Any) -> str:
    """A value in one line of TOML, tables inline."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Date):
        return "1979-05-27"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _file(root: dict[str, Any]) -> str:
    return "".join(f"{key} = {toml(value)}\n" for key, value in root.items())


def _table(root: Any, at: Path_) -> dict[str, Any]:
    for step in at:
        root = root[step]
    return root


def _changed(sample: dict[str, Any], at: Path_, key: str, value: Any) -> dict[str, Any]:
    """The sample with another value of a key; without the key where the value is None."""
    root = copy.deepcopy(sample)
    table = _table(root, at)
    table.pop(key, None)
    if value is not None:
        # In front of other keys: of a step's, the parser looks at the first that it knows.
        rest = dict(table)
        table.clear()
        table.update({key: value} | rest if isinstance(value, Date) else rest | {key: value})
    return root


def said(kind: str, samples: Sequence[dict[str, Any]]) -> list[str]:
    """What the program says of each file: the error without its place, nothing where it takes the file."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, sample in enumerate(samples):
            file = Path(folder, str(number), "x.toml")
            file.parent.mkdir()
            file.write_text(_file(sample), encoding="utf-8")
            files.append(file)
        entries = described.entries(**{kind: files})[kind]
    return [entry.get("error", "") for entry in entries]


def known(kind: str, asked: Sequence[tuple[dict[str, Any], Path_]]) -> list[list[Key]]:
    """The keys of tables, each given by a file that the program takes and where in it the table is."""
    for (_, at), complaint in zip(asked, said(kind, [sample for sample, _ in asked]), strict=True):
        if complaint:
            raise ValueError(f"{kind}: the sample for {at} is refused: {complaint}")
    answers = said(kind, [_changed(sample, at, _UNKNOWN, 1) for sample, at in asked])
    names = [named(answer) for answer in answers]
    every = [(*place, key) for place, keys in zip(asked, names, strict=True) for key in keys]
    absent = said(kind, [_changed(*place, None) for place in every])
    wrong = said(kind, [_changed(*place, Date()) for place in every])
    # What a string may be, and what a list may hold, is only said of a wrong one.
    strings = said(kind, [_changed(*place, _UNKNOWN) for place in every])
    lists = said(kind, [_changed(*place, [Date()]) for place in every])
    found = iter(
        Key(key, f"{key}: expected this key, found none" in gone, _expected(key, *answers))
        for (_, _, key), gone, *answers in zip(every, absent, wrong, strings, lists, strict=True)
    )
    return [[next(found) for _ in keys] for keys in names]


def named(answer: str) -> list[str]:
    """What the program knows in place of a name that it does not know."""
    if not (found := _NAMED.search(answer)):
        raise ValueError(f"expected the names that are known, got: {answer or 'nothing'}")
    return found[1].split(", ")


def _expected(key: str, of_date: str, of_text: str, of_list: str) -> str:
    found = _EXPECTED.search(of_date)
    expected = _ANY_INTEGER.sub("an integer", found[1]) if found else ""
    if expected == "a string" and (choice := _CHOICE.search(of_text)) and _UNKNOWN not in choice[1]:
        names = set(choice[1].removeprefix("one of ").split(", "))
        return next((f"the name of a {kind}" for kind, known in _names() if names <= known), choice[1])
    if expected == "a list" and (item := re.search(re.escape(key) + r"\[0\]: expected (.+?), found", of_list)):
        return f"a list, each {item[1]}"
    return expected


def _names() -> list[tuple[str, set[str]]]:
    """What the sample declares, by its kind."""
    kinds = [kind for kind, value in WORKLOAD.items() if isinstance(value, list) and kind != "loads"]
    return [(kind, {each["name"] for each in WORKLOAD[kind]}) for kind in kinds]


def _step(step: dict[str, Any]) -> tuple[dict[str, Any], Path_]:
    sample = copy.deepcopy(WORKLOAD)
    program = sample["task"][0]["program"]
    program.append(step)
    return sample, ("task", 0, "program", len(program) - 1)


_UNITS = re.compile(r"_(ns|us|ms|s)$")


def steps() -> dict[str, list[Key]]:
    """Each kind of step that a program may have, with its keys; its own is the first."""
    stems = list(dict.fromkeys(_stem(name) for name in named(said("workloads", [_step({_UNKNOWN: 1})[0]])[0])))
    samples = {_stem(next(iter(step))): step for step in STEPS}
    if missing := set(stems) - set(samples):
        raise ValueError(f"scripts/site/keys.py has no sample of the step {', '.join(sorted(missing))}")
    return dict(zip(stems, known("workloads", [_step(samples[stem]) for stem in stems]), strict=True))


def ends() -> list[Key]:
    """The keys of `[end]`."""
    samples = [(WORKLOAD | {"end": end}, ("end",)) for end in ENDS]
    every = [{key.name: key for key in keys} for keys in known("workloads", samples)]
    if {next(iter(end)) for end in ENDS} != set(every[0]):
        raise ValueError(f"scripts/site/keys.py has no sample of each key of [end]: {', '.join(every[0])}")
    return [keys[next(iter(end))] for end, keys in zip(ENDS, every, strict=True)]


def draws() -> list[str]:
    """The distributions from which a time may be drawn."""
    return named(said("workloads", [_step({"run_us": {_UNKNOWN: 1, "a": 1}})[0]])[0])


def _stem(name: str) -> str:
    """run_us stands for run_ns, run_ms and run_s; max_us is an action of its own."""
    return name if name == "max_us" else _UNITS.sub("_us", name)
