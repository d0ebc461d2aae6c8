# SPDX-License-Identifier: GPL-2.0-or-later
"""Recording on a machine whose tracefs is not mounted: it is for the time, and nowhere afterwards."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# In a mount namespace of its own nobody else loses the tracefs that is unmounted in it.
_UNMOUNTED = ["unshare", "--mount", "sh", "-c"]
_UNMOUNT = 'for at in $(awk \'$3 == "tracefs" || $3 == "debugfs" { print $2 }\' /proc/mounts); do umount -l $at; done\n'


@pytest.fixture
def mountable() -> None:
    """tracefs can be mounted here: this takes root, and a kernel with tracing."""
    if "tracefs" not in Path("/proc/filesystems").read_text():
        pytest.skip("this kernel has no tracefs")
    try:
        trial = "d=$(mktemp -d) && mount -t tracefs tracefs $d && umount $d && rmdir $d"
        done = subprocess.run([*_UNMOUNTED, trial], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no unshare here (util-linux)")
    if done.returncode:
        pytest.skip(f"tracefs cannot be mounted here: {done.stderr.strip()}")


@pytest.mark.usefixtures("mountable")
def test_tracefs_is_mounted_for_the_time_and_said_to_be(tmp_path: Path) -> None:
    schedlab = f"{sys.executable} -m schedlab record -o {tmp_path}/mine.toml -- sh -c"
    script = f"""{_UNMOUNT}
grep -c ' tracefs ' /proc/mounts
{schedlab} 'grep " tracefs " /proc/mounts >&2; sleep 0.1'
grep -c ' tracefs ' /proc/mounts
"""
    done = subprocess.run([*_UNMOUNTED, script], cwd=ROOT / "lab", capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[0] == "0"
    assert done.stdout.splitlines()[-1] == "0"
    said = re.search(r"^record: tracefs is not mounted here: it is mounted on (\S+) until", done.stderr, re.MULTILINE)
    assert said, done.stderr
    assert f"tracefs {said[1]} tracefs " in done.stderr
    assert not Path(said[1]).exists()
    assert "[[task]]" in (tmp_path / "mine.toml").read_text()
