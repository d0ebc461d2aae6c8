# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line."""

from schedlab.cli.program import main

__all__ = ["main"]
