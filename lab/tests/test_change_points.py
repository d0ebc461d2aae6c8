# SPDX-License-Identifier: GPL-2.0-or-later
"""Change points: found where the level changes, of the right size, and seldom where there is only noise."""

import itertools
import math

import numpy as np
import pytest

from schedlab.statistics.change_points import segments


def cuts(values: list[float], smallest_pct: float = 1.0) -> list[int]:
    return [one.start for one in segments(values, smallest_pct)][1:]


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ([], []),
        ([3.0], []),
        ([1.0] * 9, []),
        ([1.0, 1.0, 2.0, 2.0], [2]),
        ([1.0, 1.0, 1.0, 5.0], [3]),
        ([1.0, 1.0, 4.0, 4.0, 1.0, 1.0], [2, 4]),
        ([1.0, 1.0, 1.005, 1.005], []),
        # Cut, as they are many, and put together again.
        ([1.0] * 20 + [1.005] * 20, []),
    ],
)
def test_levels_without_noise_are_exact(values: list[float], where: list[int]) -> None:
    assert cuts(values) == where


def test_a_change_is_found_in_noise_and_has_its_size() -> None:
    draw = np.random.default_rng(5)
    values = np.exp(np.concatenate([draw.normal(0, 0.02, 20), draw.normal(math.log(1.2), 0.02, 20)])).tolist()
    before, after = segments(values, 1.0)
    assert (before.end, after.start) == (20, 20)
    assert after.change_pct(before) == pytest.approx(20, abs=3)


def test_noise_alone_seldom_has_one() -> None:
    """In at most a tenth of series: whoever looks at the picture sees a level or two too many, and no more."""
    draw = np.random.default_rng(1)
    false = sum(bool(cuts(np.exp(draw.normal(0, 0.05, 30)).tolist())) for _ in range(300))
    assert 0 < false <= 30


def test_it_is_the_cheapest_of_all_ways_to_cut() -> None:
    """Beside every segmentation of a short series, with the penalty that the module states."""
    draw = np.random.default_rng(2)
    for _ in range(20):
        logs = draw.normal(0, 0.1, 9) + np.repeat(draw.normal(0, 0.3, 3), 3)
        spread = float(np.median(np.abs(np.diff(logs)))) * 1.4826 / math.sqrt(2)
        penalty = max(3 * spread**2 * math.log(9), math.log1p(1e-9) ** 2 / 2)

        def cost(ends: tuple[int, ...], logs: np.ndarray = logs, penalty: float = penalty) -> float:
            parts = [logs[a:b] for a, b in itertools.pairwise((0, *ends, 9))]
            return sum(float(((part - part.mean()) ** 2).sum()) for part in parts) + penalty * len(ends)

        every = [ends for count in range(9) for ends in itertools.combinations(range(1, 9), count)]
        assert tuple(cuts(np.exp(logs).tolist(), 1e-7)) == min(every, key=cost)


def test_what_is_not_above_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="above zero"):
        segments([1.0, 0.0], 1.0)
