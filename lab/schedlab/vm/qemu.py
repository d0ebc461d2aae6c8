# SPDX-License-Identifier: GPL-2.0-or-later
"""Find QEMU, or install a version that does not crash guests.

QEMU 7.2 (Debian 12) crashed guests under multi-threaded TCG while the kernel patched its jump labels; 10.0 does not.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from schedlab import cache, distribution
from schedlab.distribution import System
from schedlab.errors import PlaceError
from schedlab.vm.apt import Apt, index_targets, mirror

BINARY = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
MINIMUM_MAJOR = 10


@dataclass(frozen=True)
class Qemu:
    """A QEMU that can be used: its path, its version (`10.0.2`) and the SHA-256 of its binary."""

    path: Path
    version: str
    sha256: str


def find() -> Qemu:
    """The machine's QEMU.

    Raises PlaceError, naming the package, where there is none or it is too old.
    """
    found = shutil.which(BINARY)
    if found is None:
        raise PlaceError(f"{BINARY} is not installed: {_advice()}")
    path = Path(found)
    status = path.stat()
    # A read of a 30 MB file and a start of QEMU are saved while the binary stays the same.
    note = cache.root() / "qemu.json"
    key = f"{path.resolve()} {status.st_size} {status.st_mtime_ns}"
    known = cache.read_json(note)
    if known is None or known.get("key") != key:
        known = {"key": key, "version": _version(path), "sha256": cache.sha256(path)}
        cache.write_json(note, known)
    if _major(known["version"]) < MINIMUM_MAJOR:
        raise PlaceError(f"{BINARY} {known['version']} crashes guests: {_advice()}")
    return Qemu(path, known["version"], known["sha256"])


def install(say: Callable[[str], None]) -> None:
    """Install QEMU from Debian, from backports where the release's own is too old.

    Raises PlaceError off Debian or without root, naming what is missing.
    """
    here = distribution.detect(System())
    if here.name != "debian" or not here.codename or os.geteuid() != 0:
        find()
        return
    say("vm: installing QEMU")
    sources = {mirror(): [here.codename]}
    # Installed packages may come from these sources: apt has to know them to resolve dependencies.
    for label, uri, suite in index_targets("LABEL", "REPO_URI", "RELEASE"):
        if label in {"Debian", "Debian-Security"} and suite not in sources.setdefault(uri, []):
            sources[uri].append(suite)
    with cache.lock("qemu"):
        apt = Apt("qemu", sources, installed=True)
        apt.update()
        wanted = [PACKAGE]
        if _major(apt.candidate(PACKAGE) or "0") < MINIMUM_MAJOR:
            backports = f"{here.codename}-backports"
            if backports not in sources[mirror()]:
                sources[mirror()].append(backports)
            apt = Apt("qemu", sources, installed=True)
            apt.update()
            wanted = ["-t", backports, PACKAGE]
        apt.run("apt-get", "install", "--yes", "--no-install-recommends", "--no-remove", *wanted)
        apt.run("apt-get", "clean")
    find()


def _advice() -> str:
    """How this machine gets a QEMU that is new enough."""
    here = distribution.detect(System())
    package = f"install the package {here.package('qemu') or PACKAGE}, version {MINIMUM_MAJOR} or newer"
    if here.name == "debian" and here.codename:
        backports = f", from {here.codename}-backports" if here.codename == "bookworm" else ""
        return f"{package}{backports}; or, as root, run: schedlab vm setup"
    command = here.install("qemu")
    return f"{package}: {command}" if command else package


def _version(path: Path) -> str:
    done = subprocess.run([str(path), "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\d+(?:\.\d+)+)", done.stdout)
    return found[1] if found else "0"


def _major(version: str) -> int:
    """The first number of a version, also of a Debian one with an epoch."""
    return int(version.split(":")[-1].split(".")[0])
