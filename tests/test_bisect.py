# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab bisect with the real simulator, over the commits of a small repository with a policy that becomes worse."""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.command_line import schedlab

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = re.search(r"```c\n(.*?)```", (ROOT / "docs/policies.md").read_text(), re.DOTALL)[1]
ROUNDS = ["1", "2", "3", "4000", "4001"]  # of a loop that every wake-up goes through
WORSE = 3  # the first of these that takes time
CELL = ("-w", "pipe", "--load", "4", "-p", "trips=200", "--metric", "elapsed_s", "--worse-by", "20 %")

pytestmark = pytest.mark.skipif(
    not (ROOT / "target/release/schedlab-sim").exists(), reason="no simulator in target/release: make build"
)


class Repository:
    """With a policy in a folder that includes a header from the folder beside it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.policy = top / "policies" / "toy"
        self.policy.mkdir(parents=True)
        (top / "policies" / "shared").mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", "-C", self.top, *who, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def write(self, rounds: str, broken: str = "") -> None:
        text = EXAMPLE.replace("<scx.h>", '<scx.h>\n#include "../shared/rounds.h"')
        text = text.replace(
            "0);\n\n\treturn cpu", "0);\n\tfor (volatile u32 at = 0; at < ROUNDS; at++);\n\treturn cpu", 1
        )
        assert "ROUNDS" in text
        (self.policy / "scx_toy.bpf.c").write_text(text + broken)
        (self.policy / "README.md").write_text(f"A wake-up takes {rounds} rounds.\n")
        (self.top / "policies" / "shared" / "rounds.h").write_text(f"#define ROUNDS {rounds}\n")

    def commit(self, subject: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", subject)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def rounds(repository: Repository, values: Sequence[str] = ROUNDS, broken: Sequence[int] = ()) -> list[str]:
    """Commits with so many rounds, some of which do not compile, each followed by one that is none of the policy's."""
    commits = []
    for at, value in enumerate(values):
        repository.write(value, "this is no C\n" if at in broken else "")
        commits.append(repository.commit(f"rounds {value}"))
        (repository.top / "notes").write_text(f"{at}\n")
        repository.commit("notes")
    return commits


def walk(repository: Repository, out: Path, good: str, *more: str) -> subprocess.CompletedProcess[str]:
    what = ("--policy", str(repository.policy), "--from", good, *CELL)
    return schedlab("bisect", *what, "-o", str(out), *more)


def test_the_first_worse_commit_is_found_and_shown_again(repository: Repository, tmp_path: Path) -> None:
    commits = rounds(repository)
    before = repository.git("status", "--porcelain", "--ignored"), repository.git("worktree", "list")
    done = walk(repository, tmp_path / "out", commits[0])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[1] for line in lines[1:4]] == [commits[at][:12] for at in (0, 4, 2)]
    short = commits[WORSE][:12]
    assert f"first worse: {short} (rounds {ROUNDS[WORSE]}) is worse" in done.stdout
    assert f"{commits[WORSE - 1][:12]}, before it, is good" in done.stdout
    assert (repository.git("status", "--porcelain", "--ignored"), repository.git("worktree", "list")) == before
    assert not (tmp_path / "out" / "sources").exists()
    (again,) = [line.removeprefix("again: ") for line in lines if line.startswith("again: ")]
    words = subprocess.run(["sh", "-c", f'printf "%s\\n" {again}'], check=True, capture_output=True, text=True)
    repeated = schedlab(*words.stdout.splitlines()[1:])
    assert repeated.returncode == 0, repeated.stderr
    assert f"first worse: {short}" in repeated.stdout
    assert len(list((tmp_path / "out" / "again" / "cells").iterdir())) == 2


def test_what_has_run_is_not_run_again(repository: Repository, tmp_path: Path) -> None:
    commits = rounds(repository)
    first = walk(repository, tmp_path / "out", commits[0])
    cells = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "cells").iterdir()}
    assert 3 <= len(cells) <= 4
    second = walk(repository, tmp_path / "out", commits[0])
    assert second.stdout == first.stdout
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "cells").iterdir()} == cells


def test_a_commit_that_does_not_compile_makes_the_answer_a_range(repository: Repository, tmp_path: Path) -> None:
    commits = rounds(repository, broken=[2])
    done = walk(repository, tmp_path / "out", commits[0], "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["first_worse"] == [commits[2][:12], commits[3][:12]]
    assert said["last_good"] == commits[1][:12]
    assert "scx_toy.bpf.c" in said["steps"][2]["skipped"]
    assert [step.get("worse") for step in said["steps"]] == [False, False, None, True, True]
    told = walk(repository, tmp_path / "out", commits[0])
    assert "it is one of these 2, of which 1 step could not be tried:" in told.stdout
    # Where it lies elsewhere, the one that does not compile is in nobody's way.
    aside = rounds(repository, [*ROUNDS[:WORSE], *ROUNDS[:1], ROUNDS[WORSE]], broken=[1])
    done = walk(repository, tmp_path / "aside", aside[0])
    assert f"first worse: {aside[4][:12]}" in done.stdout


def test_a_worse_end_that_is_not_worse_is_said(repository: Repository, tmp_path: Path) -> None:
    commits = rounds(repository, ROUNDS[:WORSE])
    done = walk(repository, tmp_path / "out", commits[0])
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert f"{commits[-1][:12]}, the last, is not worse by more than 20 %" in line


def test_an_end_that_does_not_compile_is_said(repository: Repository, tmp_path: Path) -> None:
    commits = rounds(repository, ROUNDS[:2], broken=[1])
    done = walk(repository, tmp_path / "out", commits[0])
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"{commits[-1][:12]}, the last, has no value: " in line
    assert not (tmp_path / "out" / "sources").exists()


def test_a_merge_stands_for_its_commits(repository: Repository, tmp_path: Path) -> None:
    begin = rounds(repository, ROUNDS[:1])[0]
    repository.git("checkout", "--quiet", "-b", "aside")
    repository.write(ROUNDS[1])
    repository.commit("harmless")
    repository.write(ROUNDS[WORSE])
    worse = repository.commit("worse")
    repository.git("checkout", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "merged", "aside")
    merge = repository.git("rev-parse", "HEAD")
    done = walk(repository, tmp_path / "out", begin)
    assert f"first worse: {merge[:12]} (merged)" in done.stdout
    hint = re.search(r"its own commits are walked with --from (\w+) --to (\w+)", done.stdout)
    assert hint
    inside = walk(repository, tmp_path / "out", hint[1], "--to", hint[2])
    assert f"first worse: {worse[:12]} (worse)" in inside.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "expected either --kernels or --policy"),
        (["--kernels", "7.1,7.2", "--policy", "bfs"], "expected either --kernels or --policy"),
        (["--kernels", "7.2"], "--kernels '7.2': expected two kernels or more"),
        (["--kernels", "7.1,,7.2"], "--kernels '7.1,,7.2': expected two kernels or more"),
        (["--kernels", "7.2,7.2"], "--kernels: '7.2' is given twice"),
        (["--kernels", "7.2,newest"], "--kernels newest: expected a series such as"),
        (["--kernels", "7.2,./no/bzImage"], "--kernels ./no/bzImage: no such kernel"),
        (["--kernels", "7.1,7.2", "--on", "sim"], "--kernels: only a guest boots a kernel"),
        (["--kernels", "7.1,7.2", "--from", "HEAD"], "--from HEAD: only a policy's history has it"),
        (["--policy", "bsf", "--from", "HEAD"], "unknown scheduler 'bsf'; did you mean bfs"),
        (["--policy", "default", "--from", "HEAD"], "--policy default: expected a policy's folder or its .bpf.c file"),
        (["--policy", "bfs"], "--policy: expected --from REV"),
        (["--policy", "bfs", "--from", "no-such"], "--from no-such: no such commit"),
        (["--policy", "bfs", "--from", "HEAD", "--to", "no-such"], "--to no-such: no such commit"),
        (["--policy", "bfs", "--from", "HEAD"], "no commit between them changes schedulers/bfs"),
        (["--policy", "bfs", "--from", "HEAD", "--kernel", "7.1"], "--kernel 7.1: only a guest boots a kernel"),
        (["--policy", "bfs", "--from", "HEAD", "--scheduler", "cfs"], "--scheduler cfs: only kernels are walked"),
        (["--policy", "bfs", "--from", "HEAD", "--load", "0"], "--load 0: expected 1 to"),
        (["--policy", "bfs", "--from", "HEAD", "--seed", "-1"], "--seed -1: expected 0 or more"),
        (["--policy", "bfs", "--from", "HEAD", "--worse-by", "-5 %"], "--worse-by: expected per cent"),
        (["--policy", "bfs", "--from", "HEAD", "--metric", "elapsed"], "unknown metric 'elapsed'; did you mean"),
        (
            ["--policy", "bfs", "--from", "HEAD", "--metric", "wakeup_latency_us.p98"],
            "expected wakeup_latency_us alone",
        ),
        (["--policy", "bfs", "--from", "HEAD", "--metric", "migrations"], "neither more nor less of it is worse"),
        (["--policy", "bfs", "--from", "HEAD", "-p", "clents=3"], "unknown parameter 'clents'"),
        (["--policy", "bfs", "--from", "HEAD", "-m", "desktop-5"], "unknown machine 'desktop-5'"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, tmp_path: Path) -> None:
    done = schedlab("bisect", "-w", "latt", "-o", str(tmp_path / "out"), *words)
    assert done.returncode == 2, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    assert said in line
    assert not (tmp_path / "out").exists()


def test_a_metric_that_the_cell_does_not_have_is_refused(repository: Repository, tmp_path: Path) -> None:
    commits = rounds(repository, ROUNDS[:2])
    done = walk(repository, tmp_path / "out", commits[0], "--metric", "lateness_us.p99")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "--metric lateness_us.p99: the cell has no such number; it has " in line


def test_a_history_that_goes_the_other_way_is_refused(repository: Repository, tmp_path: Path) -> None:
    commits = rounds(repository, ROUNDS[:2])
    done = walk(repository, tmp_path / "out", commits[1], "--to", commits[0])
    assert done.returncode == 2
    assert f"--from {commits[1]}: expected a commit before {commits[0]}" in done.stderr
