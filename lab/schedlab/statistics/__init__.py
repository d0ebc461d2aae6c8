# SPDX-License-Identifier: GPL-2.0-or-later
"""Values with intervals, differences with intervals, and verdicts on them."""
