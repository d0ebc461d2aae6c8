# SPDX-License-Identifier: GPL-2.0-or-later
"""A policy put to the test: what `schedlab check` does beside the simulator's swarm."""
