# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab choose in real guests: a command under the kernel's own scheduler and under a policy, a boot a block."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.usefixtures("can_boot", "loader")
def test_a_command_races_in_a_guest(tmp_path: Path) -> None:
    script = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done"
    words = ["choose", "--on", "vm", "--tier", "emulated", "--blocks", "1", "-o", str(tmp_path / "out"), "--no-report"]
    done = subprocess.run(
        [sys.executable, "-m", "schedlab", *words, "--", "sh", "-c", script],
        cwd=ROOT / "lab",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("not decided after 1 block (all blocks are done)")
    records = [json.loads(path.read_text()) for path in (tmp_path / "out/cells").glob("*.json")]
    # One to warm up, then both.
    assert sorted(record["cell"]["scheduler"] for record in records) == ["bfs", "default", "default"]
    assert all(record["status"] == "ok" and record["metrics"]["elapsed_s"] > 0 for record in records)
    assert json.loads((tmp_path / "out/answer.json").read_text())["blocks"] == 1
