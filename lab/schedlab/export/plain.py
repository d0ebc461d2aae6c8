# SPDX-License-Identifier: GPL-2.0-or-later
"""The summary as plain data, for --json and for the page."""

import math
from typing import Any

from schedlab.export import function_rows
from schedlab.statistics.comparison import Comparison
from schedlab.statistics.estimates import Change
from schedlab.statistics.oneway import Omnibus
from schedlab.statistics.rows import Row
from schedlab.statistics.summary import Summary


def as_json(summary: Summary) -> dict[str, Any]:
    data = summary.manifest.data
    return {
        "format": 1,
        "command": data["command"],
        "place": data["place"],
        "reference": summary.reference,
        "schedulers": summary.manifest.labels,
        "design": summary.design,
        "cells": summary.counts,
        "comparisons": {"headlines": summary.tested, "others": summary.tested_others},
        "results": [_row(row) for row in summary.rows],
        "troubles": [vars(trouble) for trouble in summary.troubles],
        "drifts_pct": summary.drifts_pct,
        **({"functions": [function_rows.as_json(table) for table in summary.functions]} if summary.functions else {}),
    }


def _row(row: Row) -> dict[str, Any]:
    return row.key() | {
        "better": row.better,
        "headline": row.headline,
        "values": {
            label: {"n": v.n, "value": finite(v.value), "low": finite(v.interval.low), "high": finite(v.interval.high)}
            for label, v in row.values.items()
        },
        "changes": {label: _comparison(c) for label, c in row.against.items() if c.change.n},
        "control": _change(row.control) if row.control else None,
        "omnibus": _omnibus(row.omnibus) if row.omnibus else None,
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "n": change.n,
        "pct": finite(change.pct),
        "low_pct": finite(change.interval.low),
        "high_pct": finite(change.interval.high),
        "interval": change.interval.method,
        "paired": change.paired,
    }


def _comparison(c: Comparison) -> dict[str, Any]:
    found = _change(c.change) | {
        "verdict": c.verdict,
        "hedges_g": finite(c.effect.g),
        "g_low": finite(c.effect.low),
        "g_high": finite(c.effect.high),
        "test": c.method,
        "p": finite(c.p),
        "p_adjusted": finite(c.p_adjusted),
        "detectable_pct": finite(c.detectable_pct),
        "runs_for_1_pct": finite(c.runs_for_1_pct),
        "model_pct": finite(c.model_pct),
    }
    return found | ({"note": c.note} if c.note else {})


def _omnibus(found: Omnibus) -> dict[str, Any]:
    return {
        "method": found.method,
        "why": found.why,
        "f": finite(found.f),
        "df": [finite(found.df_between), finite(found.df_within)],
        "p": finite(found.p),
        "omega_squared": finite(found.omega_squared),
    }


def finite(value: float) -> float | None:
    """JSON and CSV have no NaN."""
    return value if math.isfinite(value) else None
