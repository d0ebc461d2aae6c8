# SPDX-License-Identifier: GPL-2.0-or-later
"""Installed programs for a guest, with a dpkg-query that knows four packages."""

from pathlib import Path

import pytest

from schedlab.errors import PlaceError
from schedlab.vm import tools

# Status, essential, section, dependencies; or names by a pattern; or a package's files.
DPKG_QUERY = """
case "$*" in
*'db-[0-9]'*) printf 'installed\\tdb-9\\ninstalled\\tdb-15\\ninstalled\\tdb-17-extra\\nnot-installed\\tdb-18\\n' ;;
'-W '*' db-15') printf 'installed\\tno\\tdatabase\\t, db-common (>= 2) | other, libdb\\n' ;;
'-W '*' db-common') printf 'installed\\tno\\tdatabase\\t, dash\\n' ;;
'-W '*' libdb') printf 'installed\\tno\\tlibs\\t, \\n' ;;
'-W '*' dash') printf 'installed\\tyes\\tshells\\t, \\n' ;;
'-L db-15') echo "$FOLDER/server"; echo "$FOLDER"; echo "$FOLDER/bitcode/skipped" ;;
'-L db-common') echo "$FOLDER/common" ;;
esac
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the packages' files lie."""
    programs, files = tmp_path / "bin", tmp_path / "files"
    (files / "bitcode").mkdir(parents=True)
    programs.mkdir()
    for name in ("server", "common", "bitcode/skipped"):
        (files / name).touch()
    (programs / "dpkg-query").write_text(f"#!/bin/sh\n{DPKG_QUERY}")
    (programs / "dpkg-query").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("FOLDER", str(files))
    return files


def test_a_package_comes_with_what_it_depends_on_but_not_with_what_every_guest_has(folder: Path) -> None:
    assert tools.files([], ["db-15"]) == {str(folder / name): folder / name for name in ("common", "server")}


def test_a_pattern_is_the_newest_that_is_installed(folder: Path) -> None:
    assert tools.files([], ["db-[0-9]*"]) == tools.files([], ["db-15"])


def test_a_path_need_not_be_a_program(folder: Path) -> None:
    assert list(tools.files([str(folder / "serv*")], [])) == [str(folder / "server")]


@pytest.mark.parametrize(("programs", "packages"), [(["zz-none"], []), (["/zz/*/none"], []), ([], ["zz-none"])])
def test_what_is_not_installed_is_named(folder: Path, programs: list[str], packages: list[str]) -> None:
    with pytest.raises(PlaceError, match=r"zz.*none is not installed here, and the guest takes it from here"):
        tools.files(programs, packages)
