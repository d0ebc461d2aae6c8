# SPDX-License-Identifier: GPL-2.0-or-later
"""The package as `make deb` packs it, the program under its own name, and tools that a machine may lack."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab import checkout

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def scx_bfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The loader under the name by which it is the scheduler."""
    link = tmp_path_factory.mktemp("bin") / "scx_bfs"
    link.symlink_to(checkout.need_binary("schedlab-host"))
    return link


def packed(folder: Path, *options: str) -> Path:
    done = subprocess.run(
        [ROOT / "scripts/deb", "-o", folder, *options], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def needs() -> Callable[..., None]:
    def needs(*programs: str) -> None:
        for program in programs:
            if not shutil.which(program):
                pytest.skip(f"{program} is not installed: scripts/setup installs it on Debian")

    return needs


@pytest.fixture(scope="session")
def package(needs: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("dpkg-deb")
    return packed(tmp_path_factory.mktemp("deb"))
