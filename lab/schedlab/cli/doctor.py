# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab doctor: the work is done by schedlab.doctor."""

import argparse

from schedlab.doctor import main


def doctor(options: argparse.Namespace) -> int:
    return main(["--json"] if options.json else [])
