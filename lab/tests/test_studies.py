# SPDX-License-Identifier: GPL-2.0-or-later
"""Study files, the published claims, and the score that lays them beside ours."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from schedlab.campaign import arms, cells
from schedlab.campaign.matrix import campaign
from schedlab.catalogue import machines, workloads
from schedlab.errors import InputError
from schedlab.studies import calls, contradictions, experiments, in_guests, published, score, study_file
from schedlab.studies.experiments import Measured
from schedlab.studies.published import Claim
from schedlab.studies.score import Reproduction
from schedlab.studies.study_file import Study

WHOLE = """\
title = "t"
source = "s"
seed = "002"
calibrated = "c"
[[experiment]]
name = "counter"
workload = "counter"
published = "python counter"
schedulers = { BFS = "bfs:rules=311", CFS = "cfs:rules=2.6.31" }
machines = ["t5600"]
loads = [1, "cpus + 1", "3 * cpus / 2"]
level = '(\\d+) processes'
metrics = { elapsed = "elapsed_s", switches = "switches_voluntary + switches_involuntary" }
"""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return written(tmp_path, WHOLE)


def written(folder: Path, text: str) -> Study:
    path = folder / "some.toml"
    path.write_text(text, encoding="utf-8")
    return study_file.read(path)


@pytest.mark.parametrize("name", study_file.files())
def test_committed_studies_name_what_is_there(name: str):
    """Schedulers, workloads, parameters, machines, and claims that every experiment is about."""
    found = study_file.find(name)
    claims = published.claims(found.seed)
    assert claims
    for experiment in found.experiments:
        for ours in experiment.schedulers.values():
            arms.parse(ours, "sim")
        known = set(workloads.find(experiment.workload).params)
        for machine in experiment.machines:
            machines.find(machine)
            assert set(experiment.params_on(machine)) <= known
        assert any(claim.workload == experiment.published for claim in claims), experiment.name


@pytest.mark.parametrize("name", study_file.files())
def test_committed_studies_reach_every_claim_that_counts(name: str):
    """With a number for everything they run, no claim that the score counts is without one."""
    found = study_file.find(name)
    values = {
        (e.name, machine, scheduler, load, metric): [1.0]
        for e in found.experiments
        for machine in e.machines
        for scheduler in e.schedulers
        for load in e.loads_on(machine)
        for metrics in e.metrics.values()
        for metric in metrics
    }
    reproductions = score.reproduce(found, published.claims(found.seed), Measured(values))
    assert [v.claim.id for v in reproductions if v.claim.points > 0 and v.pct is None] == []


def test_calibration_is_of_one_scheduler_a_study():
    for name in study_file.files():
        found = study_file.find(name)
        used = {e.calibration.scheduler for e in found.experiments if e.calibration}
        assert len(used) <= 1, f"{name} is calibrated on {sorted(used)}"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("loads =", "lods ="), "experiment 1: key 'loads': expected a list"),
        (('seed = "002"', 'seed = "002"\nmood = 1'), "unknown key 'mood'"),
        (
            ('"cpus + 1"', '"cores + 1"'),
            "experiment 1: key 'loads': expected positive integers and expressions of 'cpus'",
        ),
        (("'(\\d+) processes'", "'processes'"), "key 'level': expected a regular expression with one group"),
        (('title = "t"', "title = 1"), "key 'title': expected a string, got 1"),
        (('machines = ["t5600"]', "machines = []"), "key 'machines': expected a list of str"),
    ],
)
def test_a_wrong_file_is_one_line_with_file_and_key(tmp_path: Path, change: tuple[str, str], says: str):
    assert change[0] in WHOLE
    with pytest.raises(InputError) as error:
        written(tmp_path, WHOLE.replace(*change))
    assert says in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "some.toml"))
    assert "\n" not in str(error.value)


def test_loads_count_in_cpus(study: Study):
    assert study.experiments[0].loads_on("t5600") == [1, 3]


def test_a_study_is_asked_for_under_one_release(study: Study, tmp_path: Path):
    def asked(place: str, api: str | None) -> set[str | None]:
        parts = experiments.parts(study, tmp_path, place, None, api, 1)
        return {part.request.api for part in parts}

    assert asked("sim", "6.12") == {"6.12"}
    assert asked("sim", None) == {None}
    with pytest.raises(InputError, match=r"--api 6\.12: only the simulator"):
        asked("vm", "6.12")


def claim(**changes: object) -> Claim:
    found = Claim(
        id="c",
        seed="002",
        group="g",
        scope="cell",
        machine="t5600",
        workload="python counter",
        level="3 processes on 2 cores",
        metric="elapsed",
        lower_is_better=True,
        a="BFS",
        b="CFS",
        family_a="BFS",
        family_b="CFS",
        sign=1,
        value_a=0.2,
        value_b=0.3,
        unit="s",
        pct_a_over_b=33.3,
        weight="strong",
        basis="published",
        note="",
    )
    return replace(found, **changes)  # type: ignore[arg-type]


def measured(bfs: float, cfs: float, load: int = 3) -> Measured:
    return Measured(
        {
            ("counter", "t5600", "BFS", load, "elapsed_s"): [bfs],
            ("counter", "t5600", "CFS", load, "elapsed_s"): [cfs],
        }
    )


def test_agreement_is_of_sign_and_error_of_ratio(study: Study):
    (reproduction,) = score.reproduce(study, [claim()], measured(0.1, 0.2))
    assert reproduction.agrees is True
    assert reproduction.pct == pytest.approx(50)
    assert reproduction.ratio_error == pytest.approx(abs(0.5 / (0.2 / 0.3) - 1))
    (other,) = score.reproduce(study, [claim()], measured(0.3, 0.2))
    assert other.agrees is False
    # However small the difference is.
    (hardly,) = score.reproduce(study, [claim()], measured(0.999, 1.0))
    assert hardly.agrees is True
    (higher,) = score.reproduce(study, [claim(lower_is_better=False)], measured(0.3, 0.2))
    assert higher.agrees is True


def test_what_is_stated_as_equal_may_differ_by_one_per_cent(study: Study):
    for bfs, agrees in ((0.991, True), (1.009, True), (0.989, False), (1.011, False)):
        (reproduction,) = score.reproduce(study, [claim(sign=0)], measured(bfs, 1.0))
        assert reproduction.agrees is agrees


def test_a_claim_looks_at_its_own_load(study: Study):
    (reproduction,) = score.reproduce(study, [claim()], measured(0.1, 0.2, load=1))
    assert reproduction.agrees is None
    (everywhere,) = score.reproduce(study, [claim(level="all process counts")], measured(0.1, 0.2, load=1))
    assert everywhere.agrees is True


def test_metrics_are_added_up(study: Study):
    values = {
        ("counter", "t5600", name, 3, f"switches_{kind}"): [number]
        for name, kind, number in (
            ("BFS", "voluntary", 1.0),
            ("BFS", "involuntary", 2.0),
            ("CFS", "voluntary", 1.0),
            ("CFS", "involuntary", 5.0),
        )
    }
    (reproduction,) = score.reproduce(study, [claim(metric="switches")], Measured(values))
    assert (reproduction.a, reproduction.b, reproduction.pct) == (3.0, 6.0, pytest.approx(50))


def test_the_fair_score_weighs_within_groups_first(study: Study):
    right, wrong = measured(0.1, 0.2), measured(0.2, 0.1)
    reproductions = [
        *score.reproduce(study, [claim(id="1", group="a"), claim(id="2", group="a", weight="weak")], right),
        *score.reproduce(study, [claim(id="3", group="a")], wrong),
        *score.reproduce(study, [claim(id="4", group="b")], right),
        # None of these count: a tie, a summary, one family, FIFO that was none.
        *score.reproduce(
            study, [claim(id="5", group="c", weight="tie?"), claim(id="6", group="c", scope="summary")], wrong
        ),
        *score.reproduce(study, [claim(id="6", group="c", scope="summary")], wrong),
        *score.reproduce(study, [claim(id="7", group="c", family_b="BFS")], wrong),
        *score.reproduce(study, [claim(id="8", group="c", b="FIFO on BFS kernel", family_b="FIFO")], wrong),
    ]
    found = score.score(reproductions)
    # Group a: 1 + 0.5 of 2.5; group b: all.
    assert found.agreement == pytest.approx((1.5 / 2.5 + 1) / 2)
    assert found.strong_and_medium == (2, 3)
    assert found.judged == 4
    # The median of 1/2 and 2 over the published 2/3, less 1: three times 1/4 and once 2.
    assert found.ratio_error == pytest.approx(0.25)
    assert score.score([]).ratio_error is None


def test_what_was_not_measured_does_not_agree(study: Study):
    found = score.score(score.reproduce(study, [claim()], Measured({})))
    assert (found.agreement, found.unmeasured) == (0.0, 1)


def test_nothing_dropped_is_no_division_by_zero(study: Study):
    both, one, other = (
        score.reproduce(study, [claim()], measured(*pair))[0] for pair in ((0.0, 0.0), (0.0, 4.0), (4.0, 0.0))
    )
    assert (both.pct, both.agrees) == (0.0, False)
    assert (one.pct, one.agrees) == (100.0, True)
    assert (other.pct, other.agrees) == (-100.0, False)
    more = claim(lower_is_better=False)
    shown = [score.reproduce(study, [more], measured(*pair))[0].pct for pair in ((0.0, 0.0), (0.0, 4.0), (4.0, 0.0))]
    assert shown == [0.0, -100.0, 100.0]


def test_a_scheduler_may_be_held_against_itself_at_another_load(study: Study):
    ours = claim(a="BFS at -j4", b="BFS at -j2", family_b="BFS")
    (found,) = score.reproduce(study, [ours], at_loads({2: 0.2, 4: 0.1}, {}))
    assert (found.a, found.b, found.pct) == (0.1, 0.2, pytest.approx(50))
    # Otherwise runs at different loads are not laid beside each other.
    (apart,) = score.reproduce(study, [claim(level="all process counts")], at_loads({1: 0.1}, {3: 0.2}))
    assert apart.pct is None


def test_one_run_on_a_side_has_no_interval(study: Study):
    for bfs, cfs in (([0.9], [1.0]), ([0.8, 1.0], [1.0])):
        (found,) = score.reproduce(study, [claim()], runs(bfs, cfs))
        assert found.low == found.pct == found.high == pytest.approx(10)


def test_a_run_in_which_nothing_happened_widens_the_interval(study: Study):
    """A run of value 0 has no logarithm: it was called by its mean alone."""
    (found,) = score.reproduce(study, [claim()], runs([0.0, 1.8], [1.0, 1.0]))
    half = 0.9 * stats.t.ppf(0.975, 1) * stats.sem([-1.0, 1.0]) * 100
    assert (found.pct, found.low, found.high) == pytest.approx((10, 10 - half, 10 + half))
    assert calls.outcome(found) == calls.NO_CALL
    (steady,) = score.reproduce(study, [claim()], runs([0.0, 0.1, 0.0, 0.1], [9.0, 9.1, 9.0, 9.1]))
    assert calls.outcome(steady) == calls.AGREES


def test_other_numbers_of_runs_on_the_sides_have_an_interval(study: Study):
    (found,) = score.reproduce(study, [claim()], runs([0.9, 0.9, 0.9], [1.0, 1.0]))
    assert found.low == pytest.approx(10) == found.high
    (found,) = score.reproduce(study, [claim()], runs([0.8, 0.9, 1.0], [1.0, 1.0]))
    assert found.low < -30
    assert found.high > 40


def test_nothing_on_one_side_is_a_difference_unless_the_seeds_leave_it_open(study: Study):
    (open_,) = score.reproduce(study, [claim()], runs([0.0, 0.0, 0.0], [0.0, 0.0, 3.0]))
    assert (open_.pct, open_.low, open_.high) == (100, -100, 100)
    assert calls.outcome(open_) == calls.NO_CALL
    (clear,) = score.reproduce(study, [claim()], runs([0.0, 0.0, 0.0], [3.0, 3.1, 3.0]))
    assert (clear.pct, clear.low, clear.high) == (100, 100, 100)


def at_loads(bfs: dict[int, float], cfs: dict[int, float]) -> Measured:
    sides = {"BFS": bfs, "CFS": cfs}
    return Measured(
        {
            ("counter", "t5600", side, load, "elapsed_s"): [value]
            for side, found in sides.items()
            for load, value in found.items()
        }
    )


def counters(bfs: dict[str, float], cfs: dict[str, float]) -> Measured:
    sides = {"BFS": bfs, "CFS": cfs}
    return Measured(
        {("counter", "t5600", side, 3, name): [value] for side, found in sides.items() for name, value in found.items()}
    )


def test_a_contradicted_claim_says_where_our_runs_differ(study: Study):
    bfs = {"elapsed_s": 0.3, "cpu_s": 0.404, "cpu_usage_pct": 150.0, "switches_voluntary": 5.0, "migrations": 0.0}
    cfs = {"elapsed_s": 0.2, "cpu_s": 0.4, "cpu_usage_pct": 200.0, "switches_voluntary": 4.0, "migrations": 8.0}
    cfs |= {"switches_involuntary": 7.0, "waiting_us": 30.0}
    bfs |= {"switches_involuntary": 7.0, "waiting_us": 10.0}
    found = counters(bfs, cfs)
    reproductions = score.reproduce(study, [claim(), claim(id="right", sign=-1)], found)
    assert contradictions.contradicted(study, reproductions, found) == {
        "c": "BFS : CFS in our runs: CPU time 404 : 400 ms (+1.0 %), CPU usage 150 : 200 % of one CPU (−25.0 %), "
        "migrations 0 : 8.00, waiting 10.0 : 30.0 µs (−66.7 %)"
    }
    # What kept CPUs from being busy comes before the rest, if it took any time worth telling.
    idle = {"idle_while_waiting_pct": 49.5, "disk_wait_s": 0.0201}
    found = counters(bfs | idle, cfs | {"idle_while_waiting_pct": 0.2, "disk_wait_s": 0.02})
    assert contradictions.contradicted(study, reproductions, found)["c"].startswith(
        "BFS : CFS in our runs: CPU time 404 : 400 ms (+1.0 %), CPU usage 150 : 200 % of one CPU (−25.0 %), "
        "idle beside waiting tasks 49.5 : 0.200 % of one CPU (×248), migrations"
    )
    found = counters(bfs | idle, cfs | {"idle_while_waiting_pct": 49.1, "disk_wait_s": 0.01})
    assert "idle beside" not in contradictions.contradicted(study, reproductions, found)["c"]
    assert "waits for the disk 20.1 : 10.0 ms (+101 %)" in contradictions.contradicted(study, reproductions, found)["c"]
    # Nothing to tell is told, too.
    found = counters({"elapsed_s": 0.3, "cpu_s": 0.4}, {"elapsed_s": 0.2, "cpu_s": 0.4001})
    reproductions = score.reproduce(study, [claim()], found)
    assert contradictions.contradicted(study, reproductions, found) == {
        "c": "our runs of BFS and CFS differ in no counter by 0.5 %"
    }


def runs(bfs: list[float], cfs: list[float]) -> Measured:
    where = ("counter", "t5600")
    return Measured({(*where, "BFS", 3, "elapsed_s"): bfs, (*where, "CFS", 3, "elapsed_s"): cfs})


@pytest.mark.parametrize(
    ("bfs", "sign", "outcome"),
    [
        ([0.98, 0.98], 1, calls.AGREES),
        ([0.98, 0.98], -1, calls.CONTRADICTED),
        ([0.995, 0.995], 1, calls.NO_CALL),
        # Two per cent on average, but these two runs cannot tell it from nothing.
        ([0.96, 1.0], 1, calls.NO_CALL),
        ([1.02, 1.02], 1, calls.CONTRADICTED),
        ([1.02, 1.02], 0, calls.CONTRADICTED),
        ([1.005, 1.005], 0, calls.AGREES),
        ([0.5, 1.5], 0, calls.NO_CALL),
    ],
)
def test_a_claim_is_called_where_the_interval_lies_beyond_one_per_cent(
    study: Study, bfs: list[float], sign: int, outcome: str
):
    (found,) = score.reproduce(study, [claim(sign=sign)], runs(bfs, [1.0, 1.0]))
    assert calls.outcome(found) == outcome


def test_the_interval_has_students_width_of_the_paired_log_ratios(study: Study):
    (found,) = score.reproduce(study, [claim()], runs([0.9, 1.8, 3.3], [1.0, 2.0, 3.0]))
    logs = np.log([0.9, 0.9, 1.1])
    ends = stats.t.interval(0.95, 2, loc=np.log(6.0 / 6.0), scale=stats.sem(logs))
    assert [found.low, found.high] == pytest.approx(sorted(100 * (1 - np.exp(end)) for end in ends))
    assert found.pct == pytest.approx(0)


def test_calls_are_counted_and_bfs_against_cfs_apart(study: Study):
    def one(bfs: float, **changes: object) -> Reproduction:
        return score.reproduce(study, [claim(**changes)], runs([bfs, bfs], [1.0, 1.0]))[0]

    found = [
        one(0.5),
        one(1.5),
        one(0.999),
        one(0.5, sign=-1, family_a="CFS", family_b="BFS"),
        one(0.5, family_b="RR"),
        one(0.5, scope="summary"),
        score.reproduce(study, [claim()], Measured({}))[0],
    ]
    assert calls.calls(found) == calls.Calls(claims=6, called=4, right=2)
    assert calls.calls(calls.of_bfs_and_cfs(found)) == calls.Calls(claims=5, called=3, right=1)
    # Always BFS: right where BFS is A and A was better, and where it is B and B was.
    assert calls.guessed(found) == calls.Calls(claims=5, called=5, right=5)
    assert calls.calls([]).share_called is None


_IN_GUESTS = """
params = { work_us = 7 }
[experiment.machine.t5600]
work_us = 8
[experiment.vm]
loads = [2]
repetitions = 4
params = { work_us = 9 }
why = "w"
"""


def test_a_guest_runs_its_own_part_with_the_machines_shape(tmp_path: Path):
    whole = written(tmp_path, WHOLE + _IN_GUESTS)
    (part,) = experiments.parts(in_guests.cut(whole, None), tmp_path, "vm", None, None, None)
    request = part.request
    assert (request.loads, request.repetitions, request.tier) == ([2], 4, "exact")
    assert request.params == {"counter": {"work_us": "9"}}
    assert [(machine.name, machine.cpus) for machine in request.machines] == [("1x2x1", 2)]
    assert request.modelled
    assert not any(arm.built_in for arm in request.arms)
    planned = campaign(request, Path(__file__))
    assert {cell.data["modelled"] for cell in planned.cells} == {True}
    # What repeats to the byte needs no second default as its control.
    assert {cell.label for cell in planned.cells if cell.role == cells.MEASURED} == {
        "bfs:rules=311",
        "cfs:rules=2.6.31",
    }
    assert {cell.role for cell in planned.cells} == {cells.MEASURED, cells.WARM_UP, cells.FIRST, cells.LAST}
    (whole_part,) = experiments.parts(whole, tmp_path, "sim", None, None, None)
    assert (whole_part.request.loads, whole_part.request.params) == ([1, 3], {"counter": {"work_us": "8"}})
    assert [(cut.what, cut.why) for cut in in_guests.cuts(whole, None)] == [
        ("tier exact; t5600: 1x2x1; loads 2; work_us = 9; 4 repetitions", "w")
    ]


def test_what_guests_leave_out_is_named_with_its_reason(tmp_path: Path):
    whole = written(tmp_path, WHOLE + '[experiment.vm]\nleave_out = "no disk"\n')
    assert in_guests.cut(whole, None).experiments == []
    assert [(cut.what, cut.why) for cut in in_guests.cuts(whole, None)] == [("nothing", "no disk")]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('why = "w"', "loops = 1"), "experiment 1: vm: key 'why': expected a string"),
        (("repetitions = 4", "repetition = 4"), "experiment 1: vm: unknown key 'repetition'"),
        (("repetitions = 4", "repetitions = 0"), "experiment 1: vm: key 'repetitions': expected an integer above 0"),
        (
            ("repetitions = 4", 'tier = "fast"'),
            "experiment 1: vm: key 'tier': expected one of exact, virtual, emulated",
        ),
        (
            ("repetitions = 4", 'machines = ["t56"]'),
            "experiment 1: vm: key 'machines': expected some of t5600, got 't56'",
        ),
        (("loads = [2]", 'leave_out = "no"'), "experiment 1: vm: unknown key"),
    ],
)
def test_a_wrong_part_for_guests_is_one_line(tmp_path: Path, change: tuple[str, str], says: str):
    assert change[0] in _IN_GUESTS
    with pytest.raises(InputError) as error:
        written(tmp_path, WHOLE + _IN_GUESTS.replace(*change))
    assert says in str(error.value)
