# SPDX-License-Identifier: GPL-2.0-only
"""results.csv and results.parquet: the long form, one row per cell and metric.

A distribution's row holds count, mean, min and max: no percentile, so that nobody can average one.
Percentiles are in groups.csv, where they come from the merged histograms of all repetitions.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from schedlab import atomic
from schedlab.collect.manifest import Manifest
from schedlab.collect.records import Record
from schedlab.collect.store import Store
from schedlab.metrics import metric, sort_key
from schedlab.plan.campaign import PlannedCell
from schedlab.plan.cells import canonical

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

# Histograms hold nanoseconds; their metrics are named in other units.
NS_PER_UNIT = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}


def ns_per_unit(name: str) -> float:
    return NS_PER_UNIT.get(metric(name).unit, 1.0)


def rows(manifest: Manifest, found: dict[str, Record]) -> Iterator[dict[str, Any]]:
    for planned in manifest.cells:
        if record := found.get(planned.id):
            yield from _rows(planned, record)


def _rows(planned: PlannedCell, record: Record) -> Iterator[dict[str, Any]]:
    cell = planned.data
    common = {
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
        "repetition": cell["repetition"],
        "seed": cell["seed"],
        "status": record.status,
    }
    for name in sorted(record.metrics.keys() | record.histograms.keys(), key=sort_key):
        row = common | {"metric": name, "unit": metric(name).unit}
        if name in record.histograms:
            histogram = record.histograms[name]
            scale = ns_per_unit(name)
            row |= {"count": histogram.count}
            if histogram.count:
                row |= {
                    "value": histogram.mean_ns / scale,
                    "min": histogram.min_ns / scale,
                    "max": histogram.max_ns / scale,
                }
        else:
            row |= {"value": record.metrics[name]}
        yield row


def prepare(planned: PlannedCell, record: Record, store: Store) -> None:
    """Its lines, for write()."""
    store.lines[planned.id, planned.label] = csv_lines(COLUMNS, _rows(planned, record))


def write(manifest: Manifest, found: dict[str, Record], store: Store) -> bool:
    """Write both forms; False where there is no DuckDB to make the Parquet."""
    for planned in manifest.cells:
        if planned.id in found and (planned.id, planned.label) not in store.lines:
            prepare(planned, found[planned.id], store)
    there = (store.lines[cell.id, cell.label] for cell in manifest.cells if cell.id in found)
    return write_table(store, "results", COLUMNS, there)


def csv_lines(columns: Iterable[str], content: Iterable[dict[str, Any]]) -> str:
    text = io.StringIO()
    blank = dict.fromkeys(columns)
    csv.writer(text, lineterminator="\n").writerows((blank | row).values() for row in content)
    return text.getvalue()


def write_table(store: Store, name: str, columns: dict[str, str], lines: Iterable[str]) -> bool:
    source = store.directory / f"{name}.csv"
    atomic.write(source, ",".join(columns) + "\n" + "".join(lines))
    try:
        import duckdb
    except ImportError:
        return False
    target = store.directory / f"{name}.parquet"
    temporary = store.directory / f".{name}.parquet.new"
    with atomic.full_disk_is_one_line(target):
        try:
            with duckdb.connect() as database:
                table = database.read_csv(str(source), header=True, columns=columns)
                table.write_parquet(str(temporary), compression="zstd")
            temporary.replace(target)
        except duckdb.IOException as error:
            temporary.unlink(missing_ok=True)
            raise OSError(28, str(error)) from error
    return True


def _compact(data: dict[str, str]) -> str:
    return canonical(data).decode()
