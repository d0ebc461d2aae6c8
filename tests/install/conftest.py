# SPDX-License-Identifier: GPL-2.0-or-later
import subprocess
import sys
from pathlib import Path

import pytest

from tests.install.environment import Installed, build, pip, unshare


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    try:
        can = subprocess.run([*unshare(), "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0
    except FileNotFoundError:
        can = False
    if not can:
        pytest.skip("no file system of its own can be had here (unshare --mount)")
    folder = tmp_path_factory.mktemp("installed")
    environment = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "packages.pth").write_text(f"{folder / 'packages'}\n")
    for made in ("packages", "home"):
        (folder / made).mkdir()
    found = Installed(wheel, environment, folder / "home", frozenset(environment.rglob("*")))
    pip(found, "install", "--no-index", "--no-deps", str(wheel))
    return found
