# SPDX-License-Identifier: GPL-2.0-or-later
"""Installed programs among the schedulers of a comparison."""

import os
from pathlib import Path

import pytest

from schedlab.campaign import installed
from schedlab.campaign.arms import parse
from schedlab.errors import InputError


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "scx_mine"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return program


def test_a_program_is_found_where_a_shell_finds_it(program: Path) -> None:
    spelled = installed.spelled("default,exec:\"scx_mine -m '0,1' --fast\",bfs:rules=424")
    assert spelled == f'default,{program}:options=-m "0,1" --fast,bfs:rules=424'
    assert installed.spelled("exec:scx_mine,bfs") == f"{program},bfs"
    assert installed.spelled("default,bfs") == "default,bfs"


def test_a_comparison_takes_it(checkout: Path, program: Path) -> None:
    default, mine, bfs = parse('default,exec:"scx_mine --fast",bfs', "vm")
    assert (default.scheduler.name, bfs.scheduler.name) == ("default", "bfs")
    assert mine.scheduler.is_program
    assert mine.tunables == {"options": "--fast"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("exec:scx_none,bfs", "scheduler exec:scx_none: scx_none is not installed here"),
        ('exec:"",bfs', 'scheduler exec:"": expected a program'),
        ('exec:"scx_mine \'x",bfs', 'scheduler exec:"scx_mine \'x": No closing quotation'),
        ("bfs exec:scx_mine", "schedulers 'bfs exec:scx_mine': expected exec:\"PROGRAM OPTION…\""),
    ],
)
def test_what_is_no_program_is_one_line(checkout: Path, program: Path, text: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        parse(text, "vm")
    assert str(error.value) == says
