# SPDX-License-Identifier: GPL-2.0-or-later
"""From records to files and a printed summary: the end of compare, and all of `schedlab report`."""

import argparse
import json
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from rich.console import Console

from schedlab import parallel
from schedlab.collect import manifest
from schedlab.collect.manifest import Manifest
from schedlab.collect.records import Record
from schedlab.collect.store import Store
from schedlab.errors import CHECK_FAILED
from schedlab.export import results, summary_tables
from schedlab.export.plain import as_json
from schedlab.format.numbers import interval, percent
from schedlab.format.sentences import where
from schedlab.ledger import measured_error
from schedlab.statistics.crossings import crossings
from schedlab.statistics.negligible import NEGLIGIBLE_PCT
from schedlab.statistics.summary import Summary, summarise
from schedlab.statistics.threshold import Threshold
from schedlab.terminal import legend, table

_SHOWN_TROUBLES = 5


def finish(
    manifest: Manifest,
    store: Store,
    as_json_only: bool,
    with_report: bool,
    status: int = 0,
    negligible_pct: float = NEGLIGIBLE_PCT,
    fail_on: Iterable[Threshold] = (),
) -> int:
    found, bad = store.load(cell.id for cell in manifest.cells)
    for cell_id, error in bad.items():
        _say(f"{store.path(cell_id)}: corrupt record ({error}): left out; compare runs it again")
    summary = summarise(manifest, found, negligible_pct, measured_error.measured())
    files = [
        partial(results.write, manifest, found, store),
        partial(summary_tables.write_groups, summary, store),
        partial(summary_tables.write_comparisons, summary, store),
    ]
    if with_report:
        files.insert(0, partial(_report, summary, found, store))
    if not all(parallel.each(files)):
        _say("no Parquet files were written, because DuckDB is not installed; the CSV files hold the same")
    if as_json_only:
        print(json.dumps(as_json(summary), ensure_ascii=False, indent=1))
    else:
        console = Console(highlight=False)
        table.show(summary, console)
        legend.show(summary, console)
        names = "report.html, " * with_report + "results.csv, comparisons.csv, …"
        print(f"results: {store.directory}/ ({names})")
    _say_troubles(summary)
    failed = status or bad or any(summary.counts[kind] for kind in ("failed", "void", "missing"))
    return CHECK_FAILED if _say_crossings(fail_on, summary) or failed else 0


def _report(summary: Summary, found: dict[str, Record], store: Store) -> bool:
    from schedlab.report import campaign_page

    campaign_page.write(summary, found, store)
    return True


def _say_troubles(summary: Summary) -> None:
    for trouble in summary.troubles[:_SHOWN_TROUBLES]:
        _say(
            f"{trouble.status}: {trouble.label}, {trouble.workload}, load {trouble.load}, {trouble.machine}, "
            f"seed {trouble.seed}: {trouble.reason or 'no reason given'}"
        )
    rest = len(summary.troubles) - _SHOWN_TROUBLES
    if rest > 0:
        _say(f"and {rest} more cells without a value: see the cells/ directory")
    if summary.counts["missing"]:
        _say(f"{summary.counts['missing']} of {summary.counts['planned']} cells have no record")


def _say_crossings(fail_on: Iterable[Threshold], summary: Summary) -> bool:
    crossed = False
    for limit, row, comparison in crossings(fail_on, summary):
        change = comparison.change
        _say(
            f"--fail-on '{limit.text}': {comparison.label} is {percent(change.pct)}"
            f"{interval(change.interval.low, change.interval.high)} against {comparison.reference} in {where(row)}"
        )
        crossed = True
    return crossed


def _say(text: str) -> None:
    sys.stdout.flush()
    print(f"schedlab: {text}", file=sys.stderr)


def report(options: argparse.Namespace) -> int:
    directory = Path(options.directory)
    return finish(
        manifest.read(directory), Store(directory), options.json, True, 0, options.negligible, options.fail_on
    )
