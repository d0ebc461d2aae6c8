# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab study: run published studies again and lay their claims beside ours."""

import argparse
import csv
import io
import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from schedlab import atomic
from schedlab.campaign import where as wheres
from schedlab.cli.compare import execute
from schedlab.errors import CHECK_FAILED, InputError
from schedlab.studies import (
    beside,
    calls,
    contradictions,
    experiments,
    hindsight,
    in_guests,
    published,
    score,
    study_file,
)
from schedlab.studies.beside import Beside
from schedlab.studies.experiments import collect
from schedlab.studies.in_guests import Cut
from schedlab.studies.score import Reproduction
from schedlab.studies.study_file import Study
from schedlab.terminal import scores as terminal

if TYPE_CHECKING:
    from schedlab.report import study_page as page

ALL = "all"


def study(options: argparse.Namespace) -> int:
    chosen = [study_file.find(name) for name in (study_file.files() if options.study == ALL else [options.study])]
    if not chosen:
        raise InputError("there is no file in studies/")
    if options.calibrate:
        return _calibrate(chosen)
    if options.without_hindsight and wheres.kept_as(options.on) != wheres.SIMULATOR:
        raise InputError(f"--without-hindsight with --on {options.on}: only the simulator takes a machine's parameters")
    if options.tier and options.on != "vm":
        raise InputError(f"--tier {options.tier}: only the virtual machine has tiers (--on vm)")
    status = 0
    reproductions: dict[str, list[Reproduction]] = {}
    reasons: dict[str, str] = {}
    pages = []
    root = _root(options)
    others = beside.beside(root, [one.name for one in chosen])
    for whole in chosen:
        base = root / whole.name
        one = _asked(whole, base, options)
        if not options.no_run:
            status = max(status, _run(one, base, options))
        found = collect(one, base, wheres.kept_as(options.on))
        reproductions[one.name] = score.reproduce(one, published.claims(one.seed), found)
        reasons |= contradictions.contradicted(one, reproductions[one.name], found)
        _write(base, reproductions[one.name], reasons)
        if not options.no_report:
            cuts = in_guests.cuts(whole, options.tier) if options.on == "vm" else None
            pages.append(_report(one, reproductions[one.name], reasons, base, others, cuts))
    _show(reproductions, reasons, others, options)
    _say_where(pages, root, options)
    return status


def _root(options: argparse.Namespace) -> Path:
    if options.output:
        return Path(options.output)
    suffix = f"-{beside.WITHOUT_HINDSIGHT}" if options.without_hindsight else ""
    return Path("results/studies") / f"{wheres.kept_as(options.on)}{suffix}"


def _asked(whole: Study, base: Path, options: argparse.Namespace) -> Study:
    """The study as it is to be run there."""
    if options.on == "vm":
        return in_guests.cut(whole, options.tier)
    return hindsight.without(whole, base / "machines") if options.without_hindsight else whole


def _report(
    one: Study,
    reproductions: list[Reproduction],
    reasons: dict[str, str],
    base: Path,
    others: list[Beside],
    cuts: list[Cut] | None,
) -> "page.Found":
    from schedlab.report import study_page as page

    found = page.found(one, reproductions, [_row(v, reasons) for v in reproductions], base, others, cuts)
    page.write([found], base / "report.html", shlex.join(["schedlab", *sys.argv[1:]]))
    return found


def _say_where(pages: "list[page.Found]", root: Path, options: argparse.Namespace) -> None:
    """Writes one page for all studies beside the page of each, and says where."""
    if not pages:
        return
    path = root / pages[0].study.name / "report.html"
    if len(pages) > 1:
        from schedlab.report import study_page as page

        path = root / "report.html"
        page.write(pages, path, shlex.join(["schedlab", *sys.argv[1:]]))
    if not options.json:
        print(f"report: {path}")


def _run(one: Study, base: Path, options: argparse.Namespace) -> int:
    """The worst status of its comparisons; one that fails does not keep the others from running."""
    status = 0
    console = Console(markup=False, stderr=True, quiet=options.json)
    asked = (options.on, options.machines, options.api, options.repetitions)
    parts = list(experiments.parts(one, base, *asked))
    for number, part in enumerate(parts, 1):
        console.print(f"{one.name} {number}/{len(parts)}: {part.experiment.name} on {part.machine}", highlight=False)
        with execute(part.request, part.directory, options.jobs, console, not options.no_report) as (_, _, ended):
            status = max(status, ended)
    return status


def _show(
    reproductions: dict[str, list[Reproduction]],
    reasons: dict[str, str],
    others: list[Beside],
    options: argparse.Namespace,
) -> None:
    everything = [v for found in reproductions.values() for v in found]
    rows = [*reproductions.items(), *([("all", everything)] if len(reproductions) > 1 else [])]
    if options.json:
        print(json.dumps(_as_json(reproductions, reasons, rows, others), ensure_ascii=False, indent=1))
        return
    console = Console(markup=False, highlight=False, width=None if sys.stdout.isatty() else 180)
    # Where there are several studies, their claims are in the report alone.
    if len(reproductions) == 1:
        for name, found in reproductions.items():
            terminal.claims(name, found, others, console)
            console.print()
    terminal.scores(rows, others, console)


def _as_json(
    reproductions: dict[str, list[Reproduction]],
    reasons: dict[str, str],
    rows: list[tuple[str, list[Reproduction]]],
    others: list[Beside],
) -> dict[str, Any]:
    return {
        "scores": {name: asdict(score.score(found)) for name, found in rows},
        "calls": {name: _calls(found) for name, found in rows},
        "beside": {other.title: {name: asdict(other.calls(found)) for name, found in rows} for other in others},
        "claims": {name: [_row(v, reasons) for v in found] for name, found in reproductions.items()},
    }


def _calls(reproductions: list[Reproduction]) -> dict[str, Any]:
    """Of all claims, of BFS against CFS with the guess that BFS wins, and by what a claim is based on."""
    by_basis = {
        basis: [v for v in reproductions if v.claim.basis == basis] for basis in {v.claim.basis for v in reproductions}
    }
    return {
        "all": asdict(calls.calls(reproductions)),
        "bfs_against_cfs": asdict(calls.calls(calls.of_bfs_and_cfs(reproductions))),
        "guess_that_bfs_wins": asdict(calls.guessed(reproductions)),
        "by_basis": {basis: asdict(calls.calls(found)) for basis, found in sorted(by_basis.items())},
    }


def _row(reproduction: Reproduction, reasons: dict[str, str]) -> dict[str, Any]:
    claim = reproduction.claim
    return {
        "id": claim.id,
        "group": claim.group,
        "machine": claim.machine,
        "workload": claim.workload,
        "level": claim.level,
        "metric": claim.metric,
        "a": claim.a,
        "b": claim.b,
        "weight": claim.weight,
        "points": claim.points,
        "published_sign": claim.sign,
        "published_a": claim.value_a,
        "published_b": claim.value_b,
        "published_unit": claim.unit,
        "published_pct": claim.pct_a_over_b,
        "ours_a": reproduction.a,
        "ours_b": reproduction.b,
        "ours_pct": reproduction.pct,
        "ours_low_pct": reproduction.low,
        "ours_high_pct": reproduction.high,
        "outcome": calls.outcome(reproduction),
        "tier": reproduction.tier,
        "agrees": reproduction.agrees,
        "ratio_error": reproduction.ratio_error,
        "why": reasons.get(claim.id, ""),
    }


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """Ten digits: beyond, the sums of two kinds of CPU differ."""
    return {key: f"{value:.10g}" if isinstance(value, float) else value for key, value in row.items()}


def _write(base: Path, reproductions: list[Reproduction], reasons: dict[str, str]) -> None:
    text = io.StringIO()
    found = [_told(_row(reproduction, reasons)) for reproduction in reproductions]
    writer = csv.DictWriter(text, list(found[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    base.mkdir(parents=True, exist_ok=True)
    atomic.write(base / beside.CLAIMS, text.getvalue())


def _calibrate(chosen: list[Study]) -> int:
    from schedlab.studies.calibration import calibrate

    status = 0
    for one in chosen:
        for experiment in one.experiments:
            for machine in experiment.calibration.targets if experiment.calibration else []:
                found = calibrate(experiment, machine)
                now = experiment.params_on(machine).get(found.parameter)
                there = "as in the file" if now == found.value else f"the file has {now:_}"
                print(
                    f"{one.name}: {experiment.name} on {machine}: {found.parameter} = {found.value:_} gives "
                    f"{found.reached:.6g} of {found.target:.6g} ({there})"
                )
                status = status if now == found.value else CHECK_FAILED
    return status
