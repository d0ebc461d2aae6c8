# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a policy may be tried: of itself, for --help, which must not wait for the rest."""

KERNELS = ("auto", "vm", "host", "none")
