# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine's QEMU and kernel for tests that boot guests; skipped, with the reason, where there are none."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.errors import PlaceError
from schedlab.vm import kernel as kernels
from schedlab.vm import qemu
from schedlab.vm.kernel import Kernel
from schedlab.vm.qemu import Qemu


@pytest.fixture(scope="session")
def emulator() -> Qemu:
    try:
        return qemu.find()
    except PlaceError as error:
        pytest.skip(f"no guest can be booted: {error}")


@pytest.fixture(scope="session")
def kernel() -> Kernel:
    try:
        return kernels.resolve()
    except PlaceError as error:
        pytest.skip(f"no kernel for a guest: {error}")


@pytest.fixture
def guest(emulator: Qemu, kernel: Kernel) -> None:
    """For a test that boots one."""


@pytest.fixture
def fake_qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a shell script before QEMU on the search path."""

    def fake(script: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        path = folder / qemu.BINARY
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return fake


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: Kernel) -> Path:
    """A cache of the test's own that has the kernel already."""
    home = tmp_path / "cache"
    (home / "kernels").mkdir(parents=True)
    (home / "kernels" / kernel.release).symlink_to(kernel.image.parent)
    (home / "kernels" / f"{kernels.SERIES}.json").write_text(f'{{"release": "{kernel.release}"}}')
    monkeypatch.setenv("SCHEDLAB_CACHE", str(home))
    return home
