# SPDX-License-Identifier: GPL-2.0-or-later
"""Values with intervals, differences with intervals, and the words for them."""

import os

# The matrices are small: threads that wait for each other make everything take twice as long on a busy machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
