# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of `schedlab check`: bad input, other ways to break, interruption."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from schedlab.cli.check import show
from schedlab.places import trial
from tests.check.conftest import POLICIES, ROOT, check, interrupted

SOUND = POLICIES / "sound.bpf.c"


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = SOUND.read_text(encoding="utf-8")
    assert text.count(old) == 1
    policy = tmp_path / "mine.bpf.c"
    policy.write_text(text.replace(old, new), encoding="utf-8")
    return policy


def test_the_compilers_words_come_as_they_are(tmp_path: Path) -> None:
    policy = changed(tmp_path, "s32 cpu = scx_bpf_task_cpu(p);", "s32 cpu = scx_bpf_task_cpu(p)")
    line = policy.read_text(encoding="utf-8").splitlines().index("	s32 cpu = scx_bpf_task_cpu(p)") + 1
    checked = check(policy)
    assert checked.status == 2
    assert f"{policy}:{line}:" in checked.stderr
    assert "error: expected ';'" in checked.stderr
    assert "schedlab" not in checked.stderr.replace(str(policy), "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no/such.bpf.c"], "schedlab: no/such.bpf.c: no such policy file or folder"),
        (["no-such"], "schedlab: unknown scheduler 'no-such'; known: "),
        (["default"], "schedlab: 'default' is the kernel's own scheduler: there is no policy to check"),
        ([SOUND, "-o", "slice_us=1"], "schedlab-sim: sound:slice_us=1: expected a number from 100 to 20000 us"),
        ([SOUND, "-o", "slice=1"], "schedlab-sim: sound: unknown tunable 'slice'; it has slice_us"),
        ([SOUND, "--each", "slice_us"], "schedlab-sim: --each slice_us: expected the name of a choice"),
        ([SOUND, "--replay", "no.toml"], "schedlab-sim: no.toml: "),
        ([SOUND, "--api", "5.4"], "schedlab-sim: invalid value '5.4' for '--api <RELEASE>': expected one of 6.12, "),
        ([SOUND, "--rodata", "no.toml"], "schedlab-sim: no.toml: expected a readable file of values"),
        ([SOUND, "--runs", "0"], "schedlab-sim: invalid value '0' for '--runs <RUNS>'"),
    ],
    ids=lambda value: None if isinstance(value, list) else value[:40],
)
def test_bad_input_is_one_line(arguments: list, message: str) -> None:
    checked = check(*arguments)
    assert checked.status == 2, checked
    assert checked.stderr.startswith(message), checked.stderr
    assert checked.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if (p->nr_cpus_allowed > 1)", "if (*(u64 *)(0x100000000000 + p->pid))"),
        ("(p, QUEUE, slice_us", "(p, cpu_llc[cpu * 77777], slice_us"),
    ],
    ids=["memory", "index"],
)
def test_memory_that_is_not_the_policys_is_a_finding(old: str, new: str, tmp_path: Path) -> None:
    policy = changed(tmp_path, old, new)
    finding = check(policy, "-C", tmp_path / "out").finding
    line = next(number for number, text in enumerate(policy.read_text("utf-8").splitlines(), 1) if new in text)
    assert finding["by"] == "fault"
    assert f"{policy.name}:{line}" in finding["what"]
    assert finding["size"]["tasks"] <= 3


def test_a_finding_keeps_the_release_whose_interface_the_policy_saw(tmp_path: Path) -> None:
    policy = changed(
        tmp_path,
        "s32 cpu = scx_bpf_task_cpu(p);",
        """s32 cpu = scx_bpf_task_cpu(p);
	if (!ksym_exists(scx_bpf_now___v1))
		scx_bpf_error("there is no scx_bpf_now");""",
    )
    assert check(policy, "--runs", "5").status == 0
    finding = check(policy, "--runs", "5", "--api", "6.12", "-C", tmp_path / "out").finding
    assert "there is no scx_bpf_now" in finding["what"]
    assert 'api = "6.12"' in Path(finding["case"]).read_text(encoding="utf-8")
    assert "there is no scx_bpf_now" in check(policy, "--replay", finding["case"]).finding["what"]


def test_values_of_a_file_are_not_drawn_and_are_kept_with_a_finding(tmp_path: Path) -> None:
    policy = changed(
        tmp_path,
        "s32 cpu = scx_bpf_task_cpu(p);",
        """s32 cpu = scx_bpf_task_cpu(p);
	if (slice_us != 1234)
		scx_bpf_error("the slice was not set");""",
    )
    values = tmp_path / "mine.toml"
    values.write_text("slice_us = 1234\n", encoding="utf-8")
    given = [policy, "--runs", "5", "--rodata", values, "-C", tmp_path / "out"]
    assert check(*given).status == 0
    twice = check(*given, "-o", "slice_us=1234")
    assert (twice.status, twice.stderr) == (2, "schedlab-sim: -o slice_us: --rodata sets it already\n")
    values.write_text("slice_us = 1235\n", encoding="utf-8")
    finding = check(*given).finding
    values.unlink()
    assert "the slice was not set" in check(policy, "--replay", finding["case"]).finding["what"]
    values.write_text("\nslice = 1\n", encoding="utf-8")
    unknown = check(*given)
    near = "slice: the object has no global constant or variable slice: did you mean slice_us?"
    assert (unknown.status, unknown.stderr) == (2, f"schedlab-sim: {values}:2: {near}\n")


def test_every_choice_gets_its_own_swarm(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "schedlab", "check", "bfs", "--each", "rules", "--runs", "5", "--kernel", "none"]
    done = subprocess.run([*words, "-C", tmp_path], cwd=ROOT / "lab", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert [line.split(": ")[0] for line in done.stdout.splitlines()] == [
        f"bfs:rules={rules}" for rules in ("232", "311", "424", "modern")
    ]


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "schedlab", "check", SOUND, "--time-s", "60", "--kernel", "none", "-C", tmp_path]
    done = interrupted(words)
    assert done.returncode == 130, done
    assert "nothing found in" in done.stdout
    assert "Traceback" not in done.stderr


def said(loaded: bool, **more: object) -> dict[str, object]:
    found = {"loaded": loaded, "stress": 0, "ended": False, "ops": "x", "state": "enabled", "seconds": 1, "kernel": "7"}
    return {**found, **more}


def test_what_the_kernel_did_is_told() -> None:
    log = [
        "libbpf: prog 'x_dispatch': -- BEGIN PROG LOAD LOG --",
        "0: R1=ctx()",
        "-- END PROG LOAD LOG --",
        "scx_x: cannot load x: the kernel's verifier refused x_dispatch: infinite loop detected at insn 3",
        "    at x.bpf.c:4: while (1) {",
    ]
    refused = trial.outcome_of("vm", said(False), log)
    assert not refused.good
    assert refused.summary.splitlines()[0].startswith("cannot load x: the kernel's verifier refused x_dispatch")
    assert refused.summary.splitlines()[1] == "    at x.bpf.c:4: while (1) {"
    assert refused.log == ("0: R1=ctx()",)
    assert trial.outcome_of("vm", said(True), []).good
    ends = ["scx_x: EXIT: runnable task stall (a[7] failed to run for 30.1s)"]
    stalled = trial.outcome_of("vm", said(True, ended=True, state="disabled"), ends)
    assert not stalled.good
    assert stalled.summary == "the kernel threw it out under stress: runnable task stall (a[7] failed to run for 30.1s)"
    assert "stress itself" in trial.outcome_of("vm", said(True, stress=2), []).summary
    assert "does not schedule any more" in trial.outcome_of("vm", said(True, state="disabled"), []).summary


def test_the_reason_comes_before_the_dump(capsys: pytest.CaptureFixture[str]) -> None:
    dump = (ROOT / "lab" / "tests" / "snapshots" / "dumps" / "forgotten.txt").read_text(encoding="utf-8").splitlines()
    early = trial.outcome_of("vm", said(False), dump)
    reason = "runnable task stall (sh[134] failed to run for 2.680s)"
    assert early.summary == f"the kernel threw it out before it scheduled: {reason}"
    late = trial.outcome_of("vm", said(True, ended=True, state="disabled"), dump)
    show(late, sys.stdout)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Linux 7: lost: the kernel threw it out under stress: {reason}"
    assert lines[1].startswith("  sh[134] could run for 2.680 s and got no CPU: ")
    assert lines[4:] == dump


def conformance(*options: str | Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "schedlab", "check", "--conformance", *options]
    return subprocess.run([str(word) for word in words], cwd=ROOT / "lab", capture_output=True, text=True, check=False)


OWN_TESTS = ROOT / "crates/conformance/tests/policies"


def test_the_kernels_own_tests_are_told_one_a_line(tmp_path: Path) -> None:
    (tmp_path / "scx_test.h").touch()
    for name in ("minimal", "exit"):
        source = (OWN_TESTS / f"{name}.bpf.c").read_text(encoding="utf-8")
        (tmp_path / f"{name}.bpf.c").write_text(source, encoding="utf-8")
    (tmp_path / "of_next_year.bpf.c").touch()
    done = conformance(tmp_path)
    assert done.returncode == 0, done
    assert [line.split(":")[0].split() for line in done.stdout.splitlines()[:-1]] == [
        ["pass", "exit"],
        ["pass", "minimal"],
        ["not", "known", "of_next_year"],
    ]
    assert f"3 tests in {tmp_path}: 2 pass, 0 fail, 0 not applicable, 1 not known; known" in done.stdout
    (tmp_path / "minimal.bpf.c").write_text("no C", encoding="utf-8")
    done = conformance(tmp_path, "--json")
    assert done.returncode == 1, done
    data = json.loads(done.stdout)
    assert data["counts"] == {"pass": 1, "fail": 1, "not_applicable": 0, "not_known": 1}
    assert {test["name"]: test["verdict"] for test in data["tests"]}["minimal"] == "fail"
    assert "total_bw" in data["absent"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["no/such"], "schedlab-sim: no/such: expected a kernel tree, which has tools/testing/selftests/sched_ext"),
        ([OWN_TESTS, "bfs"], "schedlab: --conformance takes a kernel tree and no policy"),
        ([OWN_TESTS, "-o", "a=1"], "schedlab: --conformance: -o, --each, --replay, --api and --rodata are for"),
    ],
)
def test_bad_input_of_conformance_is_one_line(options: list, message: str) -> None:
    done = conformance(*options)
    assert done.returncode == 2, done
    assert done.stderr.startswith(message), done.stderr
    assert done.stderr.count("\n") == 1


def test_without_a_policy_there_is_nothing_to_check() -> None:
    words = [sys.executable, "-m", "schedlab", "check"]
    done = subprocess.run(words, cwd=ROOT / "lab", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "schedlab: check: expected a policy, or --conformance DIR\n"
