# SPDX-License-Identifier: GPL-2.0-or-later
"""results.csv and results.parquet: the long form, one row per cell and metric.

A distribution's row holds count, mean, min and max: no percentile, so that nobody can average one.
Percentiles are in groups.csv, where they come from the merged histograms of all repetitions.
"""

import csv
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from types import SimpleNamespace
from typing import Any

from schedlab import atomic
from schedlab.campaign.cells import canonical
from schedlab.campaign.matrix import PlannedCell
from schedlab.catalogue.metrics import metric, sort_key
from schedlab.collect.histogram import ns_per_unit
from schedlab.collect.manifest import Manifest
from schedlab.collect.records import Record
from schedlab.collect.store import Store

COLUMNS: dict[str, str] = {
    "cell": "VARCHAR",
    "label": "VARCHAR",
    "role": "VARCHAR",
    "scheduler": "VARCHAR",
    "tunables": "VARCHAR",
    "workload": "VARCHAR",
    "load": "BIGINT",
    "params": "VARCHAR",
    "place": "VARCHAR",
    "machine": "VARCHAR",
    "host": "VARCHAR",
    "repetition": "BIGINT",
    "seed": "BIGINT",
    "status": "VARCHAR",
    "metric": "VARCHAR",
    "unit": "VARCHAR",
    "value": "DOUBLE",
    "count": "BIGINT",
    "min": "DOUBLE",
    "max": "DOUBLE",
}

# More of a large file it lays down on the disk.
_DATABASE_MEMORY = "128MB"
# What differs between the rows of one cell.
_OF_METRIC = list(COLUMNS)[list(COLUMNS).index("metric") :]


def rows(manifest: Manifest, found: dict[str, Record]) -> Iterator[dict[str, Any]]:
    for planned in manifest.cells:
        if record := found.get(planned.id):
            cell = _cell(planned, record)
            for own in _metrics(record):
                yield cell | {name: value for name, value in zip(_OF_METRIC, own, strict=True) if value is not None}


def _cell(planned: PlannedCell, record: Record) -> dict[str, Any]:
    cell = planned.data
    return {
        "cell": planned.id,
        "label": planned.label,
        "role": planned.role,
        "scheduler": cell["scheduler"],
        "tunables": _compact(cell["tunables"]),
        "workload": cell["workload"],
        "load": cell["load"],
        "params": _compact(cell["params"]),
        "place": cell["place"],
        "machine": cell["machine"],
        # Of a fleet; elsewhere the place says it.
        "host": record.provenance.get("host", ""),
        "repetition": cell["repetition"],
        "seed": cell["seed"],
        "status": record.status,
    }


def _metrics(record: Record) -> Iterator[tuple[Any, ...]]:
    """A row's columns from `metric` on."""
    for name, unit in _in_order(record.names):
        histogram = record.histograms.get(name)
        if histogram is None:
            yield name, unit, record.metrics[name], None, None, None
        elif not histogram.count:
            yield name, unit, None, 0, None, None
        else:
            scale = ns_per_unit(name)
            low, high = histogram.min_ns / scale, histogram.max_ns / scale
            yield name, unit, histogram.mean_ns / scale, histogram.count, low, high


@cache
def _in_order(names: frozenset[str]) -> list[tuple[str, str]]:
    """With their units."""
    return [(name, metric(name).unit) for name in sorted(names, key=sort_key)]


def prepare(planned: PlannedCell, record: Record, store: Store) -> None:
    """Its lines, for write(), as long as there is room for them in memory."""
    if not store.is_full:
        store.lines[planned.id, planned.label] = _lines_of(planned, record)


def _lines_of(planned: PlannedCell, record: Record) -> str:
    """What they have in common is written once."""
    cell = _lines([_cell(planned, record).values()])[0].rstrip("\n")
    return "".join(f"{cell},{own}" for own in _lines(_metrics(record)))


def write(manifest: Manifest, found: dict[str, Record], store: Store) -> bool:
    """Write both forms; False where there is no DuckDB to make the Parquet."""
    there = (
        store.lines.get((cell.id, cell.label)) or _lines_of(cell, found[cell.id])
        for cell in manifest.cells
        if cell.id in found
    )
    return write_table(store, "results", COLUMNS, there)


def csv_lines(columns: Iterable[str], content: Iterable[dict[str, Any]]) -> str:
    blank = dict.fromkeys(columns)
    return "".join(_lines((blank | row).values() for row in content))


def _lines(content: Iterable[Iterable[Any]]) -> list[str]:
    lines: list[str] = []
    csv.writer(SimpleNamespace(write=lines.append), lineterminator="\n").writerows(content)
    return lines


def write_table(store: Store, name: str, columns: dict[str, str], lines: Iterable[str]) -> bool:
    source = store.directory / f"{name}.csv"
    atomic.write_parts(source, chain([",".join(columns) + "\n"], lines))
    try:
        import duckdb
    except ImportError:
        return False
    target = store.directory / f"{name}.parquet"
    temporary = store.directory / f".{name}.parquet.new"
    with atomic.write_errors_explained(target):
        try:
            with duckdb.connect(config={"memory_limit": _DATABASE_MEMORY, "threads": 1}) as database:
                table = database.read_csv(str(source), header=True, columns=columns)
                table.write_parquet(str(temporary), compression="zstd")
            temporary.replace(target)
        except duckdb.IOException as error:
            temporary.unlink(missing_ok=True)
            raise OSError(28, str(error)) from error
    return True


def _compact(data: dict[str, str]) -> str:
    return canonical(data).decode()
