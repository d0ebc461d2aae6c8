# SPDX-License-Identifier: GPL-2.0-or-later
"""Differences that nobody would notice, and a simulator's costs do not warrant; --negligible sets another limit."""

NEGLIGIBLE_PCT = 1.0
