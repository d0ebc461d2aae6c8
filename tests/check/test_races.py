# SPDX-License-Identifier: GPL-2.0-or-later
"""Five races between the calls of a policy: found with --interleave, with no switch too many, and not without it."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.check.conftest import POLICIES, ROOT, Checked, check
from tests.check.races import PLAIN, RACES, Race


def policy_of(race: Race) -> Path:
    return POLICIES / "races" / f"{race.name}.bpf.c"


def replay(race: Race, case: Path) -> Checked:
    return check(policy_of(race), "--replay", case)


@pytest.mark.parametrize("race", RACES, ids=lambda race: race.name)
def test_found_with_no_switch_too_many_and_found_again(race: Race, tmp_path: Path) -> None:
    options = ["--interleave", *PLAIN, "--seed", str(race.seed), "--runs", str(race.runs), "-C", tmp_path]
    finding = check(policy_of(race), *options).finding
    switches = [made["switch"] for made in finding["switches"]]
    assert 1 <= len(switches) <= race.switches, finding
    program, *arguments = shlex.split(finding["reproduce"])
    assert program == "schedlab"
    command = [sys.executable, "-m", "schedlab", *arguments]
    again = subprocess.run(command, cwd=ROOT / "lab", capture_output=True, text=True, check=False)
    assert again.returncode == 1, again.stderr
    assert f"found again by {finding['by']}" in again.stdout
    for made in finding["switches"]:
        assert made["what"] in again.stdout
    case = Path(finding["case"])
    text = case.read_text(encoding="utf-8")
    for switch in switches:
        lines = re.sub(rf'    "{re.escape(switch)}", # [^\n]*\n', "", text)
        assert lines != text
        case.write_text(lines, encoding="utf-8")
        less = replay(race, case)
        assert less.status == 0 or less.finding["by"] != finding["by"], switch


@pytest.mark.parametrize("race", RACES, ids=lambda race: race.name)
def test_not_found_without(race: Race) -> None:
    checked = check(policy_of(race), *PLAIN, "--seed", str(race.seed), "--runs", str(race.runs))
    assert checked.status == 0, checked


def test_nothing_is_found_in_a_policy_without_races() -> None:
    """Among these, operations that come in between the first switch of a CPU, which has no speed before that."""
    checked = check(ROOT / "schedulers" / "bfs", "--interleave", "--seed", "1", "--runs", "40")
    assert checked.status == 0, checked


def test_every_race_is_tried() -> None:
    assert [race.name for race in RACES] == sorted(
        path.name.removesuffix(".bpf.c") for path in (POLICIES / "races").glob("*.bpf.c")
    )


def test_a_switch_that_is_none_is_one_line(tmp_path: Path) -> None:
    race = RACES[0]
    options = ["--interleave", *PLAIN, "--seed", str(race.seed), "--runs", str(race.runs), "-C", tmp_path]
    case = Path(check(policy_of(race), *options).finding["case"])
    case.write_text(
        re.sub(r'    "[^"]*", #', '    "1.2 disk 3", #', case.read_text(encoding="utf-8")), encoding="utf-8"
    )
    checked = replay(race, case)
    assert checked.status == 2
    assert 'expected a switch such as "4711.3 cpu 2", not "1.2 disk 3"' in checked.stderr
    assert checked.stderr.count("\n") == 1
