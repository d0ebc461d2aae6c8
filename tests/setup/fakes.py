# SPDX-License-Identifier: GPL-2.0-or-later
"""A checkout of its own with programs of its own: what set-up finds and calls there is up to the test."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

# What a minimal Debian has, as far as the scripts use it.
BASE = """
    awk basename bash cat chmod cut dirname env flock grep head ln mkdir mv readlink rm sh sha256sum sleep sort tail tee
    uname
""".split()
# Everything that set-up looks for on the search path.
NEEDS = (
    "make git pkg-config stress-ng cpio zstd chromium mke2fs ssh sshd slurmctld munged fish lintian makepkg man pacman "
    "rpm rpmlint shellcheck systemd-analyze zsh"
).split()

OS_RELEASE = {
    "debian": 'ID=debian\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "ubuntu": "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=questing\nUBUNTU_CODENAME=questing\n",
    "fedora": "ID=fedora\nVERSION_ID=43\n",
    "arch": "ID=arch\n",
    "opensuse": 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n',
}

CC = """
read -r line
case " $ABSENT " in *" $line "*) exit 1 ;; esac
"""
LDD = "exit 1"
VERSION = "echo {0} {1}"
UV = """
echo "$*" >>"$CALLS"
case $1 in
venv) "{python}" -m venv --without-pip "${{@: -1}}" ;;
pip) [ -z "$UV_FAILS" ] || {{ echo "$UV_FAILS" >&2; exit 1; }}; [ -z "$UV_SLEEPS" ] || sleep "$UV_SLEEPS" ;;
esac
"""


@dataclass
class Checkout:
    path: Path
    bin: Path
    calls: Path

    def program(self, name: str, body: str) -> None:
        file = self.bin / name
        file.unlink(missing_ok=True)
        file.write_text(f"#!/bin/bash\n{body}\n")
        file.chmod(0o755)

    def without(self, *names: str) -> None:
        for name in names:
            (self.bin / name).unlink()

    def environment(self, **more: str) -> dict[str, str]:
        release = self.path / "os-release"
        release.write_text(OS_RELEASE[more.pop("distribution", "debian")])
        return {
            "PATH": str(self.bin),
            "HOME": str(self.path),
            "CALLS": str(self.calls),
            "SCHEDLAB_OS_RELEASE": str(release),
            # This machine's own Rust is none of theirs.
            "SCHEDLAB_SYSTEM_BIN": str(self.bin),
            **more,
        }

    def run(
        self, script: str = "scripts/setup", arguments: Sequence[str] = (), **more: str
    ) -> subprocess.CompletedProcess[str]:
        environment = self.environment(**more)
        command = [str(self.path / script), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    def called(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


def checkout(tmp_path: Path) -> Checkout:
    """Nothing is missing in it, and its user is not root."""
    path = tmp_path / "checkout"
    shutil.copytree(ROOT / "scripts", path / "scripts")
    shutil.copy(ROOT / "schedlab", path / "schedlab")
    for name in ("lab/requirements.txt", "lab/schedlab/packages.tsv"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, path / name)
    made = Checkout(path, tmp_path / "bin", tmp_path / "calls")
    made.bin.mkdir()
    for name in BASE:
        found = shutil.which(name)
        assert found, name
        os.symlink(found, made.bin / name)
    for name in NEEDS:
        made.program(name, "exit 0")
    made.program("id", "echo ${FAKE_UID:-1000}")
    made.program("cc", CC)
    made.program("busybox", "exit 0")
    made.program("ldd", LDD)
    made.program("clang-19", "echo 19.1.7")
    made.program("cargo", VERSION.format("cargo", "1.96.0"))
    made.program("rustc", VERSION.format("rustc", "1.96.0"))
    # A python3 that uses this very interpreter, whatever version manager is in front of it.
    made.program("python3", f'exec "{sys.executable}" "$@"')
    made.program("uv", UV.format(python=sys.executable))
    return made
