# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab bisect over commits of a policy and over kernels, in exact guests."""

import json
import subprocess
from pathlib import Path

import pytest

from schedlab.vm import kernel
from tests.command_line import schedlab

OLDER = "6.16"
CELL = ("-w", "pipe", "--load", "1", "-p", "trips=500", "--json")


def test_two_kernels_are_told_apart(can_boot: None, loader: Path, tmp_path: Path) -> None:
    """Of two that differ one end or the other is the worse one."""
    if not kernel.is_kept(OLDER):
        pytest.skip(f"the cache has no kernel {OLDER}: schedlab vm setup --kernel {OLDER}")
    names = [OLDER, kernel.SERIES]
    done = schedlab("bisect", "--kernels", ",".join(names), *CELL, "--worse-by", "0 %", "-o", str(tmp_path))
    records = [json.loads(path.read_text()) for path in (tmp_path / "cells").glob("*.json")]
    measured = {r["cell"]["kernel"]: r["metrics"]["elapsed_s"] for r in records if r["cell"]["repetition"] == 0}
    assert set(measured) == set(names)
    assert {r["provenance"]["kernel"][: len(OLDER)] for r in records if r["cell"]["kernel"] == OLDER} == {OLDER}
    if done.returncode:
        assert measured[names[1]] <= measured[names[0]]
        assert f"{names[1]}, the last, is not worse by more than 0 %" in done.stderr
        return
    said = json.loads(done.stdout)
    assert said["first_worse"] == [kernel.SERIES]
    assert [step["value"] for step in said["steps"]] == [measured[name] for name in names]
    assert said["steps"][0]["title"].startswith(OLDER)


def test_a_policy_that_the_verifier_refuses_is_no_end(can_boot: None, loader: Path, tmp_path: Path) -> None:
    folder = tmp_path / "repository" / "toy"
    folder.mkdir(parents=True)
    source = folder / "scx_toy.bpf.c"
    git = ["git", "-C", str(folder), "-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    for body in ("", "\n\twhile (*(volatile u64 *)&p->scx.slice);"):
        source.write_text(
            "#include <scx.h>\n"
            f"void BPF_STRUCT_OPS(toy_running, struct task_struct *p)\n{{{body}\n}}\n"
            'SCX_OPS_DEFINE(toy_ops, .running = (void *)toy_running, .name = "toy");\n'
        )
        subprocess.run([*git, "add", "--all"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--message", f"toy{body and ' that loops'}"], check=True)
    what = ("--policy", str(folder), "--from", "HEAD~", "--on", "vm")
    done = schedlab("bisect", *what, *CELL, "-o", str(tmp_path / "out"))
    assert done.returncode == 1, done.stderr
    last = done.stderr.splitlines()[-1]
    assert "the last, has no value: failed: " in last
    assert not (tmp_path / "out" / "sources").exists()
