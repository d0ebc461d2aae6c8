# SPDX-License-Identifier: GPL-2.0-or-later
"""groups.* and comparisons.*, as CSV and Parquet.

groups: one row per workload × machine × load × metric × statistic × column. Values of distributions are those of the
merged histograms of all repetitions. The `runs_` columns describe the repetitions' own numbers: their quantiles by the
(n+1)p rule, and the seeds of outliers.

comparisons: one row per workload × load × machine × metric × statistic × pair. Every pair of columns is there, one
without a value too, with a note that says why. Columns: docs/statistics.md.
"""

from collections.abc import Iterator
from typing import Any

from schedlab.collect.store import Store
from schedlab.export.plain import finite
from schedlab.export.results import csv_lines, write_table
from schedlab.statistics.comparison import Comparison
from schedlab.statistics.estimates import MISSING
from schedlab.statistics.rows import Row
from schedlab.statistics.runs import SHARES
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
GROUP_COLUMNS = {
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


COMPARISON_COLUMNS = {
    **KEY,
    "better": "VARCHAR",
    "headline": "BOOLEAN",
    "reference": "VARCHAR",
    "label": "VARCHAR",
    "design": "VARCHAR",
    "n": "BIGINT",
    "n_reference": "BIGINT",
    "n_label": "BIGINT",
    "change_pct": "DOUBLE",
    "low_pct": "DOUBLE",
    "high_pct": "DOUBLE",
    "verdict": "VARCHAR",
    "smaller_than_pct": "DOUBLE",
    "hedges_g": "DOUBLE",
    "g_low": "DOUBLE",
    "g_high": "DOUBLE",
    "test": "VARCHAR",
    "t": "DOUBLE",
    "df": "DOUBLE",
    "p": "DOUBLE",
    "p_within": "DOUBLE",
    "p_dunnett": "DOUBLE",
    "p_adjusted": "DOUBLE",
    "detectable_pct": "DOUBLE",
    "runs_for_1_pct": "DOUBLE",
    "noise_floor_pct": "DOUBLE",
    "model_pct": "DOUBLE",
    "omnibus": "VARCHAR",
    "omnibus_why": "VARCHAR",
    "omnibus_f": "DOUBLE",
    "omnibus_p": "DOUBLE",
    "omega_squared": "DOUBLE",
    "levene_p": "DOUBLE",
    "note": "VARCHAR",
}


def write_groups(summary: Summary, store: Store) -> bool:
    return write_table(store, "groups", GROUP_COLUMNS, [csv_lines(GROUP_COLUMNS, _group_rows(summary))])


def _group_rows(summary: Summary) -> Iterator[dict[str, Any]]:
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


def write_comparisons(summary: Summary, store: Store) -> bool:
    return write_table(
        store, "comparisons", COMPARISON_COLUMNS, [csv_lines(COMPARISON_COLUMNS, _comparison_rows(summary))]
    )


def _comparison_rows(summary: Summary) -> Iterator[dict[str, Any]]:
    for row in summary.rows:
        cell = row.key() | {"better": row.better, "headline": row.headline} | _omnibus(row)
        for c in row.comparisons:
            yield cell | _comparison(row, c)


def _comparison(row: Row, c: Comparison) -> dict[str, Any]:
    numbers = {
        "change_pct": c.change.pct,
        "low_pct": c.change.interval.low,
        "high_pct": c.change.interval.high,
        "smaller_than_pct": c.smaller_than_pct,
        "hedges_g": c.effect.g,
        "g_low": c.effect.low,
        "g_high": c.effect.high,
        "t": c.t,
        "df": c.df,
        "p": c.p,
        "p_within": c.p_within,
        "p_dunnett": c.p_dunnett,
        "p_adjusted": c.p_adjusted,
        "detectable_pct": c.detectable_pct,
        "runs_for_1_pct": c.runs_for_1_pct,
        "noise_floor_pct": c.floor_pct,
        "model_pct": c.model_pct,
    }
    return {
        "reference": c.reference,
        "label": c.label,
        "design": c.design,
        "n": c.change.n,
        "n_reference": row.values.get(c.reference, MISSING).n,
        "n_label": row.values.get(c.label, MISSING).n,
        "verdict": c.verdict,
        "test": c.method,
        "note": c.note,
    } | {name: finite(value) for name, value in numbers.items()}


def _omnibus(row: Row) -> dict[str, Any]:
    found = row.omnibus
    if found is None:
        return {}
    return {
        "omnibus": found.method,
        "omnibus_why": found.why,
        "omnibus_f": finite(found.f),
        "omnibus_p": finite(found.p),
        "omega_squared": finite(found.omega_squared),
        "levene_p": finite(row.oneway.levene_p) if row.oneway else None,
    }
