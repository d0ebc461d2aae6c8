# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody may set the clock at any time: what measures, waits or decides looks at one that only goes on.

That a guest whose clock is set measures the same is in tests/vm_policies/test_loader.py.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# In Python, Rust, C and shell.
_WALL = re.compile(
    r"\btime\.(?:time|time_ns|ctime|localtime|gmtime|strftime)\(|\bdatetime\.(?:now|utcnow|today)\(|\bdate\.today\("
    r"|\bSystemTime\b|\bCLOCK_REALTIME|\bgettimeofday\b|\$\(date\b|`date\b"
)
# By file, what the time of day is for: it is told, and nothing depends on it.
_TOLD = {
    "crates/loader/src/lock.rs": "since when somebody has the machine, in words",
    "crates/executor/src/application/frames.rs": "which of several new files of frames was written last",
    "lab/schedlab/capture/tracing.py": "the date in a recording's head",
    "lab/schedlab/cli/calibrate.py": "the date in a profile's head",
    "lab/schedlab/vm/machine.py": "the name of a guest's log, which has a number of its own besides",
}
_ENDS = (".py", ".rs", ".c", ".h", ".sh")


def wall_clocks(text: str) -> list[str]:
    return [found[0] for found in _WALL.finditer(text)]


def test_the_time_of_day_is_only_told() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "crates", "lab/schedlab", "schedulers", "include"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    files = [name for name in listed.stdout.decode().split("\0") if name.endswith(_ENDS)]
    assert len(files) > 400
    found = {name for name in files if "/tests/" not in name and wall_clocks((ROOT / name).read_text(encoding="utf-8"))}
    assert found == set(_TOLD)


def test_they_are_found_where_they_are_used() -> None:
    """The test of the test above."""
    for text in (
        "since = time.time()",
        "datetime.datetime.now(datetime.UTC)",
        "let start = SystemTime::now();",
        "clock_gettime(CLOCK_REALTIME, &now);",
        "begun=$(date +%s)",
    ):
        assert wall_clocks(text), text
    for text in ("time.monotonic()", "let start = Instant::now();", "CLOCK_MONOTONIC", "update_date(x)"):
        assert not wall_clocks(text), text
