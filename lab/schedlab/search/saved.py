# SPDX-License-Identifier: GPL-2.0-or-later
"""What a search leaves behind: a workload file for every case that it kept, and search.json with what both worlds said.

A case's file says in its head under which scheduler it is one, what both worlds said, and what shows it again.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from schedlab import atomic, checkout
from schedlab.catalogue.metrics import metric
from schedlab.format.numbers import number, percent, scale
from schedlab.search import case_file
from schedlab.search.disagreement import STATUS, Said
from schedlab.search.hunt import REPETITIONS, Finding
from schedlab.statistics.agreement import Repeated, title

NAME = "search.json"
_FOLDER = "cases"


def write(directory: Path, about: Mapping[str, Any], findings: Sequence[Finding], where: Sequence[str]) -> None:
    """`about`: of the whole search. `where`: options that name the two worlds on a command line."""
    folder = directory / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    told = []
    for finding in findings:
        file = path(directory, finding)
        commands = again(file, finding, where)
        atomic.write(file, case_file.text(finding.case, [*said(finding), "", "It is shown again by:", *commands]))
        told.append(_plain(file, finding))
    atomic.write_json_lines(directory / NAME, {"format": 1, **about, "cases": told})


def path(directory: Path, finding: Finding) -> Path:
    return directory / _FOLDER / f"{case_file.name(finding.case)}.toml"


def again(file: Path, finding: Finding, where: Sequence[str]) -> list[str]:
    """Both numbers once more, and the first decision that differs."""
    cell = [finding.case.arm, "-w", str(file)]
    agree = [checkout.command(), "agree", *cell, "-n", str(REPETITIONS), *where, "-o", "results/agreement-one"]
    # Decisions are traced in a guest only.
    machine = list(where[-2:]) if "--on" in where else list(where)
    return [shlex.join(words) for words in (agree, [checkout.command(), "decisions", *cell, *machine])]


def said(finding: Finding) -> Iterator[str]:
    """Lines for people."""
    case, found = finding.case, finding.disagreement
    drawn = "" if case == finding.drawn else f"; drawn with {finding.drawn.tasks} tasks under {finding.drawn.arm}"
    yield f"{case.arm}, {case.tasks} tasks{drawn}."
    if found.measure == STATUS:
        for world, own in (("simulator", finding.simulator), ("kernel", finding.kernel)):
            yield f"{world}: {own.status}{f': {own.reason}' if own.reason else ''}"
        return
    name, statistic = found.measure
    both = [own.numbers[name, statistic] for own in (finding.simulator, finding.kernel)]
    factor, unit = scale(metric(name).unit, [own.value for own in both])
    simulator, kernel = (_range(own, factor, unit) for own in both)
    yield f"{title(found.measure)}: simulator {simulator}, kernel {kernel};"
    yield f"{percent(found.gap_pct)} between the two ranges, {number(found.times)} times what is usual."


def _range(own: Repeated, factor: float, unit: str) -> str:
    told = dict.fromkeys(number(value * factor) for value in (own.least, own.most))
    return f"{' to '.join(told)} {unit}".rstrip()


def _plain(file: Path, finding: Finding) -> dict[str, Any]:
    found = finding.disagreement
    status = found.measure == STATUS
    return {
        "file": f"{file.parent.name}/{file.name}",
        "scheduler": finding.case.arm,
        "tasks": finding.case.tasks,
        "drawn": {"scheduler": finding.drawn.arm, "tasks": finding.drawn.tasks},
        "metric": found.measure[0],
        "statistic": found.measure[1],
        "gap_pct": None if status else found.gap_pct,
        "times": None if status else found.times,
        "simulator": _plain_said(finding.simulator),
        "kernel": _plain_said(finding.kernel),
    }


def _plain_said(own: Said) -> dict[str, Any]:
    numbers = [
        {"metric": name, "statistic": statistic, **asdict(value)} for (name, statistic), value in own.numbers.items()
    ]
    return {"status": own.status, "reason": own.reason, "numbers": numbers}
