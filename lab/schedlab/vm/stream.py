# SPDX-License-Identifier: GPL-2.0-or-later
"""Follow a file that QEMU writes, line by line."""

from collections.abc import Callable
from pathlib import Path


class Lines:
    """Hands each whole line of a growing file to `on_line`, without its end."""

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
        """Take the rest, and a last line without an end too."""
        self.read()
        self._file.close()
        if self._rest:
            self._on_line(self._rest.decode("utf-8", "replace"))
            self._rest = b""
