# SPDX-License-Identifier: GPL-2.0-only
"""report.html: one file that works without a network."""
