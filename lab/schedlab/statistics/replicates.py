# SPDX-License-Identifier: GPL-2.0-or-later
"""A sample's statistics on every resample: computed once, used for its values and for all its changes.

Two samples with the same seeds are drawn together, row for row: that is what keeps them paired.
"""

from dataclasses import dataclass

import numpy as np

from schedlab.statistics.resampling import resamples
from schedlab.statistics.samples import Sample


@dataclass(frozen=True)
class Replicates:
    """By statistic. `drawn` and `left_out` are empty for a single repetition."""

    seeds: list[int]
    full: dict[str, float]
    drawn: dict[str, np.ndarray]  # bootstrap
    left_out: dict[str, np.ndarray]  # jackknife, in the order of the seeds


def replicates(sample: Sample, stream: int = 0) -> Replicates:
    n = len(sample.seeds)
    full = {name: float(found[0]) for name, found in sample.evaluate(np.ones((1, n))).items()}
    if n < 2:
        return Replicates(sample.seeds, full, {}, {})
    drawn = sample.evaluate(resamples(n, sample.resample_count, stream))
    return Replicates(sample.seeds, full, drawn, sample.without_each())
