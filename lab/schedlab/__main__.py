# SPDX-License-Identifier: GPL-2.0-or-later
import sys

from schedlab.cli import main

if __name__ == "__main__":
    sys.exit(main())
