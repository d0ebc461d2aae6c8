# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU as a debugger sees it: a guest that stops where it is told to, at the very instruction, whatever the host does.

This is as much of GDB's remote protocol as that takes. Commands of QEMU's monitor go by the same way.
"""

import select
import socket
import time
from pathlib import Path

from schedlab.errors import LabError

_PATIENCE_S = 10.0
_POLL_S = 0.01
_SIZE = 65_536
_INTERRUPT = b"\x03"


class Gone(LabError):
    """QEMU has ended."""


class Debugger:
    def __init__(self, path: Path) -> None:
        """QEMU listens at `path` soon after it has started."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._heard = b""
        self._stopped = True
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                self._socket.connect(str(path))
                return
            except (FileNotFoundError, ConnectionRefusedError) as error:
                if time.monotonic() > until:
                    raise Gone(f"QEMU does not listen to a debugger: {error}") from error
                time.sleep(_POLL_S)

    def stop_at(self, address: int) -> None:
        self._done(f"Z0,{address:x},1")

    def no_stop_at(self, address: int) -> None:
        self._done(f"z0,{address:x},1")

    def go_on(self) -> None:
        self._stopped = False
        self._send("c")

    def wait(self) -> None:
        """Until the guest has stopped."""
        while not (said := self._answer()).startswith((b"T", b"S")):
            if said.startswith(b"W"):
                raise Gone("the guest has ended")
        self._stopped = True

    def has_stopped(self, within_s: float) -> bool:
        """Looks for so long whether it has."""
        if b"$" not in self._heard and select.select([self._socket], [], [], within_s)[0]:
            self._hear()
        if b"$" not in self._heard:
            return False
        self.wait()
        return True

    def step(self) -> None:
        """One instruction, which leaves the place where it stopped."""
        self._send("s")
        self.wait()

    def register(self, number: int) -> int:
        """One of the general registers of the CPU that stopped, by GDB's number of it."""
        self._send("g")
        said = self._answer()
        return int.from_bytes(bytes.fromhex(said[16 * number : 16 * number + 16].decode()), "little")

    def monitor(self, command: str) -> None:
        """A command of QEMU's monitor. What it prints is left out."""
        self._done(f"qRcmd,{command.encode().hex()}")

    def end(self) -> None:
        """QEMU ends at once, whether the guest runs or has stopped."""
        try:
            # While the guest runs, this alone is heard.
            self._socket.sendall(_INTERRUPT)
            if not self._stopped:
                self.wait()
            self._send("k")
            while self._socket.recv(_SIZE):
                pass
        except (OSError, Gone):
            pass
        self._socket.close()

    def _done(self, command: str) -> None:
        self._send(command)
        while True:
            said = self._answer()
            if said == b"OK":
                return
            if not said.startswith(b"O"):
                raise LabError(f"QEMU's debugger refuses {command}: {said.decode('ascii', 'replace') or 'unknown'}")

    def _send(self, text: str) -> None:
        data = text.encode()
        self._put(b"$%s#%02x" % (data, sum(data) % 256))

    def _put(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise Gone(f"QEMU has ended: {error.strerror}") from error

    def _answer(self) -> bytes:
        """The next packet, which is acknowledged."""
        while True:
            begin = self._heard.find(b"$")
            end = self._heard.find(b"#", begin)
            if begin >= 0 and 0 <= end <= len(self._heard) - 3:
                packet = self._heard[begin + 1 : end]
                self._heard = self._heard[end + 3 :]
                self._put(b"+")
                return packet
            self._hear()

    def _hear(self) -> None:
        try:
            more = self._socket.recv(_SIZE)
        except OSError as error:
            raise Gone(f"QEMU has ended: {error.strerror}") from error
        if not more:
            raise Gone("QEMU has ended")
        self._heard += more
