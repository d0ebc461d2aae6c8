# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels as steps: one scheduler on each."""

from contextlib import nullcontext

from schedlab.bisection.step import Step
from schedlab.errors import InputError
from schedlab.vm import kernel


def steps(text: str, scheduler: str) -> list[Step]:
    """In the order of the list. Raises InputError before anything is fetched."""
    names = [name.strip() for name in text.split(",")]
    if not all(names) or len(names) < 2:
        raise InputError(f"--kernels '{text}': expected two kernels or more, separated by commas, the good one first")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--kernels: '{name}' is given twice")
        kernel.check(name, "--kernels")
    return [Step(name, "", lambda: nullcontext(scheduler), name) for name in names]
