# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's own installed kernels, for machines that have no way to Debian's."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from schedlab.vm.candidate import Candidate, Unfit, numbers

BOOT = Path("/boot")
MODULES = Path("/lib/modules")


def candidates() -> Iterator[Candidate]:
    """The running kernel first, then the others, newest first."""
    others = sorted((path.name for path in MODULES.glob("[0-9]*")), key=numbers, reverse=True)
    for release in dict.fromkeys([os.uname().release, *others]):
        yield Candidate(release, "host", partial(_fetch, release))


def _fetch(release: str, folder: Path) -> tuple[Path, Path]:
    image = _readable(release, BOOT / f"vmlinuz-{release}", MODULES / release / "vmlinuz")
    return image, _readable(release, BOOT / f"config-{release}", MODULES / release / "config")


def _readable(release: str, *paths: Path) -> Path:
    for path in paths:
        if os.access(path, os.R_OK):
            return path
    raise Unfit(f"kernel {release} has no {' or '.join(map(str, paths))} that can be read")
