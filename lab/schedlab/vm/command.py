# SPDX-License-Identifier: GPL-2.0-or-later
"""Run one command in a guest made for it, or a shell on its console; before it, whether KVM works here.

A device that can be opened says little about KVM: only a guest that boots and powers off does.
"""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from schedlab import cache
from schedlab.errors import InputError, LabError, PlaceError
from schedlab.vm import disk, initramfs, kernel, machine, qemu
from schedlab.vm.kernel import Kernel
from schedlab.vm.machine import EmulatorFault, Guest, OnLine, Result, boot
from schedlab.vm.qemu import Qemu
from schedlab.vm.tiers import TIERS, Shape

KVM_DEVICE = Path("/dev/kvm")
KVM_LIMIT_S = 10.0


def choose_tier(tier: str, emulator: Qemu, kernel: Kernel) -> str:
    """The tier that `auto` means here; any other as it is, if it can run.

    Raises PlaceError for virtual where KVM does not boot a guest.
    """
    if tier not in ("auto", "virtual"):
        return tier
    reason = kvm_fault(emulator, kernel)
    if tier == "virtual" and reason:
        raise PlaceError(f"--tier virtual: {reason}; --tier emulated and --tier exact need no KVM")
    return "emulated" if reason else "virtual"


def kvm_fault(emulator: Qemu, kernel: Kernel) -> str:
    """Why KVM cannot be used; empty where a guest boots with it.

    The answer is remembered for this host kernel, QEMU and guest kernel.
    """
    if not os.access(KVM_DEVICE, os.R_OK | os.W_OK):
        return f"{KVM_DEVICE} is missing or may not be used by this user"
    key = f"{os.uname().release} {emulator.sha256} {kernel.sha256}"
    note = cache.root() / "kvm.json"
    with cache.lock("kvm"):
        known = cache.read_json(note)
        if known is None or known.get("key") != key:
            known = {"key": key, "fault": _try(emulator, kernel)}
            cache.write_json(note, known)
    return known["fault"]


def _try(emulator: Qemu, kernel: Kernel) -> str:
    image = initramfs.build(initramfs.contents(kernel, ["true"], {}, {}))
    guest = machine.Guest(emulator, kernel, image, TIERS[1], Shape(cpus=2, memory_mib=512))
    try:
        result = machine.boot(guest, KVM_LIMIT_S, lambda line: None, lambda line: None)
    except LabError as error:
        return f"no guest boots with KVM: {error}"
    return "" if result.exit_code == 0 else f"`true` ended with status {result.exit_code} under KVM"


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
    tier = choose_tier(tier, emulator, booted)
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
    limit_s: float = 600.0,
    on_line: OnLine = lambda line: None,
    on_error_line: OnLine = lambda line: None,
    stop: threading.Event | None = None,
    again: Callable[[], None] | None = None,
) -> Result:
    """Run a command in a guest of its own, with its standard input empty.

    `files` maps paths in the guest to paths here. `tier` is one of TIERS, or `auto`: virtual where KVM really boots
    a guest, else emulated. `append` goes to the kernel's command line. `on_disk` puts the files on a disk, where the
    tier and the kernel allow it, else they are in the guest's memory. `limit_s` bounds the wall-clock time. Lines
    come as the command prints them. Another thread may set `stop`, which raises GuestStopped here. A guest that the
    emulator itself broke runs once more, where `again` makes good what its lines had done; it is called before.
    Raises GuestFailed, InputError, PlaceError; QEMU is gone in every case.
    """
    shape = Shape(cpus, memory_mib, topology)
    guest = prepare(command, files or {}, environment or {}, tier, shape, kernel_spec, append, on_disk)
    try:
        return boot(guest, limit_s, on_line, on_error_line, stop)
    except EmulatorFault:
        if again is None:
            raise
    again()
    return boot(guest, limit_s, on_line, on_error_line, stop)


def append() -> str:
    """What a shell wants on the kernel's command line: the words it does not know become init's environment."""
    size = shutil.get_terminal_size()
    kind = os.environ.get("TERM", "")
    term = kind if re.fullmatch(r"[\w.+-]+", kind) else "linux"
    return f"quiet TERM={term} COLUMNS={size.columns} LINES={size.lines}"


def interact(guest: Guest) -> int:
    """Give the terminal to the guest until its shell ends (Ctrl-D), or QEMU is ended with Ctrl-A x."""
    if not sys.stdin.isatty():
        raise InputError("schedlab vm shell: standard input is no terminal; use schedlab vm exec -- COMMAND")
    print(f"{guest.tier}, kernel {guest.kernel.release}. End with Ctrl-D, or Ctrl-A x.", file=sys.stderr)
    chardevs = ["-chardev", "stdio,id=console,mux=on,signal=off", "-serial", "chardev:console", "-mon", "console"]
    process = subprocess.Popen(guest.command(chardevs))
    try:
        return process.wait()
    finally:
        process.kill()
        process.wait()
