# SPDX-License-Identifier: GPL-2.0-or-later
"""What methods for several comparisons at once integrate over: the common error, and what differences share.

Every difference is divided by the same estimate of the error, and holds the same group's mean; so the chance that the
largest is beyond a limit is an integral over both (Tukey's and Dunnett's methods). The trapezoidal rule converges
geometrically on such integrands (Trefethen and Weideman 2014), here to about 1e-12, and one call does all points.
"""

from functools import cache

import numpy as np

_STEP = 0.2  # of the normal variable
_NORMAL_END = 9.0  # what lies beyond has a chance of 1e-19
_LOG_STEP = 0.06
_FEWEST = 81  # points over the error
_NEGLIGIBLE = 40.0  # e to the minus this


@cache
def estimates(df: float) -> tuple[np.ndarray, np.ndarray]:
    """The estimated error over the true one, and weights that add up to one: the root of chi-squared over `df`."""

    def logarithm(x: float) -> float:  # of the density of x, the estimate's logarithm; 0 at its highest
        return df * (x - np.expm1(2 * x) / 2)

    ends = []
    for direction in (-1, 1):
        x = direction * np.sqrt(_NEGLIGIBLE / df)
        while logarithm(x) > -_NEGLIGIBLE:
            x *= 1.2
        ends.append(x)
    points = max(_FEWEST, int((ends[1] - ends[0]) / _LOG_STEP))
    x = np.linspace(*ends, points)
    weights = np.exp(logarithm(x))
    return np.exp(x), weights / weights.sum()


@cache
def shared(finest: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A normal variable and its weights. `finest`: the width of the steepest rise in what is integrated."""
    step = _STEP * min(1.0, finest)
    z = np.arange(-_NORMAL_END, _NORMAL_END + step, step)
    return z, step * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
