# SPDX-License-Identifier: GPL-2.0-or-later
"""The test of all schedulers of a cell at once, whatever the design."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Omnibus:
    method: str  # in words, for people
    why: str  # what decided for this method
    f: float
    df_between: float
    df_within: float
    p: float  # NaN where nothing varies
    omega_squared: float  # share of the variance that the schedulers explain; partial where blocks were removed


def omega_squared(f: float, df_between: float, n: int) -> float:
    """From F: the same as from sums of squares (Hays 1963), and what is used after Welch's F. Never below zero."""
    if np.isnan(f):
        return float("nan")
    if np.isinf(f):
        return 1.0
    gain = df_between * (f - 1)
    return max(0.0, gain / (gain + n))
