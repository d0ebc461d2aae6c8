# SPDX-License-Identifier: GPL-2.0-or-later
"""From records to comparisons: the design that repetitions have, the families of p, the noise floor, and every gap."""

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from schedlab.campaign.cells import CONTROL, FIRST, LAST, MEASURED
from schedlab.campaign.matrix import CONTROL_LABEL, PlannedCell
from schedlab.collect.histogram import EMPTY, Histogram
from schedlab.collect.manifest import Manifest
from schedlab.collect.records import Record
from schedlab.collect.store import Store
from schedlab.export import summary_tables
from schedlab.export.plain import as_json
from schedlab.format.sentences import WORDS, runs_needed
from schedlab.statistics import design, summary, verdict
from schedlab.statistics.effect import hedges
from schedlab.statistics.model_error import ModelError
from schedlab.statistics.rows import Row
from schedlab.statistics.summary import Summary, summarise
from schedlab.statistics.verdict import holm
from schedlab.terminal import legend

Values = dict[str, dict[int, float | Histogram | None]]  # by column and seed; None: a cell without a record


class Campaign:
    """One workload, machine and metric; more loads are more calls of `add`."""

    def __init__(self, labels: list[str], place: str = "sim", metric: str = "elapsed_s") -> None:
        self.labels, self.place, self.metric, self.promises = labels, place, metric, [metric]
        self.cells: list[PlannedCell] = []
        self.records: dict[str, Record] = {}

    def add(self, label: str, seed: int, value: float | Histogram | None, load: int = 1, role: str = MEASURED) -> None:
        cell_id = f"{len(self.cells):020}"
        data = {"workload": "w", "machine": "m", "load": load, "seed": seed, "place": self.place}
        self.cells.append(PlannedCell(cell_id, data, label, role))
        if value is not None:
            spread = isinstance(value, Histogram)
            metrics, histograms = ({}, {self.metric: value}) if spread else ({self.metric: value}, {})
            self.records[cell_id] = Record(cell_id, data, "ok", "", metrics, histograms, "", {}, {})

    def summary(self, model: ModelError | None = None) -> Summary:
        data = {
            "place": self.place,
            "schedulers": self.labels,
            "workloads": [{"name": "w", "load": "load", "promises": self.promises}],
            "machines": [{"name": "m"}],
            "repetitions": 10,
            "command": "test",
        }
        return summarise(Manifest(data, self.cells), self.records, model=model)


def campaign(values: dict[str, list], place: str = "sim", **more: str) -> Campaign:
    made = Campaign([label for label in values if label != CONTROL_LABEL], place, **more)
    for label, column in values.items():
        for seed, value in enumerate(column):
            made.add(label, seed, value, role=CONTROL if label == CONTROL_LABEL else MEASURED)
    return made


def only(values: dict[str, list], place: str = "sim", **more: str) -> Row:
    (row,) = campaign(values, place, **more).summary().rows
    return row


@pytest.mark.parametrize(
    ("promises", "shown"),
    [
        (["elapsed_s", "throughput_per_s"], {"elapsed_s"}),
        (["throughput_per_s", "elapsed_s", "cpu_s"], {"throughput_per_s", "cpu_s"}),
    ],
)
def test_elapsed_time_and_throughput_are_one_headline(promises: list[str], shown: set[str]) -> None:
    made = campaign({"a": [1.0, 2.0], "b": [1.5, 2.5]})
    made.promises = promises
    for record in made.records.values():
        record.metrics.update(throughput_per_s=1 / record.metrics["elapsed_s"], cpu_s=3.0)
    assert {row.metric for row in made.summary().headlines()} == shown


def test_loads_rise_in_whatever_order_their_cells_are_planned() -> None:
    made = Campaign(["a"])
    for load in (4, 1, 16, 2):
        made.add("a", 1, 3.0, load)
    assert [row.load for row in made.summary().rows] == [1, 2, 4, 16]


def test_changes_are_against_the_scheduler_that_was_named_first() -> None:
    made = Campaign(["b", "a"])
    for label in ("a", "b"):
        made.add(label, 1, 3.0)
    summary = made.summary()
    assert summary.reference == "b"
    assert {row.reference for row in summary.rows} == {"b"}


DRAW = np.random.default_rng(8)
SEEDS = DRAW.gamma(3, 10, 10)  # what a seed does to every scheduler
A = (SEEDS + DRAW.normal(0, 0.05, 10)).tolist()
B = (SEEDS * 1.03 + DRAW.normal(0, 0.05, 10)).tolist()
C = (SEEDS * 1.5 + DRAW.normal(0, 0.5, 10)).tolist()


@pytest.mark.parametrize(
    ("place", "kind", "method"),
    [("sim", design.SEEDS, "paired t over seeds"), ("vm-exact", design.BLOCKS, "paired t over blocks")],
)
def test_the_same_seed_or_block_makes_a_pair(place: str, kind: str, method: str) -> None:
    c = only({"a": A, "b": B}, place).against["b"]
    theirs = stats.ttest_rel(B, A)
    assert (c.design, c.method) == (kind, method)
    assert (c.t, c.df, c.p) == pytest.approx((theirs.statistic, 9, theirs.pvalue))
    assert c.change.paired
    assert c.change.n == 10
    # Seeds differ by tens of percent; the three percent are seen all the same.
    assert c.verdict == verdict.WORSE
    assert stats.ttest_ind(B, A).pvalue > 0.5
    # So the effect size is that of pairs, too, whose interval knows how alike they are.
    assert c.effect == hedges(np.array(A), np.array(B), True)
    assert c.effect.low > 0


@pytest.mark.parametrize(("place", "word"), [("sim", verdict.MODEL), ("vm-exact", verdict.WORSE)])
def test_what_the_model_is_off_by_counts_where_numbers_are_simulated(place: str, word: str) -> None:
    """Three percent more, where the simulator's changes are off by a tenth."""
    model = ModelError(of_changes={("w", "elapsed_s", "mean"): [0.1] * 10})
    (row,) = campaign({"a": A, "b": B}, place).summary(model).rows
    assert row.against["b"].verdict == word


def test_the_omnibus_test_removes_blocks_and_one_way_beside_it_does_not() -> None:
    row = only({"a": A, "b": B, "c": C}, "host")
    assert row.omnibus == row.blocks.omnibus
    assert row.omnibus.method == "two-way ANOVA, blocks removed"
    assert row.omnibus.why == design.BLOCKS
    assert row.omnibus.p < row.oneway.omnibus.p
    assert row.oneway.omnibus.f == pytest.approx(
        float(stats.f_oneway(A, B, C, equal_var=row.oneway.method == "Tukey–Kramer").statistic)
    )
    assert [(c.reference, c.label) for c in row.comparisons] == [("a", "b"), ("a", "c"), ("b", "c")]
    for c in row.comparisons:
        assert 0 <= c.p_within <= 1
        assert math.isnan(c.p_dunnett) == (c.reference != "a")


def test_repetitions_that_lost_their_partners_are_compared_as_groups() -> None:
    c = only({"a": [*A[:7], None, None, None], "b": [None] * 5 + B[5:]}).against["b"]
    assert c.design == design.INDEPENDENT
    assert c.method in ("t", "Welch's t")
    assert not c.change.paired
    assert c.change.n == 5
    few_lost = only({"a": A, "b": [*B[:8], None, None]}).against["b"]
    assert few_lost.design == design.SEEDS
    assert few_lost.change.n == 8


def test_hosts_of_a_fleet_are_not_compared_whatever_partners_are_lost() -> None:
    # Blocks of a second host, on which all takes ten times as long, and where one scheduler's cells are lost.
    slow = [10 * value for value in A[7:]]
    row = only({"a": [*A[:7], *slow], "b": [*B[:7], None, None, None]}, "ssh")
    alone = only({"a": A[:7], "b": B[:7]}, "ssh")
    assert row.against["b"].design == design.HOSTS
    assert row.changes["b"] == alone.changes["b"]
    assert row.changes["b"].n == 7
    assert row.against["b"].p == alone.against["b"].p
    none = only({"a": [*A[:7], None, None, None], "b": [None] * 7 + B[7:]}, "ssh").against["b"]
    assert none.note == "no block has both a and b, and hosts are not compared"
    assert math.isnan(none.change.pct)
    assert math.isnan(none.p)
    # Blocks run beside each other: that one host is slower is no drift.
    assert only({"a": [*A[:7], *slow], "b": [*B[:7], *slow]}, "ssh").drift is None


def test_neither_order_nor_unit_matters() -> None:
    row, other = only({"a": A, "b": B}), only({"a": [v * 1e-3 for v in A], "b": [v * 1e-3 for v in B]})
    assert other.changes["b"].pct == pytest.approx(row.changes["b"].pct)
    assert other.changes["b"].interval.low == pytest.approx(row.changes["b"].interval.low)
    assert other.against["b"].p == pytest.approx(row.against["b"].p)
    assert other.against["b"].effect.g == pytest.approx(row.against["b"].effect.g)
    swapped = only({"b": B, "a": A}).against["a"]
    assert swapped.p == pytest.approx(row.against["b"].p)
    assert swapped.effect.g == pytest.approx(-row.against["b"].effect.g)
    assert swapped.verdict == verdict.BETTER


# Gaps: one clear line each, no traceback, no "nan" that anybody sees.


def filled(value: float) -> Histogram:
    return Histogram.of(10, int(value), int(value), int(value) * 10, [(int(value), 10)])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("values", "note", "word"),
    [
        ({"a": [1.0], "b": [2.0]}, "one repetition: no interval and no test", verdict.UNKNOWN),
        ({"a": [1.0, 2.0], "b": [2.0, 3.5]}, "too few repetitions for a claim: 5 are needed", verdict.UNKNOWN),
        ({"a": [3.0] * 6, "b": [3.0] * 6}, "the same in every repetition: no spread to test against", verdict.SAME),
        ({"a": [3.0] * 6, "b": [4.0] * 6}, "the same in every repetition: no spread to test against", verdict.WORSE),
        ({"a": [0.0] * 6, "b": [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]}, "a is 0: no percentage", verdict.UNKNOWN),
        ({"a": A, "b": [None] * 10}, "no value of b", verdict.UNKNOWN),
        ({"a": [None] * 10, "b": B}, "no value of a", verdict.UNKNOWN),
        ({"a": A, "b": B}, "", verdict.WORSE),
    ],
)
def test_a_gap_is_one_clear_line(values: dict[str, list], note: str, word: str) -> None:
    summary = campaign(values).summary()
    (row,) = summary.rows
    (c,) = row.comparisons
    assert c.note == note
    assert row.verdict("b") == word
    shown = "\n".join(legend.lines(summary)) + json.dumps(as_json(summary), allow_nan=False)
    assert "nan" not in shown.lower()


@pytest.mark.filterwarnings("error")
def test_an_empty_distribution_is_left_out_of_the_test_and_said() -> None:
    draw = np.random.default_rng(2)
    full = {name: [filled(v) for v in draw.normal(mean, 50, 8)] for name, mean in (("a", 5000), ("b", 9000))}
    full["b"][3] = EMPTY
    for row in campaign(full, metric="wakeup_latency_us").summary().rows:
        (c,) = row.comparisons
        assert c.note == "1 repetition without a value: left out of the test"
        assert c.df == 6
        assert c.verdict == verdict.WORSE


@pytest.mark.filterwarnings("error")
def test_distributions_without_a_single_sample_have_no_value() -> None:
    for row in campaign({"a": [EMPTY] * 6, "b": [EMPTY] * 6}, metric="wakeup_latency_us").summary().rows:
        assert row.comparisons[0].note == "no value of a"
        assert row.verdict("b") == verdict.UNKNOWN


def test_tests_of_distributions_take_one_number_a_run_and_values_take_all_samples() -> None:
    parts = {"a": [[1000] * 99 + [9000], [2000] * 10], "b": [[1000] * 10, [3000] * 10]}
    made = {
        name: [Histogram.of(len(p), min(p), max(p), sum(p), sorted({v: p.count(v) for v in p}.items())) for p in column]
        for name, column in parts.items()
    }
    mean = next(r for r in campaign(made, metric="wakeup_latency_us").summary().rows if r.statistic == "mean")
    assert mean.values["a"].value == pytest.approx((99_000 + 9_000 + 20_000) / 110 / 1000)
    assert mean.runs["a"].values.tolist() == pytest.approx([1.08, 2.0])


# Families of comparisons


def many(cells: int, effect: float, metric: str = "elapsed_s") -> Campaign:
    made = Campaign(["a", "b"], metric=metric)
    draw = np.random.default_rng(5)
    for load in range(1, cells + 1):
        for seed in range(10):
            made.add("a", seed, 100 + draw.normal(0, 1), load)
            made.add("b", seed, 100 + effect + draw.normal(0, 1), load)
    return made


def test_p_is_adjusted_over_all_cells() -> None:
    summary = many(12, 1.2).summary()
    every = [c for row in summary.rows for c in row.comparisons]
    assert summary.tested == len(every) == 12
    assert [c.p_adjusted for c in every] == pytest.approx(holm([c.p for c in every]))
    # Alone many would be claims, if any difference were one; together they are unclear, and say so.
    alone = [c for c in every if verdict.verdict(c.change, c.better, c.p, negligible_pct=0) in verdict.CLAIMS]
    together = [verdict.verdict(c.change, c.better, c.p_adjusted, negligible_pct=0) for c in alone]
    assert [word == verdict.UNCLEAR for word in together] == [c.p_adjusted >= 0.05 for c in alone]
    assert verdict.UNCLEAR in together
    assert any(line.startswith("unclear:") for line in legend.lines(summary))


def test_where_nothing_differs_hardly_anything_is_claimed() -> None:
    wrong = [row.verdict("b") for row in many(200, 0.0).summary().rows]
    alone = sum(
        c.change.interval.low > 0 or c.change.interval.high < 0
        for r in many(200, 0.0).summary().rows
        for c in r.comparisons
    )
    assert alone > 5, "intervals alone do claim some"
    assert sum(word in verdict.CLAIMS for word in wrong) == 0


def test_details_are_a_family_of_their_own() -> None:
    made = many(6, 5.0)
    for cell in made.cells:
        made.records[cell.id].metrics["migrations"] = float(int(cell.id) * 31 % 97)
    summary = made.summary()
    assert (summary.tested, summary.tested_others) == (6, 6)
    heads = [c for row in summary.headlines() for c in row.comparisons]
    assert [c.p_adjusted for c in heads] == pytest.approx(holm([c.p for c in heads]))


# The real kernel: A/A control and drift


def real(b_is: float, again_is: float, drift: float = 0.0) -> Summary:
    draw = np.random.default_rng(3)
    made = Campaign(["default", "b"], "vm-virtual")
    for block in range(10):

        def value(scale: float, block: int = block) -> float:
            return float(100 * scale * (1 + drift * block) + draw.normal(0, 0.1))

        made.add("default", 3000 + block, value(1), role=FIRST)
        made.add("default", block, value(1))
        made.add("b", block, value(b_is))
        made.add(CONTROL_LABEL, block, value(again_is), role=CONTROL)
        made.add("default", 3000 + block, value(1 + drift), role=LAST)
    return made.summary()


def test_what_the_default_differs_from_itself_is_no_claim() -> None:
    noisy = real(1.02, 1.03)
    (row,) = noisy.rows
    c = row.against["b"]
    assert c.floor_pct == pytest.approx(3, abs=0.2)
    assert c.change.interval.low > 0
    assert c.p_adjusted < 0.001
    assert c.verdict == verdict.NOISE
    assert noisy.noise.worst.n == 10
    assert any(line.startswith("within noise") for line in legend.lines(noisy))
    quiet = real(1.02, 1.001)
    assert quiet.rows[0].verdict("b") == verdict.WORSE
    assert quiet.rows[0].control.paired


def test_drift_is_seen_over_blocks_and_within_them() -> None:
    still, warming = real(1.1, 1.0), real(1.1, 1.0, drift=0.01)
    assert still.rows[0].drift.p > 0.05
    assert warming.rows[0].drift.p < 0.001
    assert warming.rows[0].drift.change_pct == pytest.approx(9 / 1.045, abs=0.5)
    assert warming.ends.pct == pytest.approx(1 / 1.045, abs=0.2)
    assert warming.ends.n == 10
    assert any("Drift over the blocks: +8." in line for line in legend.lines(warming))
    assert any(line.startswith("No drift over the blocks found (p=") for line in legend.lines(still))
    # What drifts over blocks is taken out of the comparison.
    assert warming.rows[0].changes["b"].pct == pytest.approx(10, abs=0.2)
    assert warming.rows[0].verdict("b") == verdict.WORSE


def test_the_simulator_has_no_order_to_drift_over() -> None:
    assert only({"a": A, "b": B}).drift is None


# What is said


def test_runs_to_add_are_said_where_nothing_is_clear() -> None:
    draw = np.random.default_rng(12)
    noisy = {"a": draw.normal(100, 3, 10).tolist(), "b": draw.normal(100, 3, 10).tolist()}
    summary = campaign(noisy).summary()
    c = summary.rows[0].against["b"]
    assert c.verdict == verdict.UNCLEAR
    assert c.more_runs > 10
    assert runs_needed(c) == f"{c.more_runs:.0f} more runs"
    (line,) = [line for line in legend.lines(summary) if line.startswith("Least certain")]
    assert line.endswith(f"to see 1 % there you need {c.more_runs:.0f} more runs.")
    sure = campaign({"a": A, "b": C}).summary()
    assert not [line for line in legend.lines(sure) if line.startswith("Least certain")]


def test_a_line_over_loads_takes_the_strongest_word_and_shows_both_ends() -> None:
    made = Campaign(["a", "b"])
    draw = np.random.default_rng(1)
    for load, effect in ((1, 0.0), (2, 20.0), (3, 40.0)):
        for seed in range(8):
            made.add("a", seed, 100 + draw.normal(0, 1), load)
            made.add("b", seed, 100 + effect + draw.normal(0, 1), load)
    (line,) = summary.measures(made.summary())
    assert line.word("b") == verdict.WORSE
    assert line.agreeing("b") == 2
    assert [row.load for row in line.extremes("b")] == [1, 3]


def test_every_word_has_its_text() -> None:
    named = {value for name, value in vars(verdict).items() if name.isupper() and isinstance(value, str)}
    named -= {"none"}
    assert named == set(WORDS)


# The file


def test_comparisons_csv_has_a_row_for_every_pair(tmp_path: Path) -> None:
    summary = campaign({"a": A, "b": B, "c": [None] * 10}).summary()
    summary_tables.write_comparisons(summary, Store(tmp_path))
    with (tmp_path / "comparisons.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["reference"], row["label"]) for row in rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert list(rows[0]) == list(summary_tables.COMPARISON_COLUMNS)
    first = rows[0]
    c = summary.rows[0].against["b"]
    assert float(first["change_pct"]) == c.change.pct
    assert float(first["p_adjusted"]) == c.p_adjusted
    assert (first["n"], first["verdict"], first["test"]) == ("10", "worse", "paired t over seeds")
    assert (rows[1]["note"], rows[1]["change_pct"], rows[1]["p"]) == ("no value of c", "", "")
    assert "nan" not in (tmp_path / "comparisons.csv").read_text().lower()
    assert (tmp_path / "comparisons.parquet").exists()


def test_page_and_terminal_never_show_a_difference_without_interval_and_n(lab: Callable, checkout: Path) -> None:
    """Every number with a sign and a percent sign is followed by its interval, and every caption has its n."""
    import re

    done = lab("compare", "bfs,cfs,bfs:rules=424", "-w", "latt,pipe", "-n", "5", "-o", "out", COLUMNS="200")
    assert re.search(r"n = 5 seeds", done.stdout)
    for text in (done.stdout, re.sub(r"<[^>]+>", "", re.sub(r"<script.*?</script>", "", _page(checkout), flags=re.S))):
        for found in re.finditer(r"[+−]\d[\d.,]* %", text):
            assert re.match(r" \[[+−]?[\d.,]+, [+−]?[\d.,]+\]", text[found.end() :]), text[
                found.start() - 40 : found.end() + 40
            ]
    for caption in re.findall(r"<caption>(.*?)</caption>", _page(checkout)):
        assert "n = 5" in caption or "quantiles" in caption, caption


def _page(checkout: Path) -> str:
    return (checkout / "out" / "report.html").read_text(encoding="utf-8")
