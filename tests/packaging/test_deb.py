# SPDX-License-Identifier: GPL-2.0-or-later
"""The package for Debian: made the same twice, without complaints; installed, upgraded and removed in a clean root."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.packaging.clean_root import CleanRoot
from tests.packaging.conftest import ROOT, packed

SYSTEMCTL = """#!/bin/sh
echo "$*" >>/calls
"""


@pytest.fixture
def root(tmp_path: Path, needs: Callable[..., None]) -> Iterator[CleanRoot]:
    needs("dpkg", "tar", "chroot")
    if os.geteuid() != 0:
        pytest.skip("needs root: chroot")
    made = CleanRoot(tmp_path / "root")
    yield made
    shutil.rmtree(made.path)


def install(root: CleanRoot, package: Path) -> None:
    shutil.copy(package, root.path / "package.deb")
    root.run("dpkg", "-i", "/package.deb")
    (root.path / "package.deb").unlink()


def with_systemd(root: CleanRoot) -> None:
    """A root in which systemd seems to run, with a systemctl that notes what it is asked for."""
    (root.path / "run/systemd/system").mkdir(parents=True)
    systemctl = root.path / "usr/bin/systemctl"
    systemctl.write_text(SYSTEMCTL)
    systemctl.chmod(0o755)


def asked(root: CleanRoot) -> list[str]:
    calls = root.path / "calls"
    lines = calls.read_text().splitlines() if calls.exists() else []
    calls.unlink(missing_ok=True)
    return lines


@pytest.fixture(scope="module")
def next_revision(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an upgrade brings."""
    return packed(tmp_path_factory.mktemp("next"), "-r", "2")


def test_the_same_commit_gives_the_same_file(package: Path, tmp_path: Path):
    assert packed(tmp_path).read_bytes() == package.read_bytes()


def test_lintian_has_nothing_to_say(package: Path, needs: Callable[..., None]):
    needs("lintian")
    command = ["lintian", "--allow-root", "--info", "--fail-on", "error,warning,info", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stdout + done.stderr


def test_installed_started_upgraded_and_removed_without_a_trace(root: CleanRoot, package: Path, next_revision: Path):
    before = root.files()
    install(root, package)
    added = {str(path) for path in root.files() - before if (root.path / path).is_file()}
    assert {
        "usr/bin/scx_bfs",
        "usr/lib/systemd/system/scx_bfs.service",
        "usr/share/man/man8/scx_bfs.8.gz",
        "usr/share/bash-completion/completions/scx_bfs",
        "usr/share/zsh/vendor-completions/_scx_bfs",
        "usr/share/fish/vendor_completions.d/scx_bfs.fish",
        "usr/share/doc/scx-bfs/third-party.gz",
    } <= added
    assert all("scx" in path for path in added), added
    assert root.run("dpkg", "--verify", "scx-bfs").stdout == ""
    assert root.run("scx_bfs", "--version").stdout.startswith("scx_bfs 0.")
    # No kernel is there to be asked: a line says so, after those that name version and command, and the status does.
    refused = root.run("scx_bfs", check=False)
    assert (refused.returncode, refused.stdout) == (3, "")
    assert refused.stderr.splitlines()[-1].startswith("scx_bfs: this kernel has no sched_ext: ")

    installed = root.files()
    install(root, next_revision)
    version = root.run("dpkg-query", "-W", "-f", "${Version} ${Status}", "scx-bfs").stdout
    assert version.endswith("-2 install ok installed")
    assert root.files() == installed
    assert root.run("dpkg", "--verify", "scx-bfs").stdout == ""

    root.run("dpkg", "--purge", "scx-bfs")
    assert root.files() == before


def test_a_service_is_restarted_by_an_upgrade_and_ended_by_a_removal_but_never_started(
    root: CleanRoot, package: Path, next_revision: Path
):
    with_systemd(root)
    install(root, package)
    assert asked(root) == ["--system daemon-reload"]
    install(root, next_revision)
    assert asked(root) == ["--system daemon-reload", "--system try-restart scx_bfs.service"]
    root.run("dpkg", "--remove", "scx-bfs")
    assert asked(root) == [
        "--system stop scx_bfs.service",
        "--system --no-reload --quiet disable scx_bfs.service",
        "--system daemon-reload",
    ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-r", "one"], "deb: -r one: expected a revision of Debian's: 1, 1.1, 2~rc1\n"),
        (["-o", "/nowhere"], "deb: -o /nowhere: no such folder\n"),
        (["more"], "deb: more: expected [-r REVISION] [-o DIR]\n"),
    ],
)
def test_bad_input_is_one_line(options: list[str], says: str):
    done = subprocess.run([ROOT / "scripts/deb", *options], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", says)
