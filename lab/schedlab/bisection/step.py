# SPDX-License-Identifier: GPL-2.0-or-later
"""One of the list that is walked: what runs, and what people know it by."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    name: str  # as the command line takes it: a kernel, a commit
    title: str  # a commit's subject; empty for a kernel
    # The scheduler as compare reads it, which need not be there outside of the context.
    scheduler: Callable[[], AbstractContextManager[str]]
    kernel: str = ""  # that the guest boots; empty: the usual one
