# SPDX-License-Identifier: GPL-2.0-or-later
"""Random cases. Case k of a seed depends on nothing else but the schedulers and their tunables."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from schedlab.catalogue import described
from schedlab.catalogue.schedulers import DEFAULT
from schedlab.errors import InputError
from schedlab.search.case import Case, Group, Kind, Step, Steps, What

T = TypeVar("T")

_KINDS = [Kind.ALONE] * 4 + [Kind.PAIR, Kind.STREAM, Kind.HERD, Kind.LOCK] * 2 + [Kind.FAMILY]
_WHAT = [What.RUN] * 6 + [What.SLEEP] * 4 + [What.TIMER] * 2 + [What.YIELD, What.NICE]
NICE = [0] * 6 + [-20, -10, -5, 1, 5, 10, 19]
_QUEUES = ["pipe", "pipe", "socket", "tcp"]
_BYTES = [16, 16, 100, 1_000, 4_000]
# A round has a few system calls and switches beside its steps.
_ROUND_US = 20
# So much work in a fork and what it brings, of a CPU's time.
_CHILD_US = 800
# What a tunable that is 0 by default may be, by its unit.
_INSTEAD_OF_0 = {"ns": 6_000_000, "us": 6_000, "ms": 6, "hz": 250}


@dataclass(frozen=True)
class Size:
    """What a group is meant to take of a CPU and to sleep, and how long a step of it may be, in microseconds."""

    cpu_us: int = 30_000
    sleep_us: int = 200_000
    longest_run_us: int = 8_000
    longest_sleep_us: int = 20_000
    policies: tuple[str, ...] = ("other",) * 8 + ("batch", "idle")


SMALL = Size()


@dataclass(frozen=True)
class Tunable:
    name: str
    choices: tuple[str, ...]  # empty for a number
    least: int
    most: int
    default: int
    unit: str


def tunables(schedulers: Sequence[str]) -> dict[str, list[Tunable]]:
    """Of each scheduler, as given. Raises InputError for one that cannot be built."""
    found = {}
    entries = described.entries(schedulers=schedulers, build=True)["schedulers"]
    for scheduler, entry in zip(schedulers, entries, strict=True):
        if "error" in entry:
            raise InputError(entry["error"])
        if entry["set"]:
            raise InputError(f"scheduler '{scheduler}': --search draws tunables itself: expected a name or path alone")
        found[scheduler] = [_tunable(one) for one in entry.get("tunables", [])] if entry["name"] != DEFAULT else []
    return found


def _tunable(entry: Mapping[str, Any]) -> Tunable:
    choices = tuple(entry["choices"])
    default = 0 if choices else int(entry["default"])
    return Tunable(entry["name"], choices, entry["min"], entry["max"], default, entry["unit"])


def cases(seed: int, of: Mapping[str, Sequence[Tunable]]) -> Iterator[Case]:
    """Without end."""
    number = 0
    while True:
        yield case(Dice(f"{seed} {number}"), of)
        number += 1


class Dice:
    """Draws made of `random()` alone: of Python's generator only this is the same in all its versions."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def between(self, least: int, most: int) -> int:
        return least + int(self._random.random() * (most - least + 1))

    def chance(self, pct: int) -> bool:
        return self.between(1, 100) <= pct

    def pick(self, among: Sequence[T]) -> T:
        return among[self.between(0, len(among) - 1)]

    def scale(self, least: int, most: int) -> int:
        """Small numbers as often as large ones."""
        power = 1 << self.between(max(least, 1).bit_length() - 1, max(most, 1).bit_length() - 1)
        return min(max(power + self.between(0, power - 1), least), most)


def case(dice: Dice, of: Mapping[str, Sequence[Tunable]]) -> Case:
    scheduler = dice.pick(list(of))
    groups = tuple(group(dice, SMALL) for _ in range(dice.between(1, 4)))
    chosen: dict[str, str] = {}
    if of[scheduler] and dice.chance(60):
        for _ in range(dice.between(1, 2)):
            tunable = dice.pick(of[scheduler])
            chosen[tunable.name] = _value(dice, tunable)
    return Case(scheduler, tuple(sorted(chosen.items())), groups)


def _value(dice: Dice, tunable: Tunable) -> str:
    """A choice; or a number, most often near its default."""
    if tunable.choices:
        return dice.pick(tunable.choices)
    if dice.chance(15):
        return str(tunable.least)
    middle = tunable.default or _INSTEAD_OF_0.get(tunable.unit, 8)
    least = min(max(middle // 8, tunable.least), tunable.most)
    return str(dice.scale(least, min(max(middle * 8, least), tunable.most)))


def group(dice: Dice, size: Size) -> Group:
    kind = dice.pick(_KINDS)
    count = dice.between(1, 4)
    # What each round has to have, so that a task has something to do; the rest of it may be empty.
    own = _steps(dice, size, needed=kind == Kind.ALONE)
    answer = _steps(dice, size, needed=kind != Kind.PAIR) if kind != Kind.ALONE else ()
    cpu_us = _ROUND_US + _mean_us(own, What.RUN) + _mean_us(answer, What.RUN) + _CHILD_US * (kind == Kind.FAMILY)
    sleep_us = sum(_mean_us(own + answer, what) for what in (What.SLEEP, What.TIMER))
    # Those that want a lock sleep one after the other.
    most = min(size.cpu_us // (cpu_us * count), size.sleep_us // (sleep_us * count) if sleep_us else 2_000, 2_000)
    return Group(
        kind=kind,
        count=count,
        times=dice.scale(max(1, most // 8), max(1, most)),
        steps=own,
        answer=answer,
        nice=dice.pick(NICE),
        policy=dice.pick(size.policies),
        threads=dice.chance(15),
        queue=dice.pick(_QUEUES),
        message_bytes=dice.pick(_BYTES),
    )


def _mean_us(steps: Steps, what: What) -> int:
    return sum((one.least + one.most) // 2 for one in steps if one.what == what)


def _steps(dice: Dice, size: Size, needed: bool) -> Steps:
    made = [step(dice, size) for _ in range(dice.between(int(needed), 3))]
    if needed and all(one.what != What.RUN for one in made):
        made.append(_time(dice, What.RUN, size.longest_run_us))
    return tuple(made)


def step(dice: Dice, size: Size) -> Step:
    what = dice.pick(_WHAT)
    match what:
        case What.RUN:
            return _time(dice, what, size.longest_run_us)
        case What.SLEEP:
            return _time(dice, what, size.longest_sleep_us)
        case What.TIMER:
            period = dice.scale(100, size.longest_sleep_us)
            return Step(what, period, period)
        case What.NICE:
            nice = dice.pick(NICE)
            return Step(what, nice, nice)
        case What.YIELD:
            return Step(what)


def _time(dice: Dice, what: What, longest: int) -> Step:
    least = dice.scale(5, longest)
    return Step(what, least, min(least * dice.pick([1, 1, 2, 4]), longest))
