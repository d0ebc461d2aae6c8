# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of simulated cells: run, read, folded into a schedule, and written for other tools."""
