# SPDX-License-Identifier: GPL-2.0-or-later
"""What the simulator may be off by: quantiles of known errors, what they leave of a change, and whether they hold."""

import math
from collections.abc import Mapping

import pytest

from schedlab import checkout
from schedlab.ledger.entries import KEPT, Entry, Values, from_csv
from schedlab.ledger.measured_error import FILE, model_error, of_changes, of_values
from schedlab.statistics.agreement import Place
from schedlab.statistics.bootstrap import Interval
from schedlab.statistics.estimates import Change
from schedlab.statistics.model_error import FEWEST, Key, ModelError, widened
from schedlab.statistics.verdict import BETTER, MODEL, SAME, UNCLEAR, verdict

KEY = ("pipe", "elapsed_s", "mean")


def change(pct: float, low: float, high: float) -> Change:
    return Change(10, pct, Interval(low, high, "BCa"), True)


def entry(label: str, simulated: float, kernel: float) -> Entry:
    values = [Values(value, value, value, math.nan) for value in (simulated, kernel)]
    return Entry(Place(label, "pipe", 1, "elapsed_s", "mean"), *values)


def test_the_quantile_has_room_for_the_next_one() -> None:
    """Of 39 errors the 38th: 0.95 × 40. Of too few for 95 % the largest."""
    known = {KEY: [n / 100 for n in range(1, 40)]}
    assert ModelError(of_changes=known).change_log(KEY) == pytest.approx(0.38)
    assert ModelError(of_values={KEY: [0.1] * FEWEST + [0.3]}).value_log(KEY) == 0.3


def test_a_workload_with_few_errors_takes_those_of_all() -> None:
    known = {KEY: [0.5] * FEWEST, ("latt", "elapsed_s", "mean"): [0.1], ("latt", "cpu_s", "mean"): [9.0]}
    model = ModelError(of_changes=known)
    assert model.change_log(("latt", "elapsed_s", "mean")) == 0.5
    assert model.change_log(("kbuild", "elapsed_s", "mean")) == 0.5
    assert math.isnan(model.change_log(("kbuild", "missed_pct", "mean")))
    assert ModelError(of_changes=known | {KEY: [0.2] * FEWEST}).change_pct(KEY) == pytest.approx(22.14, abs=0.01)


def test_errors_of_values_and_of_changes() -> None:
    entries = [entry("bfs", 2.0, 1.0), entry("cfs", 2.0, 1.0), entry("rr", 1.0, 4.0), entry("sd", 0.0, 1.0)]
    values = of_values(entries, lambda _: True)
    assert values == {KEY: pytest.approx([math.log(2), math.log(2), math.log(4)])}
    # Both off by as much: what they differ by is right.
    assert of_changes(entries, lambda *_: True) == {KEY: pytest.approx([0.0, math.log(8), math.log(8)])}
    assert of_changes(entries, lambda a, b: "rr" not in (a.place.label, b.place.label)) == {KEY: [0.0]}


def test_the_interval_widens_by_both() -> None:
    """Over the seeds 10 % wide to either side, in logarithms, and the model as much: √2 of it together."""
    tenth = math.log(1.1)
    found = widened(change(0.0, math.expm1(-tenth) * 100, 10.0), 10.0).interval
    assert found.high == pytest.approx(math.expm1(math.sqrt(2) * tenth) * 100)
    assert found.low == pytest.approx(math.expm1(-math.sqrt(2) * tenth) * 100)
    sure = widened(change(20.0, 20.0, 20.0), 10.0).interval
    assert (sure.low, sure.high) == pytest.approx((120 / 1.1 - 100, 32.0))


@pytest.mark.parametrize("model_pct", [0.0, math.nan])
def test_nothing_known_widens_nothing(model_pct: float) -> None:
    one = change(5.0, 4.0, 6.0)
    assert widened(one, model_pct) == one
    assert widened(change(-100.0, -100.0, -100.0), 5.0).interval.low == -100.0
    assert verdict(one, "higher", model_pct=model_pct) == BETTER


def test_verdicts_need_more_than_the_model_is_off_by() -> None:
    assert verdict(change(5.0, 4.9, 5.1), "higher", model_pct=3.0) == BETTER
    assert verdict(change(5.0, 4.9, 5.1), "higher", model_pct=6.0) == MODEL
    assert verdict(change(0.1, 0.0, 0.2), "higher", model_pct=0.5) == SAME
    assert verdict(change(0.1, 0.0, 0.2), "higher", model_pct=6.0) == MODEL
    # More runs would not be enough for it either way, but they are missing.
    assert verdict(change(5.0, -4.0, 14.0), "higher", model_pct=6.0) == UNCLEAR


def _shares(known: Mapping[Key, list[float]], promised: Mapping[Key, float]) -> list[float]:
    """Errors over what was promised; a key without a promise is not asked."""
    return [
        error / promised[key] if promised[key] else math.inf * (error > 0)
        for key, errors in known.items()
        for error in errors
        if not math.isnan(promised[key])
    ]


@pytest.mark.parametrize("kind", ["values", "changes"])
def test_the_promise_holds_for_what_was_not_looked_at(kind: str) -> None:
    """Nine in ten of the kernel's numbers of kept cells lie within; within half as much they would not."""
    entries = from_csv(checkout.root() / FILE)
    model = model_error(entries)
    if kind == "values":
        kept = of_values(entries, lambda one: one.side == KEPT)
        promised = {key: model.value_log(key) for key in kept}
    else:
        kept = of_changes(entries, lambda one, other: KEPT in (one.side, other.side))
        promised = {key: model.change_log(key) for key in kept}
    shares = _shares(kept, promised)
    assert len(shares) > 500
    within = [sum(share <= most for share in shares) / len(shares) for most in (1.0, 0.5)]
    assert within[0] >= 0.9, within
    assert within[1] < 0.9, within
