# SPDX-License-Identifier: GPL-2.0-or-later
"""Many comparisons at once: Holm's step-down adjustment (Holm 1979), whatever they have to do with each other."""

import numpy as np


def holm(p: list[float]) -> list[float]:
    """Adjusted p, in the order given. A comparison without a p (NaN) is not one of the family."""
    raw = np.asarray(p, dtype=float)
    tested = np.flatnonzero(~np.isnan(raw))
    order = tested[np.argsort(raw[tested], kind="stable")]
    adjusted = raw.copy()
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(raw[order] * factors)) if len(order) else []
    return adjusted.tolist()
