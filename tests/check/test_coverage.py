# SPDX-License-Identifier: GPL-2.0-or-later
"""Which lines and branches of a policy the swarm reached, in a summary and as lcov reads it."""

import re
import subprocess
import sys
from pathlib import Path

from tests.check.conftest import POLICIES, ROOT
from tests.check.conftest import check as as_json

SOUND = POLICIES / "sound.bpf.c"
BEFORE = "	s32 cpu = scx_bpf_task_cpu(p);\n"


def changed(tmp_path: Path, text: str) -> Path:
    """The sound policy with lines at the beginning of its enqueue."""
    policy = tmp_path / "mine.bpf.c"
    source = SOUND.read_text(encoding="utf-8")
    assert source.count(BEFORE) == 1
    policy.write_text(source.replace(BEFORE, BEFORE + text), encoding="utf-8")
    return policy


def check(policy: Path, file: Path, *options: str) -> subprocess.CompletedProcess:
    words = [sys.executable, "-m", "schedlab", "check", policy, "--kernel", "none", "--coverage", file, *options]
    command = [str(word) for word in [*words, "-C", file.parent / "found"]]
    return subprocess.run(command, cwd=ROOT / "lab", capture_output=True, text=True, check=False)


def line_of(policy: Path, text: str) -> int:
    return policy.read_text(encoding="utf-8").splitlines().index(text) + 1


def record(file: Path) -> dict[str, list[str]]:
    """The one record of an lcov file: its values by key."""
    found: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        found.setdefault(key, []).append(value)
    assert len(found["SF"]) == len(found["end_of_record"]) == 1
    return found


def test_a_line_that_no_run_reaches_is_named(tmp_path: Path) -> None:
    policy = changed(
        tmp_path,
        """	if (p->pid == 77777)
		scx_bpf_error("nobody is");
	if (p->scx.weight >= 100)
		stat_heavy++;
""",
    )
    text = policy.read_text(encoding="utf-8")
    policy.write_text(text.replace("#include <scx.h>\n", "#include <scx.h>\nu64 stat_heavy;\n"), encoding="utf-8")
    done = check(policy, tmp_path / "new" / "c.info", "--runs", "20")
    assert done.returncode == 0, done
    missed = line_of(policy, '		scx_bpf_error("nobody is");')
    lines = {
        int(line): int(count) for line, count in (text.split(",") for text in record(tmp_path / "new" / "c.info")["DA"])
    }
    assert lines[missed] == 0
    assert lines[line_of(policy, "		stat_heavy++;")] > 0
    summary = done.stdout.splitlines()[1:]
    assert re.search(rf"lines not reached: (\d+(-\d+)?, )*{missed}(,|$)", summary[1]), summary
    branches = [text.split(",") for text in record(tmp_path / "new" / "c.info")["BRDA"]]
    ways = {way: int(count) for line, _, way, count in branches if int(line) == missed - 1}
    assert sorted(count > 0 for count in ways.values()) == [False, True]


def test_totals_are_those_of_the_entries(tmp_path: Path) -> None:
    assert check(SOUND, tmp_path / "c.info", "--runs", "5").returncode == 0
    found = record(tmp_path / "c.info")
    assert Path(found["SF"][0]) == SOUND
    for entries, total, hits in (("FNDA", "FNF", "FNH"), ("DA", "LF", "LH"), ("BRDA", "BRF", "BRH")):
        at = 0 if entries == "FNDA" else -1
        counts = [value.split(",")[at] for value in found[entries]]
        assert found[total] == [str(len(counts))]
        assert found[hits] == [str(sum(count not in ("0", "-") for count in counts))]
    # A function is reached as often as its first line.
    calls = {name: int(count) for count, name in (value.split(",") for value in found["FNDA"])}
    starts = {name: line for line, name in (value.split(",") for value in found["FN"])}
    lines = dict(value.split(",") for value in found["DA"])
    assert calls["sound_enqueue"] == int(lines[starts["sound_enqueue"]]) > 0


def test_it_is_the_same_however_many_run_at_a_time_up_to_the_finding(tmp_path: Path) -> None:
    policy = POLICIES / "bugs" / "pinned_unread.bpf.c"
    files = []
    for jobs in ("1", "3"):
        file = tmp_path / f"{jobs}.info"
        assert check(policy, file, "--runs", "50", "-j", jobs).returncode == 1
        files.append(file.read_bytes())
    assert files[0] == files[1]


def test_counting_changes_nothing(tmp_path: Path) -> None:
    plain = as_json(SOUND, "--runs", "20")
    counted = as_json(SOUND, "--runs", "20", "--coverage", tmp_path / "c.info")
    # Nothing is printed but the object.
    assert (counted.status, counted.data) == (plain.status, plain.data)
    assert (tmp_path / "c.info").is_file()


def test_it_is_of_no_single_case(tmp_path: Path) -> None:
    done = check(SOUND, tmp_path / "c.info", "--replay", "case.toml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--coverage adds up all of a swarm" in done.stderr
