# SPDX-License-Identifier: GPL-2.0-or-later
"""The quantile table, by the (n+1)p rule, as JMP does it."""

import numpy as np

SHARES = {"min": 0.0, "10 %": 0.1, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "90 %": 0.9, "max": 1.0}


def quantile_table(values: list[float]) -> dict[str, float]:
    found = np.quantile(np.asarray(values, dtype=float), list(SHARES.values()), method="weibull")
    return dict(zip(SHARES, map(float, found), strict=True))
