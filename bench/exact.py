# SPDX-License-Identifier: GPL-2.0-or-later
"""bfs against the kernel's own scheduler in the exact virtual machine, where a nanosecond is an instruction.

A guest for each number of CPUs; a second one of the same build would say the same to the byte. For some seconds after
boot the kernel has work left that makes everything 15 % slower, so the guest settles first and every workload is warmed
up. The kernel's own scheduler is measured before and after bfs: how far these two lie apart is what the ratio is good
for.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from figures import Figure, NotMeasured, at_most

from schedlab import checkout, vm
from schedlab.campaign.cells import cell_id
from schedlab.collect import records
from schedlab.collect.records import Record
from schedlab.errors import LabError

ROOT = Path(__file__).parents[1]
ORDER = ("default", "default", "bfs", "default")
SETTLE_S = 10
_LIMIT_S = 3_600.0
_NO_DIGESTS = dict.fromkeys(("engine", "machine", "scheduler", "workload"), "")


class Run(Protocol):
    """What a guest is asked to run; a workload is named by its file in the tree."""

    @property
    def workload(self) -> str: ...
    @property
    def load(self) -> int: ...
    @property
    def params(self) -> dict[str, str]: ...


@dataclass(frozen=True)
class Budget:
    what: str
    workload: str
    load: int
    params: dict[str, str]
    unit: str
    value: Callable[[Record], float]
    limit: float


def _message_ns(record: Record) -> float:
    """A round trip is two messages."""
    return 1e9 / (2 * record.metrics["throughput_per_s"])


def _elapsed_ms(record: Record) -> float:
    return record.metrics["elapsed_s"] * 1e3


def _wakeup_p99_us(record: Record) -> float:
    return record.histograms["wakeup_latency_us"].percentile_ns(99) / 1e3


PIPE = ("workloads/pipe.toml", 8, {"trips": "2000"}, "ns a message", _message_ns)
TAIL = ("bench/tail.toml", 8, {"duration_s": "5"}, "us", _wakeup_p99_us)
HACKBENCH = ("workloads/hackbench.toml", 3, {"loops": "100"}, "ms", _elapsed_ms)
BUDGETS = {
    1: [Budget("1 CPU: pipe, 8 pairs", *PIPE, 0.85), Budget("1 CPU: p99 wake-up of a sleeper, 8 hogs", *TAIL, 0.1)],
    2: [Budget("2 CPUs: hackbench -g 3 -l 100", *HACKBENCH, 0.88), Budget("2 CPUs: pipe, 8 pairs", *PIPE, 0.95)],
}


def figures(cpus: int) -> Iterator[Figure]:
    budgets = BUDGETS[cpus]
    cells = [cell(budget, cpus, scheduler, turn) for budget in budgets for turn, scheduler in enumerate(ORDER)]
    found = run(budgets, cells, cpus)
    for number, budget in enumerate(budgets):
        ids = [each["id"] for each in cells[number * len(ORDER) : (number + 1) * len(ORDER)]]
        _, before, bfs, after = (budget.value(found[each]) for each in ids)
        detail = f"bfs {bfs:,.0f}, default {before:,.0f} before and {after:,.0f} after, {budget.unit}"
        yield at_most(budget.what, bfs / ((before + after) / 2), "bfs / default", budget.limit, detail)


def cell(asked: Run, cpus: int, scheduler: str, turn: int, seed: int = 0) -> dict[str, Any]:
    """seed: the same draws in every turn; 0: others in each."""
    data = {
        "digests": _NO_DIGESTS,
        "load": asked.load,
        "machine": str(cpus),
        "params": asked.params,
        "place": "vm-exact",
        "repetition": turn,
        "scheduler": scheduler,
        "seed": seed or turn + 1,
        "tunables": {},
        "workload": Path(asked.workload).stem,
    }
    return {"id": cell_id(data), **data}


def run(asked: Sequence[Run], cells: list[dict[str, Any]], cpus: int) -> dict[str, Record]:
    """Every cell's record, by its id."""
    paths = {Path(each.workload).stem: f"/{each.workload}" for each in asked}
    shard = {"files": {"schedulers": {}, "workloads": paths, "machines": {}}, "cells": cells}
    lines: list[str] = []
    with tempfile.TemporaryDirectory(prefix="schedlab-bench-") as folder:
        path = Path(folder, "shard.json")
        path.write_text(json.dumps(shard), encoding="utf-8")
        files = {f"/{each.workload}": ROOT / each.workload for each in asked}
        try:
            vm.run(
                ["sh", "-c", f"sleep {SETTLE_S}; exec schedlab-host run /shard.json --out /records --records-fd 1"],
                {"/bin/schedlab-host": checkout.need_binary("schedlab-host"), "/shard.json": path, **files},
                tier="exact",
                cpus=cpus,
                limit_s=_LIMIT_S,
                on_line=lines.append,
                on_error_line=lines.append,
            )
        except LabError as error:
            raise NotMeasured(str(error)) from error
    found = {}
    for line in lines:
        if line.startswith('{"format"'):
            data = json.loads(line)
            found[data["id"]] = records.parse(data, data["id"])
    for asked_cell in cells:
        record = found.get(asked_cell["id"])
        if record is None:
            raise NotMeasured(next((line for line in reversed(lines) if not line.startswith("{")), "no record"))
        if record.status != records.OK:
            raise NotMeasured(f"{record.status}: {record.reason}")
    return found
