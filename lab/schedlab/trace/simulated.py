# SPDX-License-Identifier: GPL-2.0-or-later
"""One cell in the simulator with its trace."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from schedlab import checkout
from schedlab.catalogue.schedulers import written
from schedlab.errors import LabError

RUNNER = "schedlab-sim"


@dataclass(frozen=True)
class Traced:
    """What to run; files as paths."""

    scheduler: Path
    workload: Path
    machine: Path
    load: int
    seed: int
    tunables: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)

    def command(self, trace: str) -> list[str]:
        command = [
            str(checkout.need_binary(RUNNER)),
            "cell",
            *("--scheduler", written(self.scheduler, self.tunables)),
            *("--workload", str(self.workload)),
            *("--machine", str(self.machine)),
            *("--load", str(self.load)),
            *("--seed", str(self.seed)),
            *("--trace", trace),
        ]
        for key, value in self.params.items():
            command += ["--param", f"{key}={value}"]
        return command


@contextmanager
def lines(what: Traced) -> Iterator[Iterator[str]]:
    """The trace as it comes. A reader that has seen enough leaves, and the simulator is stopped."""
    reading, writing = os.pipe()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        child = subprocess.Popen(
            what.command(f"/dev/fd/{writing}"), pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=said
        )
        os.close(writing)
        whole = False

        def read() -> Iterator[str]:
            nonlocal whole
            with os.fdopen(reading, encoding="utf-8", errors="replace") as source:
                yield from source
            whole = True

        try:
            yield read()
        except BaseException:
            child.kill()
            child.wait()
            raise
        if not whole:
            child.kill()
        if child.wait() and whole:
            said.seek(0)
            last = said.read().strip().splitlines()[-1:] or [f"ended with status {child.returncode}"]
            raise LabError(f"{what.workload.stem} under {what.scheduler.stem}: {last[0]}")
