# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel's taskstats say of each task, thread by thread, in the moment it ends.

Nothing is added to the tasks and none is missed, however short it lived. Not counted is what the kernel does to take an
ended task apart. Root only, and not inside a user or network namespace.
"""

import os
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass

from schedlab.errors import LabError, PlaceError

# linux/netlink.h, linux/genetlink.h, linux/taskstats.h
_NETLINK_GENERIC = 16
_SO_RCVBUFFORCE = 33
_REQUEST = 1
_ERROR = 2
_CONTROL, _GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 16, 3, 1, 2
_GET, _REGISTER_CPUS = 1, 3
_OF_A_TASK, _STATS = 4, 3
# The first version with the thread group.
_VERSION = 12

_MESSAGE = struct.Struct("=IHHII")
_GENERIC = struct.Struct("=BBH")
_ATTRIBUTE = struct.Struct("=HH")
_TYPE_MASK = 0x3FFF
# Where the fields of struct taskstats lie.
_NICE, _WAITED, _CPU, _NAME, _ID, _PARENT, _LIFE, _BLOCKS, _GROUP = 9, 24, 72, 80, 128, 132, 144, 272, 368
_NAME_BYTES = 32
_BUFFER_BYTES = 64 << 20
_DATAGRAM_BYTES = 1 << 16


@dataclass(frozen=True)
class Ended:
    """A task that has ended: `group` is its process, `parent` that of the process.

    The report was read at `at_ns`. The task ended then or up to `late_ns` before: the reader may have waited for a CPU.
    """

    id: int
    group: int
    parent: int
    name: str
    nice: int
    cpu_ns: int
    waited_ns: int
    life_ns: int
    blocks: int
    at_ns: int
    late_ns: int = 0

    @property
    def began_ns(self) -> int:
        return self.at_ns - self.life_ns


class Listener:
    """Hears of every task of the machine that ends, from when it is made until it is closed."""

    def __init__(self) -> None:
        try:
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_GENERIC)
        except OSError as error:
            raise _not_here(error) from error
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
            self.socket.bind((0, 0))
            self.socket.settimeout(1.0)
            self.empty_ns = time.monotonic_ns()
            family = dict(_attributes(self._ask(_CONTROL, _GET_FAMILY, _FAMILY_NAME, b"TASKSTATS\0")))[_FAMILY_ID]
            cpus = f"0-{(os.cpu_count() or 1) - 1}\0".encode()
            self._send(struct.unpack("=H", family[:2])[0], _GET, _REGISTER_CPUS, cpus, acknowledge=True)
            self._acknowledged()
        except OSError as error:
            self.socket.close()
            raise _not_here(error) from error

    def close(self) -> None:
        self.socket.close()

    def heard(self, timeout_s: float) -> list[Ended]:
        """The tasks of the next report; waits for one up to `timeout_s`."""
        while data := self._received(timeout_s):
            at_ns = time.monotonic_ns()
            late_ns = at_ns - self.empty_ns
            ended = (_ended(body, at_ns, late_ns) for kind, body in _messages(data) if kind != _ERROR)
            if known := [one for one in ended if one is not None]:
                return known
        return []

    def _received(self, timeout_s: float) -> bytes:
        """One datagram, or nothing where none came in time. `empty_ns` is when the socket was last seen empty."""
        now_ns = time.monotonic_ns()
        try:
            self.socket.settimeout(0)
            try:
                return self.socket.recv(_DATAGRAM_BYTES)
            except BlockingIOError:
                self.empty_ns = now_ns
            self.socket.settimeout(timeout_s)
            return self.socket.recv(_DATAGRAM_BYTES)
        except TimeoutError:
            return b""
        except OSError as error:
            raise LabError(f"tasks ended faster than they could be counted: {error.strerror}") from error

    def _ask(self, family: int, command: int, key: int, value: bytes) -> bytes:
        self._send(family, command, key, value)
        return self._answer()

    def _send(self, family: int, command: int, key: int, value: bytes, acknowledge: bool = False) -> None:
        padding = b"\0" * (-len(value) % 4)
        body = _GENERIC.pack(command, 1, 0) + _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), key) + value + padding
        flags = _REQUEST | (4 if acknowledge else 0)
        self.socket.send(_MESSAGE.pack(_MESSAGE.size + len(body), family, flags, 1, 0) + body)

    def _answer(self) -> bytes:
        for kind, body in _messages(self.socket.recv(_DATAGRAM_BYTES)):
            if kind == _ERROR:
                _check(body)
            return body[_GENERIC.size :]
        raise OSError("no answer")

    def _acknowledged(self) -> None:
        """Reads on to the acknowledgement: reports of tasks that end while it registers come before it."""
        while True:
            for kind, body in _messages(self.socket.recv(_DATAGRAM_BYTES)):
                if kind == _ERROR:
                    return _check(body)


def _check(body: bytes) -> None:
    number = -struct.unpack_from("=i", body)[0]
    if number:
        raise OSError(number, os.strerror(number))


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset + _MESSAGE.size <= len(data):
        length, kind, *_ = _MESSAGE.unpack_from(data, offset)
        yield kind, data[offset + _MESSAGE.size : offset + length]
        offset += length + -length % 4


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, offset)
        yield kind & _TYPE_MASK, data[offset + _ATTRIBUTE.size : offset + length]
        offset += max(_ATTRIBUTE.size, length + -length % 4)


def _ended(body: bytes, at_ns: int, late_ns: int) -> Ended | None:
    """The task's own part of a message; the other part, of its last task's message, is the process's sum."""
    task = dict(_attributes(body[_GENERIC.size :])).get(_OF_A_TASK)
    if task is None:
        return None
    stats = dict(_attributes(task))[_STATS]
    version = struct.unpack_from("=H", stats)[0]
    if version < _VERSION:
        raise PlaceError(f"taskstats of version {version}: expected {_VERSION} or later (Linux 5.19): try --on vm")

    def number(at: int, form: str = "=Q") -> int:
        return struct.unpack_from(form, stats, at)[0]

    return Ended(
        id=number(_ID, "=I"),
        group=number(_GROUP, "=I"),
        parent=number(_PARENT, "=I"),
        name=stats[_NAME : _NAME + _NAME_BYTES].split(b"\0")[0].decode(errors="replace"),
        nice=number(_NICE, "=b"),
        cpu_ns=number(_CPU),
        waited_ns=number(_WAITED),
        life_ns=number(_LIFE) * 1000,
        blocks=number(_BLOCKS),
        at_ns=at_ns,
        late_ns=late_ns,
    )


def _not_here(error: OSError) -> PlaceError:
    return PlaceError(
        f"neither tracing nor taskstats here ({error.strerror or error}): run as root, on a kernel with one of them; "
        "or --on vm"
    )
