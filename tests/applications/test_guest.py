# SPDX-License-Identifier: GPL-2.0-or-later
"""Applications under a scheduler of ours on a real kernel: one guest, with this machine's programs in it."""

import json
from pathlib import Path

import pytest

from schedlab import vm
from schedlab.errors import PlaceError
from schedlab.places import applications
from schedlab.vm import kernel, qemu
from tests.applications.conftest import APPLICATIONS, TINY, WORKLOADS, check_promises, options, skip_if_not_here
from tests.vm_policies import shards

SCHEDULER = "bfs"
# Beside what makes each tiny: the database that also writes, as the one that reads runs on the host.
MORE = {"oltp": {"read_write": "1"}}


def asked(name: str) -> tuple[int, dict[str, str]]:
    """Load and parameters."""
    load, params = TINY[name]
    return load, params | MORE.get(name, {})


@pytest.fixture(scope="module")
def can_boot() -> None:
    try:
        qemu.find()
        kernel.resolve()
    except PlaceError as error:
        pytest.skip(f"no guest can be booted: {error}")


@pytest.fixture(scope="module")
def here(can_boot: None, runner: Path) -> dict[str, dict[str, Path]]:
    """The files of each application whose programs are here."""
    found = {}
    for name in APPLICATIONS:
        try:
            skip_if_not_here(runner, name)
            found[name] = applications.files(runner, [(WORKLOADS / f"{name}.toml", *asked(name))])
        except (PlaceError, pytest.skip.Exception):
            continue
    return found


@pytest.fixture(scope="module")
def lines(here: dict[str, dict[str, Path]], runner: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    if not here:
        pytest.skip("no application is installed here")
    shard = tmp_path_factory.mktemp("shard") / "shard.json"
    shards.write(shard, [shards.cell(SCHEDULER, name, *asked(name)) for name in here])
    inside = {
        "/bin/schedlab-host": runner,
        "/test/guest.sh": Path(__file__).with_name("guest.sh"),
        "/test/shard.json": shard,
        "/workloads": WORKLOADS,
        "/profiles": WORKLOADS.parent / "profiles",
    }
    for files in here.values():
        inside = {**files, **inside}
    said: list[str] = []
    vm.run(
        ["sh", "/test/guest.sh"],
        inside,
        tier="auto",
        cpus=2,
        memory_mib=applications.MEMORY_MIB,
        environment={"SCHEDLAB_CACHE": applications.CACHE},
        on_disk=True,
        limit_s=1500,
        on_line=said.append,
        on_error_line=lambda line: said.append(f"stderr: {line}"),
        again=said.clear,
    )
    return said


@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_application_keeps_its_promises_in_a_guest(
    runner: Path, here: dict[str, dict[str, Path]], lines: list[str], name: str
):
    if name not in here:
        skip_if_not_here(runner, name)
        pytest.skip(f"{name}: not all of its Debian packages are installed here")
    records = [json.loads(line) for line in lines if line.startswith('{"format"')]
    record = next((found for found in records if found["cell"]["workload"] == name), None)
    assert record, "\n".join(lines)
    check_promises(name, record)
    assert (record["cell"]["load"], record["cell"]["params"]) == asked(name)
    assert record["provenance"]["ops"].startswith(f"{SCHEDULER}_")


def test_the_guest_ends_as_it_began(here: dict[str, dict[str, Path]], lines: list[str]):
    end = json.loads(next(line for line in lines if '"event": "end"' in line))
    assert end == {"event": "end", "exit": 0, "state": "disabled", "left": ""}, "\n".join(lines)


def test_a_guest_without_the_programs_names_their_package(can_boot: None, runner: Path):
    said: list[str] = []
    result = vm.run(
        ["/bin/schedlab-host", "exec", "/workloads/transcode.toml", *options("transcode")],
        {"/bin/schedlab-host": runner, "/workloads": WORKLOADS, "/profiles": WORKLOADS.parent / "profiles"},
        on_line=said.append,
        on_error_line=said.append,
    )
    assert result.exit_code == 3
    assert said == ["schedlab-host: transcode: ffmpeg is not installed; on Debian: apt-get install ffmpeg"]
