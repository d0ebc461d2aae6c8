#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The policy eevdf (rules 7.2) against the kernel's own EEVDF in the exact virtual machine, side by side.

The same programs under both, in a guest where a nanosecond is an instruction: `make bench-eevdf` prints the table of
schedulers/eevdf/README.md. The kernel's own is measured before and after the policy; where these two differ, so much of
a difference means nothing.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

import exact
from figures import NotMeasured

from schedlab.collect.records import Record

ORDER = ("default", "default", "eevdf", "default")


@dataclass(frozen=True)
class Row:
    what: str
    workload: str
    load: int
    params: dict[str, str]


ROWS = [
    Row("pipe, 1 pair", "workloads/pipe.toml", 1, {"trips": "2000"}),
    Row("pipe, 8 pairs", "workloads/pipe.toml", 8, {"trips": "500"}),
    Row("latt, 4 clients", "workloads/latt.toml", 4, {"duration_s": "8"}),
    Row("hackbench, 1 group", "workloads/hackbench.toml", 1, {"loops": "100"}),
    Row("counter, 3", "workloads/counter.toml", 3, {}),
    Row("counter, 4", "workloads/counter.toml", 4, {}),
    Row("slice, 3 hogs", "bench/slice.toml", 3, {"duration_s": "2"}),
]


def _elapsed_ms(record: Record) -> float:
    return record.metrics["elapsed_s"] * 1e3


def _voluntary(record: Record) -> float:
    return record.metrics["switches_voluntary"]


def _involuntary(record: Record) -> float:
    return record.metrics["switches_involuntary"]


def _switches(record: Record) -> float:
    return _voluntary(record) + _involuntary(record)


def _mean_slice_us(record: Record) -> float:
    return record.metrics["cpu_s"] * 1e6 / _switches(record)


def _percentile_us(percent: float):  # noqa: ANN202
    def of(record: Record) -> float | None:
        found = record.histograms.get("wakeup_latency_us")
        return found.percentile_ns(percent) / 1e3 if found else None

    return of


COLUMNS = {
    "elapsed, ms": _elapsed_ms,
    "voluntary": _voluntary,
    "involuntary": _involuntary,
    "mean slice, µs": _mean_slice_us,
    "wake-up p50, µs": _percentile_us(50),
    "p99, µs": _percentile_us(99),
}


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def table(cpus: int) -> list[str]:
    cells = [exact.cell(row, cpus, scheduler, turn, seed=1) for row in ROWS for turn, scheduler in enumerate(ORDER)]
    found = exact.run(ROWS, cells, cpus)
    lines = [
        f"| {cpus} CPU{'s' if cpus > 1 else ''} | " + " | ".join(COLUMNS) + " |",
        "| --- |" + " --- |" * len(COLUMNS),
    ]
    for number, row in enumerate(ROWS):
        ids = [cell["id"] for cell in cells[number * len(ORDER) : (number + 1) * len(ORDER)]]
        _, before, policy, after = (found[each] for each in ids)
        texts = []
        for value in COLUMNS.values():
            kernel = [_number(value(before)), _number(value(after))]
            both = kernel[0] if kernel[0] == kernel[1] else " … ".join(kernel)
            texts.append(f"{both} / **{_number(value(policy))}**" if both != "–" else "–")
        lines.append(f"| {row.what} | " + " | ".join(texts) + " |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description="The policy eevdf against the kernel's EEVDF, in the exact VM.")
    parser.add_argument("--cpus", type=int, choices=(1, 2), action="append", help="default: 1, then 2")
    options = parser.parse_args()
    try:
        for cpus in options.cpus or (1, 2):
            print("\n".join(table(cpus)), flush=True)
            print(flush=True)
    except NotMeasured as error:
        print(f"bench/eevdf.py: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
