# SPDX-License-Identifier: GPL-2.0-or-later
"""compare on a fleet (docs/fleet.md): hosts that die, fill up, hang, change, are taken, refuse or lie lose no cell,
count none twice, and are left as they were.
"""

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tarfile
from collections import defaultdict
from pathlib import Path

import pytest

from schedlab.campaign.matrix import Campaign, campaign
from schedlab.campaign.request import request
from schedlab.collect.store import Store
from schedlab.places import real_kernel, ssh
from tests.fleet.sshd_hosts import CLOCK, ROOT, TINY, Fleet
from tests.waiting import wait

_WITHIN_S = 60


def records(fleet: Fleet) -> dict[str, dict]:
    return {path.stem: json.loads(path.read_text()) for path in (fleet.out / "cells").glob("*.json")}


def by_host(fleet: Fleet) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for record in records(fleet).values():
        found[record["provenance"]["host"]] += 1
    return dict(found)


def require_whole(fleet: Fleet) -> None:
    """Every planned cell has one record, and what is compared comes from one host."""
    planned = json.loads((fleet.out / "manifest.json").read_text())["cells"]
    there = records(fleet)
    assert set(there) == {cell["id"] for cell in planned}
    assert {record["status"] for record in there.values()} == {"ok"}
    hosts = defaultdict(set)
    for cell in planned:
        if cell["role"] in ("measured", "control"):
            data = cell["cell"]
            hosts[data["seed"], data["load"]].add(there[cell["id"]]["provenance"]["host"])
    assert all(len(found) == 1 for found in hosts.values()), hosts
    with (fleet.out / "results.csv").open() as file:
        rows = [(row["cell"], row["label"], row["metric"]) for row in csv.DictReader(file)]
    assert len(rows) == len(set(rows))
    assert {(cell, label) for cell, label, _ in rows} == {(cell["id"], cell["label"]) for cell in planned}


def test_500_cells_are_shared_out_and_none_is_lost_when_a_host_dies(fleet: Fleet) -> None:
    hosts = [fleet.add(name) for name in ("left", "middle", "right")]
    # Of each block two of default at sixteen loads, and three at its ends.
    loads = ",".join(map(str, range(1, 17)))
    running = fleet.start("-n", "15", "--load", loads)
    assert wait(lambda: by_host_so_far(fleet).get("middle", 0) > 40, _WITHIN_S)
    hosts[1].die()
    _, said = running.communicate(timeout=_WITHIN_S)
    assert running.returncode == 0, said
    assert "trying it again in 0.2 s" in said
    assert "trying it again in 0.4 s" in said
    assert "host middle is given up: " in said
    assert "its cells go to left, right" in said
    require_whole(fleet)
    found = by_host(fleet)
    assert sum(found.values()) == 15 * (2 * 16 + 3)
    assert min(found[name] for name in ("left", "right")) > 50
    assert found["middle"] > 30
    assert hosts[0].is_clean()
    assert hosts[2].is_clean()
    told = json.loads((fleet.out / "hosts.json").read_text())
    assert {block["host"] for block in told["blocks"]} == {"left", "middle", "right"}
    assert sum(not block["void"] for block in told["blocks"]) >= 15
    with (fleet.out / "results.csv").open() as file:
        assert {row["host"] for row in csv.DictReader(file)} == {"left", "middle", "right"}


def by_host_so_far(fleet: Fleet) -> dict[str, int]:
    # A record is written under another name first.
    try:
        return by_host(fleet)
    except FileNotFoundError:
        return {}


def test_a_host_whose_disk_is_full_gives_its_cells_to_the_others(fleet: Fleet) -> None:
    small = fleet.add("small", disk="8m")
    large = fleet.add("large")
    # Blocks enough, so that some are left when it is tried for the third time.
    done = fleet.compare("-n", "8")
    assert done.returncode == 0, done.stderr
    assert "host small: " in done.stderr
    assert "No space left on device" in done.stderr
    assert "host small is given up" in done.stderr
    assert "(tried 3 times); its cells go to large" in done.stderr
    require_whole(fleet)
    assert set(by_host(fleet)) == {"large"}
    assert small.is_clean()
    assert large.is_clean()


def test_a_host_whose_folder_is_read_only_gives_its_cells_to_the_others(fleet: Fleet) -> None:
    fleet.limits["retries"] = 0
    closed, fine = fleet.add("closed", disk="8m,ro"), fleet.add("fine")
    done = fleet.compare("-n", "3")
    assert done.returncode == 0, done.stderr
    assert "host closed is given up: mktemp: " in done.stderr
    assert "Read-only file system; its cells go to fine" in done.stderr
    require_whole(fleet)
    assert set(by_host(fleet)) == {"fine"}
    assert closed.is_clean()
    assert fine.is_clean()


def test_a_disk_that_fills_while_a_cell_runs_is_the_hosts_fault(fleet: Fleet) -> None:
    fleet.limits["retries"] = 0
    fleet.workload.write_text(TINY.replace('{ run_us = "work_us" }', "{ write = 67_108_864 }"))
    small, large = fleet.add("small", disk="60m"), fleet.add("large")
    done = fleet.compare("-n", "2", "--load", "1")
    assert done.returncode == 0, done.stderr
    assert "host small is given up: its disk is full: " in done.stderr
    require_whole(fleet)
    assert set(by_host(fleet)) == {"large"}
    assert small.is_clean()
    assert large.is_clean()


def test_a_host_that_hangs_is_given_up_and_cleans_up_when_it_goes_on(fleet: Fleet) -> None:
    fleet.limits |= {"cell_s": 3, "retries": 1}
    stuck, fine = fleet.add("stuck"), fleet.add("fine")
    running = fleet.start("-n", "4", "-p", "work_us=30000")
    assert wait(lambda: by_host_so_far(fleet).get("stuck", 0) > 1, _WITHIN_S)
    runner = stuck.runner()
    os.kill(runner, signal.SIGSTOP)
    _, said = running.communicate(timeout=_WITHIN_S)
    assert running.returncode == 0, said
    assert "host stuck: nothing came for 3 s; trying it again in 0.2 s" in said
    # It still has the lock, which it got for this very campaign.
    assert f"process {running.pid}, since " in said
    assert "(tried 2 times); its cells go to fine" in said
    require_whole(fleet)
    assert fine.is_clean()
    assert stuck.runner() == runner
    os.kill(runner, signal.SIGCONT)
    assert stuck.is_clean(), stuck.left()


@pytest.mark.skipif(not Path(CLOCK).exists(), reason=f"no {CLOCK} to lay another file over")
def test_a_host_that_changes_between_blocks_counts_no_more(fleet: Fleet) -> None:
    changed, fine = fleet.add("changed"), fleet.add("fine")
    running = fleet.start("-n", "8")
    assert wait(lambda: "changed" in blocks_so_far(fleet), _WITHIN_S)
    changed.clock.write_text("hpet\n")
    _, said = running.communicate(timeout=_WITHIN_S)
    assert running.returncode == 0, said
    assert "host changed: its block is void: clock source: tsc, now hpet; trying it again in 0.2 s" in said
    assert "host changed is given up: its block is void: clock source: tsc, now hpet (tried 3 times)" in said
    require_whole(fleet)
    # What it measured before stays, but the block that ended after the change ran again elsewhere.
    found = by_host(fleet)
    assert found["changed"] % 11 == 0
    assert 0 < found["changed"] < found["fine"]
    void = [block for block in json.loads((fleet.out / "hosts.json").read_text())["blocks"] if block["void"]]
    assert [block["host"] for block in void] == ["changed"]
    assert changed.is_clean()
    assert fine.is_clean()


def blocks_so_far(fleet: Fleet) -> set[str]:
    try:
        return {block["host"] for block in json.loads((fleet.out / "hosts.json").read_text())["blocks"]}
    except FileNotFoundError:
        return set()


def test_a_host_is_lent_to_one_at_a_time_and_is_free_after_ctrl_c(fleet: Fleet, tmp_path: Path) -> None:
    host = fleet.add("only")
    first = fleet.start("-n", "20", "-p", "work_us=20000")
    assert wait(lambda: by_host_so_far(fleet).get("only", 0) > 13, _WITHIN_S)
    second = fleet.compare("-n", "1", "-o", str(tmp_path / "second"))
    assert second.returncode == 3
    (line,) = (text for text in second.stderr.splitlines() if text.startswith("schedlab: "))
    assert line.startswith("schedlab: host only: in use: root@")
    assert f"process {first.pid}, since 20" in line
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=_WITHIN_S)
    assert first.returncode == 130
    assert "the same command resumes" in said
    assert host.is_clean(within_s=2), host.left()
    kept = {path: path.stat().st_mtime_ns for path in (fleet.out / "cells").glob("*.json")}
    again = fleet.compare("-n", "3", "-p", "work_us=20000")
    assert again.returncode == 0, again.stderr
    require_whole_of_what_was_asked(fleet)
    # The first block was whole.
    same = [path for path, at in kept.items() if path.stat().st_mtime_ns == at]
    assert len(same) >= 11
    assert host.is_clean()


def require_whole_of_what_was_asked(fleet: Fleet) -> None:
    planned = json.loads((fleet.out / "manifest.json").read_text())["cells"]
    assert {cell["id"] for cell in planned} <= set(records(fleet))


def test_a_host_ends_by_itself_when_nobody_is_left(fleet: Fleet) -> None:
    host = fleet.add("only")
    running = fleet.start("-n", "2", "-p", "work_us=30000000")
    assert wait(host.runner, _WITHIN_S)
    assert wait(lambda: any("/var/tmp" in path for path in host.left()))
    running.kill()
    running.communicate()
    assert host.is_clean(), host.left()


def test_a_host_ends_by_itself_when_it_hears_nothing(fleet: Fleet) -> None:
    fleet.limits["silence_s"] = 2
    host = fleet.add("only")
    running = fleet.start("-n", "2", "-p", "work_us=30000000")
    assert wait(host.runner, _WITHIN_S)
    # A second look: lines that say nothing keep it alive.
    assert not wait(lambda: not host.runner(), 5)
    clients = [int(pid) for pid in children(running.pid)]
    for pid in [*clients, running.pid]:
        os.kill(pid, signal.SIGSTOP)
    assert wait(lambda: not host.runner(), 10)
    assert wait(lambda: not any("/var/tmp" in path or "/run/lock" in path for path in host.left()))
    for pid in [running.pid, *clients]:
        os.kill(pid, signal.SIGCONT)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=_WITHIN_S)


def children(pid: int) -> list[str]:
    return [word for task in Path(f"/proc/{pid}/task").iterdir() for word in (task / "children").read_text().split()]


def test_a_runner_that_is_killed_leaves_nothing_and_its_block_runs_again(fleet: Fleet) -> None:
    host = fleet.add("only")
    running = fleet.start("-n", "2", "-p", "work_us=50000")
    assert wait(lambda: by_host_so_far(fleet).get("only", 0) > 3, _WITHIN_S)
    os.kill(host.runner(), signal.SIGKILL)
    _, said = running.communicate(timeout=_WITHIN_S)
    assert running.returncode == 0, said
    assert "trying it again in 0.2 s" in said
    require_whole(fleet)
    assert host.is_clean(), host.left()


def test_a_wrong_key_and_a_refused_login_are_a_line_and_status_3(fleet: Fleet) -> None:
    host = fleet.add("only")
    fleet.known.write_text(fleet.known.read_text().replace("AAAA", "AAAB", 1))
    right = host.known()
    other = fleet.add("other")
    del fleet.hosts["other"]
    fleet.write()
    fleet.known.write_text(f"[127.0.0.1]:{host.port} {other.known().partition(' ')[2]}")
    refuse(fleet, "schedlab: host only: Host key verification failed.")
    fleet.known.write_text("")
    refuse(fleet, "schedlab: host only: Host key verification failed.")
    fleet.known.write_text(right)
    (host.folder / "authorized").write_text("")
    refuse(fleet, "schedlab: host only: root@127.0.0.1: Permission denied (publickey).")
    other.die()


def refuse(fleet: Fleet, line: str) -> None:
    done = fleet.compare("-n", "1")
    assert done.returncode == 3, done.stderr
    assert [text for text in done.stderr.splitlines() if text.startswith("schedlab: ")] == [line]


def test_a_host_that_is_not_what_its_file_says_is_refused_and_others_go_on(fleet: Fleet) -> None:
    fleet.add("fine")
    fleet.add("gone").die()
    text = fleet.file.read_text()
    fleet.file.write_text(text.replace("[limits]", f"cpus = {(os.cpu_count() or 1) + 1}\n[limits]"))
    done = fleet.compare("-n", "1", "-m", str(os.cpu_count()))
    assert done.returncode == 0, done.stderr
    one_less = text.replace(f"cpus = {os.cpu_count()}", f"cpus = {(os.cpu_count() or 1) + 1}")
    fleet.file.write_text(one_less.partition("[hosts.gone]")[0] + "[limits]\nbusy_pct = 100\n")
    done = fleet.compare("-n", "1", "-o", str(fleet.folder / "second"))
    assert done.returncode == 3
    assert f"host fine: it has {os.cpu_count()} CPUs online; {fleet.file} says cpus = " in done.stderr


def test_a_busy_host_is_void(fleet: Fleet) -> None:
    # One of however many CPUs.
    fleet.limits |= {"busy_pct": 0.2, "retries": 0}
    host = fleet.add("only")
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        done = fleet.compare("-n", "1")
    finally:
        busy.kill()
        busy.wait()
    assert done.returncode == 3
    assert "% of its CPUs' time before the block (limit: 0.2 %)" in done.stderr
    assert host.is_clean()


_LIAR = """\
import json, os, re, sys
environment = json.loads(open({environment!r}).read())
def say(data):
    print(data if isinstance(data, str) else json.dumps(data), flush=True)
sys.stdin.buffer.read(int(re.search(r"head -c (\\d+)", os.environ["SSH_ORIGINAL_COMMAND"])[1]))
say({{"ready": environment}})
shard = json.loads(sys.stdin.buffer.readline())
say({{"before": environment}})
cell = shard["cells"][0]
cell_id = cell.pop("id")
record = {{
    "format": 1, "id": cell_id, "cell": cell, "status": "ok", "reason": "", "metrics": {{"elapsed_s": 1.0}},
    "histograms": {{}}, "trace_hash": "", "cost": {{}},
    "provenance": {{"place": "ssh", "engine": "e", "kernel": "<script>\\u001b[2J", "cpus": 1, "hz": 250}},
}}
{lie}
sys.stdin.buffer.read()
"""
_LIES = {
    "another place": ('record["id"] = "../../../escaped"; say(record)', "it sent a record that nobody waits for"),
    "another cell": ('record["cell"]["seed"] = 99; say(record)', "it sent a record that is none"),
    "no number": ('say(json.dumps(record).replace("1.0", "NaN"))', "it said something that is no record"),
    "no metric": ('record["metrics"]["<b>"] = 1; say(record)', "it sent a record that is none"),
    "a format to come": (
        'record["format"] = 2; say(record)',
        "it sent a record that is none: key 'format': expected 1, got 2",
    ),
    "a cost that is none": ('record["cost"] = {"x": "y"}; say(record)', "it sent a record that is none"),
    "no status": ('record["status"] = ["ok"]; say(record)', "it sent a record that is none"),
    "no text": ('record["cell"]["scheduler"] = "\\ud800"; say(record)', "it sent a record that is none"),
    "no JSON": ('say("[" * 100_000)', "it said something that is no record"),
    "no end": ('[sys.stdout.write("x" * (1 << 20)) for _ in range(20)]', "a line is longer than 16 MiB"),
    "no record": ('say({"after": environment})', "cells of its block have no record"),
    "another kernel": (
        'environment["kernel"] = "\\x1b[31m"; say({"after": 1})',
        "what it says of itself cannot be read",
    ),
}


@pytest.mark.parametrize("lie", _LIES)
def test_what_a_host_sends_is_not_believed(fleet: Fleet, lie: str) -> None:
    fleet.limits["retries"] = 0
    told = {
        **dict.fromkeys(("kernel", "preempt", "boot", "cpu_model", "microcode", "online", "smt"), "x"),
        **dict.fromkeys(("governors", "turbo", "clocksource", "virtualised", "sched_ext"), ""),
        **dict.fromkeys(("hz", "load_1_min", "busy_pct", "throttled"), 0),
        "cpus": os.cpu_count(),
        "mitigations": {},
        "temperature_c": None,
    }
    environment = fleet.folder / "environment"
    environment.write_text(json.dumps(told))
    script, words = fleet.folder / "liar.py", _LIES[lie]
    script.write_text(_LIAR.format(environment=str(environment), lie=words[0]))
    fleet.add("liar", forced=f"{shlex.quote(sys.executable)} {script}")
    before = set(fleet.folder.rglob("*"))
    done = fleet.compare("-n", "1")
    assert done.returncode == 3, done.stderr
    assert words[1] in done.stderr
    assert "\x1b" not in done.stderr
    outside = [path for path in set(fleet.folder.rglob("*")) - before if not path.is_relative_to(fleet.out)]
    assert outside == []
    assert records(fleet) == {}
    assert not (fleet.folder.parent / "escaped.json").exists()


def test_what_goes_to_a_host_is_what_its_cells_need(fleet: Fleet) -> None:
    policy = fleet.folder / "scx_mine.bpf.c"
    policy.write_text(re.search(r"```c\n(.*?)```", (ROOT / "docs/policies.md").read_text(), re.DOTALL)[1])
    fleet.add("only")
    asked = request(f"default,bfs,{policy}", workload_names=str(fleet.workload), place=f"ssh:{fleet.file}")
    planned = campaign(asked, ssh.engine())
    sent = ssh.carried(planned, real_kernel.objects(ssh.engine(), planned.arms, fleet.folder / "objects"))
    with tarfile.open(fileobj=io.BytesIO(sent.files)) as tar:
        members = {member.name: member for member in tar.getmembers()}
    # The runner holds bfs.
    assert set(members) == {"schedlab-host", "objects/mine.bpf.o", "workloads/tiny.toml"}
    assert members["schedlab-host"].mode & 0o100
    assert {(member.uid, member.uname) for member in members.values()} == {(0, "root")}
    assert sent.places["schedulers"] == {"mine": "objects/mine.bpf.o"}
    if Path("/sys/kernel/sched_ext").exists():
        return
    words = ["compare", f"default,{policy}", "-w", str(fleet.workload), "--on", f"ssh:{fleet.file}", "--no-report"]
    done = subprocess.run(
        [sys.executable, "-m", "schedlab", *words, "-o", str(fleet.out)],
        cwd=ROOT / "lab",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert done.stderr == "schedlab: host only: its kernel has no sched_ext: only 'default' runs there\n"


def test_the_page_names_the_hosts_and_says_that_none_is_compared_with_another(fleet: Fleet) -> None:
    fleet.add("left")
    fleet.add("right")
    words = [word for word in fleet.command("-n", "4", "--load", "1") if word != "--no-report"]
    done = subprocess.run(words, cwd=ROOT / "lab", capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    page = (fleet.out / "report.html").read_text()
    assert "compared on a fleet of machines" in page
    section = page[page.index('<section id="hosts">') :].partition("</section>")[0]
    for name, cells in by_host(fleet).items():
        assert f'<th scope="row">{name}</th><td data-head="cells">{cells}</td>' in section
    assert "no host is compared with another" in section
    assert os.uname().release in section
    assert "asked from" in page


def test_doctor_tells_what_each_host_can_do(fleet: Fleet) -> None:
    here = fleet.add("here")
    fleet.add("gone").die()
    words = ["doctor", "--on", f"ssh:{fleet.file}"]
    done = subprocess.run(
        [sys.executable, "-m", "schedlab", *words], cwd=ROOT / "lab", capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith(f"{fleet.file}: 1 of 2 hosts are ready\n")
    assert f"here (root@127.0.0.1 port {here.port}): ready\n" in done.stdout
    assert f"  kernel        {os.uname().release} " in done.stdout
    assert "Connection refused" in done.stdout
    assert here.is_clean()


def test_blocks_that_come_one_at_a_time_go_from_host_to_host(fleet: Fleet) -> None:
    """As choose asks for them."""
    fleet.add("left")
    fleet.add("right")
    asked = request("default", workload_names=str(fleet.workload), place=f"ssh:{fleet.file}", load="1", repetitions=2)
    planned = campaign(asked, ssh.engine())
    store = Store(fleet.out)
    store.create()
    done: list[str] = []
    for block in planned.blocks:
        one = Campaign(asked, planned.arms, [block])
        todo = {cell.id for cell in block.cells}
        assert ssh.run(one, store, todo, None, lambda cell, status: done.append(cell), print) == 0
    assert sorted(done) == sorted(cell.id for cell in planned.cells)
    assert by_host(fleet) == {"left": 5, "right": 5}
