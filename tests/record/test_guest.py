# SPDX-License-Identifier: GPL-2.0-or-later
"""Recording in a real kernel: the trace is whole, and the tracing instance is gone however it ends."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from schedlab import vm
from schedlab.capture import process_tree, trace_file, tracing, workload_file
from schedlab.capture.tasks import Affinity, Change, Image, Nice, Policy, Sleep, Start, Wait
from schedlab.errors import PlaceError

ROOT = Path(__file__).resolve().parents[2]
INSTANCES = "/sys/kernel/tracing/instances"
PROBES = "/sys/kernel/tracing/dynamic_events"


@pytest.mark.usefixtures("guest")
def test_a_pipeline_in_the_guest() -> None:
    """The shell waits for two children, one of which sleeps on a timer first; then it gets a CPU, a program asks for a
    policy, one has several threads, and one gets a nice value and a policy while it sleeps.
    """
    line = "(sleep 0.2; echo out) | cat >&2; taskset -p 1 $$ >&2; chrt -r 5 true; echo in | threads -T2 >/dev/null"
    line += "; sleep 1 & renice -n 7 -p $! >&2; chrt -b -p 0 $! >&2; wait"
    command = ["sh", "-c", line]
    named = {"chrt": "chrt", "renice": "renice", "threads": "xz"}
    files = {f"/bin/{name}": Path("/usr/bin", program) for name, program in named.items()}
    lines, status = tracing.capture(command, tracing.Guest(tier="exact", cpus=2, files=files), buffer_kib=2048)
    assert status == 0
    read = trace_file.parse(lines, "the trace")
    assert read.lost == 0
    assert read.notes["cpus"] == "2"
    assert read.notes["command"] == f"sh -c '{line}'"
    assert read.notes["attributes"] == "yes"
    recording = process_tree.follow(read)
    assert recording.remarks == []
    assert all(task.ended for task in recording.tasks)
    assert recording.count(Start) == len(recording.tasks) - 1 >= 3
    assert 0.2 <= recording.elapsed_ns / 1e9 < 10
    sleepers = [task for task in recording.tasks for step in task.steps if isinstance(step, Sleep) and step.ns > 190e6]
    assert [task.comm for task in sleepers] == ["sleep", "sleep"]
    # Two children end, and the reader blocks for the writer.
    (reader,) = [task for task in recording.tasks if task.comm == "cat"]
    assert any(isinstance(step, Wait) and step.ns > 100e6 for step in reader.steps)
    assert any(isinstance(step, Wait) for step in recording.root.steps)
    assert [task.comm for task in recording.tasks if Policy("rr:5") in task.steps] == ["true"]
    changes = [
        (step.task.number, step.to) for task in recording.tasks for step in task.steps if isinstance(step, Change)
    ]
    sleeper = sleepers[1].number
    assert changes == [(0, Affinity((0,))), (sleeper, Nice(7)), (sleeper, Policy("batch"))]
    # The shell's own program is what is recorded; true is chrt at first.
    programs = [task.comm for task in recording.tasks for step in task.steps if isinstance(step, Image)]
    assert Image() not in recording.root.steps
    assert [programs.count(name) for name in ("sleep", "chrt", "true")] == [2, 1, 2]
    compressors = [task for task in recording.tasks if task.comm == "threads"]
    assert [task.thread for task in compressors] == [False] + [True] * (len(compressors) - 1)
    assert sum(task.thread for task in recording.tasks) == len(compressors) - 1 >= 1
    assert f'fork = "cat_{reader.number}[me]"' in workload_file.text(recording, "pipeline", "a pipeline")


@pytest.mark.usefixtures("guest")
def test_the_instance_is_gone_when_all_is_over_and_when_interrupted() -> None:
    script = Path(tracing.__file__).with_name("tracing.sh")
    lines: list[str] = []
    program = f"""
sh /tracing.sh 1024 tree sh -c 'ls {INSTANCES} >&2; cat {PROBES} >&2; exit 7' >/dev/null 2>/tmp/during
echo "status $? during $(grep -c schedlab- /tmp/during) $(grep -c schedlab_asked /tmp/during)" \
    "after $(ls {INSTANCES} | wc -l) $(wc -l <{PROBES})"
sh /tracing.sh 1024 tree sleep 77 >/dev/null &
sleep 3
echo "during $(ls {INSTANCES} | wc -l) sleeping $(pgrep -f 'sleep 77' | wc -l)"
kill -TERM $!
wait $!
echo "status $? after $(ls {INSTANCES} | wc -l) $(wc -l <{PROBES})"
sleep 1
pgrep -x sleep || echo none left
sh /tracing.sh 1024 tree no-such-program
echo "status $?"
while :; do sleep 0.1; done &
for what in all tree; do sh /tracing.sh 1024 $what sleep 0.8 >/tmp/$what; done
kill $!
echo "of a program beside it in all $(($(grep -c 'sched_process_exit: comm=sleep' /tmp/all) > 1))" \
    "in tree $(($(grep -c 'sched_process_exit: comm=sleep' /tmp/tree) > 1))"
umount /sys/kernel/tracing
sh /tracing.sh 1024 tree true | grep -c sched_process_exit
umount /sys/kernel/debug/tracing
umount /sys/kernel/debug
sh /tracing.sh 1024 tree sh -c 'grep -c " tracefs " /proc/mounts >&2' 2>/tmp/during | grep -c sched_process_exit
echo "mounted during $(tail -n 1 /tmp/during) after $(grep -c ' tracefs ' /proc/mounts)" $(ls -d /tmp/tmp.* 2>/dev/null)
grep -c 'record: tracefs is not mounted here: it is mounted on /tmp/tmp[^ ]* until' /tmp/during
sh /tracing.sh 1024 tree sleep 78 >/dev/null 2>&1 &
sleep 3
kill -TERM $!
wait $!
echo "status $? mounted after $(grep -c ' tracefs ' /proc/mounts)"
sh -c 'mount() {{ return 1; }}; set -- 1024 tree true; . /tracing.sh'
echo "status $?"
"""
    errors: list[str] = []
    vm.run(
        ["sh", "-c", program],
        {"/tracing.sh": script},
        tier="exact",
        cpus=1,
        on_line=lines.append,
        on_error_line=errors.append,
    )
    whole = [line for line in lines if not line.startswith("#") and "sched_" not in line]
    assert whole[0] == "status 7 during 1 4 after 0 0"
    assert whole[1].startswith("during 1 sleeping ")
    assert whole[2:5] == ["status 130 after 0 0", "none left", "status 127"]
    assert whole[5] == "of a program beside it in all 1 in tree 0"
    assert whole[6] == "1", "tracefs at its old place"
    assert whole[7] == "1", "mounted for the time"
    assert whole[8:11] == ["mounted during 1 after 0", "1", "status 130 mounted after 0"]
    assert whole[11] == "status 125"
    assert "no tracefs that can be written, nor can it be mounted" in errors[-1]


def test_without_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_TRACING", (Path("/nowhere"),))
    monkeypatch.setenv("PATH", "/nowhere")  # with no mount in it
    with pytest.raises(PlaceError, match="no tracefs that can be written here, nor can it be mounted"):
        tracing.capture(["true"], None)


@pytest.mark.usefixtures("guest")
def test_calibrating_in_the_guest(tmp_path: Path) -> None:
    """The tasks of the file, by name, and no others; the timers' sleeps are as long as the workload says."""
    out = tmp_path / "profile.toml"
    words = ["calibrate", "cyclictest", "--on", "vm", "--tier", "exact", "--cpus", "1", "-p", "duration_s=1"]
    done = subprocess.run(
        [sys.executable, "-m", "schedlab", *words, "-o", str(out)], cwd=ROOT / "lab", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    made = tomllib.loads(out.read_text())
    assert made["made"]["workload"] == "cyclictest"
    assert made["made"]["place"].startswith("exact guest")
    described = tomllib.loads((ROOT / "workloads" / "cyclictest.toml").read_text())
    assert set(made["task"]) == {task["name"] for task in described["task"]}
    for task in made["task"].values():
        blocks = sum(task.get(kind, {}).get("count", 0) for kind in ("sleep", "wait"))
        assert task["run"]["count"] == blocks + task["tasks"]
        assert sum(weight for _, weight in task["run"]["ns"]["table"]) == task["run"]["count"]
    assert 500 < made["task"]["timer"]["sleep"]["median_us"] <= 1000
