# SPDX-License-Identifier: GPL-2.0-or-later
"""The sentence of a comparison: it says who is better only where a verdict does, and unclear where it is unclear."""

from dataclasses import replace

import numpy as np
import pytest

from lab.tests.test_comparisons import Campaign, campaign
from schedlab.format.finding import explained, sentence
from schedlab.statistics.model_error import ModelError
from schedlab.statistics.summary import Trouble

_DRAW = np.random.default_rng(3)
SEEDS = _DRAW.gamma(3, 10, 10)
A = (SEEDS + _DRAW.normal(0, 0.01, 10)).tolist()


def times(factor: float) -> list[float]:
    return (SEEDS * factor + _DRAW.normal(0, 0.01, 10)).tolist()


def test_it_names_who_is_worse_by_how_much_and_how_sure() -> None:
    said = sentence(campaign({"a": A, "b": times(1.5)}).summary())
    assert said.startswith("b is worse than a in 1 of 1 measure (elapsed time, +50.")
    assert said.endswith("]) and better in none.")


def test_more_of_what_is_wanted_is_better() -> None:
    said = sentence(campaign({"a": A, "b": times(1.5)}, metric="throughput_per_s").summary())
    assert said.startswith("b is better than a in 1 of 1 measure (")


def test_noise_is_not_called_a_winner() -> None:
    b = [a * (1.2 if at % 2 else 0.8) for at, a in enumerate(A)]
    said = sentence(campaign({"a": A, "b": b}).summary())
    assert said == "Between a and b no difference is claimed: unclear in 1 of 1 measure."


def test_too_few_runs_are_said_to_be_too_few() -> None:
    said = sentence(campaign({"a": A[:4], "b": times(2)[:4]}).summary())
    assert said == "Too few runs to say anything of a and b: 4 of each, and a claim needs 5."


def test_what_is_negligible_is_the_same() -> None:
    said = sentence(campaign({"a": A, "b": [a * 1.001 for a in A]}).summary())
    assert said == "a and b are the same within 0.1 % in the one measure."


def test_what_the_simulator_may_be_off_by_takes_a_claim_back() -> None:
    off = ModelError(of_changes={("w", "elapsed_s", "mean"): [0.9] * 20})
    said = sentence(campaign({"a": A, "b": times(1.5)}).summary(off))
    assert (
        said == "Between a and b no difference is claimed: within what the simulator may be off by in 1 of 1 measure."
    )


def test_loads_that_disagree_are_no_victory() -> None:
    made = Campaign(["a", "b"])
    for load, factor in ((1, 1.5), (2, 0.5)):
        for seed, (a, b) in enumerate(zip(A, times(factor), strict=True)):
            made.add("a", seed, a, load)
            made.add("b", seed, b, load)
    assert sentence(made.summary()) == "b is better or worse than a by the load in 1 of 1 measure."
    assert explained(made.summary()) is None


def test_of_several_loads_the_surest_is_named() -> None:
    made = Campaign(["a", "b"])
    for load, factor in ((1, 1.2), (2, 3.0)):
        for seed, (a, b) in enumerate(zip(A, times(factor), strict=True)):
            made.add("a", seed, a, load)
            made.add("b", seed, b, load)
    assert "(elapsed time at load 2, +200" in sentence(made.summary())
    row, label = explained(made.summary()) or (None, "")
    assert row
    assert (row.load, label) == (2, "b")


def test_of_many_the_best_and_the_worst_are_named() -> None:
    made = campaign({"a": A, "b": times(2), "c": times(0.5), "d": times(1.5), "e": [a * 1.0001 for a in A]})
    said = sentence(made.summary())
    assert said.startswith("c is better than a in 1 of 1 measure (")
    assert said.endswith("; the other 2 lie between these two.")


@pytest.mark.parametrize(
    ("status", "words"), [("ejected", "b was ejected in 2 cells"), ("failed", "cells have no value")]
)
def test_what_was_lost_is_said(status: str, words: str) -> None:
    found = campaign({"a": A, "b": times(1.5)}).summary()
    lost = [Trouble("b", "w", "m", 1, seed, status, "stall") for seed in (1, 2)]
    found = replace(found, troubles=lost, counts=found.counts | {status: 2})
    assert words in sentence(found)


def test_a_scheduler_alone_is_not_compared() -> None:
    assert sentence(campaign({"a": A}).summary()) == ("a was measured alone: there is nothing to compare it with.")
