# SPDX-License-Identifier: GPL-2.0-or-later
"""functions.* as CSV and Parquet, and the same for --json: the instructions of cells by kernel function.

One row per workload × machine × load × column × function. Parts and copies of a function count for it.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from schedlab.collect.store import Store
from schedlab.export.results import csv_lines, write_table
from schedlab.statistics.functions import FunctionTable, Spent, merged

COLUMNS = {
    "workload": "VARCHAR",
    "machine": "VARCHAR",
    "load": "BIGINT",
    "seed": "BIGINT",
    "label": "VARCHAR",
    "function": "VARCHAR",
    "instructions": "BIGINT",
    "share_pct": "DOUBLE",
    "unit": "VARCHAR",
    "units": "DOUBLE",
    "per_unit": "DOUBLE",
    "reference": "VARCHAR",
    "reference_per_unit": "DOUBLE",
    "difference": "DOUBLE",
}


def write(tables: Iterable[FunctionTable], store: Store) -> bool:
    return write_table(store, "functions", COLUMNS, [csv_lines(COLUMNS, _rows(tables))])


def _rows(tables: Iterable[FunctionTable]) -> Iterator[dict[str, Any]]:
    for table in tables:
        before = {one.label: {f.name: f for f in one.functions} for one in table.spent}
        for label, counts in table.counts.items():
            found, units = merged(counts), table.units(label)
            known = before.get(label, {})
            for name in known or found:
                row = _key(table) | {
                    "label": label,
                    "function": name,
                    "instructions": found[name],
                    "share_pct": 100 * found[name] / counts.total,
                    "unit": table.unit,
                    "units": units,
                    "per_unit": found[name] / units,
                }
                if name in known:
                    row |= {
                        "reference": table.reference,
                        "reference_per_unit": known[name].before,
                        "difference": known[name].difference,
                    }
                yield row


def _key(table: FunctionTable) -> dict[str, Any]:
    return {"workload": table.workload, "machine": table.machine, "load": table.load, "seed": table.seed}


def as_json(table: FunctionTable) -> dict[str, Any]:
    """The functions that the page shows; functions.csv has all of them."""
    return _key(table) | {
        "reference": table.reference,
        "unit": table.unit,
        "counted": {
            label: {"instructions": counts.total, "switches": counts.switches, "whole": counts.whole}
            for label, counts in table.counts.items()
        },
        "faults": table.faults,
        "against": {one.label: _spent(one) for one in table.spent},
    }


def _spent(spent: Spent) -> dict[str, Any]:
    return {
        "reference_per_unit": spent.total_before,
        "per_unit": spent.total_after,
        "functions": [
            {"function": f.name, "reference_per_unit": f.before, "per_unit": f.after, "difference": f.difference}
            for f in spent.shown
        ],
    }
