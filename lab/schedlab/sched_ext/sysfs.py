# SPDX-License-Identifier: GPL-2.0-or-later
"""What /sys/kernel/sched_ext says: the only truth about which scheduler runs."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import PlaceError

ROOT = Path("/sys/kernel/sched_ext")


@dataclass(frozen=True)
class State:
    state: str  # disabled, enabling, enabled, disabling
    ops: str  # name of the running scheduler, or ""
    enable_seq: int
    nr_rejected: int
    switch_all: bool

    @property
    def enabled(self) -> bool:
        return self.state != "disabled"


def there() -> bool:
    """Whether this kernel has sched_ext."""
    return (ROOT / "state").exists()


def read() -> State:
    if not there():
        raise PlaceError("this kernel has no sched_ext; 'schedlab doctor' names one that has, --on vm needs none")
    return State(
        state=_text("state"),
        ops=_text("root/ops"),
        enable_seq=int(_text("enable_seq") or 0),
        nr_rejected=int(_text("nr_rejected") or 0),
        switch_all=_text("switch_all") == "1",
    )


def need_root(what: str) -> None:
    if os.geteuid() != 0:
        raise PlaceError(f"{what} needs root: run it with sudo")


def wait(enabled: bool, patience_s: float) -> bool:
    """Whether the kernel reached that state in time."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if read().state == ("enabled" if enabled else "disabled"):
            return True
        time.sleep(0.05)
    return False


def _text(name: str) -> str:
    try:
        return (ROOT / name).read_text(encoding="utf-8").strip()
    except OSError:
        # The folder of the running scheduler is there only while one runs.
        return ""
