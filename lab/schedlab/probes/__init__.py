# SPDX-License-Identifier: GPL-2.0-or-later
"""What things cost on a real machine: small workloads run there, and the simulator is given costs until it takes as
long for them.

Imports: catalogue.

probe  the probes: which small workload tells which cost
solve  the cost with which the simulator takes as long as the machine
"""
