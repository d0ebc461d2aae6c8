# SPDX-License-Identifier: GPL-2.0-or-later
"""A bzImage: its release, the ELF file and the configuration inside (Documentation/arch/x86/boot.rst).

QEMU enters the ELF file directly (PVH), which saves a guest the unpacking of 13 MB, over a second of emulated boot.
"""

import gzip
import lzma
import shutil
import struct
import subprocess

from schedlab.errors import LabError, PlaceError

# The fields of the set-up header.
_SETUP_SECTORS = 0x1F1
_MAGIC = 0x202
_VERSION = 0x206
_RELEASE = 0x20E
_PAYLOAD = 0x248
_SECTOR_BYTES = 512
# ELFNOTE(Xen, XEN_ELFNOTE_PHYS32_ENTRY): name size 4, description size 4 or 8, type 18.
_PVH_NOTES = [struct.pack("<III4s", 4, size, 18, b"Xen\0") for size in (4, 8)]
# CONFIG_IKCONFIG puts the packed configuration between these.
_CONFIG_BEGIN, _CONFIG_END = b"IKCFG_ST", b"IKCFG_ED"


class NotAKernel(LabError):
    """The image is no bzImage that this module can read."""


def elf(image: bytes) -> bytes:
    """The ELF file inside a bzImage. Raises NotAKernel for anything else."""
    _check(image)
    offset, length = struct.unpack_from("<II", image, _PAYLOAD)
    start = (image[_SETUP_SECTORS] + 1) * _SECTOR_BYTES + offset
    # The build appends the unpacked size in four bytes.
    found = _unpack(image[start : start + length - 4])
    if found[:4] != b"\x7fELF":
        raise NotAKernel("no ELF file is packed in it")
    return found


def can_be_entered(elf: bytes) -> bool:
    """Whether QEMU boots the ELF file itself (CONFIG_PVH)."""
    return any(note in elf for note in _PVH_NOTES)


def release(image: bytes) -> str:
    """Its `uname -r`. Raises NotAKernel."""
    _check(image)
    start = struct.unpack_from("<H", image, _RELEASE)[0] + _SECTOR_BYTES
    words = image[start : start + 256].split(b"\0")[0].split()
    if not words:
        raise NotAKernel("a bzImage that does not say its release")
    return words[0].decode("ascii", "replace")


def config(elf: bytes) -> bytes | None:
    """The configuration that the kernel carries (CONFIG_IKCONFIG), if it does."""
    start, end = elf.find(_CONFIG_BEGIN), elf.find(_CONFIG_END)
    return gzip.decompress(elf[start + len(_CONFIG_BEGIN) : end]) if 0 <= start < end else None


def _check(image: bytes) -> None:
    if image[_MAGIC : _MAGIC + 4] != b"HdrS" or struct.unpack_from("<H", image, _VERSION)[0] < 0x208:
        raise NotAKernel("not a bzImage of boot protocol 2.08 or newer")


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
