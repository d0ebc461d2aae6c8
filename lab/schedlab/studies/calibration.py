# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the parameter for which a study's baseline scheduler gives its own published value.

Only the baseline's numbers go in: what the other schedulers then do is a prediction.
"""

from dataclasses import dataclass

import numpy as np

from schedlab import simulator
from schedlab.campaign import arms
from schedlab.catalogue import machines, schedulers, workloads
from schedlab.errors import LabError
from schedlab.studies.study_file import Experiment

_TOLERANCE = 0.002
_STEPS = 8
_SEEDS = 3


@dataclass(frozen=True)
class Found:
    machine: str
    parameter: str
    value: int
    target: float
    reached: float


def calibrate(experiment: Experiment, machine: str) -> Found:
    """Starts at the value in the file, which is kept where it is near enough."""
    wanted = experiment.calibration
    assert wanted is not None
    load, target = wanted.targets[machine]
    value = int(experiment.params_on(machine)[wanted.parameter])
    tried = {value: measure(experiment, machine, load, {wanted.parameter: value})}
    # Elapsed time is nearly proportional to the work, so that dividing by the miss converges in a few steps.
    while abs(tried[value] / target - 1) > _TOLERANCE and len(tried) < _STEPS:
        value = max(1, round(value * target / tried[value]))
        if value in tried:
            break
        tried[value] = measure(experiment, machine, load, {wanted.parameter: value})
    value = min(tried, key=lambda v: abs(tried[v] / target - 1))
    if abs(tried[value] / target - 1) > 10 * _TOLERANCE:
        raise LabError(
            f"{experiment.name} on {machine}: no {wanted.parameter} gives {target:g}; the nearest, {value}, gives "
            f"{tried[value]:g}"
        )
    return Found(machine, wanted.parameter, value, target, tried[value])


def measure(experiment: Experiment, machine: str, load: int, params: dict[str, int]) -> float:
    """Mean over a few seeds of the calibration's metric in the simulator."""
    wanted = experiment.calibration
    assert wanted is not None
    arm = arms.parse(experiment.schedulers[wanted.scheduler], "sim", experiment.built_in)[0]
    words = simulator.command(
        schedulers.written(arm.scheduler.path, arm.tunables),
        workloads.find(experiment.workload).path,
        machines.find(machine).path,
        load=load,
        params=experiment.params_on(machine) | params,
        built_in=arm.built_in,
    )
    values = []
    for seed in range(1, _SEEDS + 1):
        record = simulator.record([*words, "--seed", str(seed)])
        values.append(sum(_value(record, name) for name in experiment.metrics[wanted.metric]))
    return float(np.mean(values))


def _value(record: dict, name: str) -> float:
    if name in record["histograms"]:
        histogram = record["histograms"][name]
        return histogram["sum_ns"] / histogram["count"] / 1000
    return record["metrics"][name]
