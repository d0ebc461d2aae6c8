# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab vm setup | exec | shell, also as python -m schedlab.vm."""

import sys

from schedlab.vm.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    from schedlab.cli import main as schedlab

    sys.exit(schedlab(["vm", *sys.argv[1:]]))
