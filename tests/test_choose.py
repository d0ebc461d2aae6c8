# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab choose from end to end: in the simulator, and with real commands on this machine's kernel."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(
    not (ROOT / "target/release/schedlab-sim").exists(), reason="no simulator in target/release: make build"
)
HEAD = "os,cpu\\nDebian,x\\nfps,frametime,cpu_load\\n"


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "schedlab", "choose", *map(str, arguments)]


def choose(*arguments: str | Path, cwd: Path = ROOT / "lab") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "lab")}
    return subprocess.run(
        command(*arguments), cwd=cwd, capture_output=True, text=True, check=False, env=environment, timeout=600
    )


def here(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """On this kernel, which need not have sched_ext for its own scheduler alone."""
    if os.geteuid():
        pytest.skip("measuring on this machine needs root")
    out = ["--on", "host", "--among", "default", "-o", "out", "--no-report"]
    return choose(*out, *arguments, cwd=tmp_path)


def test_who_answers_sooner_wins_in_the_simulator(tmp_path: Path) -> None:
    """Where nobody works for long, first come first served is best; bfs gains some 2 % and loses much latency."""
    among = ["--among", "default,fifo,bfs", "--mix", "server"]
    done = choose("--on", "sim", *among, "-o", tmp_path / "out", "--blocks", "20")
    assert done.returncode == 0, done.stderr
    answer = json.loads((tmp_path / "out/answer.json").read_text())
    assert (answer["outcome"], answer["winner"]) == ("winner", "fifo"), done.stdout
    for measure, sign in zip(answer["challengers"]["fifo"]["measures"], (-1, 1), strict=True):
        assert min(sign * measure["low_pct"], sign * measure["high_pct"]) > 2
    # The gain is about as large as the least that counts.
    bfs = answer["challengers"]["bfs"]
    assert bfs["outcome"] in ("loses", "trades")
    assert bfs["measures"][0]["low_pct"] > 100
    assert answer["blocks"] < 20
    assert "shorter wake-up latency (p99)" in done.stdout.splitlines()[0]
    assert "keep it: sudo schedlab load fifo" in done.stdout
    assert "the simulator may be off by wake-up latency (p99) ±" in done.stdout
    assert (tmp_path / "out/report.html").exists()


def test_two_names_of_one_scheduler_make_no_difference(tmp_path: Path) -> None:
    """modern is what bfs does by default: the same policy under another name."""
    arguments = ["--on", "sim", "--among", "bfs,bfs:rules=modern", "--mix", "server", "-o", tmp_path / "out"]
    done = choose(*arguments, "--no-report")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("no difference worth switching for (< 2 %)\n")
    again = choose(*arguments, "--no-report")
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_a_command_is_measured_where_and_as_it_was_called(tmp_path: Path) -> None:
    script = "echo $MINE >>ran; pwd >>ran; sleep 0.05"
    os.environ["MINE"] = "my own"
    done = here(tmp_path, "--blocks", "2", "--", "sh", "-c", script)
    assert done.returncode == 1, done.stderr
    assert "not decided after 2 blocks (all blocks are done): default (again): elapsed time so far" in done.stdout
    # One to warm up, and two a block.
    assert (tmp_path / "ran").read_text() == f"my own\n{tmp_path}\n" * 5


def test_the_tail_of_frame_times_counts(tmp_path: Path) -> None:
    write = f"printf '{HEAD}' >frames.csv; for i in $(seq 99); do echo 60,16.5,1; done >>frames.csv; "
    done = here(
        tmp_path, "--frames", "frames.csv", "--blocks", "1", "--", "sh", "-c", write + "echo 9,40.5,1 >>frames.csv"
    )
    assert done.returncode == 1, done.stderr
    records = [json.loads(path.read_text()) for path in (tmp_path / "out/cells").glob("*.json")]
    frames = [record["histograms"]["frame_time_us"] for record in records if record["status"] == "ok"]
    assert frames
    assert all((one["count"], one["min_ns"], one["max_ns"]) == (100, 16_500_000, 40_500_000) for one in frames)
    answer = json.loads((tmp_path / "out/answer.json").read_text())
    assert answer["challengers"]["default (again)"]["measures"][0]["measure"] == "frame time (p99)"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("head -c 100000 /dev/zero >frames.csv", "frames.csv: line 1: expected a line of at most 65536 bytes"),
        ("yes x | head -n 500 >frames.csv", "frames.csv: expected a line with the names of columns"),
        ("true", "frames.csv: the command left no file of frames there"),
        ("mkfifo frames.csv", "frames.csv: the command left no file of frames there"),
        ("exit 7", "run exited with status 7"),
    ],
)
def test_a_trial_without_frames_is_said_in_one_line(tmp_path: Path, script: str, said: str) -> None:
    done = here(tmp_path, "--frames", "frames.csv", "--", "sh", "-c", f"rm -f frames.csv; {script}")
    assert done.returncode == 1
    assert done.stdout.startswith("not decided after 0 blocks")
    assert said in done.stderr.splitlines()[-1]
    assert "the trial of default failed" in done.stderr.splitlines()[-1]


def test_an_interrupt_ends_the_command_too(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("measuring on this machine needs root")
    words = [
        "--on",
        "host",
        "--among",
        "default",
        "-o",
        "out",
        "--no-report",
        "--",
        "sh",
        "-c",
        "echo >>ran; sleep 0.3",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "lab")}
    child = subprocess.Popen(
        command(*words), cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not ((tmp_path / "ran").exists() and len((tmp_path / "ran").read_text()) >= 6):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, error = child.communicate(timeout=60)
    assert child.returncode == 130, error
    assert out.startswith("not decided after ")
    assert "interrupted; what is known so far" in error
    ran = (tmp_path / "ran").read_text()
    time.sleep(0.7)
    assert (tmp_path / "ran").read_text() == ran
