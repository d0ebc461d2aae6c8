# SPDX-License-Identifier: GPL-2.0-or-later
"""Fetch Debian packages through apt with sources, lists and archives of our own.

Nothing of the machine's apt set-up changes: only its proxy and transport settings are used, and the site of its
Debian sources. apt checks every signature against Debian's archive keyring.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from schedlab import cache
from schedlab.errors import PlaceError

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
MIRROR_VARIABLE = "SCHEDLAB_DEBIAN_MIRROR"
TOOLS = ("apt-get", "apt-cache", "dpkg-deb")


def index_targets(*fields: str) -> list[list[str]]:
    """The given fields of each package index that the machine's own apt set-up knows; empty without apt."""
    if shutil.which("apt-get") is None:
        return []
    form = "\t".join(f"$({field})" for field in fields)
    command = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line.split("\t") for line in done.stdout.splitlines()]


def mirror() -> str:
    """The URI of a Debian archive: `$SCHEDLAB_DEBIAN_MIRROR`, else the machine's own Debian source.

    Raises PlaceError where neither exists.
    """
    chosen = os.environ.get(MIRROR_VARIABLE)
    if chosen:
        return chosen
    for label, uri in index_targets("LABEL", "REPO_URI"):
        if label == "Debian":
            return uri
    raise PlaceError(f"apt has no Debian source here: set {MIRROR_VARIABLE} to the URI of a Debian archive")


class AptFailed(PlaceError):
    """apt ended with an error: no network, a bad signature, an unknown package."""


class Apt:
    """apt over one or more suites of a Debian archive, with a state directory of its own in the cache.

    `sources` maps a URI to its suites. `installed` tells whether apt may look at the machine's installed packages,
    which it must to install some and must not to download others without their dependencies.
    """

    def __init__(self, name: str, sources: dict[str, list[str]], *, installed: bool = False) -> None:
        for tool in TOOLS:
            if shutil.which(tool) is None:
                raise PlaceError(f"{tool} is missing: fetching packages from Debian needs apt and dpkg")
        if not KEYRING.exists():
            raise PlaceError(f"{KEYRING} is missing: install the package debian-archive-keyring")
        self.name = name
        self.home = cache.directory("apt", name)
        for part in ("lists/partial", "archives/partial"):
            (self.home / part).mkdir(parents=True, exist_ok=True)
        stanzas = [
            f"Types: deb\nURIs: {uri}\nSuites: {' '.join(suites)}\nComponents: main\n"
            f"Architectures: amd64\nSigned-By: {KEYRING}\n"
            for uri, suites in sources.items()
        ]
        cache.write(self.home / "debian.sources", "\n".join(stanzas))
        options = {
            "Dir::Etc::sourcelist": str(self.home / "debian.sources"),
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "Dir::State::lists": str(self.home / "lists"),
            "Dir::Cache": str(self.home),
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Acquire::Retries": "1",
            "APT::Architecture": "amd64",
            # The cache may lie where apt's unprivileged download user cannot go.
            "APT::Sandbox::User": "root",
        }
        if not installed:
            options["Dir::State::status"] = "/dev/null"
        self.options = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]

    def run(self, tool: str, *arguments: str, cwd: Path | None = None) -> str:
        """Run an apt tool and return its output; AptFailed with its last words if it fails."""
        command = [tool, *self.options, *arguments]
        environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment)
        if done.returncode != 0:
            words = [line for line in done.stderr.splitlines() if line.startswith("E:")] or done.stderr.splitlines()
            raise AptFailed(f"{tool} {arguments[0]} ({self.name}) failed: {'; '.join(words[:2]) or 'no message'}")
        return done.stdout

    def update(self) -> None:
        """Fetch the package lists. A mirror that cannot be reached is an error, not a warning."""
        self.run("apt-get", "update", "--error-on=any")

    def names(self, pattern: str) -> list[str]:
        """The package names that match a regular expression, from the lists fetched last."""
        lines = self.run("apt-cache", "search", "--names-only", pattern).splitlines()
        return sorted(line.split(" ", 1)[0] for line in lines)

    def candidate(self, package: str) -> str | None:
        """The version of a package that apt would take, or None where it has none."""
        for line in self.run("apt-cache", "policy", package).splitlines():
            if line.startswith("  Candidate: "):
                version = line.removeprefix("  Candidate: ")
                return None if version == "(none)" else version
        return None

    def needed_by(self, package: str) -> list[str]:
        """The package and all that it depends on, as on a machine with nothing installed."""
        lines = self.run("apt-get", "install", "--simulate", "--no-install-recommends", package).splitlines()
        return [line.split()[1] for line in lines if line.startswith("Inst ")]

    def unpack(self, packages: list[str], target: Path) -> None:
        """Download packages (no dependencies), checked by apt, and unpack them below `target`."""
        debs = self.home / "debs"
        shutil.rmtree(debs, ignore_errors=True)
        debs.mkdir()
        self.run("apt-get", "download", *packages, cwd=debs)
        target.mkdir(parents=True, exist_ok=True)
        for deb in sorted(debs.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", str(deb), str(target)], check=True)
        shutil.rmtree(debs)
