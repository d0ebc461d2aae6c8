# SPDX-License-Identifier: GPL-2.0-or-later
"""This machine as it is installed: its files, its programs, its distribution, and the command that installs what lacks.

packages.tsv names the package for every need by distribution and, where they differ, by release.
"""

import csv
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

TABLE = Path(__file__).with_name("packages.tsv")
INSTALL = {
    "debian": "apt-get install -y",
    "ubuntu": "apt-get install -y",
    "fedora": "dnf install -y",
    "arch": "pacman -S --needed",
    "opensuse": "zypper install -y",
}


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


@dataclass(frozen=True)
class Distribution:
    """`name` is a column of the table, empty for a distribution that is not in it.

    `codename` names the release; the ID of os-release stands for it where releases have no code names.
    """

    name: str
    codename: str
    title: str
    system: System

    def package(self, need: str) -> str:
        """What to install for a need; empty where this distribution has nothing."""
        if not self.name:
            return ""
        rows = _table()
        found = (rows.get(f"{need}@{self.codename}") or rows[need])[self.name]
        return "" if found == "-" else found

    def install(self, need: str) -> str:
        """The command that installs it; empty where there is none."""
        package = self.package(need)
        if not package:
            return ""
        command = f"{self.sudo()}{INSTALL[self.name]} {package}"
        suite = re.match(r"-t (\S+)", package)
        return self._add_suite(suite[1]) + command if suite else command

    def sudo(self) -> str:
        return "" if self.system.is_root() else "sudo "

    def _add_suite(self, suite: str) -> str:
        """What goes before an installation from a suite that this machine's apt does not know yet."""
        listed = self.system.output("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)").splitlines()
        known = {release: uri for uri, _, release in (line.partition(" ") for line in listed)}
        if suite in known or self.codename not in known:
            return ""
        source = f"deb {known[self.codename]} {suite} main"
        file = f"/etc/apt/sources.list.d/{suite}.list"
        return f"echo '{source}' | {self.sudo()}tee {file} && {self.sudo()}apt-get update && "


def detect(system: System) -> Distribution:
    """By os-release: the distribution's own id first, then those that it says it is like, nearest first."""
    lines = (line.partition("=") for line in system.read("/etc/os-release").splitlines())
    told = {key: value.strip("\"'") for key, _, value in lines}
    ids = [told.get("ID", ""), *told.get("ID_LIKE", "").split()]
    columns = (_column(name) for name in ids)
    return Distribution(
        name=next((name for name in columns if name), ""),
        codename=told.get("UBUNTU_CODENAME") or told.get("VERSION_CODENAME") or told.get("ID", ""),
        title=told.get("PRETTY_NAME") or told.get("ID") or "unknown distribution",
        system=system,
    )


def _column(identifier: str) -> str:
    if identifier.startswith("opensuse") or identifier == "suse":
        return "opensuse"
    return identifier if identifier in INSTALL else ""


def _table() -> dict[str, dict[str, str]]:
    lines = [line for line in TABLE.read_text("utf-8").splitlines() if not line.startswith("#")]
    return {row["need"]: row for row in csv.DictReader(lines, delimiter="\t")}
