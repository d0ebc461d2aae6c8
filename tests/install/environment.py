# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab as pip installs it: this tree's wheel in an environment of its own, used where the tree is out of sight.

The packages that it needs are those of the checkout's environment: they are mounted into the new one, so that nothing
has to be fetched.
"""

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Of the checkout nothing is left but the packages beside it.
_HIDE = 'mount --bind "$1" "$2" && mount -t tmpfs none "$3" && shift 3 && exec "$@"'


@dataclass(frozen=True)
class Installed:
    wheel: Path
    environment: Path  # a virtual environment
    home: Path
    before: frozenset[Path]  # the files of the environment before schedlab was there

    @property
    def programs(self) -> Path:
        return self.environment / "bin"

    def run(self, *words: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
        """A program of the environment, by nobody's settings, from a directory, where there is no checkout."""
        own = {
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "LANG": "C.UTF-8",
        }
        packages = [sysconfig.get_path("purelib"), str(self.packages), str(ROOT)]
        command = [*unshare(), "sh", "-c", _HIDE, "sh", *packages, str(self.programs / words[0]), *words[1:]]
        return subprocess.run(command, cwd=cwd, env=own | more, capture_output=True, text=True, check=False)

    @property
    def packages(self) -> Path:
        """Where the packages that schedlab needs are mounted."""
        return self.environment.with_name("packages")

    def files(self) -> frozenset[Path]:
        return frozenset(self.environment.rglob("*"))


def unshare() -> list[str]:
    return ["unshare", "--mount", *(["--map-root-user"] if os.getuid() else [])]


def build(folder: Path) -> Path:
    """Of this tree, by the backend that pip would call."""
    command = [sys.executable, str(ROOT / "scripts" / "build_wheel.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


def pip(installed: Installed, *words: str) -> None:
    command = [str(installed.programs / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    subprocess.run(command, check=True, capture_output=True, text=True)
