# SPDX-License-Identifier: GPL-2.0-only
"""From a request to the cells that answer it."""
