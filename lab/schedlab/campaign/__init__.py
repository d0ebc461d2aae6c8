# SPDX-License-Identifier: GPL-2.0-or-later
"""From a request to the cells that answer it."""
