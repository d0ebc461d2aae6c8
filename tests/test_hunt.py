# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab hunt with the real simulator: a policy that starves one nice level, and this page's cases."""

import json
import re
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from schedlab import simulator
from schedlab.catalogue import workloads
from schedlab.cli.program import main
from schedlab.errors import INTERRUPTED
from schedlab.format.numbers import number
from schedlab.places import applications
from schedlab.trace import simulated
from schedlab.worst import simulated_runs, waits
from tests.command_line import schedlab

ROOT = Path(__file__).resolve().parents[1]
STARVES = ROOT / "tests/check/policies/bugs/starves_nice_19.bpf.c"
NICE_5 = 125  # its priority in the kernel

pytestmark = pytest.mark.skipif(
    not (ROOT / "target/release/schedlab-sim").exists(), reason="no simulator in target/release: make build"
)


@pytest.fixture(scope="module")
def starver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks of nice 5 get what is left."""
    text = STARVES.read_text()
    assert "static_prio == 139" in text
    path = tmp_path_factory.mktemp("policy") / "scx_starves.bpf.c"
    path.write_text(
        text.replace("static_prio == 139", f"static_prio == {NICE_5}").replace("starves_nice_19", "starves")
    )
    return path


def hunted(out: Path, policy: object, *more: str, budget: int = 400) -> dict:
    words = ["hunt", str(policy), "--budget", str(budget), "--no-guest", "--json", "-o", str(out), *more]
    done = schedlab(*words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found(starver: Path, tmp_path_factory: pytest.TempPathFactory) -> dict:
    return hunted(tmp_path_factory.mktemp("found") / "out", starver, "--seed", "5")


def test_a_policy_that_starves_a_nice_level_is_found_and_made_small(found: dict, starver: Path) -> None:
    case = Path(found["folder"])
    assert found["found"]["runs"] <= 400
    assert found["times"] > 20
    assert found["found"]["tasks"] <= 3
    assert found["found"]["tasks"] <= found["found"]["tasks_before"]
    assert re.search(r"(?m)^nice = 5$", (case / "workload.toml").read_text())
    assert (case / "schedule.svg").read_text().count("<g transform") == 1
    # The record of the case alone says the same.
    words = simulator.command(str(starver), case / "workload.toml", case / "machine.toml", seed=1, exact_costs=True)
    metrics = simulator.record(words)["metrics"]
    assert metrics["starvation_max_us"] == pytest.approx(found["value"])
    again = schedlab("hunt", "--replay", str(case), "--no-guest")
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[-1].startswith("still there: it was ")


def test_a_find_that_is_gone_is_told(found: dict, tmp_path: Path) -> None:
    """Under a policy that shares by weight."""
    case = tmp_path / "case"
    shutil.copytree(found["folder"], case)
    text, many = re.subn(r"(?m)^policy = .*$", 'policy = "vtime"', (case / "case.toml").read_text())
    assert many == 1
    (case / "case.toml").write_text(text)
    done = schedlab("hunt", "--replay", str(case), "--no-guest")
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1].startswith("gone: it was ")


def test_the_same_seed_and_budget_find_the_same_however_many_run(tmp_path: Path) -> None:
    """With the other one's records, too, as after an interruption."""
    found = []
    for out, jobs in (("one", "1"), ("two", "2"), ("two", "2")):
        hunted(tmp_path / out, "o1", "--jobs", jobs, budget=60)
        case = tmp_path / out / "case"
        texts = [(case / name).read_text() for name in ("case.toml", "workload.toml", "machine.toml", "schedule.svg")]
        found.append([text.replace(str(tmp_path / out), "OUT") for text in texts])
    assert found[0] == found[1] == found[2]


def test_one_policy_against_another(tmp_path: Path) -> None:
    told = hunted(tmp_path / "out", "rr", "--against", "eevdf", "--metric", "wakeup_latency_us.p99", budget=120)
    assert told["times"] > 2
    assert told["times"] == pytest.approx(told["value"] / max(told["base"], 1_000))
    assert (tmp_path / "out" / "case" / "schedule.svg").read_text().count("<g transform") == 2
    again = schedlab("hunt", "--replay", str(tmp_path / "out" / "case"), "--no-guest", "--json")
    assert json.loads(again.stdout)["times"] == pytest.approx(told["times"], rel=1e-4)


def test_a_policy_that_is_thrown_out_is_worse_than_any_number(tmp_path: Path) -> None:
    policy = tmp_path / "scx_double_insert.bpf.c"
    policy.write_text((STARVES.parent / "double_insert.bpf.c").read_text())
    told = hunted(tmp_path / "out", policy, budget=40)
    assert told["times"] is told["value"] is None
    assert "already direct-dispatched" in told["ends"]
    again = schedlab("hunt", "--replay", str(tmp_path / "out" / "case"), "--no-guest")
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[-1] == "still there: it was thrown out when it was found"


def test_where_nothing_is_worse_nothing_is_kept(tmp_path: Path) -> None:
    """Of itself, under another name of the same rules, no policy is worse."""
    words = ["bfs", "--against", "bfs:rules=modern", "--budget", "40", "--no-guest", "-o", str(tmp_path / "out")]
    done = schedlab("hunt", *words)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("nothing found in 40 runs of seed 1, ")
    assert "times bfs:rules=modern's" in done.stdout
    assert not (tmp_path / "out" / "case").exists()


def test_an_interrupted_hunt_keeps_the_worst_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["hunt", "o1", "--budget", "90", "--no-guest", "-o", str(tmp_path / "out")]
    records = simulated_runs.SimulatedRuns.records
    left = iter(range(3))

    def until(self: simulated_runs.SimulatedRuns, scenes: Sequence) -> list:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return records(self, scenes)

    monkeypatch.setattr(simulated_runs.SimulatedRuns, "records", until)
    assert main(command) == INTERRUPTED
    said = capsys.readouterr()
    assert "the worst so far is in" in said.err
    assert "the same command resumes" in said.err
    case = tmp_path / "out" / "case" / "case.toml"
    assert 'not_tried = "interrupted"' in case.read_text()
    monkeypatch.setattr(simulated_runs.SimulatedRuns, "records", records)
    assert main(command) == 0
    assert main([*command[:-1], str(tmp_path / "whole")]) == 0
    whole = (tmp_path / "whole" / "case" / "case.toml").read_text()
    assert case.read_text() == whole.replace(str(tmp_path / "whole"), str(tmp_path / "out"))


PAGE = ROOT / "docs/hunt.md"
CASES = sorted((ROOT / "results/hunt").glob("*/case"))


def test_the_page_has_every_case_that_is_kept() -> None:
    named = re.findall(r"(?m)^\| \[`([\w.-]+)`\]", PAGE.read_text())
    assert sorted(named) == [case.parent.name for case in CASES]
    assert {"bfs-232", "bfs", "o1", "eevdf", "cfs-2.6.31"} <= set(named)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parent.name)
def test_a_case_of_the_page_says_what_its_files_say_and_is_still_there(case: Path) -> None:
    done = schedlab("hunt", "--replay", str(case), "--no-guest", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["there"]
    said = tomllib.loads((case / "case.toml").read_text())
    row = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| [`{case.parent.name}`]"))
    times, kernel = row.removesuffix(" |").split(" | ")[-2:]
    assert times == number(said["times"])
    word = "confirmed" if said["kernel"]["confirmed"] else "not confirmed"
    assert kernel.endswith(f"{number(said['kernel']['times'])} times: {word}")
    assert f"`hunt {said['policy']}" in row
    assert said["found"]["seed"] == 1


def test_a_trace_tells_the_waits_that_the_record_tells() -> None:
    """So that a number of a traced guest means what the simulator's does."""
    workload, machine = ROOT / "workloads/latt.toml", ROOT / "machines/guest-exact-2.toml"
    params = {"duration_s": "2"}
    for policy in ("o1", "bfs"):
        traced = simulated.Traced(
            ROOT / "schedulers" / policy, workload, machine, 8, 1, params=params, exact_costs=True
        )
        with simulated.lines(traced) as lines:
            found = waits.whole(simulated.events(lines, "sched_"))
        words = simulator.command(policy, workload, machine, load=8, seed=1, params=params, exact_costs=True)
        record = simulator.record(words)
        assert found
        # The runner's and the kernel's own threads are in the trace, too.
        names = applications.task_names(workloads.read(workload))
        found.waits = [wait for wait in found.waits if found.names[wait.pid] in names]
        own = waits.number(found, ("starvation_max_us", "mean"))
        assert own == pytest.approx(record["metrics"]["starvation_max_us"], rel=0.02)
