# SPDX-License-Identifier: GPL-2.0-or-later
"""A reproducible newc cpio archive: the same tree gives the same bytes, whoever packs it and when.

Entries are sorted by path, numbered in that order, owned by root and dated 1970 (Documentation/driver-api/
early-userspace/buffer-format.rst gives the format).
"""

import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

_TRAILER = "TRAILER!!!"


@dataclass(frozen=True)
class _Node:
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


@dataclass
class Tree:
    """The files of an archive, by absolute path in the guest. Parent directories come by themselves."""

    nodes: dict[PurePosixPath, _Node] = field(default_factory=dict)

    def directory(self, path: str, mode: int = 0o755) -> None:
        self._add(path, _Node(stat.S_IFDIR | mode))

    def file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        self._add(path, _Node(stat.S_IFREG | mode, data))

    def link(self, path: str, target: str) -> None:
        self._add(path, _Node(stat.S_IFLNK | 0o777, target.encode()))

    def character_device(self, path: str, major: int, minor: int) -> None:
        self._add(path, _Node(stat.S_IFCHR | 0o600, device=(major, minor)))

    def copy(self, path: str, source: Path) -> None:
        """A regular file with the source's content; executable if the source is."""
        executable = source.stat().st_mode & 0o111
        self.file(path, source.read_bytes(), 0o755 if executable else 0o644)

    def __contains__(self, path: str) -> bool:
        return PurePosixPath(path) in self.nodes

    def pack(self) -> bytes:
        """The archive, uncompressed: unpacking costs an emulated guest more than reading does."""
        out = bytearray()
        for number, (path, node) in enumerate(sorted(self.nodes.items()), 1):
            out += _entry(str(path).lstrip("/"), number, node)
        out += _entry(_TRAILER, 0, _Node(0))
        return bytes(out)

    def unpack(self, folder: Path) -> None:
        """The same files below a folder, without devices, which a kernel makes by itself."""
        folder.mkdir()
        folder.chmod(0o755)
        for path, node in sorted(self.nodes.items()):
            place = folder / str(path).lstrip("/")
            if stat.S_ISDIR(node.mode):
                place.mkdir()
            elif stat.S_ISLNK(node.mode):
                place.symlink_to(node.data.decode())
                continue
            elif stat.S_ISREG(node.mode):
                place.write_bytes(node.data)
            else:
                continue
            place.chmod(stat.S_IMODE(node.mode))

    def _add(self, path: str, node: _Node) -> None:
        place = PurePosixPath("/", path)
        for parent in place.parents:
            if parent != PurePosixPath("/"):
                self.nodes.setdefault(parent, _Node(stat.S_IFDIR | 0o755))
        self.nodes[place] = node


def _entry(name: str, number: int, node: _Node) -> bytes:
    encoded = name.encode() + b"\0"
    fields = (
        number,
        node.mode,
        0,  # uid
        0,  # gid
        2 if stat.S_ISDIR(node.mode) else 1,
        0,  # mtime
        len(node.data),
        *(0, 0),  # device of the file system
        *node.device,
        len(encoded),
        0,  # no checksum in this variant
    )
    header = b"070701" + b"".join(b"%08X" % number for number in fields)
    return b"".join(_padded(header + encoded)) + b"".join(_padded(node.data))


def _padded(data: bytes) -> Iterator[bytes]:
    yield data
    yield b"\0" * (-len(data) % 4)
