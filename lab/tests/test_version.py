# SPDX-License-Identifier: GPL-2.0-or-later
"""The version that is told: of a clone by git, of what was built from one by its note, else the number alone."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedlab import checkout, version


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "1.2.3"\n')
    monkeypatch.setattr(checkout, "tree", lambda: tmp_path)
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    version.number.cache_clear()
    version.commit.cache_clear()


def git(tree: Path, *words: str) -> None:
    name = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *name, *words], cwd=tree, check=True, capture_output=True)


def test_a_clone_tells_its_commit_and_whether_it_was_changed(tree: Path) -> None:
    git(tree, "init")
    git(tree, "add", ".")
    git(tree, "commit", "--message", "first")
    # A tag is no number: that stands in Cargo.toml.
    git(tree, "tag", "--annotate", "v9", "--message", "nine")
    told = version.told()
    assert re.fullmatch(r"1\.2\.3 \([0-9a-f]{9}\)", told)
    (tree / "Cargo.toml").write_text('[workspace.package]\nversion = "1.2.4"\n')
    forget()
    assert version.told() == told.replace("1.2.3", "1.2.4").replace(")", "-dirty)")


def test_without_git_a_note_tells_it(tree: Path) -> None:
    assert version.told() == "1.2.3"
    (tree / "commit").write_text("1a2b3c4d5\nabc  schedlab-sim\n")
    forget()
    assert version.told() == "1.2.3 (1a2b3c4d5)"


def test_an_archive_within_somebody_else_s_repository_is_not_of_its_commit(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tree, "init")
    git(tree, "commit", "--allow-empty", "--message", "theirs")
    inner = tree / "schedlab"
    inner.mkdir()
    (tree / "Cargo.toml").rename(inner / "Cargo.toml")
    monkeypatch.setattr(checkout, "tree", lambda: inner)
    assert version.told() == "1.2.3"
