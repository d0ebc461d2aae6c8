# SPDX-License-Identifier: GPL-2.0-or-later
"""A test that may be looked at after every block: evidence of pairs, by bets on the sign of their differences.

A difference is the logarithm of a ratio within a block, which holds both schedulers once, in a random order. Where the
two are the same, it has either sign with the same chance, whatever its size, its spread and the drift of the machine:
exchanging the two names changes nothing. Who bets at even odds on that sign, more on large differences than on small
ones, then has a fair game, so that his wealth is above K at any time at all with a chance of at most 1/K (Ville 1939).
The wealth is the evidence (an e-process). One bet is

    exp(x) / cosh(x),  x = c · difference / median |difference| of all blocks so far,

which is fair at any size of x (de la Peña 1999; Howard, Ramdas, McAuliffe, Sekhon 2020, "Time-uniform Chernoff
bounds"): the sizes are known before the sign is. The mean over a few c is as fair (Robbins 1970), and so is the mean of
the wealth of both directions.

For an interval the same is asked of every shift: those with little evidence against them are in it. It holds the true
shift at all looks together, where differences spread evenly to both sides of it.
"""

import math
from collections.abc import Callable

import numpy as np

# Small ones find a small difference over many blocks, the largest a large one in few.
_STAKES = (0.5, 1.0, 2.0)
# exp(x) / cosh(x) is 2 from here on, to the last digit.
_MOST = 30.0
# Shifts that are tried for an interval, and one that is as good as infinite.
_SHIFTS = 301
_FAR = 1e6
# Nobody looks further from all differences than this, in logarithms.
_MARGIN = 0.05


def wealth(differences: np.ndarray) -> np.ndarray:
    """Logarithm of the evidence that differences are above zero, after each block.

    `differences`: (…, blocks); the same shape comes back. A difference of zero is no bet.
    """
    relative = _relative(differences)
    bets = [np.cumsum(_bet(stake * relative), axis=-1) for stake in _STAKES]
    return np.logaddexp.reduce(bets, axis=0) - math.log(len(_STAKES))


def two_sided(differences: np.ndarray) -> np.ndarray:
    """Logarithm of the evidence that differences are not around zero, after each block; shapes as of wealth()."""
    return np.logaddexp(wealth(differences), wealth(-differences)) - math.log(2)


def enough(level: float, tests: int = 1) -> float:
    """Logarithm of the evidence that is reached in vain with a chance of at most `level`, by any of so many tests."""
    return math.log(tests / level)


def fewest_blocks(level: float, tests: int) -> int:
    """Blocks without which no evidence is enough, were all differences the same."""
    count = 1
    while two_sided(np.ones(count))[-1] < enough(level, tests):
        count += 1
    return count


def interval(differences: np.ndarray, needed: float) -> tuple[float, float]:
    """Of (blocks,) differences all shifts against which the evidence, to both sides, is less than `needed`."""
    return _kept(differences, needed, two_sided)


def at_least(differences: np.ndarray, needed: float) -> float:
    """A bound below: every smaller shift has evidence enough against it, to one side."""
    return _kept(differences, needed, wealth)[0]


def at_most(differences: np.ndarray, needed: float) -> float:
    """The same above."""
    return -at_least(-differences, needed)


def centre(differences: np.ndarray) -> float:
    """The middle of a symmetric distribution: the median of the means of all pairs (Hodges and Lehmann 1963)."""
    if not len(differences):
        return math.nan
    one, other = np.triu_indices(len(differences))
    return float(np.median((differences[one] + differences[other]) / 2))


def _kept(differences: np.ndarray, needed: float, evidence: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float]:
    """The hull of the shifts that are not ruled out."""
    if not len(differences):
        return -math.inf, math.inf
    reach = float(np.ptp(differences)) + _MARGIN
    shifts = np.linspace(differences.min() - reach, differences.max() + reach, _SHIFTS)
    step = float(shifts[1] - shifts[0])
    # The middle is among them: of differences that are all the same nothing else is left.
    tried = np.sort([-_FAR, *shifts, centre(differences), _FAR])
    kept = np.flatnonzero(evidence(differences - tried[:, None])[:, -1] < needed)
    if not len(kept):
        # No shift explains such differences: nothing is known.
        return -math.inf, math.inf
    low = -math.inf if kept[0] == 0 else float(tried[kept[0]]) - step
    high = math.inf if kept[-1] == len(tried) - 1 else float(tried[kept[-1]]) + step
    return low, high


def _relative(differences: np.ndarray) -> np.ndarray:
    """Each in units of the median size of all so far, its own among them."""
    sizes = np.abs(differences)
    usual = np.stack([np.median(sizes[..., : block + 1], axis=-1) for block in range(sizes.shape[-1])], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(differences == 0, 0.0, differences / usual)


def _bet(x: np.ndarray) -> np.ndarray:
    """log(exp(x) / cosh(x))"""
    return math.log(2) - np.logaddexp(0.0, -2 * np.clip(x, -_MOST, _MOST))
