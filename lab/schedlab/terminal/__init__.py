# SPDX-License-Identifier: GPL-2.0-or-later
"""What is seen while a campaign runs, and at its end.

Imports: catalogue, decisions, format, statistics, studies.

progress   the progress bar
table      the result tables
function_lines  the kernel's functions that grew or shrank
legend     what stands under them: how to read them, how sure they are, what is missing
scores     a study's claims and scores
two_sides  two runs' decisions side by side
"""
