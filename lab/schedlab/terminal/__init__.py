# SPDX-License-Identifier: GPL-2.0-only
"""What is seen while it runs, and at the end."""
