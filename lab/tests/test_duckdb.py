# SPDX-License-Identifier: GPL-2.0-or-later
"""The example of docs/records.md: what it reads from Parquet is what the records hold."""

import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("duckdb")

_EXAMPLE = re.compile(r"```python\n(import duckdb.*?)```", re.DOTALL)
_PAGE = Path(__file__).resolve().parents[2] / "docs" / "records.md"


def test_the_example_reads_the_results(report: Path, tmp_path: Path) -> None:
    (example,) = _EXAMPLE.findall(_PAGE.read_text(encoding="utf-8"))
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "mine").symlink_to(report.parent)
    # As rows of data instead of a drawn table.
    asked = re.sub(
        r"^(duckdb\.sql\(.*?\))\.show\(\)$", r"said.append(\1.fetchall())", example, flags=re.DOTALL | re.MULTILINE
    )
    program = f"import json\nsaid = []\n{asked}\nprint(json.dumps(said))"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    means, worse = json.loads(done.stdout)
    manifest = json.loads((report.parent / "manifest.json").read_text())
    cells = {cell["id"]: cell for cell in manifest["cells"]}
    for workload, load, metric, label, mean, count in means:
        wanted = [
            c
            for c in cells.values()
            if (c["cell"]["workload"], c["cell"]["load"], c["label"]) == (workload, load, label)
        ]
        values = [
            json.loads((report.parent / "cells" / f"{c['id']}.json").read_text())["metrics"][metric] for c in wanted
        ]
        assert (count, mean) == (len(values), pytest.approx(statistics.fmean(values), abs=0.051))
    assert len(means) == 3 * 3
    assert worse
    assert all(row[5] == "cfs" and row[7] > 1 for row in worse)


def test_the_example_as_it_stands_prints_tables(report: Path, tmp_path: Path) -> None:
    (example,) = _EXAMPLE.findall(_PAGE.read_text(encoding="utf-8"))
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "mine").symlink_to(report.parent)
    done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "elapsed_s" in done.stdout
    assert "cfs" in done.stdout
