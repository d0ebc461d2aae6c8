# SPDX-License-Identifier: GPL-2.0-or-later
"""The ledger of agreement over records made by hand: rows, tallies, knobs, causes, the short form's limits."""

import json
import math
from pathlib import Path

import pytest

from schedlab.campaign.matrix import CONTROL_LABEL
from schedlab.errors import InputError
from schedlab.ledger import causes, entries, knobs, limits, measures, scope, tallies
from schedlab.ledger.entries import KEPT, LOOKED_AT, Entry, Ledger, Values
from schedlab.report import agreement_tables as page
from schedlab.report import markdown
from schedlab.statistics.agreement import TOTAL, Place, Repeated

ROOT = Path(__file__).resolve().parents[2]
ELAPSED = ("elapsed_s", "mean")


def place(label: str = "bfs", measure: tuple[str, str] = ELAPSED, load: int = 1) -> Place:
    return Place(label, "pipe", load, *measure)


def once(value: float) -> Repeated:
    return Repeated(value, value, value)


def entry(simulator: float, kernel: float, at: Place | None = None, **more: float) -> Entry:
    spread = {"least": kernel, "most": kernel, "change_pct": math.nan} | more
    return Entry(at or place(), Values(simulator, simulator, simulator, math.nan), Values(kernel, **spread))


def made(
    simulated: dict[Place, float], kernel: dict[Place, float], seeds: dict[Place, Repeated] | None = None
) -> Ledger:
    both = ({where: once(value) for where, value in world.items()} for world in (simulated, kernel))
    return entries.ledger(*both, CONTROL_LABEL, seeds)


def test_a_row_is_a_number_that_both_have_with_its_change_from_the_kernels_own() -> None:
    found = made(
        {place("default"): 2.0, place("bfs"): 3.0, place("cfs"): 1.0},
        {place("default"): 4.0, place("bfs"): 5.0, place("o1"): 1.0, place(CONTROL_LABEL): 4.4},
    )
    told = [(e.place.label, e.error_pct, e.simulator.change_pct, e.kernel.change_pct) for e in found.entries]
    assert [one[0] for one in told] == ["default", "bfs"]
    # The kernel's own scheduler is both of its runs.
    assert told[1][1:] == pytest.approx((-40.0, 50.0, (5 / 4.2 - 1) * 100))
    assert told[0][1] == pytest.approx((2 / 4.2 - 1) * 100)
    assert math.isnan(told[0][2])
    assert (found.entries[0].kernel.least, found.entries[0].kernel.most) == (4.0, 4.4)
    assert [(e.simulator.mean, e.kernel.mean) for e in found.again] == [(4.0, 4.4)]


@pytest.mark.parametrize(
    ("simulated", "kernel", "right"),
    [(1.5, 1.2, True), (0.9, 1.2, False), (1.0, 1.2, False), (2.0, 1.02, None), (0.7, 0.9, True)],
)
def test_a_sign_counts_where_the_kernel_differs(simulated: float, kernel: float, right: bool | None) -> None:
    found = made({place("default"): 1.0, place(): simulated}, {place("default"): 1.0, place(): kernel})
    assert [e.sign_is_right for e in found.entries] == [None, right]


def test_small_numbers_are_counted_and_no_rows() -> None:
    switches = ("switches_involuntary", "mean")
    found = made({place(measure=switches): 49.0}, {place(measure=switches): 3.0})
    assert (found.entries, found.below_floor) == ([], {place(measure=switches)})
    (row,) = made({place(measure=switches): 100.0}, {place(measure=switches): 0.0}).entries
    assert row.error_pct == 200.0  # over the floor of 50


def test_waiting_that_is_only_the_cost_of_a_switch_is_no_row() -> None:
    total, mean = place(measure=("waiting_us", TOTAL)), place(measure=measures.WAIT)
    assert not made({total: 40_000.0, mean: 8.0}, {total: 10_000.0}).entries
    assert made({total: 40_000.0, mean: 400.0}, {total: 10_000.0}).entries
    assert made({total: 40_000.0, mean: 8.0}, {total: 1_000_000.0}).entries


def test_rows_come_back_from_their_file(tmp_path: Path) -> None:
    seeds = {place(): Repeated(3.0, 2.5, 4.0)}
    found = made({place("default"): 2.0, place(): 3.0}, {place("default"): 4.0, place(): 5.0}, seeds).entries
    file = tmp_path / "ledger.csv"
    file.write_text(entries.as_csv(found), encoding="utf-8")
    again = entries.from_csv(file)
    assert entries.as_csv(again) == entries.as_csv(found)
    assert [e.place for e in again] == [e.place for e in found]
    assert again[1].seeds == (2.5, 4.0)
    file.write_text("label,workload\nbfs,pipe\n", encoding="utf-8")
    with pytest.raises(InputError, match="expected the columns label, workload, load"):
        entries.from_csv(file)


def test_a_cell_is_looked_at_or_kept_as_a_whole_and_for_ever() -> None:
    sides = {load: entry(1, 1, place(load=load)).side for load in range(1, 201)}
    assert {sides[load] for load in sides} == {LOOKED_AT, KEPT}
    assert 80 <= list(sides.values()).count(KEPT) <= 120
    assert entry(1, 1, place(measure=("cpu_s", "mean"), load=7)).side == sides[7]
    assert [load for load in range(1, 13) if sides[load] == KEPT] == [1, 2, 3, 4, 6, 7, 12]


@pytest.mark.parametrize(("kernel", "beyond_pct"), [(4.0, 25.0), (5.0, 0.0), (8.0, 0.0), (10.0, 20.0)])
def test_what_another_seed_shows_is_no_error(kernel: float, beyond_pct: float) -> None:
    seeds = {place(): Repeated(6.0, 5.0, 8.0)}
    (row,) = made({place(): 6.0}, {place(): kernel}, seeds).entries
    assert row.beyond_pct == pytest.approx(beyond_pct)
    (row,) = made({place(): 6.0}, {place(): kernel}).entries
    assert math.isnan(row.beyond_pct)


def test_rows_beyond_the_seeds_are_the_worst() -> None:
    wide, narrow = place("wide"), place("narrow")
    seeds = {wide: Repeated(50.0, 1.0, 100.0), narrow: Repeated(1.2, 1.1, 1.3)}
    rows = made({wide: 50.0, narrow: 1.2}, {wide: 2.0, narrow: 1.0}, seeds).entries
    found = tallies.tally(rows)
    assert (found.seeded, found.among_seeds) == (2, 1)
    assert found.beyond_p90_pct == pytest.approx(10)
    assert [row.place for row in tallies.worst(rows, 1)] == [narrow]


def test_a_tally() -> None:
    rows = [entry(100 + error, 100) for error in (-1, 2, -3, 4, 50)]
    rows.append(entry(110, 100, least=90, most=120, change_pct=10.0))
    found = tallies.tally(rows)
    assert (found.rows, found.median_pct, found.largest_pct) == (6, pytest.approx(3), pytest.approx(50))
    assert found.p90_pct == pytest.approx(50)
    assert (found.within, found.signs, found.right) == (1, 1, 0)
    assert math.isnan(tallies.tally([]).median_pct)
    assert [row.error_pct for row in tallies.worst(rows, 2)] == pytest.approx([50, 10])


def test_a_knob_moves_numbers_and_what_none_moves_is_still() -> None:
    base = {place("default"): once(1.0), place("bfs"): once(2.0), place("bfs", ("cpu_s", "mean")): once(1.0)}
    turned = {place("bfs:slice_us=2"): once(3.0), place("bfs:slice_us=2", ("cpu_s", "mean")): once(1.005)}
    own = knobs.moves(base, turned, {"bfs:slice_us=2": "bfs"})
    assert list(own.values()) == pytest.approx([50.0, 0.5])
    by_knob = {"slice": own, "policy": knobs.exchanges(base)}
    assert by_knob["policy"] == {place("bfs"): pytest.approx(100.0)}
    assert knobs.still(by_knob) == {("pipe", ("cpu_s", "mean")): pytest.approx(0.5)}
    assert [(m.knob, m.measure, m.numbers) for m in knobs.moved(by_knob)] == [
        ("slice", ELAPSED, 1),
        ("slice", ("cpu_s", "mean"), 1),
        ("policy", ELAPSED, 1),
    ]


def test_a_cause_is_the_first_whose_patterns_fit(tmp_path: Path) -> None:
    file = tmp_path / causes.NAME
    assert causes.read(file) == []
    file.write_text(
        '[[cause]]\nlabel = "bfs*"\nload = [4, 8]\nmetric = "switches_*"\nsays = "one"\n'
        '[[cause]]\nworkload = ["latt", "pipe"]\nsays = "two"\n',
        encoding="utf-8",
    )
    known = causes.read(file)
    switches = ("switches_voluntary", "mean")
    assert causes.cause(place("bfs:rules=424", switches, 8), known) == "one"
    assert causes.cause(place("bfs", switches, 1), known) == "two"
    assert causes.cause(place("cfs")._replace(workload="pi"), known) == causes.NOT_KNOWN


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[causes]]\nsays = "x"\n', "unknown key 'causes'"),
        ('[[cause]]\nsays = "x"\nlod = 1\n', "cause 1: unknown key 'lod'; did you mean load"),
        ('[[cause]]\nlabel = "x"\n', "key 'says': expected a string"),
        ('[[cause]]\nsays = "x"\nload = ["4"]\n', "key 'load': expected an integer"),
    ],
)
def test_a_wrong_cause_is_one_line(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / causes.NAME
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        causes.read(file)


def test_a_limit_is_the_error_with_the_slack_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / limits.NAME
    text = limits.as_csv([[entry(110, 100)], [entry(90, 100)], [entry(115, 100)]])
    file.write_text(text, encoding="utf-8")
    held = limits.read(file)
    assert held == {place(): pytest.approx(15 + limits.SLACK_PCT)}

    def worse(*rows: Entry, small: tuple[Place, ...] = ()) -> list[str]:
        return [one.why for one in limits.worse(held, rows, small)]

    assert worse(entry(117, 100)) == []
    assert worse(entry(82, 100)) == []
    assert worse(entry(119, 100)) == ["simulator 119, kernel 100, +19.0 %; expected ±18.0 % at most"]
    assert worse() == ["expected a value in both worlds, found none"]
    assert worse(small=(place(),)) == []
    assert worse(entry(100, 100), entry(9, 1, place("new"))) == []


def test_counts_have_no_limit(tmp_path: Path) -> None:
    file = tmp_path / limits.NAME
    counted = entry(110, 100, place("bfs", ("switches_voluntary", "mean")))
    file.write_text(limits.as_csv([[counted]]), encoding="utf-8")
    assert limits.read(file) == {counted.place: math.inf}


def test_a_row_on_which_the_kernel_is_not_steady_has_no_limit(tmp_path: Path) -> None:
    file = tmp_path / limits.NAME
    file.write_text(limits.as_csv([[entry(110, 100)], [entry(136, 100)]]), encoding="utf-8")
    held = limits.read(file)
    assert held == {place(): math.inf}
    assert list(limits.worse(held, [entry(900, 100)], ())) == []
    assert list(limits.worse(held, [], ())) == []


def test_a_file_tells_whether_it_fixes_its_time(tmp_path: Path) -> None:
    for text, fixed in [("[end]\nafter_s = 2\n", True), ('[end]\ntask = "x"\n', False), ("", False)]:
        (tmp_path / "w.toml").write_text(text, encoding="utf-8")
        assert measures.fixes_its_time(tmp_path / "w.toml") is fixed


def test_a_number_that_says_what_another_says_is_left_out() -> None:
    rate = ("throughput_per_s", "mean")

    def told(other_rate: float, *fixed_time: str) -> list[str]:
        numbers = {place("bfs"): 2.0, place("cfs"): 4.0, place("bfs", rate): 50.0, place("cfs", rate): other_rate}
        found = measures.telling({where: once(value) for where, value in numbers.items()}, fixed_time)
        return [f"{where.label} {where.metric}" for where in found]

    times, rates = ["bfs elapsed_s", "cfs elapsed_s"], ["bfs throughput_per_s", "cfs throughput_per_s"]
    assert told(25.0) == times  # a hundred pieces of work each
    assert told(26.0) == times + rates
    assert told(25.0, "pipe") == rates


def test_migrations_are_rows_where_there_are_any() -> None:
    moved = ("migrations", "mean")

    def told(*counts: float) -> int:
        numbers = {place(label, moved): once(count) for label, count in zip(("bfs", "cfs"), counts, strict=True)}
        return len(measures.telling(numbers, ()))

    assert told(0.0, 0.0) == 0
    assert told(0.0, 70.0) == 2


def test_the_ledger_has_workloads_that_are_described_and_need_no_disk() -> None:
    names = scope.synthetic()
    assert {"latt", "pipe", "hackbench", "counter", "pi"} <= set(names)
    assert not {"kbuild", "lrzip", "oltp", "rw", "mixed"} & set(names)
    asked = scope.Scope("bfs", "pipe,./my.toml", param=["pipe.trips=7"]).asked()
    assert asked["schedulers"] == "default,bfs"
    assert asked["param"] == ["pipe.trips=3000", "pipe.trips=7"]


def test_the_page_says_how_far_which_sign_and_why() -> None:
    found = made(
        {place("default"): 1.0, place("bfs"): 1.5, place("cfs"): 1.2},
        {place("default"): 1.0, place("bfs"): 1.25, place("cfs"): 0.8},
        {place("default"): Repeated(1.0, 0.9, 1.1), place("bfs"): Repeated(1.5, 1.5, 2.0)},
    ).entries
    data = {
        "machine": "small",
        "cpus": 1,
        "place": "vm-exact",
        "kernel": "7.2",
        "repetitions": 3,
        "seeds": 19,
        "schedulers": ["default", "bfs", "cfs"],
        "workloads": ["pipe"],
        "params": ["pipe.trips=3000"],
        "below_floor": {"switches_involuntary": 2},
        "still": [{"metric": "cpu_s", "statistic": "mean", "workload": "pipe", "largest_pct": 0.25}],
        "moved": [{"knob": "HZ", "metric": "elapsed_s", "statistic": "mean", "median_pct": 2.0, "p90_pct": None}],
        "again": [{"metric": "elapsed_s", "statistic": "mean", "rows": 1, "median_pct": 0.1, "largest_pct": 0.2}],
        "troubles": [
            {"world": "kernel", "label": "fifo", "workload": "pi", "load": 5, "status": "ejected", "reason": "stall"}
        ],
    }
    text = page.text(data, found, [causes.Cause("known", {"label": ["cfs"]}, [])])
    for line in [
        "| elapsed time | 3 | 20.0 | 50.0 | 50.0 | 0.1, 0.2 | 0.0 | 1 of 3 | 20.0 | 1 of 2 | 20.0 |",
        "| cfs | pipe | 1 | elapsed time | 1.20 s | – | 0.800 s | 0.800 s | +50.0 % | known |",
        "| bfs | pipe | 1 | elapsed time | 1.50 s | 1.50–2.00 s | 1.25 s | 1.25 s | +20.0 % | not known |",
        "| elapsed time | 2.0, – |",
        "- Left out as too small: involuntary switches below 50 in both worlds, 2 numbers.",
        "- Left out because no knob moves it by 1 %: CPU time of pipe (0.25 %).",
        "- No value in the kernel: fifo, pi, load 5: ejected: stall.",
    ]:
        assert line in text.splitlines(), text
    (signs,) = [line for line in text.splitlines() if line.startswith("| elapsed time | 1 of 2 |")]
    assert signs


def test_where_the_kernel_is_steady_the_simulator_is_held_to_the_goal() -> None:
    rows = [
        entry(110, 100, least=95, most=112),
        entry(130, 100, least=85, most=115),
        entry(200, 100, least=84.9, most=105),
        entry(400, 100, least=90, most=180),
    ]
    assert [row.unrest_pct for row in rows] == pytest.approx([12, 15, 15.1, 80])
    (line,) = [line for line in page.steady(rows).splitlines() if line.startswith("| elapsed time |")]
    assert line == "| elapsed time | 4 | 80.0 | 2 | 30.0 | – |"


def test_the_page_says_what_the_committed_results_say() -> None:
    folder, file = ROOT / "results/agreement", ROOT / "docs/agreement.md"
    data = json.loads((folder / "ledger.json").read_text("utf-8"))
    text = page.text(data, entries.from_csv(folder / "ledger.csv"), causes.read(folder / causes.NAME))
    assert markdown.put_into(file, page.MARK, text) == file.read_text("utf-8")


def test_a_row_counts_that_is_worse_in_most_of_the_runs() -> None:
    once, twice = place("once"), place("twice")
    runs = [
        [limits.Worse(twice, "first"), limits.Worse(once, "only")],
        [limits.Worse(twice, "again")],
        [],
    ]
    assert limits.in_most(runs) == [limits.Worse(twice, "first")]
    assert limits.in_most([runs[0]]) == sorted(runs[0], key=lambda one: one.place)
    assert limits.in_most([[], [], []]) == []
