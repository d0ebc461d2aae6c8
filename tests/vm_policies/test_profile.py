# SPDX-License-Identifier: GPL-2.0-or-later
"""compare --profile: instructions of a cell by kernel function, in exact guests."""

import csv
from pathlib import Path

from schedlab.places.profiled import MOST
from tests.command_line import schedlab


def test_a_cell_has_its_table_and_says_the_same_again(can_boot: None, loader: Path, tmp_path: Path) -> None:
    what = ["compare", "default,bfs", "--on", "vm", "-m", "1", "-n", "1", "-w", "pipe", "--load", "1"]
    what += ["-p", "trips=10000", "--no-traced-runs", "--profile", "-o", str(tmp_path)]
    done = schedlab(*what)
    assert done.returncode == 0, done.stderr
    assert "pipe on a guest with 1 CPU, load 1: where the instructions went, by switch" in done.stdout
    assert "Where the instructions went" in (tmp_path / "report.html").read_text(encoding="utf-8")
    kept = {path.name: path.read_bytes() for path in (tmp_path / "functions").glob("*.json")}
    assert len(kept) == 2
    with (tmp_path / "functions.csv").open(encoding="utf-8") as file:
        rows = {(row["label"], row["function"]): row for row in csv.DictReader(file)}
    for label in ("default", "bfs"):
        assert sum(int(row["instructions"]) for (of, _), row in rows.items() if of == label) == MOST
        # In the middle of the run its tasks do little else than switch.
        assert MOST / float(rows[label, "__switch_to"]["units"]) < 20_000
    assert float(rows["bfs", "bpf_prog_bfs_enqueue"]["per_unit"]) > 50
    assert ("default", "bpf_prog_bfs_enqueue") not in rows
    # The kernel's own scheduler is left to the kernel's own threads.
    fair = {of: float(row["per_unit"]) for (of, name), row in rows.items() if name == "set_next_task_fair"}
    assert fair["default"] > 50 > 10 * fair.get("bfs", 0.0)
    # One of them once more.
    name = min(kept)
    (tmp_path / "functions" / name).unlink()
    again = schedlab(*what)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "functions" / name).read_bytes() == kept[name]
