# SPDX-License-Identifier: GPL-2.0-or-later
"""The command schedlab, as tests of whole runs start it."""

import subprocess
import sys
from pathlib import Path

LAB = Path(__file__).resolve().parents[1] / "lab"


def schedlab(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "schedlab", *words]
    return subprocess.run(command, cwd=LAB, capture_output=True, text=True, check=False)
