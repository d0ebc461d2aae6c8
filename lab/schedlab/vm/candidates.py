# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that may serve as the guest's, before they are fetched, and what makes one fit.

They come out of Debian's archive (the stock cloud kernels, 14 MB each), or are those that this machine has installed,
where there is no way to Debian's. Those of a user's own are in own_kernels.py.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from schedlab.errors import PlaceError
from schedlab.vm import apt

# What a guest needs built in, since its initramfs holds no modules.
OPTIONS = ("VIRTIO_PCI", "VIRTIO_CONSOLE", "SERIAL_8250_CONSOLE", "BLK_DEV_INITRD", "DEVTMPFS")
# What it needs besides for any scheduler but its own.
POLICY_OPTION = "SCHED_CLASS_EXT"
# From 7.0 on a kfunc with a hidden argument has a twin NAME_impl in the kernel's type information. Where pahole missed
# some of them, as in 7.2.11 and 7.2.12 of trixie-backports, no scheduler loads that calls them.
KFUNC_TWINS = (
    "__scx_bpf_dsq_insert_vtime bpf_iter_scx_dsq_new scx_bpf_create_dsq scx_bpf_destroy_dsq scx_bpf_dsq_insert "
    "scx_bpf_dsq_move_to_local scx_bpf_dsq_nr_queued scx_bpf_error_bstr scx_bpf_exit_bstr scx_bpf_get_idle_cpumask "
    "scx_bpf_get_idle_smtmask scx_bpf_kick_cpu scx_bpf_pick_any_cpu scx_bpf_pick_idle_cpu scx_bpf_select_cpu_dfl "
    "scx_bpf_task_set_dsq_vtime scx_bpf_task_set_slice scx_bpf_test_and_clear_cpu_idle"
).split()


# trixie-backports outlives sid's daily changes, so it is asked first; the others have what is older.
SUITES = ("trixie-backports", "sid", "trixie", "bookworm-backports", "bookworm")
# Since 6.19 the image is in the first, and in the second only what it depends on; before, all is in the second.
PACKAGES = ("linux-binary-", "linux-image-")
_FLAVOUR = "-cloud-amd64"
BOOT = Path("/boot")
MODULES = Path("/lib/modules")


class Unfit(PlaceError):
    """This kernel will not do; another one may."""


@dataclass(frozen=True)
class Candidate:
    """Its `uname -r`, where it comes from, and how to get at its image and its config.

    `fetch` is given an empty folder to work in, and may raise Unfit.
    """

    release: str
    origin: str
    fetch: Callable[[Path], tuple[Path, Path]]


def check_config(release: str, config: str) -> None:
    """Refuse a kernel that lacks what a guest needs."""
    lacking = [f"CONFIG_{option}=y" for option in OPTIONS if not _has(config, option)]
    if lacking:
        raise Unfit(f"kernel {release} lacks {', '.join(lacking)}")


def without_policies(release: str, config: str, elf: bytes) -> str:
    """Why it runs under its own scheduler alone; empty where policies can be loaded. `elf` is empty if not known."""
    if not _has(config, POLICY_OPTION):
        return f"kernel {release} lacks CONFIG_{POLICY_OPTION}=y"
    if not elf or numbers(release)[0] < 7:
        return ""
    missing = [name for name in KFUNC_TWINS if f"\0{name}_impl\0".encode() not in elf]
    if missing:
        return f"kernel {release} loads no scheduler that calls {missing[0]}: its type information is broken"
    return ""


def _has(config: str, option: str) -> bool:
    return f"CONFIG_{option}=y" in config.splitlines()


def numbers(release: str) -> list[int]:
    """Sorts releases by their numbers: 7.2.9 before 7.2.12."""
    return [int(number) for number in re.findall(r"\d+", release)]


def debian_is_reachable() -> bool:
    """Whether this machine has apt, Debian's keys, and the name of a mirror."""
    if not apt.KEYRING.exists() or not all(map(shutil.which, apt.TOOLS)):
        return False
    try:
        apt.mirror()
    except PlaceError:
        return False
    return True


def debian_kernels(spec: str) -> Iterator[Candidate]:
    """The cloud kernels of a series or release, suite by suite, newest first.

    Raises PlaceError, naming the series there are, if no suite has one.
    """
    seen: set[str] = set()
    found = False
    for suite in SUITES:
        archive = apt.Apt(suite, {apt.mirror(): [suite]})
        archive.update()
        packages = {}
        for prefix in reversed(PACKAGES):
            for name in archive.names(f"^{prefix}[0-9].*{_FLAVOUR}$"):
                packages[name.removeprefix(prefix)] = name
        seen.update(".".join(release.split(".")[:2]) for release in packages)
        for release in sorted(packages, key=numbers, reverse=True):
            if release == spec or re.match(rf"{re.escape(spec)}[.+~-]", release):
                found = True
                package = packages[release]
                origin = f"Debian {suite} {archive.candidate(package)}"
                yield Candidate(release, origin, partial(_fetch_from_debian, archive, package, release))
    if not found:
        known = ", ".join(sorted(seen, key=numbers))
        raise PlaceError(f"Debian has no cloud kernel {spec} now; it has {known}: choose one with --kernel")


def _fetch_from_debian(archive: apt.Apt, package: str, release: str, folder: Path) -> tuple[Path, Path]:
    base = [f"linux-base-{release}"] if package.startswith(PACKAGES[0]) else []
    archive.unpack([package, *base], folder)
    return unpacked(release, folder)


def unpacked(release: str, folder: Path) -> tuple[Path, Path]:
    """Image and config of a kernel whose packages are unpacked there. Raises Unfit."""
    return _found(release, folder / "boot", folder / "usr/lib/modules")


def installed_kernels() -> Iterator[Candidate]:
    """The running kernel first, then the others, newest first."""
    others = sorted((path.name for path in MODULES.glob("[0-9]*")), key=numbers, reverse=True)
    for release in dict.fromkeys([os.uname().release, *others]):
        yield Candidate(release, "host", partial(_fetch_installed, release))


def _fetch_installed(release: str, folder: Path) -> tuple[Path, Path]:
    return _found(release, BOOT, MODULES)


def _found(release: str, boot: Path, modules: Path) -> tuple[Path, Path]:
    image = _readable(release, boot / f"vmlinuz-{release}", modules / release / "vmlinuz")
    return image, _readable(release, boot / f"config-{release}", modules / release / "config")


def _readable(release: str, *paths: Path) -> Path:
    for path in paths:
        if os.access(path, os.R_OK):
            return path
    raise Unfit(f"kernel {release} has no {' or '.join(map(str, paths))} that can be read")
