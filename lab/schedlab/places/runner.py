# SPDX-License-Identifier: GPL-2.0-or-later
"""Driving a runner: a child process that prints one JSON line per finished cell."""

import os
import re
import signal
import subprocess
import threading
import time
from itertools import takewhile
from pathlib import Path

from schedlab import foreign
from schedlab.errors import InputError, InterruptedRun, LabError, PlaceError
from schedlab.places.place import Done, Say

# An interrupted runner finishes its current cells and exits; after this time it is killed.
_PATIENCE_S = 10.0
_LAST_LINES = 20
_ABOUT_A_CELL = re.compile(r"[0-9a-f]{20}: ")


class RunnerBroke(LabError):
    """The runner was killed, or ended with an unknown status."""


def drive(command: list[str], done: Done, say: Say) -> int:
    """Run to the end and return the exit status: 0, or 1 where a cell failed.

    The child gets a process group of its own, so that Ctrl-C reaches it once: from here.
    """
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            process_group=0,
        )
    except OSError as error:
        raise PlaceError(f"{command[0]}: cannot be started: {error.strerror}") from error
    messages: list[str] = []

    def read_messages() -> None:
        assert child.stderr
        for line in child.stderr:
            messages.append(line.rstrip("\n"))

    reader = threading.Thread(target=read_messages, daemon=True)
    reader.start()
    try:
        assert child.stdout
        for line in child.stdout:
            parse_progress(line, done, say)
        status = child.wait()
    except KeyboardInterrupt:
        _end(child)
        raise
    except BaseException:
        _end(child)
        raise
    reader.join(timeout=1)
    return exit_status(status, messages, Path(command[0]).name, say)


def parse_progress(line: str, done: Done, say: Say) -> None:
    text = line.strip()
    if not text:
        return
    try:
        data = foreign.parse(text)
        done(str(data["done"]), str(data["status"]))
    except (ValueError, KeyError, TypeError):
        say(text)


def exit_status(status: int, messages: list[str], name: str, say: Say) -> int:
    """The command's exit status, or the error to raise, for the runner's; the runner's own last line is the message.

    Of bad input it may say several things, a line each.
    """
    last = next((line for line in reversed(messages) if line.strip()), "")
    if status == InputError.status:
        own = list(takewhile(lambda line: line.startswith(f"{name}: "), reversed(messages)))
        raise InputError("\n".join(reversed(own)) or last or f"{name} refused its input without a word")
    if status == PlaceError.status:
        raise PlaceError(last or f"{name}: the place is not available")
    for line in messages[-_LAST_LINES:]:
        # A failed cell's reason is in its record and is printed from there.
        if not _ABOUT_A_CELL.match(line):
            say(line)
    if status == InterruptedRun.status:
        raise KeyboardInterrupt
    if status < 0:
        raise RunnerBroke(f"{name} was ended by {signal.Signals(-status).name}; the same command resumes")
    if status not in (0, 1):
        raise RunnerBroke(f"{name} ended with status {status}" + (f": {last}" if last else ""))
    return status


def _end(child: subprocess.Popen) -> None:
    """SIGINT first, then SIGTERM, then SIGKILL."""
    for sign, patience_s in ((signal.SIGINT, _PATIENCE_S), (signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0)):
        if child.poll() is not None:
            return
        try:
            os.killpg(child.pid, sign)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + patience_s
        while child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
