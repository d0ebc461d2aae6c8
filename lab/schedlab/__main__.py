# SPDX-License-Identifier: GPL-2.0-or-later
import gc
import sys

from schedlab.cli import main

if __name__ == "__main__":
    # A command is over soon and keeps what it reads; looking through ten thousand records for cycles finds none.
    gc.disable()
    sys.exit(main())
