# SPDX-License-Identifier: GPL-2.0-or-later
"""The published claims: who was better than whom, at what, by how much (published/README.md)."""

import csv
from dataclasses import dataclass

from schedlab import checkout

# The fair score of published/README.md.
WEIGHTS = {"tie?": 0.0, "weak": 0.5, "medium": 1.0, "strong": 1.0, "stated": 1.0}
# Its programs were scheduled, and switched thousands of times, as FIFO never does (published/README.md, study 003).
NOT_WHAT_IT_SAYS = "FIFO on BFS kernel"


@dataclass(frozen=True)
class Claim:
    """One row of claims.csv. `sign` is +1 where A is better, -1 where B is, 0 where they were stated equal."""

    id: str
    seed: str
    group: str
    scope: str
    machine: str
    workload: str
    level: str
    metric: str
    lower_is_better: bool
    a: str
    b: str
    family_a: str
    family_b: str
    sign: int
    value_a: float | None
    value_b: float | None
    unit: str
    pct_a_over_b: float | None
    weight: str
    basis: str
    note: str

    @property
    def counts(self) -> bool:
        """Whether the fair score counts it: a single cell, two families, and the named scheduler really ran."""
        fair = self.scope == "cell" and self.family_a != self.family_b
        return fair and NOT_WHAT_IT_SAYS not in (self.a, self.b)

    @property
    def points(self) -> float:
        return WEIGHTS[self.weight] if self.counts else 0.0


def claims(seed: str) -> list[Claim]:
    with (checkout.root() / "published" / "claims.csv").open(encoding="utf-8", newline="") as source:
        return [_claim(row) for row in csv.DictReader(source) if row["seed"] == seed]


def _claim(row: dict[str, str]) -> Claim:
    return Claim(
        id=row["id"],
        seed=row["seed"],
        group=row["group"],
        scope=row["scope"],
        machine=row["machine_id"],
        workload=row["workload"],
        level=row["load_level"],
        metric=row["metric"],
        lower_is_better=row["better_is"] == "lower",
        a=row["scheduler_a"],
        b=row["scheduler_b"],
        family_a=row["family_a"],
        family_b=row["family_b"],
        sign=int(row["sign"]),
        value_a=_number(row["value_a"]),
        value_b=_number(row["value_b"]),
        unit=row["unit"],
        pct_a_over_b=_number(row["pct_a_over_b"]),
        weight=row["weight"],
        basis=row["basis"],
        note=row["note"],
    )


def _number(text: str) -> float | None:
    return float(text) if text else None
