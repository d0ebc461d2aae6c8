# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab choose: candidates race on a command or a mix until a sequential test is sure, or the time is over."""

import argparse
import json
import math
import shlex
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from schedlab import atomic
from schedlab.campaign import arms, cells, matrix
from schedlab.campaign import where as wheres
from schedlab.campaign.arms import Arm
from schedlab.campaign.matrix import Campaign, PlannedCell
from schedlab.campaign.request import Request, request
from schedlab.catalogue import schedulers
from schedlab.choice import answer, gains, keep, mixes, own_command, race
from schedlab.choice.answer import Answer
from schedlab.choice.gains import Measure
from schedlab.choice.race import Race, State
from schedlab.collect import manifest as manifests
from schedlab.collect.store import Store, directory_of
from schedlab.errors import CHECK_FAILED, INTERRUPTED, InputError
from schedlab.format.numbers import number
from schedlab.places import place_of

# Nobody waits for more; a block is planned only when it is its turn.
_MOST_BLOCKS = 400
# Where somebody may be using the machine. A guest's watchdog is soon enough.
_IN_USE = ("host", wheres.SSH)
_FROZEN_AFTER_MS = 3000


@dataclass(frozen=True)
class _Asked:
    request: Request
    measures: list[Measure]
    directory: Path


def choose(options: argparse.Namespace) -> int:
    _check(options)
    asked = _asked(options)
    store = Store(asked.directory)
    place = place_of(asked.request)
    planned = matrix.campaign(asked.request, place.engine())
    restored = _kept_ready(planned, options.on)
    store.create()
    whole = manifests.describe(planned, shlex.join(["schedlab", *sys.argv[1:]]))
    with store.locked(), restored:
        contest = Race(
            planned=planned,
            measures=asked.measures,
            place=place,
            store=store,
            worth_pct=options.worth,
            # Every block is a boot, or may be another machine's.
            warms_up_again=wheres.name_of(options.on) in ("vm", wheres.SSH),
            jobs=options.jobs,
            say=_say,
            # So that 'schedlab report' has what there is, whatever ends this.
            after_block=lambda blocks: manifests.write(_begun(whole, blocks), store),
        )
        state = contest.run(options.minutes * 60, options.blocks or _MOST_BLOCKS)
    found = answer.answer(contest.incumbent, asked.measures, state, options.worth)
    if state.begun:
        _write(whole, state, store, found, not options.no_report)
    _tell(found, state, planned.arms, asked, options)
    if state.ended == race.INTERRUPTED:
        return INTERRUPTED
    return 0 if found.decided and state.ended != race.FAILED else CHECK_FAILED


def _check(options: argparse.Namespace) -> None:
    if not math.isfinite(options.minutes) or options.minutes <= 0:
        raise InputError(f"--minutes {options.minutes:g}: expected more than 0")
    if options.blocks is not None and not 1 <= options.blocks <= _MOST_BLOCKS:
        raise InputError(f"--blocks {options.blocks}: expected 1 to {_MOST_BLOCKS}")
    if options.passed_on and options.mix:
        raise InputError(f"--mix {options.mix} and a command after --: expected one of them")
    if options.passed_on and wheres.name_of(options.on) == wheres.SSH:
        raise InputError(f"--on {options.on} and a command after --: a command runs on this machine alone; use --mix")
    if options.frames is not None and not options.passed_on:
        raise InputError("--frames: expected a command after --, which leaves the file")
    if options.frames == "":
        raise InputError("--frames '': expected the path of a file or folder")
    if options.passed_on and wheres.named(options.on).simulated:
        raise InputError(
            "--on sim runs no command: record it with 'schedlab record', and compare the recording "
            "(schedlab compare -w ./recorded.toml), or use --on vm or host"
        )


def _asked(options: argparse.Namespace) -> _Asked:
    # What is wrong with these is said before anything is written.
    _arms(options)
    if "," in (options.machine or ""):
        raise InputError(f"-m {options.machine}: expected one machine")
    if options.passed_on:
        return _of_command(options)
    mix = mixes.find(options.mix or mixes.DEFAULT)
    params = [f"{run.workload}.{key}={value}" for run in mix.runs for key, value in run.params.items()]
    asked = _request(options, ",".join(run.workload for run in mix.runs), params, options.on != "sim")
    (machine,) = asked.machines
    workloads = [
        replace(workload, loads=[run.load], levels={}) for workload, run in zip(asked.workloads, mix.runs, strict=True)
    ]
    asked = replace(asked, workloads=workloads)
    kinds: dict[str, list[gains.Part]] = {}
    for workload, run in zip(workloads, mix.runs, strict=True):
        (load,) = workload.loads_on(machine.cpus)
        for kind, text in run.measures.items():
            kinds.setdefault(kind, []).append(gains.part((workload.name, load), text))
    return _Asked(asked, gains.measures(kinds), _directory(options, mix.name))


def _of_command(options: argparse.Namespace) -> _Asked:
    """The workload's file lies with the results, which it is a part of."""
    text = own_command.text(options.passed_on, options.on, options.frames)
    directory = _directory(options, text)
    Store(directory).create()
    file = directory / "workloads" / f"{own_command.NAME}.toml"
    atomic.write_into(file, text)
    asked = _request(options, str(file), [], False)
    metric = f"{own_command.FRAME_TIME}.p99" if options.frames else "elapsed_s"
    part = gains.part((own_command.NAME, own_command.LOAD), metric)
    return _Asked(asked, gains.measures({metric: [part]}), directory)


def _request(options: argparse.Namespace, workloads: str, params: Sequence[str], modelled: bool) -> Request:
    found = request(
        options.among,
        workload_names=workloads,
        machine_names=options.machine,
        place=options.on,
        tier=options.tier,
        kernel=options.kernel,
        repetitions=options.blocks or _MOST_BLOCKS,
        seed_base=options.seed,
        param=list(params),
        modelled=modelled,
        controlled=False,
    )
    if wheres.name_of(options.on) in _IN_USE:
        found = replace(found, frozen_after_ms=_FROZEN_AFTER_MS)
    # Alone, it races against itself.
    return found if len(found.arms) > 1 else replace(found, arms=matrix.with_control(found.arms))


def _arms(options: argparse.Namespace) -> list[Arm]:
    found = arms.parse(options.among, options.on, kernel=options.kernel or "")
    if len(found) == 1 and (wheres.named(options.on).simulated or found[0].scheduler.name != schedulers.DEFAULT):
        raise InputError(
            f"--among {options.among}: expected two schedulers or more; default alone, which races against itself, "
            "only on a real kernel"
        )
    return found


def _directory(options: argparse.Namespace, of: str) -> Path:
    """The same question finds the same directory, so that the same command goes on."""
    if options.output:
        return Path(options.output)
    racing = _arms(options)
    who = [(arm.label, str(arm.scheduler.origin), arm.kernel) for arm in racing]
    where = [options.on, options.machine, options.tier]
    names = "-".join(dict.fromkeys(arm.scheduler.name for arm in racing))
    return directory_of(f"choose-{names}-{wheres.name_of(options.on)}", [who, where, of, options.seed])


def _kept_ready(planned: Campaign, on: str) -> AbstractContextManager[None]:
    """On the host whatever scheduler runs is put back once, at the end of all blocks."""
    if on != "host":
        return nullcontext()
    from schedlab.places import host

    return host.ready(planned, _say)


def _begun(whole: manifests.Manifest, blocks: int) -> manifests.Manifest:
    """What has run of it."""
    end = whole.data["seed_base"] + blocks
    racing = (cells.MEASURED, cells.CONTROL)
    return _only(whole, [cell for cell in whole.cells if cell.data["seed"] < end and cell.role in racing], blocks)


def _only(whole: manifests.Manifest, kept: list[PlannedCell], blocks: int) -> manifests.Manifest:
    told = [{"id": cell.id, "label": cell.label, "role": cell.role, "cell": cell.data} for cell in kept]
    return manifests.Manifest(whole.data | {"repetitions": blocks, "cells": told}, kept)


def _write(whole: manifests.Manifest, state: State, store: Store, found: Answer, with_report: bool) -> None:
    from schedlab.cli.outcome import Judged, write

    begun = _begun(whole, state.begun)
    # Who has left the race has no cells from then on, and lacks none.
    kept = [cell for cell in begun.cells if cell.label not in state.left or store.has(cell.id)]
    begun = _only(begun, kept, state.begun)
    begun.data["chosen"] = found.sentence
    manifests.write(begun, store)
    atomic.write_json_lines(store.directory / "answer.json", found.data)
    write(begun, store, with_report, Judged())


def _tell(found: Answer, state: State, racing: Sequence[Arm], asked: _Asked, options: argparse.Namespace) -> None:
    winner = next((arm for arm in racing if arm.label == found.winner), None)
    report = "" if options.no_report or not state.begun else str(asked.directory / "report.html")
    if options.json:
        ways = {"now": keep.now(winner), "at_boot": keep.at_boot(winner)} if winner else None
        print(json.dumps(found.data | {"keep": ways, "report": report or None}, ensure_ascii=False, indent=1))
        return
    if state.ended == race.INTERRUPTED:
        _say("interrupted; what is known so far:")
    print(found.sentence)
    for line in found.lines if len(found.lines) > 1 or found.outcome == "same" else []:
        print(f"  {line}")
    if options.on == "sim":
        print(f"  simulated{_model_error(asked.measures)}; --on vm asks a real kernel")
    if winner and not winner.control:
        print(f"keep it: {keep.now(winner)}")
        print(keep.at_boot(winner))
    if report:
        print(f"page: {report}")
    if state.ended == race.FAILED:
        _say(state.why)


def _model_error(measures: Sequence[Measure]) -> str:
    """What the simulator may be off by, where the ledger knows it: of the worst part of each measure."""
    from schedlab.ledger.measured_error import measured

    known = measured()
    found = []
    for measure in measures:
        parts = [known.change_pct((part.run[0], part.metric, part.statistic)) for part in measure.parts]
        if worst := max((pct for pct in parts if math.isfinite(pct)), default=0.0):
            found.append(f"{measure.title} ±{number(worst, 1)} %")
    return f", and the simulator may be off by {', '.join(found)}" if found else ""


def _say(text: str) -> None:
    sys.stdout.flush()
    print(f"schedlab: {text}", file=sys.stderr, flush=True)
