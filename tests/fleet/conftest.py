# SPDX-License-Identifier: GPL-2.0-or-later
"""A fleet of sshds on this machine, or why there is none."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fleet.sshd_hosts import Fleet, lacking


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    if why := lacking():
        pytest.skip(f"no fleet of sshds on this machine: {why}")
    made = Fleet(tmp_path)
    yield made
    for host in made.hosts.values():
        if host.child:
            with suppress(OSError, IndexError):
                for pid in host.processes():
                    os.kill(pid, signal.SIGCONT)
        host.die()
