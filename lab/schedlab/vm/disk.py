# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest's files on a disk instead of in its memory, with room to write.

It holds the same tree as an initramfs would. What the guest writes goes to a file of QEMU's own that has no name, so
that every guest begins with the same disk and none leaves anything. QEMU does not wait for the host's disk, whose
other users would show in the results: a write is over when the host has taken it.

A folder shared by virtiofs would need a virtiofsd, of which there is none in Debian 12 beside QEMU 10, and root; and
what the guest reads could change under it.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from schedlab import cache
from schedlab.errors import LabError, PlaceError
from schedlab.vm.cpio import Tree
from schedlab.vm.kernel import Kernel

# The size that the guest sees; the file is sparse.
_SIZE = "16G"
_SPARSE = "root_owner=0:0,lazy_itable_init=1,lazy_journal_init=1"
_KEPT_IMAGES = 2
# What a kernel must have built in for a device to hold its root, and the name of the disk there.
_DEVICES = {
    "nvme,serial=schedlab": ("BLK_DEV_NVME", "/dev/nvme0n1"),
    "virtio-blk-pci": ("VIRTIO_BLK", "/dev/vda"),
}


@dataclass(frozen=True)
class Disk:
    """An image in the cache, the SHA-256 of the tree in it, and the device that it is attached as."""

    path: Path
    sha256: str
    device: str
    kind: str = "disk"

    def arguments(self) -> list[str]:
        """QEMU's arguments that attach it."""
        path = str(self.path).replace(",", ",,")
        return [
            *("-drive", f"file={path},format=raw,if=none,id=root,snapshot=on"),
            *("-device", f"{self.device},drive=root"),
        ]

    def kernel_arguments(self) -> str:
        """Where the root is; noinit_itable keeps a kernel thread from filling inode tables during measurements."""
        name = _DEVICES[self.device][1]
        return f" root={name} rootfstype=ext4 rootflags=noinit_itable rootwait rw init=/init"


def device(kernel: Kernel) -> str | None:
    """The device this kernel can have its root on; None where all drivers are modules."""
    built_in = set(re.findall(r"^CONFIG_(\w+)=y$", kernel.config.read_text("utf-8", "replace"), re.MULTILINE))
    if "EXT4_FS" not in built_in:
        return None
    return next((device for device, (driver, _) in _DEVICES.items() if driver in built_in), None)


def build(tree: Tree, device: str) -> Disk:
    """The image with this tree, from the cache where it is there. Raises PlaceError without mke2fs."""
    digest = hashlib.sha256(tree.pack()).hexdigest()
    folder = cache.directory("disks")
    path = folder / f"{digest[:20]}.ext4"
    with cache.lock("disks"):
        if not path.exists():
            _make(tree, path)
            cache.prune(folder, _KEPT_IMAGES)
        os.utime(path)
    return Disk(path, digest, device)


def _make(tree: Tree, path: Path) -> None:
    program = shutil.which("mke2fs", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise PlaceError("mke2fs is not installed, and makes the guest's disk: install the package e2fsprogs")
    with tempfile.TemporaryDirectory(prefix="disk-", dir=cache.directory()) as scratch:
        root, image = Path(scratch, "root"), Path(scratch, "image")
        tree.unpack(root)
        options = ["-q", "-F", "-t", "ext4", "-m", "0", "-E", _SPARSE, "-d", str(root)]
        done = subprocess.run([program, *options, str(image), _SIZE], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"mke2fs could not make the guest's disk: {done.stderr.strip()}")
        image.replace(path)
