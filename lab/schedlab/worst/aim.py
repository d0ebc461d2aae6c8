# SPDX-License-Identifier: GPL-2.0-or-later
"""What is hunted for: a number of a cell, and what it is compared with, another policy's or what shares explain."""

from dataclasses import dataclass

from schedlab.campaign.arms import Arm
from schedlab.catalogue.metrics import metric
from schedlab.errors import InputError
from schedlab.search.case import Case, Group, Kind
from schedlab.statistics.agreement import Measure
from schedlab.worst import shares

# Below this a number is too small for its ratio to mean anything.
_FLOORS = {"µs": 1_000.0, "s": 0.001, "": 50.0}
_ANY = Case("", (), (Group(Kind.ALONE, 1, 1, ()),))


@dataclass(frozen=True)
class Aim:
    policy: Arm  # as it is simulated
    against: Arm | None
    measure: Measure
    given: tuple[str, ...]  # both, as they were given: a guest's default is its kernel's own

    def __post_init__(self) -> None:
        name = self.measure[0]
        if metric(name).better != "lower":
            raise InputError(f"--metric {name}: more of it is no worse; choose another metric")
        if self.against is None and shares.explained(name, _ANY, 1) is None:
            raise InputError(f"--metric {name}: shares say nothing of it: expected --against POLICY")

    @property
    def arms(self) -> list[Arm]:
        return [self.policy, *([self.against] if self.against else [])]

    @property
    def floor(self) -> float:
        """What it is compared with counts as this much at least."""
        return _FLOORS.get(metric(self.measure[0]).unit, 1.0)

    def times(self, value: float, base: float) -> float:
        """How many times what it is compared with the number is."""
        return value / max(base, self.floor)
