# SPDX-License-Identifier: GPL-2.0-or-later
"""Run one command in a guest made for it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from schedlab.vm import disk, initramfs, kernel, probe, qemu
from schedlab.vm.machine import Guest, OnLine, Result, boot
from schedlab.vm.tiers import Shape

DEFAULT_LIMIT_S = 600.0


def prepare(
    command: Sequence[str] | None,
    files: Mapping[str, Path],
    environment: Mapping[str, str],
    tier: str,
    shape: Shape,
    kernel_spec: str,
    append: str,
    on_disk: bool = False,
) -> Guest:
    """Settle emulator, kernel, tier and image.

    In the exact tier no guest may wait for the host's disk, and a kernel whose drivers are modules cannot start from
    one: then the files are in memory all the same.
    """
    emulator = qemu.find()
    booted = kernel.resolve(kernel_spec)
    tier = probe.choose(tier, emulator, booted)
    tree = initramfs.contents(booted, command, files, environment)
    device = disk.device(booted) if on_disk and tier != "exact" else None
    root = disk.build(tree, device) if device else initramfs.build(tree)
    return Guest(emulator, booted, root, tier, shape, append)


def run(
    command: Sequence[str],
    files: Mapping[str, Path] | None = None,
    *,
    tier: str = "auto",
    cpus: int = 1,
    memory_mib: int = 1024,
    topology: tuple[int, int, int] | None = None,
    environment: Mapping[str, str] | None = None,
    kernel_spec: str = kernel.SERIES,
    append: str = "",
    on_disk: bool = False,
    limit_s: float = DEFAULT_LIMIT_S,
    on_line: OnLine = lambda line: None,
    on_error_line: OnLine = lambda line: None,
) -> Result:
    """Run a command in a guest of its own, with its standard input empty.

    `files` maps paths in the guest to paths here. `tier` is one of TIERS, or `auto`: virtual where KVM really boots
    a guest, else emulated. `append` goes to the kernel's command line. `on_disk` puts the files on a disk, where the
    tier and the kernel allow it, else they are in the guest's memory. `limit_s` bounds the wall-clock time. Lines
    come as the command prints them.
    Raises GuestFailed, InputError, PlaceError; QEMU is gone in every case.
    """
    shape = Shape(cpus, memory_mib, topology)
    guest = prepare(command, files or {}, environment or {}, tier, shape, kernel_spec, append, on_disk)
    return boot(guest, limit_s, on_line, on_error_line)
