# SPDX-License-Identifier: GPL-2.0-or-later
"""Every application runs on this machine, keeps its promises and leaves nothing, also when it is interrupted."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.applications.conftest import (
    APPLICATIONS,
    TINY,
    WORKLOADS,
    Ran,
    check_promises,
    options,
    run,
    skip_if_not_here,
)

CPUS = len(os.sched_getaffinity(0))


def processes_in(folder: Path) -> list[str]:
    """Processes that work below a folder or were told of it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes()
            there = Path(os.readlink(process / "cwd")).is_relative_to(folder)
        except OSError:
            continue
        if there or str(folder).encode() in line:
            found.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return found


def nothing_is_left(runs: Path) -> None:
    assert list(runs.iterdir()) == []
    assert processes_in(runs) == []


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Where nobody may go, too: folders of pytest are the user's alone."""
    folder = Path("/dev/shm") / f"schedlab-test-{os.getpid()}-{tmp_path.name}"
    folder.mkdir(mode=0o755)
    return folder


@pytest.fixture(autouse=True)
def remove(runs: Path):
    yield
    runs.rmdir()


def ran(runner: Path, name: str, runs: Path) -> Ran:
    skip_if_not_here(runner, name)
    done = run(runner, name, runs)
    if done.status == 3:
        pytest.skip(done.said)
    return done


@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_application_keeps_its_promises_and_leaves_nothing(runner: Path, name: str, runs: Path):
    assert name in TINY
    done = ran(runner, name, runs)
    assert done.status == 0, done.said
    check_promises(name, done.record)
    nothing_is_left(runs)


def test_a_kernel_is_configured_as_its_file_says(runner: Path):
    skip_if_not_here(runner, "kbuild")
    asked = [str(runner), "prepare", str(WORKLOADS / "kbuild.toml")]
    folder = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    unpacked = subprocess.Popen(["zstd", "-q", "-d", "-c", folder / "files" / "linux.tar.zst"], stdout=subprocess.PIPE)
    done = subprocess.run(["tar", "xO", "./.config"], stdin=unpacked.stdout, capture_output=True, text=True, check=True)
    assert unpacked.wait(60) == 0
    wanted = (WORKLOADS / "kbuild" / "tiny.config").read_text().splitlines()
    settings = {line for line in wanted if line.startswith("CONFIG_")}
    assert len(settings) == 6
    assert settings <= set(done.stdout.splitlines())


def test_every_frame_is_shown_or_not(runner: Path, runs: Path):
    metrics = ran(runner, "mplayer", runs).record["metrics"]
    assert metrics["frames_shown"] + metrics["frames_not_shown"] == 80


@pytest.mark.parametrize("read_write", [0, 1])
@pytest.mark.parametrize("clients", [1, 32 * CPUS])
def test_a_database_serves_one_client_and_many(runner: Path, runs: Path, clients: int, read_write: int):
    skip_if_not_here(runner, "oltp")
    done = run(runner, "oltp", runs, "--param", f"read_write={read_write}", load=clients)
    assert done.status == 0, done.said
    cell, metrics = done.record["cell"], done.record["metrics"]
    assert (cell["load"], cell["params"]["read_write"]) == (clients, str(read_write))
    assert metrics["throughput_per_s"] > 0
    check_promises("oltp", done.record)
    nothing_is_left(runs)


def test_an_interrupted_database_is_stopped_and_removed(runner: Path, runs: Path):
    ran(runner, "oltp", runs)
    command = [str(runner), "exec", str(WORKLOADS / "oltp.toml"), *options("oltp"), "--param", "run_s=600"]
    for number, status in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        child = subprocess.Popen(
            command, env={**os.environ, "TMPDIR": str(runs)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(lambda: any("sysbench" in line and "run" in line.split() for line in processes_in(runs)))
        assert any("postgres" in line for line in processes_in(runs))
        child.send_signal(number)
        assert child.wait(60) == status
        until(lambda: not processes_in(runs) and not list(runs.iterdir()))


def until(condition) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)
