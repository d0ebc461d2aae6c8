# SPDX-License-Identifier: GPL-2.0-only
"""What there is to choose from: schedulers, workloads, machines and studies, read from their folders."""
