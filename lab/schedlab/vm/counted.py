# SPDX-License-Identifier: GPL-2.0-or-later
"""Every instruction of a stretch of an exact guest.

QEMU runs the guest one instruction at a time and names each, so the counts are exact, interrupts-off stretches and BPF
programs included. The stretch begins and ends where the guest is in the kernel and not where the host is, so it is the
same every time:

- The guest prints `begin start` or `begin later` and calls times(2), before it begins a run of a workload.
- With `start` the stretch begins where the runner lets the tasks go, with `later` where the guest calls times(2) again.
- It ends after so many instructions, or where the runner kills what is left of the tasks.
"""

import os
import re
import tempfile
import threading
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from schedlab.errors import LabError
from schedlab.vm import symbols
from schedlab.vm.debugger import Debugger, Gone
from schedlab.vm.machine import Guest, GuestFailed, OnLine, boot

START, LATER = "begin start", "begin later"
USER = 0xFFFF_0000_0000_0000  # addresses below are not the kernel's
_COMES = "__x64_sys_times"
# The runner moves those who came to the start from one futex to another, and then wakes all that are there.
_GATHERS, _LET_GO = "futex_requeue", "futex_wake"
_FIRST_ARGUMENT, _THIRD_ARGUMENT = 5, 3  # rdi and rdx, by GDB's numbers
_OVER = "__x64_sys_kill"
_KERNEL = "0xffffffff80000000+0x7fffffff"  # its code, its modules' and its programs'
# Trace CPU: HOST [CS_BASE/PC/FLAGS/CFLAGS] SYMBOL; what was announced and then not executed is taken back.
_LINE = re.compile(rb"^(?:Trace (\d+): \S+ \[[0-9a-f]+/([0-9a-f]+)/|(Stopped) )", re.MULTILINE)
_PIECE = 1 << 20
_LOOK_S = 0.05


@dataclass(frozen=True)
class _Watched(Guest):
    """A guest that waits for a debugger before its first instruction."""

    listens: str = ""
    kernel_only: bool = False

    def command(self, chardevs: Sequence[str]) -> list[str]:
        listens = ["-S", "-gdb", f"unix:{self.listens},server=on,wait=off"]
        return [*super().command(chardevs), *listens, *(["-dfilter", _KERNEL] if self.kernel_only else [])]


@dataclass
class Stretch:
    """How often each address was executed, or in which order each CPU went through them."""

    whole: bool = False  # it is all of the run
    counts: Counter[int] = field(default_factory=Counter)
    order: dict[int, "array[int]"] = field(default_factory=lambda: defaultdict(lambda: array("Q")))


def count(
    guest: Guest,
    named: Sequence[tuple[int, str]],
    most: int,
    limit_s: float,
    on_line: OnLine,
    on_error_line: OnLine,
    in_order: bool = False,
) -> Stretch:
    """Up to so many instructions; `in_order`: of the kernel alone. Raises LabError where the run ended before."""
    with tempfile.TemporaryDirectory(prefix="schedlab-counted-") as name:
        listens, log = Path(name, "debugger"), Path(name, "log")
        os.mkfifo(log)
        settled = {each.name: getattr(guest, each.name) for each in fields(guest)}
        counter = _Counter(log, named, most, in_order)
        thread = threading.Thread(target=counter.watch, args=[listens], daemon=True)
        thread.start()

        def take(line: str) -> None:
            if line in (START, LATER):
                counter.begins = line
                counter.told.set()
            else:
                on_line(line)

        try:
            boot(_Watched(**settled, listens=str(listens), kernel_only=in_order), limit_s, take, on_error_line)
        except GuestFailed:
            # It may have been ended in the middle.
            thread.join()
            if not (counter.done or counter.fault):
                raise
        finally:
            counter.told.set()
            thread.join()
    if counter.fault:
        raise counter.fault
    if not counter.done:
        raise LabError("the guest's run was over before its stretch began")
    return counter.stretch


class _Counter:
    """Follows one guest."""

    def __init__(self, log: Path, named: Sequence[tuple[int, str]], most: int, in_order: bool) -> None:
        self.log = log
        self.most = most
        self.in_order = in_order
        self.comes, self.gathers, self.let_go, self.over = (
            symbols.address(named, name) for name in (_COMES, _GATHERS, _LET_GO, _OVER)
        )
        self.stretch = Stretch()
        self.begins = ""
        self.told = threading.Event()
        self.enough = threading.Event()
        self.done = False
        self.fault: LabError | None = None

    def watch(self, listens: Path) -> None:
        try:
            debugger = Debugger(listens)
            try:
                self._follow(debugger)
            finally:
                debugger.end()
        except Gone:
            pass
        except LabError as error:
            self.fault = error

    def _follow(self, debugger: Debugger) -> None:
        self._go_to(debugger, self.comes)
        # It was printed before, and is read soon.
        self.told.wait()
        from_start = self.begins == START
        if from_start:
            self._go_to(debugger, self.gathers)
            go = debugger.register(_THIRD_ARGUMENT)
            self._go_to(debugger, self.let_go)
            while debugger.register(_FIRST_ARGUMENT) != go:
                debugger.step()
                self._go_to(debugger, self.let_go)
        else:
            debugger.step()
            self._go_to(debugger, self.comes)
        debugger.stop_at(self.over)
        reader = threading.Thread(target=self._read, daemon=True)
        reader.start()
        for command in (f"logfile {self.log}", "one-insn-per-tb on", "log exec,nochain"):
            debugger.monitor(command)
        debugger.go_on()
        while not self.enough.is_set() and not debugger.has_stopped(_LOOK_S):
            pass
        # With QEMU goes its end of the file, so that the reader comes to the other one.
        debugger.end()
        reader.join()
        self.stretch.whole = from_start and not self.enough.is_set()
        self.done = True

    def _go_to(self, debugger: Debugger, address: int) -> None:
        debugger.stop_at(address)
        debugger.go_on()
        debugger.wait()
        debugger.no_stop_at(address)

    def _read(self) -> None:
        left, rest = self.most, b""
        counts: Counter[bytes] = Counter()
        with self.log.open("rb", buffering=0) as file:
            ended = False
            while not ended:
                piece = file.read(_PIECE)
                ended = not piece
                # The last line waits: it may be cut off, or be taken back by the next one.
                text, newline, rest = (rest + piece, b"", b"") if ended else (rest + piece).rpartition(b"\nTrace ")
                rest = newline.lstrip() + rest
                if not self.enough.is_set():
                    found = _executed(text)[:left]
                    left -= len(found)
                    if self.in_order:
                        for cpu, address in found:
                            self.stretch.order[int(cpu)].append(int(address, 16))
                    else:
                        counts.update(address for _, address in found)
                    if not left:
                        self.enough.set()
        for address, times in counts.items():
            self.stretch.counts[int(address, 16)] += times


def _executed(text: bytes) -> list[tuple[bytes, bytes]]:
    """CPU and address of each line."""
    found = _LINE.findall(text)
    if b"Stopped" not in text:
        return [(cpu, address) for cpu, address, _ in found]
    kept: list[tuple[bytes, bytes]] = []
    for cpu, address, stopped in found:
        if not stopped:
            kept.append((cpu, address))
        elif kept:
            kept.pop()
    return kept
