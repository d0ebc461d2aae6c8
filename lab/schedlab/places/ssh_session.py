# SPDX-License-Identifier: GPL-2.0-or-later
"""One host, reached by OpenSSH's own client: one connection, over which all goes.

Into it goes an archive with the runner and what cells need, then a shard a line; out of it comes a record a line, and
what the machine is like before and after each shard. The archive is unpacked in a temporary folder. The runner ends,
and the folder goes, when the connection does: it reads its end, or hears nothing for a while.
"""

import getpass
import json
import os
import queue
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from schedlab import foreign
from schedlab.campaign.fleet_file import Host, Limits
from schedlab.collect import hosts
from schedlab.collect.hosts import Environment
from schedlab.errors import InputError, LabError, PlaceError
from schedlab.foreign import printable
from schedlab.places import from_afar

RUNNER = "schedlab-host"
# Before the host says that it is ready: it unpacks an archive, and looks at itself for half a second.
_READY_S = 60.0
_CONNECT_S = 10
# A host whose sshd answers nothing is given up after three such times.
_ALIVE_S = 15
_END_S = 15.0
_MOST_GREETING = 1000
_LOOK_S = 0.5
_LAST_LINES = 20
_LINE_BYTES = 4096
# What ssh says where no other try would help.
_FOR_GOOD = re.compile(
    r"Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED|Permission denied|Bad configuration option"
    r"|Too many authentication failures|no matching .* found|No supported authentication methods"
)
# As the runner begins to say who has the lock.
_IN_USE = "in use: "
# Of a shell: what is there cannot be started.
_NOT_STARTED = (126, 127)

# Nothing follows the archive before the runner has said that it is ready, so that nothing is read too far. The shell
# outlives the runner and removes the folder, however the runner ends.
_BEGIN = """\
umask 077
folder=$(mktemp -d "${TMPDIR:-/var/tmp}/schedlab-fleet.XXXXXXXX") || exit 1
trap : HUP INT TERM
status=1
head -c %(bytes)d | tar -xzf - -C "$folder" && cd "$folder" && mkdir tmp && {
	SCHEDLAB_CACHE=$folder/cache TMPDIR=$folder/tmp ./%(runner)s serve --parent $$ --silence-s %(silence)d --who %(who)s
	status=$?
}
cd / && rm -rf "$folder"
exit $status
"""


class Refused(PlaceError):
    """The host cannot be used, and another try would not help."""


class Broke(LabError):
    """The host failed; it may work again."""


def whoever() -> str:
    """As somebody on a host is told who uses it."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return printable(f"{user}@{socket.gethostname()}, process {os.getpid()}")


def command(host: Host, remote: str) -> list[str]:
    """ssh takes the first value that it finds of an option: ours go before the user's."""
    program = shutil.which("ssh")
    if program is None:
        raise PlaceError("no command ssh: install OpenSSH's client")
    options = [
        "BatchMode=yes",
        f"ConnectTimeout={_CONNECT_S}",
        f"ServerAliveInterval={_ALIVE_S}",
        "ServerAliveCountMax=3",
        # No connection outlives us, and no socket of one stays behind.
        "ControlMaster=no",
        "ControlPath=none",
        "ClearAllForwardings=yes",
        "ForwardAgent=no",
        "ForwardX11=no",
        "PermitLocalCommand=no",
        "LogLevel=ERROR",
        *host.options,
    ]
    words = [program, "-T", *(word for option in options for word in ("-o", option))]
    words += ["-l", host.user] if host.user else []
    words += ["-p", str(host.port)] if host.port else []
    words += ["-i", host.identity, "-o", "IdentitiesOnly=yes"] if host.identity else []
    return [*words, "--", host.address, f"exec sh -c {shlex.quote(remote)}"]


class Session:
    def __init__(self, host: Host, limits: Limits, files: bytes) -> None:
        self.host = host
        self._limits = limits
        self._files = files
        self._lines: queue.Queue[bytes | None] = queue.Queue(maxsize=64)
        self._said: list[str] = []
        self._writing = threading.Lock()
        self._over = threading.Event()
        words = {"bytes": len(files), "runner": RUNNER, "silence": limits.silence_s, "who": shlex.quote(whoever())}
        # A process group of its own, so that Ctrl-C reaches the host by way of us.
        self._child = subprocess.Popen(
            command(host, _BEGIN % words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
        self._readers = [
            threading.Thread(target=target, daemon=True) for target in (self._read_lines, self._read_messages)
        ]
        for reader in self._readers:
            reader.start()

    def begin(self) -> Environment:
        """What the host is like before it does anything. Raises Refused or Broke."""
        self._write(self._files)
        found = self._greeting()
        threading.Thread(target=self._beat, daemon=True).start()
        return found

    def run(
        self, shard: dict[str, Any], on_record: Callable[[Any], None], begun: Callable[[Environment], None]
    ) -> tuple[Environment, Environment]:
        """The environments before and after. Raises Refused, Broke or InputError.

        `begun` may raise when it hears what the host is like before the first cell.
        """
        self._write(json.dumps(shard, ensure_ascii=False).encode() + b"\n")
        before: Environment | None = None
        while True:
            data = self._next(self._limits.cell_s)
            if isinstance(data, dict) and "before" in data and before is None:
                before = self._environment(data["before"])
                begun(before)
            elif isinstance(data, dict) and "after" in data and before is not None:
                return before, self._environment(data["after"])
            elif before is not None:
                on_record(data)
            else:
                raise Broke("it said something before its environment")

    def end(self) -> None:
        """The host is told to end; whatever it is doing, it does not finish. Returns at once."""
        self._over.set()
        if not self._writing.acquire(timeout=1):
            # What is being written never ends.
            self._signal()
            return
        try:
            with suppress(OSError):
                assert self._child.stdin
                self._child.stdin.close()
        finally:
            self._writing.release()

    def close(self) -> None:
        """The same, and wait until nothing of ours runs there."""
        self.end()
        try:
            self._child.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.kill()
        for reader in self._readers:
            reader.join(timeout=1)

    def kill(self) -> None:
        """The connection goes at once; the host's side notices."""
        self._over.set()
        self._signal()
        self._child.wait()
        # What is left to write has nowhere to go.
        self.end()

    def _signal(self) -> None:
        # Once it has been waited for, its number may be another's.
        if self._child.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._child.pid, signal.SIGKILL)

    def _greeting(self) -> Environment:
        """Shells may print something of their own before."""
        deadline = time.monotonic() + _READY_S
        for _ in range(_MOST_GREETING):
            line = self._line(deadline - time.monotonic())
            with suppress(ValueError):
                data = foreign.parse(line)
                if isinstance(data, dict) and "ready" in data:
                    return self._environment(data["ready"])
        raise Broke("it printed much and was not ready")

    def _environment(self, data: Any) -> Environment:
        try:
            return hosts.environment(data)
        except ValueError as error:
            raise Broke(f"what it says of itself cannot be read: {printable(str(error))}") from error

    def _next(self, patience_s: float) -> Any:
        line = self._line(patience_s)
        try:
            return foreign.parse(line)
        except ValueError as error:
            raise Broke("it said something that is no record") from error

    def _line(self, patience_s: float) -> str:
        deadline = time.monotonic() + patience_s
        while True:
            try:
                line = self._lines.get(timeout=_LOOK_S)
                break
            except queue.Empty:
                if self._over.is_set():
                    raise Broke("it was told to end") from None
                if time.monotonic() > deadline:
                    self.kill()
                    raise Broke(f"nothing came for {patience_s:.0f} s") from None
        if line is None:
            raise self._ended()
        if not line.endswith(b"\n"):
            self.kill()
            raise Broke(f"a line is longer than {from_afar.MOST_BYTES >> 20} MiB, or ends in its middle")
        return line.decode("utf-8", "replace")

    def _ended(self) -> LabError:
        """Why the connection is over."""
        try:
            status = self._child.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return Broke("it closed its output and did not end")
        self._readers[1].join(timeout=2)
        said = [line for line in self._said if line.strip()]
        # What follows a full disk is of no use.
        full = next((line for line in said if "No space left" in line), None)
        last = (full or said[-1]).removeprefix(f"{RUNNER}: ") if said else ""
        if status == 255:
            why = next((line for line in reversed(said) if _FOR_GOOD.search(line)), "")
            return Refused(why) if why else Broke(last or "the connection was lost")
        if status == InputError.status:
            return InputError(f"host {self.host.name}: {last}")
        if last.startswith(_IN_USE) and whoever() in last:
            # An earlier session of ours does not know yet that it is over.
            return Broke(last)
        if status == PlaceError.status or status in _NOT_STARTED:
            return Refused(last or f"its runner ended with status {status}")
        return Broke(last or f"its runner ended with status {status}")

    def _write(self, data: bytes) -> None:
        try:
            with self._writing:
                assert self._child.stdin
                self._child.stdin.write(data)
                self._child.stdin.flush()
        except (OSError, ValueError) as error:
            # It has said why, or is about to.
            raise self._ended() from error

    def _beat(self) -> None:
        """An empty line now and then, without which the host thinks that we are gone."""
        while not self._over.wait(self._limits.silence_s / 4):
            if self._child.poll() is not None:
                return
            # While a shard is written no sign of life is missed.
            if self._writing.acquire(blocking=False):
                try:
                    assert self._child.stdin
                    self._child.stdin.write(b"\n")
                    self._child.stdin.flush()
                except (OSError, ValueError):
                    return
                finally:
                    self._writing.release()

    def _read_lines(self) -> None:
        output: IO[bytes] | None = self._child.stdout
        assert output
        while line := output.readline(from_afar.MOST_BYTES):
            self._put(line)
        self._put(None)

    def _put(self, line: bytes | None) -> None:
        while not self._over.is_set():
            with suppress(queue.Full):
                self._lines.put(line, timeout=_LOOK_S)
                return
        # Nobody reads any more, but who waits must not do so for ever.
        with suppress(queue.Full):
            self._lines.put_nowait(line)

    def _read_messages(self) -> None:
        messages: IO[bytes] | None = self._child.stderr
        assert messages
        while line := messages.readline(_LINE_BYTES):
            self._said.append(printable(line.decode("utf-8", "replace")))
            del self._said[:-_LAST_LINES]
