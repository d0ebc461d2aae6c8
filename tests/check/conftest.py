# SPDX-License-Identifier: GPL-2.0-or-later
"""The built programs, and one run of `schedlab check`."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from schedlab import checkout

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
POLICIES = HERE / "policies"


@dataclass(frozen=True)
class Checked:
    """How a check ended."""

    status: int
    data: dict[str, Any]
    stderr: str

    @property
    def finding(self) -> dict[str, Any]:
        assert self.status == 1, f"status {self.status}: {self.data} {self.stderr}"
        return self.data["finding"]


def check(policy: Path | str, *options: str | Path) -> Checked:
    """As a user runs it, without a kernel unless one is asked for."""
    words = [sys.executable, "-m", "schedlab", "check", policy, "--json", *options]
    if "--kernel" not in options and "--replay" not in options:
        words += ["--kernel", "none"]
    done = subprocess.run([str(word) for word in words], cwd=ROOT / "lab", capture_output=True, text=True, check=False)
    data = json.loads(done.stdout) if done.stdout.strip() else {}
    return Checked(done.returncode, data, done.stderr)


def interrupted(words: Sequence[str | Path], after_s: float = 4) -> "subprocess.CompletedProcess[str]":
    """How a command ends by Ctrl-C, which its whole group of processes gets."""
    command = [str(word) for word in words]
    child = subprocess.Popen(
        command,
        cwd=ROOT / "lab",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(after_s)
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=20)
    return subprocess.CompletedProcess(command, child.returncode, out, err)


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    """A missing program is a mistake of the build, not of the place: no skip."""
    checkout.need_binary("schedlab-sim")
