# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers and sentences for people, the same in the terminal and on the page."""
