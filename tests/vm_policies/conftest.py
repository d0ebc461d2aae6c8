# SPDX-License-Identifier: GPL-2.0-or-later
"""The built loader, and guests to try it in; skipped, with the reason, where no guest can be booted.

Software emulation is slow to boot, so a module boots one guest for all of its tests: a script in the guest does what
is to be done and prints one line of JSON for each thing that happened.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from schedlab import checkout, vm
from schedlab.errors import PlaceError
from schedlab.vm import kernel, qemu

HERE = Path(__file__).parent
SCHEDULERS = sorted(path.parent.name for path in (HERE.parents[1] / "schedulers").glob("*/scx_*.bpf.c"))
WORKLOADS = HERE.parents[1] / "workloads"


@dataclass(frozen=True)
class Said:
    """What the guest's script printed: its lines of JSON by their key `event`, and all lines as they came."""

    exit_code: int
    lines: list[str]

    def events(self, name: str) -> list[dict[str, Any]]:
        found = []
        for line in self.lines:
            if line.startswith("{"):
                data = json.loads(line)
                if data.get("event") == name:
                    found.append(data)
        return found

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """The one event of that name and those fields."""
        found = [event for event in self.events(name) if fields.items() <= event.items()]
        assert len(found) == 1, f"{len(found)} events {name} {fields}; the guest said:\n" + "\n".join(self.lines)
        return found[0]


@pytest.fixture(scope="session")
def loader() -> Path:
    """A missing program is a mistake of the build, not of the place: no skip."""
    return checkout.need_binary("schedlab-host")


@pytest.fixture(scope="session")
def can_boot() -> None:
    try:
        qemu.find()
        kernel.resolve()
    except PlaceError as error:
        pytest.skip(f"no guest can be booted: {error}")


def run_script(
    name: str,
    loader: Path,
    files: Mapping[str, Path],
    arguments: list[str],
    cpus: int = 2,
    limit_s: float = 600,
    tier: str = "auto",
    memory_mib: int = 1024,
) -> Said:
    """Run a script of this folder in a guest that has the loader, its helpers and the workloads."""
    lines: list[str] = []
    inside = {
        "/bin/schedlab-host": loader,
        "/test/common.sh": HERE / "common.sh",
        f"/test/{name}": HERE / name,
        "/workloads": WORKLOADS,
        **files,
    }

    result = vm.run(
        ["sh", f"/test/{name}", *arguments],
        inside,
        tier=tier,
        cpus=cpus,
        memory_mib=memory_mib,
        limit_s=limit_s,
        on_line=lines.append,
        on_error_line=lambda line: lines.append(f"stderr: {line}"),
        again=lines.clear,
    )
    return Said(result.exit_code, lines)


def need_program(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: make setup")
    return Path(found)
