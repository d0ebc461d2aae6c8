# SPDX-License-Identifier: GPL-2.0-or-later
"""The ledger's rows: a number of a cell in both worlds.

error     the simulator less the kernel, over the kernel; over the metric's floor where the kernel lies below that
change    a scheduler over the kernel's own, less 1, in the same world: what a comparison would say
side      looked at, or kept for the end: half of the cells each, by a hash of the cell's name
seeds     the least and the most that the simulator's other seeds show: what another seed says is no error of the model
beyond    how far the kernel lies outside of them, over the kernel: 0 among them
"""

import csv
import hashlib
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from schedlab.catalogue.schedulers import DEFAULT
from schedlab.errors import InputError
from schedlab.ledger.measures import FLOORS, MEASURES, WAIT, too_small
from schedlab.statistics.agreement import Place, Repeated

LOOKED_AT, KEPT = "looked at", "kept"
# Only where the kernel differs from its own scheduler by more does the simulator's sign count.
SIGN_FROM_PCT = 3.0
# What nine in ten errors on one CPU are to lie within: no model's do where the kernel's own runs lie further apart.
STEADY_PCT = 15.0


_FOR_EVER = Repeated(math.inf, math.inf, math.inf)


class Values(NamedTuple):
    """Of one world."""

    mean: float
    least: float
    most: float
    change_pct: float  # NaN for the kernel's own scheduler, and where that has no value


class Seeds(NamedTuple):
    """Of the simulator with many seeds; NaN where only those of the cell itself ran."""

    least: float = math.nan
    most: float = math.nan


@dataclass(frozen=True)
class Entry:
    place: Place
    simulator: Values
    kernel: Values
    seeds: Seeds = field(default_factory=Seeds)

    @property
    def error_pct(self) -> float:
        return self._of_kernel_pct(self.simulator.mean - self.kernel.mean)

    @property
    def side(self) -> str:
        """Of the whole cell, so that what was learnt from one number of it says nothing of a kept one."""
        digest = hashlib.sha256(f"{self.place.label} {self.place.workload} {self.place.load}".encode()).digest()
        return LOOKED_AT if digest[0] % 2 else KEPT

    @property
    def kernel_range_pct(self) -> float:
        """How far the kernel's repetitions lie apart."""
        return self._of_kernel_pct(self.kernel.most - self.kernel.least)

    @property
    def unrest_pct(self) -> float:
        """How far the kernel's repetition that lies furthest off is from their mean."""
        return self._of_kernel_pct(max(self.kernel.most - self.kernel.mean, self.kernel.mean - self.kernel.least))

    @property
    def seeds_range_pct(self) -> float:
        """How far the simulator's seeds lie apart."""
        return self._of_kernel_pct(self.seeds.most - self.seeds.least)

    @property
    def beyond_pct(self) -> float:
        """NaN where other seeds did not run."""
        if math.isnan(self.seeds.least):
            return math.nan
        outside = max(self.seeds.least - self.kernel.mean, self.kernel.mean - self.seeds.most, 0.0)
        return self._of_kernel_pct(outside)

    def _of_kernel_pct(self, difference: float) -> float:
        base = max(self.kernel.mean, FLOORS.get(self.place.metric, 0.0))
        return difference / base * 100 if base else math.copysign(math.inf, difference) if difference else 0.0

    @property
    def within(self) -> bool:
        """Whether the simulator's value lies among the kernel's repetitions."""
        return self.kernel.least <= self.simulator.mean <= self.kernel.most

    @property
    def sign_is_right(self) -> bool | None:
        """None where the kernel's change is too small for a sign, or there is none."""
        if not abs(self.kernel.change_pct) > SIGN_FROM_PCT:
            return None
        return self.simulator.change_pct * self.kernel.change_pct > 0


@dataclass
class Ledger:
    entries: list[Entry] = field(default_factory=list)
    again: list[Entry] = field(default_factory=list)  # the kernel's own scheduler for the simulator's: its second run
    below_floor: set[Place] = field(default_factory=set)  # numbers that are too small for a row


def change_pct(value: float, of: float) -> float:
    """Infinite where there was nothing to change from."""
    if of:
        return (value / of - 1) * 100
    return math.copysign(math.inf, value) if value else 0.0


def ledger(
    simulated: Mapping[Place, Repeated],
    kernel: Mapping[Place, Repeated],
    control: str,
    seeds: Mapping[Place, Repeated] | None = None,
) -> Ledger:
    """Of every number that both have, in the simulator's order. `control` labels the kernel's second run of its own
    scheduler, for which both stand together: every sign is taken against it; `seeds` are the simulator's with many
    seeds."""
    made = Ledger()
    second = {place._replace(label=DEFAULT): own for place, own in kernel.items() if place.label == control}
    shown = {**kernel, **{place: _both(kernel[place], own) for place, own in second.items() if place in kernel}}
    for place, own in simulated.items():
        there = shown.get(place)
        if there is None or (place.metric, place.statistic) not in MEASURES:
            continue
        reference = place._replace(label=DEFAULT)
        wait = simulated.get(place._replace(statistic=WAIT[1]), _FOR_EVER).value
        if too_small(place.metric, own.value, there.value, wait):
            made.below_floor.add(place)
        else:
            values = (_values(own, simulated, reference), _values(there, shown, reference))
            made.entries.append(Entry(place, *values, _seeds((seeds or {}).get(place))))
        if place in second and not too_small(place.metric, kernel[place].value, second[place].value, wait):
            once_more = _values(second[place], second, place)
            made.again.append(Entry(place, _values(kernel[place], kernel, place), once_more))
    return made


def _both(one: Repeated, other: Repeated) -> Repeated:
    return Repeated((one.value + other.value) / 2, min(one.least, other.least), max(one.most, other.most))


def _values(own: Repeated, world: Mapping[Place, Repeated], reference: Place) -> Values:
    there = world.get(reference)
    change = math.nan if there is None or there is own else change_pct(own.value, there.value)
    return Values(own.value, own.least, own.most, change)


def _seeds(found: Repeated | None) -> Seeds:
    return Seeds(found.least, found.most) if found else Seeds()


_WORLDS = ("simulator", "kernel")
_COLUMNS = [
    *Place._fields,
    *(f"{world}_{name}" for world in _WORLDS for name in Values._fields),
    *("error_pct", "side", "sign"),
    *(f"seeds_{name}" for name in Seeds._fields),
]
_SIGNS = {True: "right", False: "wrong", None: ""}


def as_csv(entries: Iterable[Entry]) -> str:
    """Values in the metric's unit, six digits; no change, and no sign to call, is an empty field."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for entry in entries:
        numbers = [*entry.simulator, *entry.kernel, entry.error_pct]
        writer.writerow([*entry.place, *_told(numbers), entry.side, _SIGNS[entry.sign_is_right], *_told(entry.seeds)])
    return lines.getvalue()


def _told(numbers: Iterable[float]) -> list[str]:
    return ["" if math.isnan(value) else f"{value:.6g}" for value in numbers]


def from_csv(path: Path) -> list[Entry]:
    """What as_csv() wrote."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [_entry(row) for row in csv.DictReader(file)]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: expected the columns {', '.join(_COLUMNS)}: {error!r}") from error


def place_of(row: Mapping[str, str]) -> Place:
    """Of a line of a CSV file."""
    return Place(**{name: row[name] for name in Place._fields} | {"load": int(row["load"])})


def _entry(row: Mapping[str, str]) -> Entry:
    worlds = [Values(*(float(row[f"{world}_{name}"] or "nan") for name in Values._fields)) for world in _WORLDS]
    seeds = Seeds(*(float(row[f"seeds_{name}"] or "nan") for name in Seeds._fields))
    return Entry(place_of(row), *worlds, seeds)
