# SPDX-License-Identifier: GPL-2.0-or-later
"""What can go wrong, and the exit status that tells a script which kind it was."""

CHECK_FAILED = 1
BAD_INPUT = 2
NO_PLACE = 3
INTERRUPTED = 130


class LabError(Exception):
    """An error that a person can act on: its text is the one line printed."""

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
