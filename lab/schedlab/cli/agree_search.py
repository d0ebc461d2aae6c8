# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab agree --search: random cases that the simulator and a real kernel say most different things of."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from schedlab.catalogue import schedulers
from schedlab.catalogue.machines import Machine
from schedlab.cli.agree_options import DIRECTORY, LEDGER
from schedlab.cli.compatibility import plain
from schedlab.errors import InputError, InterruptedRun, PlaceError
from schedlab.format.numbers import number
from schedlab.ledger import entries, scope
from schedlab.ledger.tallies import quantile
from schedlab.places import trial
from schedlab.search import both_worlds, disagreement, draw, saved
from schedlab.search.hunt import Hunt
from schedlab.statistics.agreement import title

_CASES = 96
# Of the minutes that are given: the other half is for shrinking.
_DRAWING = 0.5


def search(options: argparse.Namespace, machine: Machine) -> int:
    names = _names(options.schedulers)
    _bounded(options)
    own_seed = 1 if options.seed is None else options.seed
    cases = draw.cases(own_seed, draw.tunables(names))
    usual = disagreement.usual_pct(entries.from_csv(Path(LEDGER)))
    if reason := trial.why_not(options.on):
        raise PlaceError(reason)
    directory = Path(options.output) if options.output else Path(DIRECTORY) / "search"
    worlds = both_worlds.of(machine, options.on, directory, options.jobs, _say)
    hunt = Hunt(worlds, usual, options.keep_cases, _say)
    most = None if options.minutes else options.cases or _CASES
    drawing, shrinking = _until(options.minutes, _DRAWING), _until(options.minutes, 1.0)
    about = {"seed": own_seed, "schedulers": names, "machine": machine.name, "on": options.on}
    where = [*(["--on", options.on] if options.on != "vm" else []), "-m", options.machine or machine.name]
    try:
        hunt.draw(cases, most, drawing)
        hunt.look_again()
        hunt.shrink(shrinking)
    except KeyboardInterrupt as error:
        raise InterruptedRun(
            f"interrupted: {hunt.drawn} cases drawn; what has run is in {directory}; the same command resumes"
        ) from error
    finally:
        told: dict[str, Any] = {"drawn": hunt.drawn, "too_long": hunt.too_long, "errors": list(_errors(hunt))}
        saved.write(directory, about | told, hunt.findings, where)
    print("\n".join(map(_told, _errors(hunt))))
    for finding in hunt.findings:
        file = saved.path(directory, finding)
        print("\n".join([f"{file}:", *(f"  {plain(line)}" for line in saved.said(finding))]))
        print("\n".join(f"  {command}" for command in saved.again(file, finding, where)))
    print(f"{hunt.drawn} cases drawn, {hunt.too_long} of them too long, {len(hunt.findings)} kept; data: {directory}/")
    return 0


def _names(given: list[str]) -> list[str]:
    """Without tunables, which are drawn."""
    if not given:
        return list(dict.fromkeys(part.partition(":")[0] for part in scope.SCHEDULERS.split(",")))
    names = [part.strip() for text in given for part in text.split(",")]
    for name in names:
        if schedulers.find(name.partition(":")[0]).is_program:
            raise InputError(f"{name}: a program sets its tunables itself: expected a policy's name, source or object")
    return list(dict.fromkeys(names))


def _bounded(options: argparse.Namespace) -> None:
    for name, value in (
        ("--minutes", options.minutes),
        ("--cases", options.cases),
        ("--keep-cases", options.keep_cases),
    ):
        if value is not None and value <= 0:
            raise InputError(f"{name} {value}: expected more than 0")
    if options.minutes and options.cases:
        raise InputError("--minutes, --cases: expected one of them")


def _until(minutes: float | None, share: float) -> Callable[[], bool]:
    if minutes is None:
        return lambda: True
    end = time.monotonic() + minutes * 60 * share
    return lambda: time.monotonic() < end


def _errors(hunt: Hunt) -> Iterator[dict[str, Any]]:
    """Over all cases that were drawn, without sign; `usual_pct` is what nine in ten rows of the ledger lie within."""
    for (name, statistic), usual_pct in hunt.usual.items():
        if found := hunt.errors_pct.get((name, statistic)):
            sizes = [abs(error) for error in found]
            yield {
                "metric": name,
                "statistic": statistic,
                "cases": len(found),
                "median_pct": quantile(sizes, 0.5),
                "p90_pct": quantile(sizes, 0.9),
                "usual_pct": usual_pct,
            }


def _told(one: dict[str, Any]) -> str:
    within = [number(one[key], 1) for key in ("median_pct", "p90_pct", "usual_pct")]
    return (
        f"{title((one['metric'], one['statistic']))} of {one['cases']} cases: median error {within[0]} %, "
        f"nine in ten within {within[1]} % (ledger: {within[2]} %)"
    )


def _say(text: str) -> None:
    print(f"schedlab: {text}", file=sys.stderr, flush=True)
