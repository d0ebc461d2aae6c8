# SPDX-License-Identifier: GPL-2.0-or-later
"""groups.csv and groups.parquet: one row per workload × machine × load × metric × statistic × column.

Values of distributions are those of the merged histograms of all repetitions. The `runs_` columns describe the
repetitions' own numbers: their quantiles by the (n+1)p rule, and the seeds of outliers.
"""

from collections.abc import Iterator
from typing import Any

from schedlab.collect.store import Store
from schedlab.export.plain import finite
from schedlab.export.results import csv_lines, write_table
from schedlab.statistics.quantiles import SHARES
from schedlab.statistics.summary import Summary

KEY = {
    "workload": "VARCHAR",
    "machine": "VARCHAR",
    "load": "BIGINT",
    "metric": "VARCHAR",
    "statistic": "VARCHAR",
    "unit": "VARCHAR",
}
_QUANTILES = ["runs_min", "runs_p10", "runs_p25", "runs_median", "runs_p75", "runs_p90", "runs_max"]
COLUMNS = {
    **KEY,
    "label": "VARCHAR",
    "n": "BIGINT",
    "value": "DOUBLE",
    "low": "DOUBLE",
    "high": "DOUBLE",
    "change_pct": "DOUBLE",
    "change_low_pct": "DOUBLE",
    "change_high_pct": "DOUBLE",
    "verdict": "VARCHAR",
    **dict.fromkeys(_QUANTILES, "DOUBLE"),
    "runs_outliers": "VARCHAR",
}


def write(summary: Summary, store: Store) -> bool:
    return write_table(store, "groups", COLUMNS, [csv_lines(COLUMNS, _rows(summary))])


def _rows(summary: Summary) -> Iterator[dict[str, Any]]:
    for row in summary.rows:
        against = row.against
        for label, value in row.values.items():
            line: dict[str, Any] = row.key() | {
                "label": label,
                "n": value.n,
                "value": finite(value.value),
                "low": finite(value.interval.low),
                "high": finite(value.interval.high),
            }
            if label in against:
                c = against[label]
                line |= {
                    "change_pct": finite(c.change.pct),
                    "change_low_pct": finite(c.change.interval.low),
                    "change_high_pct": finite(c.change.interval.high),
                    "verdict": c.verdict,
                }
            found = row.runs[label]
            quantiles = found.quantiles
            if quantiles:
                line |= dict(zip(_QUANTILES, [quantiles[name] for name in SHARES], strict=True))
            yield line | {"runs_outliers": " ".join(map(str, found.outlier_seeds))}
