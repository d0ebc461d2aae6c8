# SPDX-License-Identifier: GPL-2.0-or-later
"""Published studies, run again: their experiments, their numbers, and how well ours agree."""
