# SPDX-License-Identifier: GPL-2.0-only
"""From cell records to tables."""
