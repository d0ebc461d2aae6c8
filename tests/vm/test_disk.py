# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest whose files are on a disk: what is in it, that tasks really write to it, and that nothing is kept."""

from pathlib import Path

import pytest

from schedlab import checkout
from schedlab.errors import PlaceError
from schedlab.places import applications
from schedlab.vm import command, disk
from schedlab.vm.initramfs import Initramfs
from schedlab.vm.kernel import SERIES, Kernel
from schedlab.vm.machine import boot
from schedlab.vm.tiers import Shape

WORKLOADS = checkout.root() / "workloads"
BLOCKS, KIB, PROCESSES = 4, 256, 2
# The seventh number of a disk's statistics is what was written, in sectors of 512 bytes.
WRITING = f"""
awk '$2 == "/" {{print $3}}' /proc/mounts
test -x /data/tool && cat /data/file
/bin/schedlab-host exec /workloads/rw.toml --load {PROCESSES} \
	--param blocks={BLOCKS} --param block_kib={KIB} >/dev/null || exit
cat /sys/block/nvme0n1/stat /sys/block/vda/stat 2>/dev/null | awk '{{print $7 * 512}}'
"""


@pytest.mark.usefixtures("guest", "own_cache")
def test_tasks_write_to_the_disk_and_none_of_it_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("carried\n")
    (tmp_path / "tool").write_text("")
    (tmp_path / "tool").chmod(0o755)
    files = {
        "/data/file": tmp_path / "file",
        "/data/tool": tmp_path / "tool",
        "/bin/schedlab-host": checkout.need_binary("schedlab-host"),
        "/workloads": WORKLOADS,
    }
    guest = command.prepare(["sh", "-c", WRITING], files, {}, "emulated", Shape(), SERIES, "", True)
    before = guest.root.path.stat()
    out: list[str] = []
    result = boot(guest, 300, out.append, out.append)
    assert result.exit_code == 0, out
    assert out[:2] == ["ext4", "carried"]
    assert int(out[2]) >= PROCESSES * BLOCKS * KIB * 1024
    assert sorted(result.hashes) == ["disk", "kernel", "qemu"]
    # The image that the next guest begins with is as it was.
    after = guest.root.path.stat()
    assert (after.st_mtime_ns, after.st_blocks) == (before.st_mtime_ns, before.st_blocks)


def prepare(tier: str, on_disk: bool) -> disk.Disk | Initramfs:
    return command.prepare(["true"], {}, {}, tier, Shape(), SERIES, "", on_disk).root


@pytest.mark.usefixtures("guest", "own_cache")
def test_an_exact_guest_never_has_one() -> None:
    assert isinstance(prepare("exact", True), Initramfs)
    assert isinstance(prepare("emulated", False), Initramfs)
    assert isinstance(prepare("emulated", True), disk.Disk)


@pytest.mark.usefixtures("guest", "own_cache")
def test_without_its_program_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk.shutil, "which", lambda *_, **__: None)
    with pytest.raises(PlaceError, match="install the package e2fsprogs"):
        disk.build(disk.Tree(), "virtio-blk-pci")


@pytest.mark.parametrize(
    ("config", "device"),
    [
        ("CONFIG_EXT4_FS=y\nCONFIG_BLK_DEV_NVME=y\n", "nvme,serial=schedlab"),
        ("CONFIG_EXT4_FS=y\nCONFIG_BLK_DEV_NVME=m\nCONFIG_VIRTIO_BLK=y\n", "virtio-blk-pci"),
        ("CONFIG_EXT4_FS=m\nCONFIG_VIRTIO_BLK=y\n", None),
        ("CONFIG_EXT4_FS=y\nCONFIG_BLK_DEV_NVME=m\n", None),
    ],
)
def test_it_is_what_the_kernel_has_a_driver_for(tmp_path: Path, config: str, device: str | None) -> None:
    (tmp_path / "config").write_text(config)
    assert disk.device(Kernel("1", tmp_path / "image", tmp_path / "config", "", "")) == device


@pytest.mark.parametrize(
    ("names", "wanted"),
    [(["latt", "pipe"], False), (["latt", "rw"], True), (["mixed"], True), (["lrzip"], True), (["playback"], False)],
)
def test_workloads_that_write_or_are_applications_want_one(names: list[str], wanted: bool) -> None:
    assert applications.wants_disk(WORKLOADS / f"{name}.toml" for name in names) is wanted
