# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab compare: plan, run, collect, show."""

import argparse
import shlex
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from rich.console import Console

from schedlab.campaign import campaign_file
from schedlab.campaign.matrix import Campaign, PlannedCell, campaign
from schedlab.campaign.request import Request, request
from schedlab.campaign.where import PLACES
from schedlab.collect import baseline
from schedlab.collect import manifest as manifests
from schedlab.collect.store import Store, directory_of
from schedlab.errors import InputError, InterruptedRun
from schedlab.export import results
from schedlab.places import place_of
from schedlab.terminal.progress import CellProgress

# Records are read in batches: one that is read alone between running cells finds cold caches and takes twice as long.
_READ_AT_ONCE = 100


def compare(options: argparse.Namespace) -> int:
    return _carry_out(_asked(options), options)


def run(options: argparse.Namespace) -> int:
    return _carry_out(request(**campaign_file.read(Path(options.campaign))), options)


def _asked(options: argparse.Namespace) -> Request:
    return request(
        options.schedulers,
        workload_names=options.workloads,
        load=options.load,
        machine_names=options.machines,
        place=options.on,
        tier=options.tier,
        api=options.api,
        kernel=options.kernel,
        repetitions=options.repetitions,
        built_in=options.built_in,
        exact_costs=options.exact_costs,
        seed_base=options.seed_base,
        param=(options.param or []) + ([f"scale_pct={options.scale}"] if options.scale else []),
    )


def _carry_out(asked: Request, options: argparse.Namespace) -> int:
    console = Console(markup=False, stderr=True, quiet=options.json)
    directory = Path(options.output) if options.output else default_directory(asked)
    if options.no_traced_runs and PLACES[asked.place].simulated:
        raise InputError("--no-traced-runs: only a real kernel's pictures need runs of their own (--on vm, host)")
    if options.profile:
        from schedlab.cli import profiled_runs

        profiled_runs.check(asked)
    if options.baseline:
        baseline.check(Path(options.baseline), asked.record_place)
    if options.junit:
        # An interrupted run must not leave the verdict of an earlier one.
        Path(options.junit).unlink(missing_ok=True)
    for remark in (remark for workload in asked.workloads for remark in workload.remarks):
        print(f"schedlab: {remark}", file=sys.stderr)
    with execute(asked, directory, options.jobs, console, not options.no_report) as (manifest, store, status):
        from schedlab.cli import traced_runs
        from schedlab.cli.outcome import Judged, finish

        def say(text: str) -> None:
            console.print(text, markup=False, highlight=False)

        if not (options.no_traced_runs or options.no_report):
            traced_runs.take(campaign(asked, place_of(asked).engine()), store, say)
        if options.profile:
            profiled_runs.take(campaign(asked, place_of(asked).engine()), store, say)
        return finish(manifest, store, options.json, not options.no_report, Judged.of(options), status)


@contextmanager
def execute(
    asked: Request, directory: Path, jobs: int | None, console: Console, with_report: bool
) -> Iterator[tuple[manifests.Manifest, Store, int]]:
    """Runs the cells that have no record yet. In the context all that could be made are there, the directory locked."""
    planned = campaign(asked, place_of(asked).engine())
    store = Store(directory)
    store.create()
    with store.locked():
        manifest = manifests.describe(planned, shlex.join(["schedlab", *sys.argv[1:]]))
        manifests.write(manifest, store)
        ids = [cell.id for cell in planned.cells]
        finished = store.prepare(ids, lambda text: print(f"schedlab: {text}", file=sys.stderr))
        yield manifest, store, _run(planned, store, set(ids) - finished, console, jobs, with_report)


def _run(planned: Campaign, store: Store, todo: set[str], console: Console, jobs: int | None, with_report: bool) -> int:
    total = len(planned.cells)
    if len(todo) < total:
        console.print(f"{total - len(todo)} of {total} cells have a record already", highlight=False)
    by_id: dict[str, list[PlannedCell]] = defaultdict(list)
    for cell in planned.cells:
        by_id[cell.id].append(cell)
    title = ", ".join(arm.label for arm in planned.request.arms)
    over = threading.Event()
    loading = threading.Thread(target=_load, args=[with_report, over], daemon=True)
    loading.start()
    unread: list[str] = []
    with CellProgress(console, title, total, total - len(todo)) as progress:

        def done(cell_id: str, status: str) -> None:
            unread.append(cell_id)
            if len(unread) == _READ_AT_ONCE:
                # This is done while other cells run, because at the end it would keep only one CPU busy.
                for finished, record in store.load(unread)[0].items():
                    for cell in by_id[finished]:
                        results.prepare(cell, record, store)
                unread.clear()
            if cell_id in todo and status != "skipped":
                progress.advance()

        try:
            status = place_of(planned.request).run(planned, store, todo, jobs, done, progress.say)
        except KeyboardInterrupt as error:
            over.set()
            there = sum(map(store.has, by_id))
            raise InterruptedRun(
                f"interrupted: {there} of {total} cells have a record in {store.directory}; the same command resumes"
            ) from error
        finally:
            # A process that is forked in the middle of an import would wait for the import's lock for ever, and one
            # that ends in the middle of an extension's import may crash.
            loading.join()
    return status


def _load(with_report: bool, over: threading.Event) -> None:
    """Imports, while cells run, what the end needs: from a cold disk this takes many seconds."""
    for name in ["schedlab.cli.outcome", "duckdb"] + ["schedlab.report.campaign_page"] * with_report:
        with suppress(ImportError):
            if not over.is_set():
                import_module(name)


def default_directory(asked: Request) -> Path:
    """The same request finds the same directory, so that the same command resumes; more repetitions are added to it."""
    parts = [
        [(arm.label, str(arm.scheduler.origin), *([arm.kernel] if arm.kernel else [])) for arm in asked.arms],
        [(str(w.path), asked.loads_of(w), sorted(asked.params[w.name].items())) for w in asked.workloads],
        [(m.name, str(m.path)) for m in asked.machines],
        [asked.record_place, asked.seed_base, *([asked.api] if asked.api else [])],
        *([str(asked.fleet.path)] if asked.fleet else []),
    ]
    names = "-".join(dict.fromkeys(arm.scheduler.name for arm in asked.arms))
    return directory_of(f"{names}-{asked.record_place}", parts)
