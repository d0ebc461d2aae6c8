# SPDX-License-Identifier: GPL-2.0-or-later
"""The search for disagreement: cases drawn, written as files, compared, shrunk, over worlds that are played."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedlab import vm
from schedlab.catalogue import described
from schedlab.cli.program import main
from schedlab.search import case_file, disagreement, draw, hunt, saved, shrink
from schedlab.search.case import Case, Group, Kind, Step, What
from schedlab.search.disagreement import STATUS, Said
from schedlab.search.draw import Tunable
from schedlab.search.hunt import REPETITIONS, Hunt
from schedlab.statistics.agreement import Repeated

ELAPSED, CPU, SWITCHES = ("elapsed_s", "mean"), ("cpu_s", "mean"), ("switches_involuntary", "mean")
USUAL = {ELAPSED: 10.0, CPU: 10.0, SWITCHES: 50.0}
TUNABLES = {
    "bfs": [
        Tunable("rules", ("424", "modern"), 0, 1, 0, ""),
        Tunable("rr_interval_us", (), 0, 5_000_000, 0, "us"),
        Tunable("preempt_after_us", (), 0, 10_000, 20, "us"),
    ],
    "default": [],
}


def drawn(seed: int, count: int) -> list[Case]:
    return list(islice(draw.cases(seed, TUNABLES), count))


def spread(least: float, most: float | None = None) -> Repeated:
    greatest = least if most is None else most
    return Repeated((least + greatest) / 2, least, greatest)


def said(elapsed_s: float = 0.1, cpu_s: float = 0.05) -> Said:
    return Said("ok", "", {ELAPSED: spread(elapsed_s), CPU: spread(cpu_s)})


def test_a_case_depends_on_its_seed_and_number_alone() -> None:
    assert drawn(7, 200) == drawn(7, 200)
    assert drawn(7, 50) == drawn(7, 200)[:50]
    assert drawn(7, 50) != drawn(8, 50)


def test_everything_is_drawn_and_lies_within_its_bounds() -> None:
    cases = drawn(1, 400)
    groups = [group for case in cases for group in case.groups]
    assert {group.kind for group in groups} == set(Kind)
    assert {step.what for group in groups for step in group.steps + group.answer} == set(What)
    assert {case.scheduler for case in cases} == set(TUNABLES)
    assert {group.queue for group in groups} == {"pipe", "socket", "tcp"}
    assert any(group.nice < 0 for group in groups)
    assert any(group.threads for group in groups)
    numbers = {name: {dict(case.tunables).get(name) for case in cases} - {None} for name in ("rules", "rr_interval_us")}
    assert numbers["rules"] == {"424", "modern"}
    assert len(numbers["rr_interval_us"]) > 20
    assert all(0 <= int(value) <= 48_000 for value in numbers["rr_interval_us"])
    assert all(case.tunables == () for case in cases if case.scheduler == "default")


def test_the_parser_takes_every_file(tmp_path: Path) -> None:
    """The one parser, which both worlds run; and every simpler case of the first of them."""
    cases = drawn(2, 150)
    cases += [one for case in cases[:8] for one in shrink.simpler(case)]
    files = []
    for case in cases:
        files.append(tmp_path / f"{case_file.name(case)}.toml")
        files[-1].write_text(case_file.text(case, ["a comment", ""]))
    entries = described.entries(workloads=files, cpus=[1])["workloads"]
    assert [entry["error"] for entry in entries if "error" in entry] == []
    assert [entry["name"] for entry in entries] == [file.stem for file in files]


def test_equal_work_has_an_equal_name_whoever_schedules_it() -> None:
    case = drawn(3, 1)[0]
    other = replace(case, scheduler="cfs", tunables=())
    assert case_file.name(other) == case_file.name(case)
    group = case.groups[0]
    more = replace(case, groups=(replace(group, times=group.times + 1), *case.groups[1:]))
    assert case_file.name(more) != case_file.name(case)


def test_the_gap_lies_between_the_ranges_of_both_worlds() -> None:
    def gap(own: Repeated, there: Repeated) -> float:
        both = (Said("ok", "", {ELAPSED: value}) for value in (own, there))
        return disagreement.all_of(*both, USUAL)[ELAPSED].gap_pct

    assert gap(spread(1.0, 3.0), spread(2.0, 4.0)) == 0.0
    assert gap(spread(1.0, 1.5), spread(2.0)) == pytest.approx(-25.0)
    assert gap(spread(3.0, 4.0), spread(2.0)) == pytest.approx(50.0)


def test_the_worst_number_is_the_one_with_the_most_times_of_what_is_usual() -> None:
    own = Said("ok", "", {ELAPSED: spread(1.2), SWITCHES: spread(180.0)})
    there = Said("ok", "", {ELAPSED: spread(1.0), SWITCHES: spread(100.0)})
    worst = disagreement.worst(own, there, USUAL)
    assert (worst.measure, worst.gap_pct, worst.times) == (ELAPSED, pytest.approx(20.0), pytest.approx(2.0))
    # Switches count from fifty on; below that they are none, or stand over fifty.
    few = {SWITCHES: spread(49.0)}
    assert disagreement.worst(Said("ok", "", few), Said("ok", "", {SWITCHES: spread(1.0)}), USUAL) is None
    most = disagreement.worst(Said("ok", "", {SWITCHES: spread(100.0)}), Said("ok", "", few), USUAL)
    assert most.gap_pct == pytest.approx(102.0)


def test_a_result_in_one_world_alone_is_worse_than_any_number() -> None:
    worst = disagreement.worst(said(), Said("ejected", "stall"), USUAL)
    assert (worst.measure, worst.times) == (STATUS, math.inf)
    assert disagreement.worst(Said("ejected"), Said("ejected"), USUAL) is None


@dataclass
class Played:
    """Both worlds say the same, except of cases in which `shows` is true."""

    shows: Callable[[Case], bool]
    ran: list[tuple[int, int]] = field(default_factory=list)  # cases and repetitions of each boot
    long: Callable[[Case], bool] = lambda case: False
    in_one_seed: Callable[[Case], bool] = lambda case: False

    def simulated(self, cases: Sequence[Case], repetitions: int) -> Mapping[Case, Said]:
        return {case: said(cpu_s=9.0 if self.long(case) else 0.05) for case in cases}

    def kernel(self, cases: Sequence[Case], repetitions: int) -> Mapping[Case, Said]:
        self.ran.append((len(cases), repetitions))
        assert not any(self.long(case) for case in cases)
        return {
            case: said(0.2 if self.shows(case) or (repetitions == 1 and self.in_one_seed(case)) else 0.1)
            for case in cases
        }


def hunted(worlds: Played, count: int = 96, keep: int = 2) -> Hunt:
    made = Hunt(worlds, USUAL, keep, lambda text: None)
    made.draw(draw.cases(5, TUNABLES), count, lambda: True)
    made.look_again()
    made.shrink(lambda: True)
    return made


def test_of_a_case_only_what_matters_is_left() -> None:
    def shows(case: Case) -> bool:
        locks = any(group.kind == Kind.LOCK and group.count > 1 for group in case.groups)
        return locks and case.scheduler == "bfs" and ("rules", "424") in case.tunables

    worlds = Played(shows)
    (found,) = hunted(worlds, 400).findings
    assert found.case.tunables == (("rules", "424"),)
    (group,) = found.case.groups
    assert group == Group(Kind.LOCK, 2, 1, (), group.answer)
    (run,) = group.answer
    assert run.what == What.RUN
    assert run.least == run.most
    assert str(run.least).rstrip("0") in set("123456789")
    assert shows(found.drawn)
    assert found.drawn != found.case
    assert {repetitions for _, repetitions in worlds.ran} == {1, REPETITIONS}


def test_the_errors_are_those_of_all_that_was_drawn_and_of_nothing_else() -> None:
    made = hunted(Played(lambda case: case.scheduler == "bfs"))
    own = [case.scheduler for case in drawn(5, 96)]
    assert sorted(made.errors_pct[ELAPSED]) == [-50.0] * own.count("bfs") + [0.0] * own.count("default")
    assert made.errors_pct[CPU] == [0.0] * 96


def test_a_case_that_differs_in_one_seed_alone_is_none() -> None:
    worlds = Played(lambda case: False, in_one_seed=lambda case: case.scheduler == "default")
    assert hunted(worlds).findings == []


def test_what_takes_too_long_does_not_reach_the_kernel() -> None:
    worlds = Played(lambda case: True, long=lambda case: case.tasks > 6)
    made = hunted(worlds)
    assert (made.drawn, made.too_long) == (96, sum(case.tasks > 6 for case in drawn(5, 96)))
    assert made.too_long > 10


def test_of_a_schedulers_metric_the_worst_case_alone_is_kept() -> None:
    made = hunted(Played(lambda case: True), keep=5)
    assert sorted(one.case.scheduler for one in made.findings) == ["bfs", "default"]


def test_shrinking_ends_when_time_is_up() -> None:
    worlds = Played(lambda case: True)
    made = Hunt(worlds, USUAL, 2, lambda text: None)
    made.draw(draw.cases(5, TUNABLES), 24, lambda: True)
    made.look_again()
    before = list(made.findings)
    made.shrink(lambda: False)
    assert made.findings == before != []


def test_a_shrunk_case_never_grows() -> None:
    def size(case: Case) -> tuple[int, ...]:
        steps = sum(len(group.steps) + len(group.answer) for group in case.groups)
        return (case.tasks, len(case.tunables), steps)

    for case in drawn(11, 60):
        for other in shrink.simpler(case):
            assert all(mine <= theirs for mine, theirs in zip(size(other), size(case), strict=True))
            assert other != case


def test_a_saved_case_says_what_shows_it_again(tmp_path: Path) -> None:
    findings = hunted(Played(lambda case: True)).findings
    saved.write(tmp_path, {"seed": 5}, findings, ["-m", "guest-exact-1"])
    data = json.loads((tmp_path / saved.NAME).read_text())
    assert data["seed"] == 5
    assert len(data["cases"]) == len(findings)
    for one, finding in zip(data["cases"], findings, strict=True):
        file = tmp_path / one["file"]
        head = file.read_text()
        assert f"./schedlab agree {finding.case.arm} -w {file} -n 3 -m guest-exact-1" in head
        assert f"./schedlab decisions {finding.case.arm} -w {file} -m guest-exact-1" in head
        assert "elapsed time: simulator 100 ms, kernel 200 ms;" in head
        assert (one["metric"], one["gap_pct"]) == ("elapsed_s", -50.0)
        assert described.entries(workloads=[file])["workloads"][0]["name"] == file.stem


COMMAND = ["agree", "--search", "bfs,default", "--cases", "6", "-m", "desktop-4", "-o", "out"]


@pytest.fixture
def boots(checkout: Path, monkeypatch: pytest.MonkeyPatch, play_guests: Callable, fake_record: Callable) -> list[int]:
    """Cells of every boot of a guest that is played; under BFS everything takes it four times as long."""

    def record(cell_id: str, cell: dict[str, Any]) -> dict[str, Any]:
        made = fake_record(cell_id, cell)
        made["metrics"]["elapsed_s"] *= 4 if cell["scheduler"] == "bfs" else 1
        return made

    # What is played takes a second and more.
    monkeypatch.setenv("FAKE_CPU_S", "0.05")
    monkeypatch.setattr(hunt, "MOST_ELAPSED_S", 10.0)
    # A few steps are enough.
    monkeypatch.setattr(
        shrink, "simpler", lambda case: [replace(case, groups=case.groups[1:])] * (len(case.groups) > 1)
    )
    monkeypatch.setattr(draw, "tunables", lambda names: {name: TUNABLES[name] for name in names})
    ledger = checkout / "results" / "agreement" / "ledger.csv"
    ledger.parent.mkdir(parents=True)
    columns = "label,workload,load,metric,statistic,simulator_mean,simulator_least,simulator_most,simulator_change_pct"
    columns += ",kernel_mean,kernel_least,kernel_most,kernel_change_pct,error_pct,side,sign,seeds_least,seeds_most"
    rows = [f"bfs,pipe,1,{name},mean,1.1,1.1,1.1,,1,1,1,,10,kept,,," for name in ("elapsed_s", "cpu_s")]
    ledger.write_text("\n".join([columns, *rows, ""]))
    return play_guests(record)


def test_the_command_keeps_what_it_found_and_resumes(
    boots: list[int], checkout: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(COMMAND) == 0
    said = capsys.readouterr().out
    first = list(boots)
    # The first cell of every boot warms up.
    assert first[0] == 7
    data = json.loads((checkout / "out" / "search.json").read_text())
    (case,) = data["cases"]
    assert case["scheduler"] == "bfs"
    assert case["metric"] == "elapsed_s"
    assert case["tasks"] < case["drawn"]["tasks"]
    assert (checkout / "out" / case["file"]).is_file()
    assert case["file"] in said
    assert said.startswith("elapsed time of 6 cases: median error ")
    assert said.splitlines()[-1] == "6 cases drawn, 0 of them too long, 1 kept; data: out/"
    assert main(COMMAND) == 0
    assert capsys.readouterr().out == said
    assert boots == first


def test_an_interrupted_search_goes_on(
    boots: list[int], checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    assert main([*COMMAND[:-1], "whole"]) == 0
    whole = capsys.readouterr().out.replace("whole/", "out/")
    played = vm.run
    left = iter(range(3))

    def run(*arguments: Any, **options: Any) -> SimpleNamespace:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return played(*arguments, **options)

    monkeypatch.setattr(vm, "run", run)
    before = len(boots)
    assert main(COMMAND) == 130
    assert len(boots) == before + 3
    said = capsys.readouterr()
    assert "interrupted: 6 cases drawn; what has run is in out; the same command resumes" in said.err
    assert json.loads((checkout / "out" / "search.json").read_text())["cases"]
    monkeypatch.setattr(vm, "run", played)
    assert main(COMMAND) == 0
    assert capsys.readouterr().out == whole


def test_no_guest_is_one_line(lab: Callable, checkout: Path, boots: list[int]) -> None:
    (checkout / "bin" / "schedlab-host").unlink()
    done = lab("agree", "--search", "default", "-m", "desktop-4")
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert not (checkout / "results" / "agreement" / "search").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--search", "-w", "latt", "-n", "2"], "--search: its cells are drawn: expected no -w, -n"),
        (["--search", "--short"], "--search: its cells are drawn: expected no --short"),
        (["--seed", "1"], "--seed: expected with --search"),
        (["--search", "--cases", "0"], "--cases 0: expected more than 0"),
        (["--search", "--cases", "3", "--minutes", "1"], "--minutes, --cases: expected one of them"),
        (["--search", "bsf"], "unknown scheduler 'bsf'; did you mean bfs"),
        (["--search", "default"], "results/agreement/ledger.csv: cannot be read"),
    ],
)
def test_bad_input_is_one_line(lab: Callable, arguments: list[str], words: str) -> None:
    done = lab("agree", *arguments, "-m", "desktop-4")
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert words in done.stderr


def test_a_step_that_is_left_out_leaves_something_to_do() -> None:
    steps = (Step(What.RUN, 5, 5), Step(What.YIELD))
    alone = Case("default", (), (Group(Kind.ALONE, 1, 1, steps),))
    assert {one.groups[0].steps for one in shrink.simpler(alone)} == {(Step(What.RUN, 5, 5),)}
