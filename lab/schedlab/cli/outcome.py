# SPDX-License-Identifier: GPL-2.0-or-later
"""From records to files and a printed summary: the end of compare, and all of `schedlab report`."""

import argparse
import json
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from schedlab import foreign, parallel
from schedlab.cli.conditions import Conditions
from schedlab.collect import baseline, manifest
from schedlab.collect.manifest import Manifest
from schedlab.collect.records import Record
from schedlab.collect.store import Store
from schedlab.errors import CHECK_FAILED
from schedlab.export import function_rows, results, summary_tables
from schedlab.export.plain import as_json
from schedlab.ledger import measured_error
from schedlab.statistics import functions
from schedlab.statistics.negligible import NEGLIGIBLE_PCT
from schedlab.statistics.summary import Summary, summarise, without_value
from schedlab.statistics.threshold import Threshold
from schedlab.terminal import function_lines, legend, table

_SHOWN_TROUBLES = 5


@dataclass(frozen=True)
class Judged:
    """By what the changes are judged."""

    negligible_pct: float = NEGLIGIBLE_PCT
    fail_on: list[Threshold] = field(default_factory=list)
    baseline: Path | None = None  # saved results, whose first scheduler is the reference
    junit: Path | None = None  # where the verdicts on fail_on go

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Judged":
        saved, junit = (Path(given) if given else None for given in (options.baseline, options.junit))
        return cls(options.negligible, options.fail_on, saved, junit)


def finish(
    manifest: Manifest, store: Store, as_json_only: bool, with_report: bool, judged: Judged, status: int = 0
) -> int:
    summary, found = write(manifest, store, with_report, judged)
    if as_json_only:
        print(json.dumps(as_json(summary), ensure_ascii=False, indent=1))
    else:
        console = Console(markup=False, highlight=False)
        table.show(summary, console)
        function_lines.show(summary, console)
        legend.show(summary, console)
        names = "report.html, " * with_report + "results.csv, comparisons.csv, …"
        print(f"results: {store.directory}/ ({names})")
    _say_troubles(summary)
    conditions = Conditions(judged.fail_on, summary)
    for sentence in conditions.sentences():
        _say(sentence)
    without = without_value(summary, found)
    if judged.junit:
        conditions.write_junit(judged.junit, without)
    return CHECK_FAILED if conditions.crossed or without or status else 0


def write(manifest: Manifest, store: Store, with_report: bool, judged: Judged) -> tuple[Summary, dict[str, Record]]:
    """The summary of the records that are there, as files."""
    found, bad = store.load(cell.id for cell in manifest.cells)
    for cell_id, error in bad.items():
        _say(f"{store.source(cell_id)}: corrupt record ({error}): left out; compare runs it again")
    if judged.baseline:
        manifest, saved = baseline.read(judged.baseline, manifest)
        found = saved | found
    summary = summarise(manifest, found, judged.negligible_pct, measured_error.measured())
    summary = replace(summary, functions=functions.tables(manifest, store.directory))
    files = [
        partial(results.write, manifest, found, store),
        partial(summary_tables.write_groups, summary, store),
        partial(summary_tables.write_comparisons, summary, store),
    ]
    if summary.functions:
        files.append(partial(function_rows.write, summary.functions, store))
    if with_report:
        files.insert(0, partial(_report, summary, found, store))
    if not all(parallel.each(files)):
        _say("no Parquet files were written, because DuckDB is not installed; the CSV files hold the same")
    return summary, found


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


def _say(text: str) -> None:
    sys.stdout.flush()
    print(f"schedlab: {foreign.lines(text)}", file=sys.stderr)


def report(options: argparse.Namespace) -> int:
    directory = Path(options.directory)
    return finish(manifest.read(directory), Store(directory), options.json, True, Judged.of(options))
