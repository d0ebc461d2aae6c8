# SPDX-License-Identifier: GPL-2.0-or-later
"""The values that a study printed, where our charts show the same measure at the same load."""

from collections.abc import Iterable

from schedlab.metrics import metric
from schedlab.studies.score import Verdict, cells
from schedlab.studies.study_file import Experiment, Study

# Units of published/claims.csv that ours call otherwise.
_OURS = {"us": "µs"}

# our metric, the study's scheduler, load
Points = dict[tuple[str, str, int], float]


def points(study: Study, experiment: Experiment, machine: str, verdicts: Iterable[Verdict]) -> Points:
    """In the units of our metrics; what is a sum of several of ours, or a mean over loads, is in no chart."""
    found: Points = {}
    for verdict in verdicts:
        claim = verdict.claim
        if claim.machine != machine:
            continue
        for scheduler, value in ((claim.a, claim.value_a), (claim.b, claim.value_b)):
            where = [(name, load) for one, name, load in cells(study, claim, scheduler) if one is experiment]
            if value is None or len(where) != 1:
                continue
            ours = experiment.metrics[claim.metric]
            if len(ours) == 1 and metric(ours[0]).unit == _OURS.get(claim.unit, claim.unit):
                found[ours[0], *where[0]] = value
    return found
