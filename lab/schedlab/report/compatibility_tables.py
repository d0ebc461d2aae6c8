# SPDX-License-Identifier: GPL-2.0-or-later
"""Which schedulers run, and how near the simulator comes to the kernel, as the Markdown of docs/compatibility.md.

The data are what `schedlab compatibility` writes: compatibility.json.
"""

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from schedlab.format.numbers import number
from schedlab.report.markdown import table
from schedlab.statistics.agreement import title

MARK = "tried"
REFUSED = "refused"
_NONE = "–"


def text(data: dict[str, Any]) -> str:
    """Tables of what was tried, and between them a line for everything that keeps one from running."""
    parts = [_ran(data), "".join(f"- {line}.\n" for line in [*_refusals(data), *_reasons(data)])]
    if data["agreement"]:
        parts += [_legend(data), _agreement(data)]
    return "\n".join(part for part in parts if part)


def _ran(data: dict[str, Any]) -> str:
    workloads = data["workloads"]
    worlds = ["simulator", "kernel"] if data["kernel"] else ["simulator"]
    header = ["scheduler", "version", "digest", *(f"{world}: {name}" for world in worlds for name in workloads)]
    rows = []
    for tried in data["schedulers"]:
        cells = [tried[world].get(name, {"status": _NONE})["status"] for world in worlds for name in workloads]
        if tried["missing"]:
            cells[: len(workloads)] = [REFUSED] * len(workloads)
        rows.append([tried["file"], tried["version"] or _NONE, f"`{tried['digest']}`", *cells])
    return table(header, rows)


def _refusals(data: dict[str, Any]) -> Iterator[str]:
    for tried in data["schedulers"]:
        if tried["missing"]:
            yield f"{tried['file']} refers to what the model has not: {'; '.join(tried['missing'])}"
        if tried["absent"]:
            absent = "; ".join(tried["absent"])
            yield f"{tried['file']} is simulated without a part of what its program sets up: {absent}"


def _reasons(data: dict[str, Any]) -> Iterator[str]:
    """What several workloads have in common is said once."""
    for tried in data["schedulers"]:
        for world in ("simulator", "kernel"):
            reasons: dict[str, list[str]] = {}
            for workload, found in tried[world].items():
                if found["reason"]:
                    reasons.setdefault(f"{found['status']}: {found['reason']}", []).append(workload)
            for reason, workloads in reasons.items():
                yield f"{tried['file']} in the {world} ({', '.join(workloads)}): {reason}"


def _legend(data: dict[str, Any]) -> str:
    kernel, times = data["kernel"], data["repetitions"]
    runs = "1 repetition" if times == 1 else f"{times} repetitions"
    return (
        f"The simulator's value over the kernel's, lowest and highest over the workload's loads ({runs}; machine "
        f"`{data['machine']}`; Linux {kernel['release']} with {kernel['cpus']} CPU, tier {kernel['tier']}). Last the "
        "kernel's own scheduler over a second run of it:\n"
    )


def _agreement(data: dict[str, Any]) -> str:
    measures = list(dict.fromkeys((row["metric"], row["statistic"]) for row in data["agreement"]))
    header = ["scheduler", "workload", *(title(measure) for measure in measures)]
    rows = []
    for (label, workload), part in groupby(data["agreement"], key=lambda row: (row["label"], row["workload"])):
        ratios: dict[tuple[str, str], list[float]] = {measure: [] for measure in measures}
        for row in part:
            if row["ratio"] is not None:
                ratios[row["metric"], row["statistic"]].append(row["ratio"])
        rows.append([label, workload, *(_range(found) for found in ratios.values())])
    return table(header, rows)


def _range(ratios: list[float]) -> str:
    if not ratios:
        return _NONE
    ends = [number(ratio, 2) if math.isfinite(ratio) else _NONE for ratio in (min(ratios), max(ratios))]
    return "–".join(dict.fromkeys(ends))
