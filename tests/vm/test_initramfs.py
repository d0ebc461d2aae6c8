# SPDX-License-Identifier: GPL-2.0-or-later
"""The image a guest boots into: the same input gives the same bytes, and all that is needed is in it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from schedlab.errors import InputError
from schedlab.vm import initramfs
from schedlab.vm.cpio import Tree
from schedlab.vm.kernel import Kernel


def listing(image: Path) -> dict[str, str]:
    """Mode, links and owner of each path, as cpio sees them."""
    if shutil.which("cpio") is None:
        pytest.skip("cpio is not installed")
    with open(image, "rb") as file:
        done = subprocess.run(["cpio", "-itvn", "--quiet"], stdin=file, capture_output=True, text=True, check=True)
    # Every date is the same: the year is the last word before the path.
    rows = [line.split(" 1970 ") for line in done.stdout.splitlines()]
    return {path.split(" -> ")[0]: " ".join(words.split()[:4]) for words, path in rows}


def test_same_tree_gives_same_bytes_in_any_order() -> None:
    one, two = Tree(), Tree()
    for tree, names in ((one, "abc"), (two, "cab")):
        for name in names:
            tree.file(f"/etc/{name}", name.encode())
    assert one.pack() == two.pack()
    two.file("/etc/b", b"other")
    assert one.pack() != two.pack()


def test_cpio_reads_what_was_packed(tmp_path: Path) -> None:
    tree = Tree()
    tree.file("/bin/odd", b"x" * 5, 0o755)
    tree.file("/bin/empty", b"")
    tree.link("/bin/link", "odd")
    tree.character_device("/dev/console", 5, 1)
    image = tmp_path / "image.cpio"
    image.write_bytes(tree.pack())
    listed = listing(image)
    assert {path: row.split()[0] for path, row in listed.items()} == {
        "bin": "drwxr-xr-x",
        "bin/empty": "-rw-r--r--",
        "bin/link": "lrwxrwxrwx",
        "bin/odd": "-rwxr-xr-x",
        "dev": "drwxr-xr-x",
        "dev/console": "crw-------",
    }
    assert {row.split(maxsplit=2)[2] for row in listed.values()} == {"0 0"}
    with open(image, "rb") as file:
        done = subprocess.run(["cpio", "-i", "--quiet", "--to-stdout", "bin/odd"], stdin=file, capture_output=True)
    assert done.stdout == b"xxxxx"


def test_image_ignores_dates_and_names_of_the_host(kernel: Kernel, tmp_path: Path) -> None:
    images = []
    for number in (1, 2):
        source = tmp_path / f"host-{number}"
        source.mkdir()
        for name in ("b", "a") if number == 1 else ("a", "b"):
            (source / name).write_text(name)
            os.utime(source / name, (number, number))
        images.append(initramfs.build(initramfs.contents(kernel, ["true"], {"/data": source}, {"X": "1"})))
    assert images[0] == images[1]
    assert images[0].path.read_bytes() == images[1].path.read_bytes()
    other = initramfs.build(initramfs.contents(kernel, ["false"], {"/data": tmp_path / "host-1"}, {"X": "1"}))
    assert other.sha256 != images[0].sha256


def test_executables_bring_their_libraries(kernel: Kernel) -> None:
    program = Path(shutil.which("bash") or "/bin/bash")
    listed = listing(initramfs.build(initramfs.contents(kernel, ["true"], {"/bin/bash": program}, {})).path)
    assert any(path.endswith("/libc.so.6") for path in listed)
    assert any("ld-linux" in path for path in listed)
    assert f"boot/config-{kernel.release}" in listed
    assert listed["bin/bash"].startswith("-rwxr-xr-x")


@pytest.mark.parametrize(
    ("guest_path", "host_path", "expected"),
    [
        ("/x", "/nonexistent/x", "--file /nonexistent/x: expected a file or folder that can be read"),
        ("x", "/etc/passwd", "--file /etc/passwd:x: the path in the guest must begin with /"),
    ],
)
def test_bad_files_are_one_line(kernel: Kernel, guest_path: str, host_path: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        initramfs.build(initramfs.contents(kernel, ["true"], {guest_path: Path(host_path)}, {}))
    assert str(caught.value) == expected
