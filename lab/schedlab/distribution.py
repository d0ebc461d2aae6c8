# SPDX-License-Identifier: GPL-2.0-or-later
"""Which distribution this is, and the one command that installs what a need asks for."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from schedlab.system import System

TABLE = Path(__file__).with_name("packages.tsv")

INSTALL = {
    "debian": "apt-get install -y",
    "ubuntu": "apt-get install -y",
    "fedora": "dnf install -y",
    "arch": "pacman -S --needed",
    "opensuse": "zypper install -y",
}


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
