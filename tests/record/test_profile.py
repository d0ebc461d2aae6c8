# SPDX-License-Identifier: GPL-2.0-or-later
"""A workload's profile and the files that its input is made with are a part of it: in its cells' identity, and wherever
it is run."""

import hashlib
from pathlib import Path

import pytest

from schedlab.campaign import cells
from schedlab.catalogue import workloads
from schedlab.errors import InputError

TEXT = 'name = "w"\nprofile = "../p.toml"\n'


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    (tmp_path / "p.toml").write_text("profile")
    path = tmp_path / "here/w.toml"
    path.write_text(TEXT)
    return path


def test_the_digest_is_of_both_as_the_runners_have_it(workload: Path) -> None:
    expected = hashlib.sha256(f"{TEXT}\0profile".encode()).hexdigest()[:16]
    assert cells.file_digest(*workloads.read(workload).sources) == expected


def test_both_lie_in_a_guest_as_they_do_here(workload: Path) -> None:
    inside = workloads.read(workload).within("/lab/workloads")
    assert {place: path.resolve() for place, path in inside.items()} == {
        "/lab/workloads/w.toml": workload,
        "/lab/p.toml": workload.parents[1] / "p.toml",
    }


def test_so_are_the_files_that_an_input_is_made_with(workload: Path) -> None:
    (workload.parent / "w").mkdir()
    (workload.parent / "w/a.config").write_text("A=y")
    text = f'{TEXT}[command.input]\nfiles = ["w/a.config"]\n'
    workload.write_text(text)
    found = workloads.read(workload)
    assert cells.file_digest(*found.sources) == hashlib.sha256(f"{text}\0profile\0A=y".encode()).hexdigest()[:16]
    assert list(found.within("/lab/workloads")) == ["/lab/workloads/w.toml", "/lab/p.toml", "/lab/workloads/w/a.config"]
    workload.write_text(text.replace("a.config", "b.config"))
    with pytest.raises(
        InputError, match=r"w\.toml: key 'command\.input\.files': expected files of the workload, there is"
    ):
        workloads.read(workload)


def test_a_profile_that_is_not_there_is_said_so(workload: Path) -> None:
    workload.write_text(TEXT.replace("p.toml", "q.toml"))
    with pytest.raises(
        InputError, match=r"w\.toml: key 'profile': expected a profile's file, there is no '\.\./q\.toml'"
    ):
        workloads.read(workload)
