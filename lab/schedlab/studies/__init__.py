# SPDX-License-Identifier: GPL-2.0-only
"""Published studies, run again: their experiments, their numbers, and how well ours agree."""
