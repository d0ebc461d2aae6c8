# SPDX-License-Identifier: GPL-2.0-or-later
"""What the same claims came to elsewhere: in the other world, or without what was chosen in hindsight.

It is read from the claims.csv of those results, which is kept where the records are not.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import InputError
from schedlab.studies.calls import AGREES, CONTRADICTED, NO_CALL, UNMEASURED, Calls, outcome
from schedlab.studies.score import Reproduction

CLAIMS = "claims.csv"
WITHOUT_HINDSIGHT = "without-hindsight"
# Folders beside one another in results/studies, and what their results are called.
TITLES = {"sim": "the simulator", "vm": "the kernel", f"sim-{WITHOUT_HINDSIGHT}": "without hindsight"}


@dataclass(frozen=True)
class Beside:
    title: str
    outcomes: dict[str, str]  # by claim, of all studies that were asked for
    tiers: dict[str, str]  # of the guests; empty in the simulator

    def of(self, reproduction: Reproduction) -> str:
        return self.outcomes.get(reproduction.claim.id, UNMEASURED)

    def calls(self, reproductions: Iterable[Reproduction]) -> Calls:
        found = [self.of(one) for one in reproductions if one.claim.points > 0]
        right = found.count(AGREES)
        return Calls(len(found), right + found.count(CONTRADICTED), right)


def beside(root: Path, studies: Iterable[str]) -> list[Beside]:
    """Of the folders beside `root` those that have claims of these studies."""
    names = list(studies)
    found = []
    for folder, title in TITLES.items():
        files = [root.parent / folder / name / CLAIMS for name in names]
        rows = [row for file in files if folder != root.name and file.is_file() for row in _read(file)]
        if rows:
            outcomes = {row["id"]: row["outcome"] for row in rows}
            found.append(Beside(title, outcomes, {row["id"]: row.get("tier", "") for row in rows}))
    return found


def _read(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    for row in rows:
        if missing := {"id", "outcome"} - row.keys():
            raise InputError(f"{file}: column '{min(missing)}': expected it, and it is not there")
        if row["outcome"] not in (AGREES, CONTRADICTED, NO_CALL, UNMEASURED):
            raise InputError(
                f"{file}: column 'outcome' of claim '{row['id']}': expected an outcome, got {row['outcome']!r}"
            )
    return rows


def whose(reproduction: Reproduction, kernel: str) -> str:
    """Whose a contradiction by the simulator is, by what the kernel says of the same claim; empty where it is none."""
    if outcome(reproduction) != CONTRADICTED:
        return ""
    return {CONTRADICTED: "the scheduler's", AGREES: "the model's"}.get(kernel, "open")
