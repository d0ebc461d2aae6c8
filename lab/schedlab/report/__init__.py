# SPDX-License-Identifier: GPL-2.0-or-later
"""report.html: one file that works without a network."""
