#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a cell costs on a cluster beside the runner here, and what records take, packed and not.

  .venv/bin/python bench/cluster.py [CELLS]          the same cells on sim, on a Dask and on a Slurm, CPU time in all
  .venv/bin/python bench/cluster.py --records DIR    files, bytes and reading of the results in DIR, in both forms

CPU time is that of a control group with all that was started, daemons included, so that it needs root; it tells what
other programs on the machine do not change.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "lab")]

from schedlab import foreign  # noqa: E402
from schedlab.collect import manifest  # noqa: E402
from schedlab.collect.packs import Packs  # noqa: E402
from schedlab.collect.store import Store  # noqa: E402
from schedlab.places import from_afar  # noqa: E402
from tests.cluster.dask_here import Dask  # noqa: E402
from tests.cluster.slurm_here import Slurm, lacking  # noqa: E402
from tests.cluster.workload import Campaign, kept  # noqa: E402

_CELLS = 10_000
_PACK = 1000
# What cells take themselves is the same everywhere, and the less, the better the rest is seen.
_SHORTER = ("-p", "work_us=10000")
_GROUPS = [Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")]


@contextmanager
def _measured() -> Iterator[list[float]]:
    """Wall time and CPU time in seconds, of this process's children and of all that they start."""
    root = next(group for group in _GROUPS if (group / "cgroup.procs").exists())
    group = root / f"schedlab-bench-{os.getpid()}"
    group.mkdir()
    before = root / Path(f"/proc/{os.getpid()}/cgroup").read_text().split("0::/")[-1].splitlines()[0]
    found: list[float] = []
    try:
        (group / "cgroup.procs").write_text(str(os.getpid()))
        start, began_us = time.monotonic(), _cpu_us(group)
        yield found
        found += [time.monotonic() - start, (_cpu_us(group) - began_us) / 1e6]
    finally:
        (before / "cgroup.procs").write_text(str(os.getpid()))
        # Who outlives this, such as a shell's daemon, goes back, too.
        for pid in (group / "cgroup.procs").read_text().split():
            (before / "cgroup.procs").write_text(pid)
        group.rmdir()


def _cpu_us(group: Path) -> int:
    return int(dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())["usage_usec"])


def _place(folder: Path, name: str) -> Dask | Slurm | None:
    own = folder / f"{name}-daemons"
    own.mkdir()
    if name == "dask":
        return Dask(own)
    if name == "slurm" and not lacking():
        return Slurm(own)
    return None


def places(cells: int) -> None:
    """A cluster's daemons start, run and stop inside of what is measured."""
    print(f"{cells} cells   wall s   CPU s   ms of CPU a cell   beside sim, ms")
    base_s = None
    with tempfile.TemporaryDirectory(prefix="schedlab-bench-") as temporary:
        folder = Path(temporary)
        campaign = Campaign(folder, cells)
        for name in ("sim", "dask", "slurm"):
            cluster, out = _place(folder, name), folder / name
            if name != "sim" and cluster is None:
                print(f"{name}: {lacking()}")
                continue
            with _measured() as found:
                try:
                    if cluster:
                        cluster.start()
                    more = cluster.environment if cluster else {}
                    done = campaign.run(cluster.on if cluster else name, out, more, *_SHORTER)
                finally:
                    if cluster:
                        cluster.stop()
            if done.returncode or len({record["id"] for record in kept(out)}) != cells:
                sys.exit(f"{name}: not all cells have a record: {done.stderr}")
            wall_s, cpu_s = found
            base_s = cpu_s if base_s is None else base_s
            each_ms, beside_ms = 1e3 * cpu_s / cells, 1e3 * (cpu_s - base_s) / cells
            print(f"{name:12} {wall_s:7.1f} {cpu_s:7.1f} {each_ms:18.2f} {beside_ms:16.2f}", flush=True)


def in_both_forms(directory: Path) -> None:
    """Of results with a file a cell."""
    cells = [cell for cell in manifest.read(directory).cells if Store(directory).path(cell.id).exists()]
    with tempfile.TemporaryDirectory(prefix="schedlab-bench-", dir=directory) as temporary:
        packed = Path(temporary)
        packs = Packs(packed)
        checked_s = packed_s = 0.0
        for hand in _batched(cells):
            raw = [(cell.id, Store(directory).path(cell.id).read_text()) for cell in hand]
            start = time.process_time()
            own = [(cell_id, from_afar.checked(foreign.parse(text), cell_id, "sim")[1]) for cell_id, text in raw]
            lines = [(each["id"], json.dumps(each, ensure_ascii=False, separators=(",", ":"))) for _, each in own]
            middle = time.process_time()
            packs.write(lines)
            checked_s += middle - start
            packed_s += time.process_time() - middle
        print(f"{len(cells)} records: to check {_each_ms(checked_s, cells)}, to pack {_each_ms(packed_s, cells)}")
        for name, where, pattern in (("a file a cell", directory, "cells/*.json"), ("packs", packed, "packs/*")):
            found = [path.stat() for path in where.glob(pattern)]
            start = time.process_time()
            store = Store(where)
            good, _ = store.load(cell.id for cell in cells)
            read_s = time.process_time() - start
            if len(good) != len(cells):
                sys.exit(f"{name}: {len(good)} of {len(cells)} records can be read")
            bytes_each = sum(one.st_size for one in found) / len(cells)
            disk_each = 512 * sum(one.st_blocks for one in found) / len(cells)
            print(
                f"{name}: {len(found)} files, {bytes_each:.0f} bytes a cell, {disk_each:.0f} on disk, "
                f"read in {_each_ms(read_s, cells)}"
            )


def _each_ms(seconds: float, cells: list) -> str:
    return f"{1e3 * seconds / len(cells):.3f} ms of CPU a cell"


def _batched(cells: list) -> Iterator[list]:
    for start in range(0, len(cells), _PACK):
        yield cells[start : start + _PACK]


def main() -> None:
    match sys.argv[1:]:
        case ["--records", directory]:
            in_both_forms(Path(directory))
        case []:
            places(_CELLS)
        case [cells] if cells.isdigit():
            places(int(cells))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
