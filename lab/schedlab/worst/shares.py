# SPDX-License-Identifier: GPL-2.0-or-later
"""What CPUs, work and weights alone explain of a number: the guess that a find is measured by.

A wait        while the weakest task waits, every other has its share of the CPUs, in turns of which the weakest's own
              is a tick: the weights of all others over its own and over the CPUs, in ticks, and a tick at least
Elapsed time  all work, as the CPUs share a clock, and the longest chain of steps after it: no schedule that leaves no
              CPU idle beside a task that waits takes longer (by Graham's bound of 1966); and some microseconds for each
              round, step and task, for system calls, switches and ends
Lag           a tick
"""

from collections.abc import Iterator

from schedlab.search.case import Case, Group, Kind, Steps, What

TICK_US = 4_000  # at 250 Hz, which is what guests have
# What a fork and what it brings takes.
_CHILD_US = 800
# What a task, a round of it and a step of a round take beside its steps, of elapsed time.
_TASK_US, _ROUND_US, _STEP_US = 500, 20, 10
_BASE = 1.25  # a nice level is so much weight


def explained(metric: str, case: Case, cpus: int) -> float | None:
    """In the metric's unit; None where shares say nothing of it."""
    match metric:
        case "starvation_max_us" | "wakeup_latency_us" | "waiting_us":
            return wait_us(case, cpus)
        case "max_lag_us":
            return float(TICK_US)
        case "elapsed_s":
            return (work_us(case) + span_us(case) + _beside_us(case)) / 1e6
        case _:
            return None


def wait_us(case: Case, cpus: int) -> float:
    weights = [sorted(_BASE**-nice for nice in _nice(group)) for group in case.groups]
    everybody = sum(own[-1] * group.tasks for own, group in zip(weights, case.groups, strict=True))
    weakest, itself = min((own[0], own[-1]) for own in weights)
    return TICK_US * max(1.0, (everybody - itself) / weakest / cpus)


def _nice(group: Group) -> Iterator[int]:
    yield group.nice
    for step in (*group.steps, *group.answer):
        if step.what == What.NICE:
            yield step.least


def work_us(case: Case) -> int:
    return sum(_work_us(group) for group in case.groups)


def span_us(case: Case) -> int:
    return max(_span_us(group) for group in case.groups)


def _beside_us(case: Case) -> int:
    steps = ((group, len(group.steps) + len(group.answer)) for group in case.groups)
    return sum(group.tasks * (_TASK_US + group.times * (_ROUND_US + many * _STEP_US)) for group, many in steps)


def _work_us(group: Group) -> int:
    own, answer, rounds = _most(group.steps, sleeps=False), _most(group.answer, sleeps=False), group.times
    match group.kind:
        case Kind.ALONE:
            return group.count * rounds * own
        case Kind.HERD:
            return rounds * (own + group.count * answer)
        case Kind.FAMILY:
            return rounds * (own + group.count * (answer + _CHILD_US))
        case _:
            return group.count * rounds * (own + answer)


def _span_us(group: Group) -> int:
    own, answer, rounds = _most(group.steps, sleeps=True), _most(group.answer, sleeps=True), group.times
    match group.kind:
        case Kind.LOCK | Kind.STREAM:
            return rounds * (own + group.count * answer)
        case Kind.FAMILY:
            return rounds * (own + answer + group.count * _CHILD_US)
        case _:
            return rounds * (own + answer)


def _most(steps: Steps, *, sleeps: bool) -> int:
    times = {What.RUN, What.SLEEP, What.TIMER} if sleeps else {What.RUN}
    return sum(step.most for step in steps if step.what in times)
