# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guest boots into: busybox, the kernel's config, the caller's files and one command.

The same input gives the same bytes, which the exact tier needs. Images are kept in the cache by their content.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab import cache
from schedlab.errors import InputError, PlaceError
from schedlab.vm.cpio import Tree
from schedlab.vm.kernel import Kernel

_INIT = Path(__file__).with_name("init.sh")
_FOLDERS = ("/dev", "/proc", "/sys", "/tmp", "/run", "/etc", "/var/tmp")
# Images that hold an application's programs are larger than this.
_LARGE = 64 << 20
_KEPT_IMAGES = {"initramfs": 16, "initramfs-large": 2}


@dataclass(frozen=True)
class Initramfs:
    """An image in the cache and its SHA-256."""

    path: Path
    sha256: str
    kind: str = "initramfs"

    def arguments(self) -> list[str]:
        """QEMU's arguments that give it to the kernel."""
        return ["-initrd", str(self.path)]

    def kernel_arguments(self) -> str:
        """None are needed: a kernel with an initramfs starts the program in it."""
        return ""


def contents(
    kernel: Kernel, command: Sequence[str] | None, files: Mapping[str, Path], environment: Mapping[str, str]
) -> Tree:
    """The files of a guest that runs `command` (None: a shell on the console) and has `files` (guest path: host path).

    A folder is taken with all that is in it. Dynamic executables bring their shared libraries.
    Raises InputError for files that are not there, PlaceError without a static busybox.
    """
    tree = Tree()
    for folder in _FOLDERS:
        tree.directory(folder)
    tree.character_device("/dev/console", 5, 1)
    _add_busybox(tree)
    tree.file("/init", _INIT.read_bytes(), 0o755)
    # The user nobody is for programs that refuse to run as root.
    tree.file("/etc/passwd", b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
    tree.file("/etc/group", b"root:x:0:\nnogroup:x:65534:\n")
    # libbpf reads it to fill the Kconfig externs of a scheduler, and fails with EINVAL without.
    tree.copy(f"/boot/config-{kernel.release}", kernel.config)
    for guest_path, source in sorted(files.items()):
        _add(tree, guest_path, source)
    if command is None:
        tree.file("/schedlab/interactive", b"")
    else:
        lines = [f"export {name}={shlex.quote(value)}\n" for name, value in sorted(environment.items())]
        tree.file("/schedlab/command", f"{''.join(lines)}exec {shlex.join(command)}\n".encode())
    return tree


def _add_busybox(tree: Tree) -> None:
    found = shutil.which("busybox")
    if found is None or _libraries(Path(found)):
        raise PlaceError("no statically linked busybox here: install the package busybox-static")
    tree.copy("/bin/busybox", Path(found))
    listed = subprocess.run([found, "--list-full"], capture_output=True, text=True, check=True)
    # Under both names that a program may have where /bin is a link to /usr/bin.
    for name in listed.stdout.split():
        for path in (f"/{name}", f"/usr/{name.removeprefix('usr/')}"):
            if path not in tree:
                tree.link(path, "/bin/busybox")


def _add(tree: Tree, guest_path: str, source: Path) -> None:
    if not guest_path.startswith("/"):
        raise InputError(f"--file {source}:{guest_path}: the path in the guest must begin with /")
    if source.is_dir():
        tree.directory(guest_path)
        for name in sorted(os.listdir(source)):
            _add(tree, f"{guest_path.rstrip('/')}/{name}", source / name)
        return
    if not source.is_file() or not os.access(source, os.R_OK):
        raise InputError(f"--file {source}: expected a file or folder that can be read")
    tree.copy(guest_path, source)
    for library in _libraries(source):
        if library not in tree:
            tree.copy(library, Path(library))


def _libraries(program: Path) -> list[str]:
    """The shared libraries and the loader of a dynamic executable, by the paths it finds them at."""
    with open(program, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return []  # ldd fails for static executables
    missing = re.findall(r"^\s*(\S+) => not found", done.stdout, re.MULTILINE)
    if missing:
        raise InputError(f"{program}: needs {', '.join(missing)}, which this machine does not have")
    return re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", done.stdout, re.MULTILINE)


def build(tree: Tree) -> Initramfs:
    """The image with this tree, from the cache where it is there."""
    image = tree.pack()
    digest = hashlib.sha256(image).hexdigest()
    kind = "initramfs-large" if len(image) > _LARGE else "initramfs"
    folder = cache.directory(kind)
    path = folder / f"{digest[:20]}.cpio"
    with cache.lock("initramfs"):
        if not path.exists():
            cache.write(path, image)
            cache.prune(folder, _KEPT_IMAGES[kind])
        os.utime(path)
    return Initramfs(path, digest)
