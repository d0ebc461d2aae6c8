# SPDX-License-Identifier: GPL-2.0-or-later
"""What can go wrong, the exit status that tells a script which kind it was, and what is said of an unknown name."""

import difflib
from collections.abc import Iterable

CHECK_FAILED = 1
BAD_INPUT = 2
NO_PLACE = 3
INTERRUPTED = 130


class LabError(Exception):
    """An error that a person can act on: its text is the line printed, or the lines where several things are wrong."""

    status = CHECK_FAILED


class InputError(LabError):
    """Bad usage or input."""

    status = BAD_INPUT


class PlaceError(LabError):
    """The place to run in is not available on this machine."""

    status = NO_PLACE


class InterruptedRun(LabError):
    """Ctrl-C, or a request to end."""

    status = INTERRUPTED


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=2, cutoff=0.5)
    # Names of three letters with two of them swapped are too unlike for any useful cutoff.
    near = near or [k for k in names if sorted(k) == sorted(name)]
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    listing = ", ".join(names) if names else "none"
    separator = "" if hint.endswith("?") else ";"
    return InputError(f"unknown {kind} '{name}'{hint}{separator} known: {listing}")
