# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernel the guest boots: found once, kept in the cache, the same until a refresh is asked for.

It is a stock cloud kernel out of Debian's archive wherever apt and Debian's keys are, elsewhere the host's own. Its ELF
file is taken out of the bzImage: QEMU enters that directly (PVH), which saves a guest the unpacking of 13 MB, over a
second of emulated boot.
"""

import gzip
import lzma
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from schedlab import cache
from schedlab.errors import InputError, LabError, PlaceError
from schedlab.vm import apt, candidates
from schedlab.vm.candidates import Candidate, Unfit, check_config, check_types

# Documentation/arch/x86/boot.rst: the fields of the set-up header.
_SETUP_SECTORS = 0x1F1
_MAGIC = 0x202
_VERSION = 0x206
_PAYLOAD = 0x248
_SECTOR_BYTES = 512
# ELFNOTE(Xen, XEN_ELFNOTE_PHYS32_ENTRY): name size 4, description size 4 or 8, type 18.
_PVH_NOTES = [struct.pack("<III4s", 4, size, 18, b"Xen\0") for size in (4, 8)]


# The series that the project's numbers were made with; --kernel chooses another.
SERIES = "7.2"
HOST = "host"


class NotAKernel(LabError):
    """The image is no bzImage that this module can read."""


def extract_elf(image: bytes) -> bytes:
    """The ELF file inside a bzImage.

    Raises NotAKernel for anything else, and where the ELF has no PVH entry.
    """
    if image[_MAGIC : _MAGIC + 4] != b"HdrS" or struct.unpack_from("<H", image, _VERSION)[0] < 0x208:
        raise NotAKernel("not a bzImage of boot protocol 2.08 or newer")
    offset, length = struct.unpack_from("<II", image, _PAYLOAD)
    start = (image[_SETUP_SECTORS] + 1) * _SECTOR_BYTES + offset
    # The build appends the unpacked size in four bytes.
    elf = _unpack(image[start : start + length - 4])
    if elf[:4] != b"\x7fELF" or not any(note in elf for note in _PVH_NOTES):
        raise NotAKernel("the kernel has no PVH entry (CONFIG_PVH)")
    return elf


def _unpack(packed: bytes) -> bytes:
    if packed[:4] == b"\x28\xb5\x2f\xfd":
        zstd = shutil.which("zstd")
        if zstd is None:
            raise PlaceError("zstd is missing, and the kernel is packed with it: install the package zstd")
        return subprocess.run([zstd, "-dcq"], input=packed, capture_output=True, check=True).stdout
    if packed[:2] == b"\x1f\x8b":
        return gzip.decompress(packed)
    if packed[:6] == b"\xfd7zXZ\0":
        return lzma.decompress(packed)
    raise NotAKernel(f"unknown compression {packed[:4].hex()}")


@dataclass(frozen=True)
class Kernel:
    """A kernel to boot: its `uname -r`, the image for QEMU, its config, the image's SHA-256 and where it came from."""

    release: str
    image: Path
    config: Path
    sha256: str
    origin: str


def resolve(spec: str = SERIES, *, refresh: bool = False) -> Kernel:
    """The kernel that `spec` means: a series (`7.2`), a release (`7.2.13+deb14-cloud-amd64`) or `host`.

    The network is used the first time only, or with `refresh`. Raises PlaceError where no kernel will do.
    """
    if not re.fullmatch(rf"{HOST}|\d+\.\d+([.+~-][\w.+~-]*)?", spec):
        raise InputError(f"--kernel {spec}: expected a series such as {SERIES}, a release, or {HOST}")
    with cache.lock("kernel"):
        known = None if refresh else _known(spec)
        if known is None:
            known = _first_fit(spec)
            cache.write_json(_note(spec), {"release": known.release})
    return known


def is_kept(spec: str = SERIES) -> bool:
    """Whether the cache has this kernel, so that no network is needed."""
    return _known(spec) is not None


def _note(spec: str) -> Path:
    return cache.root() / "kernels" / f"{spec}.json"


def _known(spec: str) -> Kernel | None:
    answer = cache.read_json(_note(spec))
    return _kept(answer["release"]) if answer else None


def _first_fit(spec: str) -> Kernel:
    if spec != HOST and candidates.debian_is_reachable():
        return _choose(candidates.debian_kernels(spec), "choose another with --kernel")
    return _choose(
        candidates.installed_kernels(),
        f"install apt and debian-archive-keyring and set {apt.MIRROR_VARIABLE} to the URI of a Debian archive, or "
        "install a kernel with CONFIG_SCHED_CLASS_EXT=y",
    )


def _choose(candidates: Iterable[Candidate], advice: str) -> Kernel:
    reasons = []
    for candidate in candidates:
        try:
            return _kept(candidate.release) or _keep(candidate)
        except Unfit as error:
            reasons.append(str(error))
    raise PlaceError(f"no kernel for the guest: {'; '.join(reasons)}: {advice}")


def _kept(release: str) -> Kernel | None:
    home = cache.root() / "kernels" / release
    facts = cache.read_json(home / "kernel.json")
    if facts is None or not (home / facts["image"]).exists():
        return None
    return Kernel(release, home / facts["image"], home / "config", facts["sha256"], facts["origin"])


def _keep(candidate: Candidate) -> Kernel:
    """Fetch a kernel, look whether it fits, and put it into the cache; kernel.json is written last."""
    release = candidate.release
    with tempfile.TemporaryDirectory(prefix="kernel-", dir=cache.directory()) as scratch:
        image, config = candidate.fetch(Path(scratch))
        packed, options = image.read_bytes(), config.read_bytes()
    check_config(release, options.decode("utf-8", "replace"))
    try:
        name, content = "vmlinux", extract_elf(packed)
        check_types(release, content)
    except NotAKernel:
        # QEMU boots a packed kernel too. Whether its types suffice shows when a policy is loaded.
        name, content = "vmlinuz", packed
    home = cache.directory("kernels", release)
    cache.write(home / "config", options)
    cache.write(home / name, content)
    facts = {"image": name, "origin": candidate.origin, "sha256": cache.sha256(home / name)}
    cache.write_json(home / "kernel.json", facts)
    return Kernel(release, home / name, home / "config", facts["sha256"], candidate.origin)
