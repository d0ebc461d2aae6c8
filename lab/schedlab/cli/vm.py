# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab vm: the work is done by schedlab.vm."""

from schedlab.vm import cli


def vm(arguments: list[str]) -> int:
    return cli.main(arguments)
