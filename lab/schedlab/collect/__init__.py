# SPDX-License-Identifier: GPL-2.0-or-later
"""From cell records to tables."""
