# SPDX-License-Identifier: GPL-2.0-or-later
"""A runner that obeys docs/records.md without running anything: numbers are drawn from the cell's seed.

What there is in files it leaves to the real one.

FAKE_DELAY_S   seconds per cell
FAKE_FAIL      a scheduler whose cells fail; FAKE_EJECT: one whose cells are ejected
FAKE_STATUS    end at once with this status and the message FAKE_MESSAGE
FAKE_CPU_S     CPU time of every cell; without it none has that metric
FAKE_DIGEST    of every scheduler that it claims to hold
FAKE_LOG       file to which the ids of the cells run are appended
"""

import hashlib
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

_BASE_MS = {"bfs": 10.0, "cfs": 12.0, "eevdf": 11.0, "default": 11.0}


def record(cell_id: str, cell: dict) -> dict:
    draws = random.Random(f"{cell['seed']} {cell['workload']} {cell['load']}")
    # Not from the id: that changes with this file, which is the engine.
    own = random.Random(json.dumps({k: v for k, v in cell.items() if k != "digests"}, sort_keys=True))
    base = _BASE_MS.get(cell["scheduler"], 10.0) * cell["load"] * (1 + 0.1 * draws.random()) * (1 + 0.01 * own.random())
    times = [int(base * 1e6 * (0.5 + draws.expovariate(1))) for _ in range(200)]
    buckets = Counter(lowest(ns) for ns in times)
    status, reason = "ok", ""
    if cell["scheduler"] == os.environ.get("FAKE_FAIL"):
        status, reason = "failed", "planted failure; reproduce: fake --seed 1"
    if cell["scheduler"] == os.environ.get("FAKE_EJECT"):
        status, reason = "ejected", "runnable task stall (probe[7] failed to run for 30.0s)"
    metrics = {"elapsed_s": base / 10, "migrations": float(own.randrange(100))}
    if "FAKE_CPU_S" in os.environ:
        metrics["cpu_s"] = float(os.environ["FAKE_CPU_S"])
    return {
        "format": 1,
        "id": cell_id,
        "cell": cell,
        "status": status,
        "reason": reason,
        "metrics": metrics,
        "histograms": {
            "wakeup_latency_us": {
                "count": len(times),
                "min_ns": min(times),
                "max_ns": max(times),
                "sum_ns": sum(times),
                "buckets_ns": sorted(buckets.items()),
            }
        },
        "trace_hash": "00",
        "provenance": {"place": cell["place"], "engine": "fake 1", "kernel": "", "cpus": 4, "hz": 250, "tier": ""},
        "cost": {"wall_s": 0.0, "events": 1},
    }


def trace() -> Iterator[str]:
    """Two CPUs and three tasks that take turns of 5 ms from 10 ms on; who does not run waits."""
    tasks = ["first", "second", "third"]
    yield f"# tracer: nop\n# {' '.join(sys.argv[1:])}\n"
    for at, name in enumerate(tasks):
        about = f"comm={name} pid={1000 + at} prio=120"
        yield f"          <idle>-0       [000] ..... 0.010000000: sched_wakeup: {about} target_cpu=000\n"
        inserted = f"{about} dsq=0x7 slice_ns=5000000 vtime={at}"
        yield f"          <idle>-0       [000] ..... 0.010000100: scx_insert: {inserted}\n"
    running: list[int | None] = [None, None]
    for turn in range(12):
        cpu, after = turn % 2, turn % 3
        ns = 10_000_200 + turn // 2 * 5_000_000 + cpu * 100
        before = running[cpu]
        ends = (
            "prev_comm=swapper prev_pid=0" if before is None else f"prev_comm={tasks[before]} prev_pid={1000 + before}"
        )
        state = "S" if turn >= 10 else "R+"
        begins = "next_comm=swapper next_pid=0" if turn >= 10 else f"next_comm={tasks[after]} next_pid={1000 + after}"
        line = f"sched_switch: {ends} prev_prio=120 prev_state={state} ==> {begins} next_prio=120"
        yield f"               x-1       [00{cpu}] ..... 0.{ns:09d}: {line}\n"
        running[cpu] = after


def lowest(ns: int) -> int:
    """The lowest value of the bucket, three significant digits: 2,048 steps to the power of two above."""
    shift = max(0, ns.bit_length() - 11)
    return ns >> shift << shift


def digest(name: str) -> str:
    """Of the scheduler's sources as they are beside this file: a build that is always fresh."""
    whole = hashlib.sha256()
    for path in sorted((Path(sys.argv[0]).parents[1] / "schedulers" / name).iterdir(), key=lambda p: p.name):
        if path.name.endswith((".h", ".bpf.c")):
            whole.update(path.name.encode() + b"\0" + path.read_bytes())
    return os.environ.get("FAKE_DIGEST") or whole.hexdigest()[:16]


def main() -> int:
    if sys.argv[1] == "describe":
        real = f"{sys.argv[0]}.real"
        os.execv(real, [real, *sys.argv[1:]])
    if "FAKE_STATUS" in os.environ:
        print(os.environ.get("FAKE_MESSAGE", ""), file=sys.stderr)
        return int(os.environ["FAKE_STATUS"])
    if sys.argv[1:] == ["list", "--json"]:
        print(json.dumps([{"name": name, "digest": digest(name)} for name in ("bfs", "cfs")]))
        return 0
    if sys.argv[1] == "prepare":
        return 0
    if sys.argv[1] == "object":
        Path(sys.argv[3]).write_text(f"object of {sys.argv[2]}")
        return 0
    if sys.argv[1] == "cell":
        Path(sys.argv[sys.argv.index("--trace") + 1]).write_text("".join(trace()))
        return 0
    assert sys.argv[1] == "run", sys.argv
    shard = json.loads(Path(sys.argv[2]).read_text())
    out = Path(sys.argv[sys.argv.index("--out") + 1])
    failed = False
    for entry in shard["cells"]:
        cell = dict(entry)
        cell_id = cell.pop("id")
        path = out / f"{cell_id}.json"
        status = "skipped"
        if not path.exists():
            time.sleep(float(os.environ.get("FAKE_DELAY_S", "0")))
            made = record(cell_id, cell)
            status = made["status"]
            failed |= status == "failed"
            temporary = out / f".{cell_id}.tmp"
            temporary.write_text(json.dumps(made) + "\n")
            temporary.rename(path)
            if log := os.environ.get("FAKE_LOG"):
                with Path(log).open("a") as file:
                    file.write(f"{cell_id}\n")
        print(json.dumps({"done": cell_id, "status": status}), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
