# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts in a file, from which an interrupted run goes on; what a person judged to be no mistake; and the report."""

import json
import tomllib
from collections import Counter, defaultdict
from dataclasses import asdict
from pathlib import Path

from tests.mutants import judge, mutant
from tests.mutants.judge import Verdict
from tests.mutants.mutant import Mutant

EQUIVALENT = Path(__file__).resolve().parent / "equivalent.toml"


def read(path: Path) -> dict[Mutant, Verdict]:
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    found = [json.loads(line) for line in lines]
    verdicts = [Verdict(mutant.of(e["mutant"]), e["line"], e["outcome"], e["by"], tuple(e["policies"])) for e in found]
    return {verdict.mutant: verdict for verdict in verdicts}


def append(path: Path, verdict: Verdict) -> None:
    with path.open("a", encoding="utf-8") as out:
        out.write(json.dumps(asdict(verdict)) + "\n")


def equivalents() -> dict[Mutant, str]:
    """Each with the reason that a person gave."""
    entries = tomllib.loads(EQUIVALENT.read_text("utf-8")).get("mutant", [])
    return {mutant.of(entry): entry["reason"] for entry in entries}


def stale(root: Path, reasons: dict[Mutant, str]) -> list[Mutant]:
    """Entries whose line is there no more."""
    return [one for one in reasons if one.line(root) is None]


def say(verdict: Verdict, reasons: dict[Mutant, str]) -> str:
    one = verdict.mutant
    head = f"{verdict.outcome:17}{one.file}:{verdict.line}"
    if verdict.outcome == judge.KILLED:
        return f"{head}  by {verdict.by}"
    if verdict.outcome == judge.SURVIVED:
        return f"{head}\n    - {one.was}\n    + {one.becomes}"
    return f"{head}  {reasons[one]}" if verdict.outcome == judge.EQUIVALENT else head


def report(verdicts: list[Verdict]) -> str:
    """A row a folder: of the mistakes that are some, how many were killed."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for verdict in verdicts:
        for name in (verdict.mutant.file.rpartition("/")[0], "all"):
            rows[name][verdict.outcome] += 1
    lines = [f"{'':26}{'killed':>8}{'survived':>10}{'equivalent':>12}{'same code':>11}{'no code':>9}{'killed %':>10}"]
    for name in [*sorted(rows.keys() - {"all"}), *(["all"] if rows else [])]:
        row = rows[name]
        counted = row[judge.KILLED] + row[judge.SURVIVED]
        share = f"{100 * row[judge.KILLED] / counted:.1f}" if counted else "–"
        lines.append(
            f"{name:26}{row[judge.KILLED]:8}{row[judge.SURVIVED]:10}{row[judge.EQUIVALENT]:12}"
            f"{row[judge.SAME_CODE]:11}{row[judge.NO_CODE]:9}{share:>10}"
        )
    return "\n".join(lines)
