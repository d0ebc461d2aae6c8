# SPDX-License-Identifier: GPL-2.0-or-later
"""The sequential test of choose: the bets are fair, and its error rates hold over noise of many shapes."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from schedlab.statistics import contest, sequential
from schedlab.statistics.contest import LEVEL, Outcome

TRIALS = 10_000
BLOCKS = 20
CANDIDATES = 3
MEASURES = 2
WORTH = math.log1p(0.02)

Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def _drifting(draws: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """A machine that gets slower from run to run, jumps now and then, and is fastest right after a pause."""
    trials, blocks, candidates, measures = shape
    flat = (trials, blocks * candidates, measures)
    steps = draws.normal(0.004, 0.01, flat) + 0.2 * (draws.random(flat) < 0.02)
    drift = steps.cumsum(axis=1).reshape(shape)
    drift[:, :, 0] -= 0.1
    return drift + draws.normal(0, 0.02, shape)


NOISE: dict[str, Noise] = {
    "normal": lambda draws, shape: draws.normal(0, 0.03, shape),
    "heavy tails": lambda draws, shape: 0.02 * draws.standard_t(1.5, shape),
    "skewed": lambda draws, shape: 0.05 * draws.lognormal(0, 1.5, shape),
    "two levels": lambda draws, shape: 0.3 * (draws.random(shape) < 0.2) + draws.normal(0, 0.01, shape),
    "ties": lambda draws, shape: 0.05 * draws.integers(0, 3, shape),
    "drifting": _drifting,
    "growing": lambda draws, shape: draws.normal(0, 0.01, shape) * (1 + np.arange(shape[1]))[None, :, None, None],
}


def shuffled(draws: np.random.Generator, runs: np.ndarray) -> np.ndarray:
    """Who ran first, second and third in a block: all measures of a run stay together."""
    trials, blocks, candidates, measures = runs.shape
    order = np.argsort(draws.random((trials, blocks, candidates)), axis=2)
    return np.take_along_axis(runs, np.repeat(order[..., None], measures, axis=3), axis=2)


def differences(draws: np.random.Generator, noise: Noise, trials: int = TRIALS) -> np.ndarray:
    """(trials, measures and challengers, blocks), of candidates that are all the same."""
    runs = shuffled(draws, noise(draws, (trials, BLOCKS, CANDIDATES, MEASURES)))
    found = runs[:, :, 1:] - runs[:, :, :1]
    return found.reshape(trials, BLOCKS, -1).transpose(0, 2, 1)


@pytest.mark.parametrize("sizes", [[1.0] * 8, [0.1, 3.0, 0.7, 1.1, 50.0, 0.2, 0.2, 1.0], [0.0, 2.0, 0.0, 1.0, 9.0]])
def test_bets_are_fair_whatever_the_sizes_are(sizes: list[float]) -> None:
    """Over all signs, which are equally likely, the mean wealth is what it was in the beginning, after every block."""
    signs = np.array(list(itertools.product([-1, 1], repeat=len(sizes))))
    for evidence in (sequential.wealth, sequential.two_sided):
        means = np.exp(evidence(signs * np.array(sizes))).mean(axis=0)
        assert means == pytest.approx(np.ones(len(sizes)), abs=1e-12)


@pytest.mark.parametrize("name", NOISE)
def test_at_most_one_run_in_twenty_names_a_false_winner(name: str) -> None:
    """Two challengers, two measures, twenty looks: any claim of any of them at any look, also that one is worse."""
    draws = np.random.default_rng([7, *name.encode()])
    found = differences(draws, NOISE[name])
    evidence = sequential.two_sided(found)
    claimed = (evidence >= sequential.enough(LEVEL, found.shape[1])).any(axis=(1, 2))
    assert len(claimed) == TRIALS
    assert claimed.mean() <= LEVEL
    # Without the correction for several tests there would be more: this is no test that cannot fail.
    assert (evidence >= math.log(2)).any(axis=(1, 2)).mean() > LEVEL


@pytest.mark.parametrize("name", ["normal", "heavy tails", "skewed", "drifting"])
def test_looking_often_at_a_usual_test_would_name_too_many(name: str) -> None:
    """What the sequential test is there for: a paired t at 5 % after every block."""
    draws = np.random.default_rng([8, *name.encode()])
    found = differences(draws, NOISE[name], 2_000)[:, 0]
    counts = np.arange(1, BLOCKS + 1)
    mean = found.cumsum(axis=1) / counts
    spread = np.sqrt(
        np.maximum((found**2).cumsum(axis=1) / counts - mean**2, 1e-30) * counts / np.maximum(counts - 1, 1)
    )
    t = np.abs(mean) / spread * np.sqrt(counts)
    assert (t[:, 4:] > 2.2).any(axis=1).mean() > LEVEL


def test_a_claim_of_the_contest_has_evidence_enough() -> None:
    draws = np.random.default_rng(3)
    claims = 0
    for _ in range(150):
        own = draws.standard_t(2, 14) * 0.02 + draws.choice([0, 0.03])
        one = contest.standing(own, 4, WORTH)
        if one.better or one.worse:
            claims += 1
            assert sequential.two_sided(own)[-1] >= sequential.enough(LEVEL, 4)
            assert (one.centre > 0) == one.better
    assert claims > 5


def race(
    draws: np.random.Generator, effect: float, spread: float, blocks: int, measures: int = 1
) -> tuple[Outcome, int]:
    """The outcome of one challenger, whose first measure is better by the effect, and when."""
    own = draws.normal(0, spread * math.sqrt(2), (blocks, measures))
    own[:, 0] += effect
    for count in range(1, blocks + 1):
        found = contest.outcome([contest.standing(series[:count], measures, WORTH) for series in own.T])
        if found is not Outcome.OPEN:
            return found, count
    return Outcome.OPEN, blocks


@pytest.mark.parametrize(
    ("effect", "spread", "measures", "expected"),
    [
        # Runs that differ from each other by 2.5 %, as builds do.
        (math.log(1.1), 0.025, 1, Outcome.WINS),
        (-math.log(1.1), 0.025, 1, Outcome.LOSES),
        (math.log(1.1), 0.01, 2, Outcome.WINS),
        (0.0, 0.007, 1, Outcome.SAME),
        (0.0, 0.007, 2, Outcome.SAME),
    ],
)
def test_what_is_there_is_found_within_twenty_blocks(
    effect: float, spread: float, measures: int, expected: Outcome
) -> None:
    draws = np.random.default_rng([11, measures])
    found = [race(draws, effect, spread, BLOCKS, measures) for _ in range(60)]
    assert sum(outcome is expected for outcome, _ in found) >= 0.95 * len(found)
    assert np.median([count for _, count in found]) <= 12


def test_no_difference_is_seldom_said_where_there_is_one_that_counts() -> None:
    draws = np.random.default_rng(12)
    found = [race(draws, WORTH, 0.008, BLOCKS)[0] for _ in range(200)]
    assert sum(outcome in (Outcome.SAME, Outcome.LOSES) for outcome in found) <= LEVEL * len(found)


def test_an_interval_holds_the_truth_at_all_looks_together() -> None:
    draws = np.random.default_rng(13)
    missed = 0
    for _ in range(200):
        own = 0.1 + 0.03 * draws.standard_t(3, BLOCKS)
        ends = [sequential.interval(own[:count], sequential.enough(LEVEL)) for count in range(2, BLOCKS + 1)]
        missed += not all(low <= 0.1 <= high for low, high in ends)
    assert missed <= LEVEL * 200


def test_differences_that_are_all_the_same_leave_no_doubt_after_a_few_blocks() -> None:
    least = sequential.fewest_blocks(LEVEL, 1)
    assert least == 7
    for shift in (0.0, 0.3):
        before, after = (sequential.interval(np.full(n, shift), sequential.enough(LEVEL)) for n in (5, least))
        assert before == (-math.inf, math.inf)
        assert after == pytest.approx((shift, shift), abs=0.001)


def test_a_winner_is_worse_at_nothing() -> None:
    better, worse, same = np.full(12, 0.2), np.full(12, -0.2), np.zeros(12)
    noisy = np.tile([0.1, -0.1], 6)

    def outcome(*series: np.ndarray) -> Outcome:
        return contest.outcome([contest.standing(own, len(series), WORTH) for own in series])

    assert outcome(better, same) is Outcome.WINS
    assert outcome(better, better) is Outcome.WINS
    assert outcome(better, worse) is Outcome.TRADES
    assert outcome(better, noisy) is Outcome.OPEN
    assert outcome(same, worse) is Outcome.LOSES
    assert outcome(same, same) is Outcome.SAME
    assert outcome(noisy, same) is Outcome.OPEN
    # A proven difference that is too small for a switch is none.
    assert outcome(np.full(12, 0.01), same) is Outcome.SAME
    assert outcome(np.array([]), same) is Outcome.OPEN
