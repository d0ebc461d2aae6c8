# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the site, as `make docs` does, into a folder of one's own."""

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT


def build(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Not --quiet: what is not said is not counted, and no warning would stop it."""
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder), *words]
    # Else the theme speaks of itself.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
