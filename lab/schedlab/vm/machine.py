# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a guest, stream what its command prints, and see that it ends."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab import cache
from schedlab.errors import InputError, LabError
from schedlab.vm import tiers
from schedlab.vm.disk import Disk
from schedlab.vm.initramfs import Initramfs
from schedlab.vm.kernel import Kernel
from schedlab.vm.qemu import Qemu
from schedlab.vm.tiers import Shape

_POLL_S = 0.01
_KILL_S = 5.0
_KEPT_LOGS = 50
_PORTS = ("out", "err", "control")


class Lines:
    """Passes each whole line of a growing file to `on_line`, without its newline."""

    def __init__(self, path: Path, on_line: Callable[[str], None]) -> None:
        self._file = open(path, "rb")  # noqa: SIM115 - closed by finish()
        self._on_line = on_line
        self._rest = b""

    def read(self) -> None:
        """Take what has come since the last call."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            self._on_line(line.decode("utf-8", "replace"))

    def finish(self) -> None:
        """Take the rest, even a last line without a newline."""
        self.read()
        self._file.close()
        if self._rest:
            self._on_line(self._rest.decode("utf-8", "replace"))
            self._rest = b""


OnLine = Callable[[str], None]


class GuestFailed(LabError):
    """The guest panicked or hung, or QEMU died."""


class GuestStopped(LabError):
    """Whoever wanted the guest's results wants them no more."""


class EmulatorFault(GuestFailed):
    """A vCPU ran into a jump label that another was patching: multi-threaded emulation tears code that changes.

    Rare with QEMU 10, frequent before. Nothing that ran in the guest did it; running again is the remedy.
    """


@dataclass(frozen=True)
class Result:
    """How a command in a guest ended, and what it ran on.

    `boot_s` is the wall-clock time from QEMU's start to the command's. `hashes` are SHA-256 of what decides an
    exact run: `kernel`, `initramfs` (`disk`, where the files are on one) and `qemu`.
    """

    exit_code: int
    tier: str
    kernel_release: str
    kernel_arguments: str
    qemu_version: str
    hashes: dict[str, str]
    console_path: Path
    boot_s: float


@dataclass(frozen=True)
class Guest:
    """Everything that is settled before QEMU starts."""

    emulator: Qemu
    kernel: Kernel
    root: Initramfs | Disk
    tier: str
    shape: Shape
    append: str = ""

    def kernel_arguments(self) -> str:
        """The kernel's command line: the tier's, where its root is, the user's, then what the caller appends."""
        own = f"{tiers.kernel_arguments(self.tier)}{self.root.kernel_arguments()}"
        return " ".join(filter(None, (own, self.kernel.parameters, self.append)))

    def command(self, chardevs: Sequence[str]) -> list[str]:
        """QEMU's command line; `chardevs` are the arguments for the console and the ports."""
        boot = ["-kernel", str(self.kernel.image), *self.root.arguments()]
        arguments = ["-append", self.kernel_arguments()]
        machine = tiers.qemu_arguments(self.tier, self.shape)
        # setpriv has the kernel kill QEMU when this process dies, even by a signal that cannot be caught.
        parent = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        return [*parent, str(self.emulator.path), *machine, *boot, *arguments, *chardevs]


def boot(
    guest: Guest, limit_s: float, on_line: OnLine, on_error_line: OnLine, stop: threading.Event | None = None
) -> Result:
    """Boot a prepared guest and wait for its end.

    Raises GuestFailed; GuestStopped where another thread has set `stop`.
    """
    console = _new_log(guest.tier)
    with tempfile.TemporaryDirectory(prefix="schedlab-vm-") as folder:
        ports = {name: Path(folder, name) for name in _PORTS}
        for path in ports.values():
            path.touch()
        control: list[str] = []
        takers = {"out": on_line, "err": on_error_line, "control": control.append}
        readers = [Lines(ports[name], taker) for name, taker in takers.items()]
        log = Path(folder, "qemu.log")
        started_at = time.monotonic()
        process = _start(guest.command([*_console(console), *_port_arguments(ports)]), log)
        try:
            boot_s = 0.0
            while process.poll() is None:
                for reader in readers:
                    reader.read()
                if stop and stop.is_set():
                    raise GuestStopped("stopped")
                passed_s = time.monotonic() - started_at
                if control and not boot_s:
                    boot_s = passed_s
                    if guest.kernel.parameters:
                        _refuse_unknown_parameters(guest.kernel, console)
                if passed_s > limit_s:
                    raise _failure(f"the guest did not end within {limit_s:g} s", console)
                if not boot_s and passed_s > _boot_limit_s(guest.shape.cpus):
                    raise _failure(f"the guest did not boot within {_boot_limit_s(guest.shape.cpus):g} s", console)
                time.sleep(_POLL_S)
        finally:
            _end(process)
        for reader in readers:
            reader.finish()
        exit_code = _exit_code(control)
        if exit_code is None:
            raise _failure(_reason(process.returncode, log.read_text("utf-8", "replace"), console), console)
    return Result(
        exit_code=exit_code,
        tier=guest.tier,
        kernel_release=guest.kernel.release,
        kernel_arguments=guest.kernel_arguments(),
        qemu_version=guest.emulator.version,
        hashes={
            "kernel": guest.kernel.sha256,
            guest.root.kind: guest.root.sha256,
            "qemu": guest.emulator.sha256,
        },
        console_path=console,
        boot_s=boot_s,
    )


def _refuse_unknown_parameters(kernel: Kernel, console: Path) -> None:
    """A misspelt parameter would change nothing, and its guest pass for one with it."""
    told = re.search(r'Unknown kernel command line parameters "(.*?)"', console.read_text("utf-8", "replace"))
    unknown = [word for word in kernel.parameters.split() if told and word in told[1].split()]
    if unknown:
        raise InputError(f"kernel {kernel.release} knows no parameter {unknown[0]}")


def _start(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start QEMU in a process group of its own: Ctrl-C reaches this process alone, which then ends QEMU."""
    with open(log, "wb") as file:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, process_group=0)


def _boot_limit_s(cpus: int) -> float:
    """Thirty times what an exact guest takes to boot on an idle machine: emulated vCPUs take turns."""
    return 180.0 + 30.0 * cpus


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill QEMU and all it started. A process that the kernel does not release in time is left behind."""
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_KILL_S)


def _console(log: Path) -> list[str]:
    return ["-chardev", f"file,id=console,path={_escaped(log)}", "-serial", "chardev:console"]


def _port_arguments(ports: Mapping[str, Path]) -> list[str]:
    """One virtio-serial port a file.

    Files take all that is written at once, and without ioeventfd it is written in the vCPU's own thread: a port that
    made the guest wait for the host would make exact runs differ.
    """
    arguments = ["-device", f"virtio-serial-pci,ioeventfd=off,max_ports={len(ports) + 1}"]
    for number, (name, path) in enumerate(ports.items(), 1):
        arguments += ["-chardev", f"file,id={name},path={_escaped(path)}"]
        arguments += ["-device", f"virtserialport,nr={number},chardev={name},name=schedlab.{name}"]
    return arguments


def _escaped(path: Path) -> str:
    """A path inside a QEMU option, where a comma is written twice."""
    return str(path).replace(",", ",,")


def _new_log(tier: str) -> Path:
    folder = cache.directory("consoles")
    with cache.lock("consoles"):
        cache.prune(folder, _KEPT_LOGS - 1)
        stamp = time.strftime("%Y%m%d-%H%M%S")
        taken = len(list(folder.glob(f"{stamp}-*")))
        path = folder / f"{stamp}-{taken}-{tier}.log"
        path.touch()
    return path


def _exit_code(control: Sequence[str]) -> int | None:
    found = [re.fullmatch(r"exit (\d+)", line) for line in control]
    return next((int(match[1]) for match in found if match), None)


def _reason(status: int, messages: str, console: Path) -> str:
    if status != 0:
        last = messages.strip().splitlines()[-1:] or ["no message"]
        return f"QEMU ended with status {status}: {last[0]}"
    panics = re.findall(r"Kernel panic - not syncing: .*", console.read_text("utf-8", "replace"))
    return f"the guest panicked: {panics[0]}" if panics else "the guest ended before its command did"


def _failure(what: str, console: Path) -> GuestFailed:
    """One line for people, the console's last words after it."""
    text = console.read_text("utf-8", "replace").replace("\r", "").strip()
    last = " | ".join(line.strip() for line in text.splitlines()[-3:]) or "(nothing)"
    if "Oops: int3" in text:
        return EmulatorFault(f"{what}: QEMU tore a jump label while it was patched; run again; console {console}")
    return GuestFailed(f"{what}; console {console} ends: {last}")
