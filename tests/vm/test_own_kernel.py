# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel by its path: what an image, a tree and a package are made of, and that a guest boots it."""

import gzip
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from schedlab import vm
from schedlab.errors import InputError, PlaceError
from schedlab.vm import candidates
from schedlab.vm import kernel as kernels
from schedlab.vm.kernel import Kernel

CONFIG = "".join(f"CONFIG_{option}=y\n" for option in (*candidates.OPTIONS, candidates.POLICY_OPTION))
PVH = struct.pack("<III4s", 4, 8, 18, b"Xen\0")
RELEASE = "6.18.1-mine"


def bzimage(elf: bytes, release: str = RELEASE) -> bytes:
    """The fields that a boot loader reads, a set-up part of one sector, and the packed kernel behind it."""
    image = bytearray(1024)
    image[0x1F1] = 1
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", image, 0x206, 0x20F)
    struct.pack_into("<H", image, 0x20E, 0x300 - 512)
    text = f"{release} (me@here) #1 SMP".encode() + b"\0"
    image[0x300 : 0x300 + len(text)] = text
    packed = gzip.compress(elf, 1) + struct.pack("<I", len(elf) & 0xFFFF_FFFF)
    struct.pack_into("<II", image, 0x248, 0, len(packed))
    return bytes(image) + packed


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDLAB_CACHE", str(tmp_path / "cache"))


def tree(root: Path, elf: bytes = b"\x7fELF" + PVH, config: str = CONFIG) -> Path:
    image = root / "arch/x86/boot/bzImage"
    image.parent.mkdir(parents=True)
    image.write_bytes(bzimage(elf))
    (root / ".config").write_text(config)
    return image


def test_a_built_tree_and_its_image_are_the_same_kernel(tmp_path: Path) -> None:
    image = tree(tmp_path / "linux")
    by_tree, by_image = kernels.resolve(str(tmp_path / "linux")), kernels.resolve(str(image))
    assert by_tree == by_image
    assert (by_tree.release, by_tree.origin, by_tree.without_policies) == (RELEASE, "bzImage", "")
    assert by_tree.image.read_bytes() == b"\x7fELF" + PVH
    assert by_tree.config.read_text() == CONFIG


def test_two_builds_of_one_release_are_two_kernels(tmp_path: Path) -> None:
    tree(tmp_path / "a")
    tree(tmp_path / "b", elf=b"\x7fELF" + PVH + b"another")
    tree(tmp_path / "c", config=CONFIG + "CONFIG_HZ=1000\n")
    found = [kernels.resolve(str(tmp_path / name)) for name in "abc"]
    assert len({kernel.image for kernel in found}) == 3
    assert len({kernel.sha256 for kernel in found}) == 2


@pytest.mark.parametrize("name", [f"config-{RELEASE}", "config", ".config"])
def test_the_configuration_may_lie_beside_the_image(tmp_path: Path, name: str) -> None:
    (tmp_path / "vmlinuz").write_bytes(bzimage(b"\x7fELF" + PVH))
    (tmp_path / name).write_text(CONFIG)
    assert kernels.resolve(f"{tmp_path}/vmlinuz").config.read_text() == CONFIG


def test_the_configuration_may_be_in_the_image(tmp_path: Path) -> None:
    carried = b"IKCFG_ST" + gzip.compress(CONFIG.encode()) + b"IKCFG_ED"
    (tmp_path / "bzImage").write_bytes(bzimage(b"\x7fELF" + carried))
    found = kernels.resolve(f"{tmp_path}/bzImage")
    assert found.config.read_text() == CONFIG
    assert found.image.name == "vmlinuz", "without PVH the packed kernel is booted"


def test_a_package_holds_image_and_configuration(tmp_path: Path) -> None:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is not installed")
    root = tmp_path / "root"
    (root / "boot").mkdir(parents=True)
    (root / "DEBIAN").mkdir()
    (root / "boot" / f"vmlinuz-{RELEASE}").write_bytes(bzimage(b"\x7fELF" + PVH))
    (root / "boot" / f"config-{RELEASE}").write_text(CONFIG)
    control = f"Package: linux-image-{RELEASE}\nVersion: 1\nArchitecture: amd64\nMaintainer: me\nDescription: kernel\n"
    (root / "DEBIAN" / "control").write_text(control)
    package = tmp_path / "mine.deb"
    subprocess.run(["dpkg-deb", "--build", str(root), str(package)], check=True, capture_output=True)
    assert kernels.resolve(str(package)).release == RELEASE


def test_without_sched_ext_it_says_so_and_is_kept(tmp_path: Path) -> None:
    tree(tmp_path / "linux", config=CONFIG.replace("CONFIG_SCHED_CLASS_EXT=y\n", ""))
    for _ in range(2):
        said = kernels.resolve(str(tmp_path / "linux")).without_policies
        assert said == f"kernel {RELEASE} lacks CONFIG_SCHED_CLASS_EXT=y"


def test_what_a_guest_cannot_boot_is_a_place_not_available(tmp_path: Path) -> None:
    tree(tmp_path / "linux", config=CONFIG.replace("VIRTIO_PCI=y", "VIRTIO_PCI=m"))
    with pytest.raises(PlaceError, match=rf"linux: kernel {RELEASE} lacks CONFIG_VIRTIO_PCI=y, which a guest needs"):
        kernels.resolve(str(tmp_path / "linux"))


def test_what_is_no_kernel_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "short").write_bytes(b"MZ")
    (tmp_path / "zeros").write_bytes(bytes(4096))
    (tmp_path / "bare").write_bytes(bzimage(b"\x7fELF" + PVH))
    for name, said in {
        "none": "no such kernel; expected a bzImage, a kernel tree, or a .deb",
        "empty": "expected arch/x86/boot/bzImage in it",
        "short": "short: ",
        "zeros": "not a bzImage",
        "bare": r"expected its configuration beside it \(config-.*\) or in it",
    }.items():
        with pytest.raises(InputError, match=said):
            kernels.resolve(f"{tmp_path}/{name}")


def test_a_guest_boots_it(tmp_path: Path, kernel: Kernel, guest: None) -> None:
    (tmp_path / "bzImage").write_bytes(bzimage(kernel.image.read_bytes(), kernel.release))
    shutil.copy(kernel.config, tmp_path / "config")
    said: list[str] = []
    command = ["sh", "-c", "uname -r; cat /sys/kernel/debug/sched/preempt"]
    done = vm.run(command, tier="exact", kernel_spec=f"{tmp_path}/bzImage preempt=full", on_line=said.append)
    assert (done.exit_code, said[0]) == (0, kernel.release)
    assert "(full)" in said[1]
    assert done.kernel_arguments.endswith(" preempt=full")
    assert done.hashes["kernel"] == kernel.sha256
