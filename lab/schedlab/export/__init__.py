# SPDX-License-Identifier: GPL-2.0-or-later
"""What a campaign found, as files and plain data for other programs."""
