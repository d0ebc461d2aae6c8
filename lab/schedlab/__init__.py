# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab: compare CPU schedulers in a simulator, in a virtual machine and on the host."""

__version__ = "0.1.0"
