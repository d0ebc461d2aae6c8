# SPDX-License-Identifier: GPL-2.0-or-later
"""What there is to choose from: schedulers, workloads, machines and studies, read from their folders."""
