# SPDX-License-Identifier: GPL-2.0-or-later
"""From a scheduling trace of a real kernel to a workload, and to distributions."""
