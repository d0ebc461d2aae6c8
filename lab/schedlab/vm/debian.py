# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels out of Debian's archive: the stock cloud kernels, two packages of 14 MB."""

import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from schedlab.errors import PlaceError
from schedlab.vm import apt
from schedlab.vm.candidate import Candidate, numbers

# trixie-backports outlives sid's daily changes, so it is asked first.
SUITES = ("trixie-backports", "sid")
_BINARY = "linux-binary-"
_FLAVOUR = "-cloud-amd64"


def reachable() -> bool:
    """Whether this machine has apt, Debian's keys, and the name of a mirror."""
    if not apt.KEYRING.exists() or not all(map(shutil.which, apt.TOOLS)):
        return False
    try:
        apt.mirror()
    except PlaceError:
        return False
    return True


def candidates(spec: str) -> Iterator[Candidate]:
    """The cloud kernels of a series or release, suite by suite, newest first.

    Raises PlaceError, naming the series there are, if no suite has one.
    """
    seen: set[str] = set()
    found = False
    for suite in SUITES:
        archive = apt.Apt(suite, {apt.mirror(): [suite]})
        archive.update()
        names = archive.names(f"^{_BINARY}[0-9].*{_FLAVOUR}$")
        releases = sorted((name.removeprefix(_BINARY) for name in names), key=numbers, reverse=True)
        seen.update(".".join(release.split(".")[:2]) for release in releases)
        for release in releases:
            if release == spec or re.match(rf"{re.escape(spec)}[.+~-]", release):
                found = True
                origin = f"Debian {suite} {archive.candidate(_BINARY + release)}"
                yield Candidate(release, origin, partial(_fetch, archive, release))
    if not found:
        known = ", ".join(sorted(seen, key=numbers))
        raise PlaceError(f"Debian has no cloud kernel {spec} now; it has {known}: choose one with --kernel")


def _fetch(archive: apt.Apt, release: str, folder: Path) -> tuple[Path, Path]:
    archive.unpack([f"{_BINARY}{release}", f"linux-base-{release}"], folder)
    modules = folder / "usr/lib/modules" / release
    return modules / "vmlinuz", modules / "config"
