# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab choose in a real guest: a command under the kernel's own scheduler, a policy, and one that gives up."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.resolve().parents[1]


@pytest.mark.usefixtures("can_boot", "loader")
def test_a_command_races_in_a_guest(tmp_path: Path) -> None:
    refuses = tmp_path / "scx_refuses.bpf.c"
    refuses.write_text((HERE / "dumps" / "refuses.bpf.c").read_text())
    # On one CPU the policy is asked about every new task. Where there is a choice, one may go straight to an idle CPU.
    script = "(:); i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done"
    words = [
        "choose",
        "--on",
        "vm",
        "--tier",
        "emulated",
        "-m",
        "1",
        "--blocks",
        "1",
        "-o",
        str(tmp_path / "out"),
        "--no-report",
    ]
    words += ["--among", f"default,bfs,{refuses}"]
    done = subprocess.run(
        [sys.executable, "-m", "schedlab", *words, "--", "nice", "-n", "19", "sh", "-c", script],
        cwd=ROOT / "lab",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("not decided after 1 block (all blocks are done)")
    records = [json.loads(path.read_text()) for path in (tmp_path / "out/cells").glob("*.json")]
    # One to warm up, then all three.
    assert sorted((record["cell"]["scheduler"], record["status"]) for record in records) == [
        ("bfs", "ok"),
        ("default", "ok"),
        ("default", "ok"),
        ("refuses", "ejected"),
    ]
    assert all(record["metrics"]["elapsed_s"] > 0 for record in records if record["status"] == "ok")
    assert "refuses is out of the race since block 1: the kernel threw it out: " in done.stdout
    assert "no place for" in done.stdout
    answer = json.loads((tmp_path / "out/answer.json").read_text())
    assert (answer["blocks"], [*answer["out"]]) == (1, ["refuses"])
