# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab report: everything again from the records, without running anything."""

import argparse
from pathlib import Path

from schedlab.cli.outcome import finish
from schedlab.collect import manifest
from schedlab.collect.store import Store


def report(options: argparse.Namespace) -> int:
    directory = Path(options.directory)
    return finish(manifest.read(directory), Store(directory), options.json, True)
