# SPDX-License-Identifier: GPL-2.0-or-later
"""A workload's profile and the files that its input is made with are a part of it: in its cells' identity, and wherever
it is run."""

import hashlib
from pathlib import Path

import pytest

from schedlab.catalogue import workloads
from schedlab.errors import InputError

TEXT = """\
name = "w"
title = "t"
source = "test"
profile = "../p.toml"
load = "tasks"
loads = [1]
[params]
tasks = { default = 1, min = 1, max = 9, about = "tasks" }
[end]
after_s = 1
[[task]]
name = "a"
count = "tasks"
program = [{ loop = [{ run_us = 100 }, { sleep_us = 100 }] }]
[metrics]
promises = ["elapsed_s"]
"""
PROFILE = "[made]\n"
COMMAND = """\
[command]
tools = {}
run = "true"
[command.input]
tools = {}
make = "true"
files = ["w/a.config"]
"""


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    (tmp_path / "p.toml").write_text(PROFILE)
    path = tmp_path / "here/w.toml"
    path.write_text(TEXT)
    return path


def test_the_digest_is_of_both_as_the_runners_have_it(workload: Path) -> None:
    expected = hashlib.sha256(f"{TEXT}\0{PROFILE}".encode()).hexdigest()[:16]
    assert workloads.read(workload).digest == expected


def test_both_lie_in_a_guest_as_they_do_here(workload: Path) -> None:
    inside = workloads.read(workload).within("/lab/workloads")
    assert {place: path.resolve() for place, path in inside.items()} == {
        "/lab/workloads/w.toml": workload,
        "/lab/p.toml": workload.parents[1] / "p.toml",
    }


def test_so_are_the_files_that_an_input_is_made_with(workload: Path) -> None:
    (workload.parent / "w").mkdir()
    (workload.parent / "w/a.config").write_text("A=y")
    text = TEXT + COMMAND
    workload.write_text(text)
    found = workloads.read(workload)
    assert found.digest == hashlib.sha256(f"{text}\0{PROFILE}\0A=y".encode()).hexdigest()[:16]
    assert list(found.within("/lab/workloads")) == ["/lab/workloads/w.toml", "/lab/p.toml", "/lab/workloads/w/a.config"]
    workload.write_text(text.replace("a.config", "b.config"))
    with pytest.raises(
        InputError, match=r"w\.toml:\d+: command\.input\.files\[0\]: expected a file of the workload: .*b\.config"
    ):
        workloads.read(workload)


def test_a_profile_that_is_not_there_is_said_so(workload: Path) -> None:
    workload.write_text(TEXT.replace("p.toml", "q.toml"))
    with pytest.raises(InputError, match=r"w\.toml:4: profile: expected a profile's file: .*q\.toml"):
        workloads.read(workload)
