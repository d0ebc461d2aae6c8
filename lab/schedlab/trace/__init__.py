# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of simulated cells: run, read, folded into a schedule, and written for other tools.

Imports: catalogue.

simulated  one cell in the simulator with its trace, line by line
schedule   who runs where and who waits, in a window of time
perfetto   the trace for Perfetto
"""
