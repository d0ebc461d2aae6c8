# SPDX-License-Identifier: GPL-2.0-or-later
"""A large campaign's report: its memory grows by little with each cell, its page stays below its size and says so.

bench/many_records.py makes the records.
"""

import gc
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.collect import store as stores
from schedlab.collect.on_disk import RecordOnDisk
from schedlab.collect.store import Store

_ROOT = Path(__file__).resolve().parents[2]
# Names, digests and where it belongs, of a cell whose numbers are on the disk. A hundred thousand are 200 MiB.
_MOST_BYTES_A_CELL = 2_000
_MEASURE = """
import resource, sys
from schedlab.cli.program import main
status = main(["report", sys.argv[1]])
print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.fixture(scope="module")
def make() -> Callable[[Path, int], None]:
    spec = importlib.util.spec_from_file_location("many_records", _ROOT / "bench" / "many_records.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.write


def test_memory_grows_by_little_with_each_cell(
    tmp_path: Path, make: Callable[[Path, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of cells beyond those whose numbers are kept in memory, by what Python itself says it holds."""
    import tracemalloc

    from schedlab.collect import manifest

    monkeypatch.setattr(stores, "MOST_IN_MEMORY", 200)
    held = []
    for cells in (1_000, 3_000):
        folder = tmp_path / str(cells)
        make(folder, cells)
        tracemalloc.start()
        planned = manifest.read(folder)
        store = Store(folder)
        found, bad = store.load(cell.id for cell in planned.cells)
        # What only waits for the collector is not held.
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert (len(found), bad) == (cells, {})
        assert sum(isinstance(record, RecordOnDisk) for record in found.values()) == cells - 200
    assert (held[1] - held[0]) / 2_000 < _MOST_BYTES_A_CELL


def test_a_record_on_the_disk_says_the_same(
    tmp_path: Path, make: Callable[[Path, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from schedlab.collect import manifest

    make(tmp_path, 50)
    ids = [cell.id for cell in manifest.read(tmp_path).cells]
    whole, _ = Store(tmp_path).load(ids)
    monkeypatch.setattr(stores, "MOST_IN_MEMORY", 0)
    lean, _ = Store(tmp_path).load(ids)
    for name, record in whole.items():
        other = lean[name]
        assert isinstance(other, RecordOnDisk)
        assert other.names == record.names
        assert other.distributions == record.distributions
        for part in ("id", "cell", "status", "reason", "metrics", "histograms", "trace_hash", "provenance", "cost"):
            assert getattr(other, part) == getattr(record, part), part


def test_its_page_is_small_and_says_what_it_left_out(tmp_path: Path, make: Callable[[Path, int], None]) -> None:
    """Two repetitions of 1,000 different cells, of which a page with all charts would have thousands."""
    make(tmp_path, 2_000)
    environment = {**os.environ, "PYTHONPATH": str(_ROOT / "lab")}
    command = [sys.executable, "-c", _MEASURE, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    status, _ = done.stdout.split()[-2:]
    assert status == "0"
    text = (tmp_path / "report.html").read_text()
    assert len(text.encode()) <= 5_000_000
    assert "Summarised." in text
    assert "2,000 cells, more than one file can hold" in text
    assert re.search(r"the verdicts of 200 measures alone", text)
    # Every cell is in the files beside it.
    assert (tmp_path / "results.csv").read_text().count("\n") == 1 + 2_000 * 8
    assert (tmp_path / "results.parquet").is_file()
