# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine as the checks see it: files below a root, and programs on a search path. Tests give them another one."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class System:
    root: Path = Path("/")
    search_path: str = field(default_factory=lambda: os.environ.get("PATH", os.defpath))

    def at(self, path: str) -> Path:
        """Where an absolute path of the machine lies."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> str:
        """A file's text without the white space around it; empty where it cannot be read."""
        try:
            return self.at(path).read_text("utf-8", "replace").strip()
        except OSError:
            return ""

    def which(self, name: str) -> str:
        return shutil.which(name, path=self.search_path) or ""

    def programs(self, pattern: str) -> list[str]:
        """The paths of all programs whose whole name matches, in the order of the search path."""
        found = []
        for folder in self.search_path.split(os.pathsep):
            try:
                names = sorted(os.listdir(folder))
            except OSError:
                continue
            found += [f"{folder}/{name}" for name in names if re.fullmatch(pattern, name)]
        return [path for path in found if os.access(path, os.X_OK)]

    def output(self, *command: str) -> str:
        """What a program prints on standard output; empty where it fails or does not end within 10 s."""
        try:
            done = self._run(command, 10)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    def fault(self, *command: str) -> str:
        """Why a program fails, in its own last words; empty where it does what it should within a minute."""
        try:
            done = self._run(command, 60)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        words = done.stderr.strip().splitlines() or [f"it ends with status {done.returncode}"]
        return words[-1] if done.returncode else ""

    def _run(self, command: Sequence[str], limit_s: float) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": self.search_path, "LC_ALL": "C"}
        return subprocess.run(command, capture_output=True, text=True, timeout=limit_s, env=environment, check=False)

    def kernel(self) -> str:
        return self.read("/proc/sys/kernel/osrelease")

    def is_root(self) -> bool:
        return self._status("Uid").split()[1:2] == ["0"]

    def capabilities(self) -> int:
        """The effective capabilities, one bit each."""
        return int(self._status("CapEff") or "0", 16)

    def _status(self, key: str) -> str:
        found = re.search(rf"^{key}:\s*(.*)$", self.read("/proc/self/status"), re.MULTILINE)
        return found[1] if found else ""
