# SPDX-License-Identifier: GPL-2.0-or-later
"""Bootstrap resamples as weights: row by row, how often each repetition was drawn.

Every statistic of every metric is evaluated on the same few matrices, which is what makes intervals
for merged distributions affordable: a resample of repetitions is one row times the bucket counts.
"""

from functools import cache

import numpy as np

Weights = np.ndarray  # resamples × repetitions, counts

_SEED = 20090831


@cache
def resamples(n: int, count: int, stream: int = 0) -> Weights:
    """`stream` keeps independent groups independent."""
    generator = np.random.default_rng([_SEED, n, count, stream])
    picks = generator.integers(0, n, size=(count, n))
    drawn = np.bincount((np.arange(count)[:, None] * n + picks).ravel(), minlength=count * n).reshape(count, n)
    return drawn.astype(float)
