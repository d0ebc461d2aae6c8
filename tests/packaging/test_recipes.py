# SPDX-License-Identifier: GPL-2.0-or-later
"""The recipes for Fedora and Arch: their linters, and that they bring what the package for Debian brings."""

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

from tests.packaging.conftest import ROOT

SPEC = ROOT / "packaging/rpm/scx-bfs.spec"
PKGBUILD = ROOT / "packaging/arch/PKGBUILD"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]

# The project has no public place for its source yet; the tag has not been wanted for ten years.
KNOWN = {"invalid-url Source0: schedlab-0.1.0.tar.gz", "no-buildroot-tag"}


def test_rpmlint_finds_nothing_new(needs: Callable[..., None]):
    needs("rpmlint", "rpm")
    done = subprocess.run(["rpmlint", SPEC], capture_output=True, text=True, check=False)
    found = {line.split(": ", 2)[2] for line in done.stdout.splitlines() if re.match(r"\S+: [EW]: ", line)}
    assert found <= KNOWN, done.stdout
    assert "0 errors" in done.stdout, done.stdout + done.stderr


def test_makepkg_accepts_the_recipe_and_tells_what_it_is(tmp_path: Path, needs: Callable[..., None]):
    needs("makepkg", "pacman", "setpriv")
    # It does not run as root, and has to write where the recipe lies.
    folder = Path("/tmp") / f"makepkg-{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o777)
    try:
        shutil.copy(PKGBUILD, folder)
        command = ["makepkg", "--printsrcinfo"]
        if os.geteuid() == 0:
            command = ["setpriv", "--reuid=65534", "--clear-groups", *command]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    finally:
        shutil.rmtree(folder)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    told = dict(line.strip().split(" = ", 1) for line in done.stdout.splitlines() if " = " in line)
    assert (told["pkgname"], told["pkgver"]) == ("scx-bfs", VERSION)


def test_the_shell_of_recipes_and_scripts_is_clean(needs: Callable[..., None]):
    needs("shellcheck")
    # Variables that makepkg reads or sets; a failed cd ends makepkg.
    for options, files in (
        (["-s", "bash", "-e", "SC2034,SC2154,SC2164"], [PKGBUILD]),
        ([], sorted((ROOT / "packaging/deb").glob("p*"))),
        (["-x"], [ROOT / "scripts/deb"]),
    ):
        command = ["shellcheck", *options, *files]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_versions_are_that_of_the_crates():
    assert re.search(r"^Version:\s+(\S+)$", SPEC.read_text("utf-8"), re.M)[1] == VERSION
    assert re.search(r"^pkgver=(\S+)$", PKGBUILD.read_text("utf-8"), re.M)[1] == VERSION


def test_all_three_bring_program_service_manual_and_completions():
    brought = {
        "deb": (ROOT / "scripts/deb").read_text("utf-8"),
        "spec": SPEC.read_text("utf-8"),
        "PKGBUILD": PKGBUILD.read_text("utf-8"),
    }
    for name, text in brought.items():
        for part in (
            "bin",
            "scx_bfs.service",
            "--man",
            *(f"--completions {shell}" for shell in ("bash", "zsh", "fish")),
        ):
            assert part in text, f"{name}: {part}"
        assert "packaging/scx_loader.toml" in text, name
