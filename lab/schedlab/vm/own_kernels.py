# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel of the user's own, by its path: a bzImage, a tree in which one was built, or a Debian package with one."""

import shutil
import struct
import subprocess
from pathlib import Path

from schedlab.errors import InputError, PlaceError
from schedlab.vm import bzimage
from schedlab.vm.bzimage import NotAKernel
from schedlab.vm.candidates import Candidate, Unfit, unpacked

_IN_TREE = Path("arch/x86/boot/bzImage")


def is_path(spec: str) -> bool:
    """A kernel's name has no slash and ends otherwise."""
    return "/" in spec or spec.endswith((".deb", "bzImage"))


def candidate(path: Path) -> Candidate:
    """Raises InputError for what is no kernel, or none whose configuration can be found."""
    if path.is_dir():
        if not (path / _IN_TREE).is_file():
            raise InputError(f"--kernel {path}: expected {_IN_TREE} in it: a kernel tree that has been built")
        path = path / _IN_TREE
    if not path.is_file():
        raise InputError(f"--kernel {path}: no such kernel; expected a bzImage, a kernel tree, or a .deb")
    if path.suffix == ".deb":
        return Candidate(_release_of_package(path), path.name, lambda scratch: _from_package(path, scratch))
    image = path.read_bytes()
    try:
        release = bzimage.release(image)
    except (NotAKernel, struct.error) as error:
        raise InputError(f"--kernel {path}: {error}") from error
    return Candidate(release, path.name, lambda scratch: (path, _config(path, image, release, scratch)))


def _config(path: Path, image: bytes, release: str, scratch: Path) -> Path:
    """The one that a build, an installation or the kernel itself keeps."""
    beside = [path.parent / f"config-{release}", path.parent / "config", path.parent / ".config"]
    if path.parts[-len(_IN_TREE.parts) :] == _IN_TREE.parts:
        beside.insert(0, path.resolve().parents[len(_IN_TREE.parts) - 1] / ".config")
    for config in beside:
        if config.is_file():
            return config
    try:
        carried = bzimage.config(bzimage.elf(image))
    except NotAKernel:
        carried = None
    if carried is None:
        names = ", ".join(config.name for config in beside)
        raise InputError(f"--kernel {path}: expected its configuration beside it ({names}) or in it (CONFIG_IKCONFIG)")
    config = scratch / "config"
    config.write_bytes(carried)
    return config


def _release_of_package(path: Path) -> str:
    """Of linux-image-RELEASE or linux-binary-RELEASE."""
    if shutil.which("dpkg-deb") is None:
        raise PlaceError(f"--kernel {path}: dpkg-deb is missing, which unpacks a package")
    shown = subprocess.run(["dpkg-deb", "-f", str(path), "Package"], capture_output=True, text=True, check=False)
    name = shown.stdout.strip()
    kind, _, release = name.partition("-")[2].partition("-")
    if shown.returncode or kind not in ("image", "binary") or not release:
        raise InputError(f"--kernel {path}: expected a package linux-image-RELEASE, got {name or 'no package'}")
    return release.removeprefix("unsigned-")


def _from_package(path: Path, scratch: Path) -> tuple[Path, Path]:
    subprocess.run(["dpkg-deb", "-x", str(path), str(scratch)], check=True)
    try:
        return unpacked(_release_of_package(path), scratch)
    except Unfit as error:
        raise InputError(f"--kernel {path}: {error}") from error
