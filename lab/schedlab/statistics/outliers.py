# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs that lie far from the others: marked for a look, never removed.

Tukey's fences: one and a half interquartile ranges beyond the quartiles, which are those of the quantile table.
"""

import numpy as np

FEWEST = 5
_FENCE = 1.5


def outliers(values: np.ndarray) -> list[int]:
    """Positions, in order."""
    if np.count_nonzero(~np.isnan(values)) < FEWEST:
        return []
    low, high = fences(values)
    return np.flatnonzero((values < low) | (values > high)).tolist()


def fences(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values[~np.isnan(values)], [0.25, 0.75], method="weibull")
    reach = _FENCE * (high - low)
    return float(low - reach), float(high + reach)
