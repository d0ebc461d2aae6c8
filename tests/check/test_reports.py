# SPDX-License-Identifier: GPL-2.0-or-later
"""What `schedlab check` writes for continuous integration, however it ends."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from schedlab.cli.check_results import Results
from schedlab.places import trial
from tests import junit_form, sarif_form
from tests.check.conftest import POLICIES, ROOT, interrupted

SOUND = POLICIES / "sound.bpf.c"
END = "the check ran to its end"


def words(policy: Path | str, tmp_path: Path, *options: str | Path) -> list[str]:
    files = ["--sarif", tmp_path / "ci" / "c.sarif", "--junit", tmp_path / "ci" / "c.xml", "-C", tmp_path / "found"]
    return [str(word) for word in [sys.executable, "-m", "schedlab", "check", policy, *files, *options]]


def check(policy: Path | str, tmp_path: Path, *options: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "lab")}
    command = words(policy, tmp_path, "--kernel", "none", *options)
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def written(tmp_path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The run of the SARIF file, and the verdicts of the test cases."""
    sarif = sarif_form.read(tmp_path / "ci" / "c.sarif")
    return sarif, junit_form.verdicts(junit_form.read(tmp_path / "ci" / "c.xml"))


def place(result: dict[str, Any]) -> tuple[str, int]:
    where = result["locations"][0]["physicalLocation"]
    return where["artifactLocation"]["uri"], where["region"]["startLine"]


def test_a_finding_has_its_line_and_its_command(tmp_path: Path) -> None:
    policy = "tests/check/policies/bugs/unbounded_loop.bpf.c"
    done = check(policy, tmp_path, "--runs", "5")
    assert done.returncode == 1, done
    sarif, cases = written(tmp_path)
    (result,) = sarif["results"]
    lines = (ROOT / policy).read_text(encoding="utf-8").splitlines()
    loop = lines.index("	while (scx_bpf_dsq_nr_queued(SHARED)) {") + 1
    uri, line = place(result)
    assert uri == policy
    assert line in (loop, loop + 1)
    assert result["ruleId"] == "endless-loop"
    assert result["properties"]["reproduce"] in done.stdout
    assert result["properties"]["reproduce"] in result["message"]["text"]
    assert "16000000 operations" in result["message"]["text"]
    assert sarif["invocations"] == [{"executionSuccessful": True, "exitCode": 1}]
    assert cases == {f"{policy}: unbounded_loop": "failure", f"{policy}: {END}": ""}
    assert "found in run" in done.stdout


def test_a_finding_without_a_line_is_the_whole_policys(tmp_path: Path) -> None:
    policy = POLICIES / "bugs" / "pinned_unread.bpf.c"
    assert check(policy, tmp_path, "--runs", "20", cwd=tmp_path).returncode == 1
    (result,) = written(tmp_path)[0]["results"]
    assert result["ruleId"] in ("starvation", "work-conservation")
    # It does not lie below the folder in which the command ran.
    assert place(result) == (policy.as_uri(), 1)


def test_every_checker_is_a_rule_with_a_meaning_and_a_page(tmp_path: Path) -> None:
    assert check(SOUND, tmp_path, "--runs", "3").returncode == 0
    sarif, _ = written(tmp_path)
    page = (ROOT / "docs" / "checking.md").read_text(encoding="utf-8")
    rows = [line for line in page.split("\n## ")[2].splitlines() if line.startswith("| `")]
    named = {name.strip(" `") for row in rows for name in row.split("|")[1].split(",")}
    rules = {rule["id"]: rule for rule in sarif["tool"]["driver"]["rules"]}
    assert {name.replace(" ", "-") for name in named} == rules.keys() - {"real-kernel-refused", "real-kernel-lost"}
    headings = {line.removeprefix("## ").lower().replace(" ", "-") for line in page.splitlines() if line[:3] == "## "}
    for rule in rules.values():
        target = rule["help"]["markdown"].partition("](")[2].rstrip(".").rstrip(")")
        assert target.partition("#")[0] == "docs/checking.md"
        assert target.partition("#")[2] in headings


def test_nothing_found_is_an_empty_list_and_the_same_file_each_time(tmp_path: Path) -> None:
    for run in ("first", "second"):
        assert check(SOUND, tmp_path / run, "--runs", "5").returncode == 0
        sarif, cases = written(tmp_path / run)
        assert sarif["results"] == []
        assert sarif["invocations"] == [{"executionSuccessful": True, "exitCode": 0}]
        assert list(cases.values()) == ["", ""]
    for name in ("c.sarif", "c.xml"):
        assert (tmp_path / "first" / "ci" / name).read_bytes() == (tmp_path / "second" / "ci" / name).read_bytes()


def test_a_case_a_choice(tmp_path: Path) -> None:
    assert check("bfs", tmp_path, "--each", "rules", "--runs", "3").returncode == 0
    choices = [f"bfs: bfs:rules={rules}" for rules in ("232", "311", "424", "modern")]
    assert written(tmp_path)[1] == dict.fromkeys([*choices, f"bfs: {END}"], "")


def test_a_replay_tells_how_to_replay(tmp_path: Path) -> None:
    policy = POLICIES / "bugs" / "pinned_unread.bpf.c"
    check(policy, tmp_path, "--runs", "20")
    done = check(policy, tmp_path, "--replay", tmp_path / "found" / "case.toml")
    assert done.returncode == 1, done
    (result,) = written(tmp_path)[0]["results"]
    assert result["properties"]["reproduce"] == f"schedlab check {policy} --replay {tmp_path}/found/case.toml"


@pytest.mark.parametrize(
    ("text", "options", "trouble"),
    [
        ("no C", [], "the policy could not be built"),
        (None, ["--each", "slice_us"], "the simulator ended with status 2"),
        (None, ["-o", "slice_us=1"], "the policy could not be built"),
    ],
    ids=["compiler", "choice", "tunable"],
)
def test_bad_input_is_no_empty_success(text: str | None, options: list, trouble: str, tmp_path: Path) -> None:
    policy = tmp_path / "mine.bpf.c"
    policy.write_text(text or SOUND.read_text(encoding="utf-8"), encoding="utf-8")
    done = check(policy, tmp_path, *options)
    assert done.returncode == 2, done
    sarif, cases = written(tmp_path)
    (invocation,) = sarif["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    assert trouble in invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert (sarif["results"], cases) == ([], {f"{policy}: {END}": "error"})


def test_what_was_found_is_written_when_it_is_interrupted(tmp_path: Path) -> None:
    done = interrupted(words(SOUND, tmp_path, "--kernel", "none", "--time-s", "60"))
    assert done.returncode == 130, done
    sarif, cases = written(tmp_path)
    assert (sarif["invocations"][0]["executionSuccessful"], sarif["invocations"][0]["exitCode"]) == (False, 130)
    assert cases == {f"{SOUND}: sound": "", f"{SOUND}: {END}": "error"}


def test_an_interrupted_trial_is_written_too(tmp_path: Path) -> None:
    results = Results("vtime", "again")
    with pytest.raises(KeyboardInterrupt), results.kept(str(tmp_path / "c.sarif"), str(tmp_path / "c.xml")):
        raise KeyboardInterrupt
    assert sarif_form.read(tmp_path / "c.sarif")["invocations"][0]["exitCode"] == 130
    assert junit_form.verdicts(junit_form.read(tmp_path / "c.xml")) == {f"vtime: {END}": "error"}


def outcome(**more: Any) -> trial.Outcome:
    return trial.Outcome("vm", "7.2.13", **{"loaded": False, "kept": False, "summary": "", "log": (), **more})


@pytest.mark.parametrize(
    ("told", "rule", "where"),
    [
        ("cannot load bfs: refused\n    at bfs.h:12: int x", "real-kernel-refused", ("schedulers/bfs/bfs.h", 12)),
        ("cannot load bfs: refused\n    at queue.h:7: int x", "real-kernel-refused", ("schedulers/lib/queue.h", 7)),
        ("cannot load bfs: refused\n    at gone.h:7: x", "real-kernel-refused", ("schedulers/bfs/scx_bfs.bpf.c", 1)),
        ("the kernel threw it out under stress: stall", "real-kernel-lost", ("schedulers/bfs/scx_bfs.bpf.c", 1)),
    ],
    ids=["header", "shared", "elsewhere", "lost"],
)
def test_a_kernels_refusal_is_a_finding(
    told: str, rule: str, where: tuple[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    kernel = outcome(loaded=rule.endswith("lost"), summary=told, log=("\x1b[1mlog",))
    results = Results("bfs", "schedlab check bfs --kernel vm", kernel)
    with results.kept(str(tmp_path / "c.sarif"), str(tmp_path / "c.xml")):
        results.take('{"policy": "bfs", "seed": 1, "runs": 1, "events": 7, "finding": null}\n', 0)
    (result,) = sarif_form.read(tmp_path / "c.sarif")["results"]
    assert (result["ruleId"], place(result)) == (rule, where)
    assert told.splitlines()[0] in result["message"]["text"]
    assert junit_form.verdicts(junit_form.read(tmp_path / "c.xml")) == {
        "bfs: a real kernel takes and keeps it": "failure",
        "bfs: bfs": "",
        f"bfs: {END}": "",
    }
