# SPDX-License-Identifier: GPL-2.0-or-later
"""What a check says."""

from dataclasses import dataclass

# Where what is checked is needed. `build` is needed by the three places, `applications` by those workloads alone.
PLACES = ("build", "sim", "vm", "host", "applications")


@dataclass(frozen=True)
class Check:
    """One line of the doctor: `mend` is the one command that mends a gap, empty where there is none or no gap.

    `optional` says that the place works without it, less well or in another way that `detail` names.
    """

    place: str
    name: str
    ok: bool
    detail: str
    mend: str = ""
    optional: bool = False
