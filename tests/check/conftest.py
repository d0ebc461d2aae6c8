# SPDX-License-Identifier: GPL-2.0-or-later
"""The built programs, and one run of `schedlab check`."""

import json
import subprocess
import sys
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


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    """A missing program is a mistake of the build, not of the place: no skip."""
    checkout.need_binary("schedlab-sim")
