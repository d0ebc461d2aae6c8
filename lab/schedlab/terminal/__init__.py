# SPDX-License-Identifier: GPL-2.0-or-later
"""What is seen while it runs, and at the end."""
