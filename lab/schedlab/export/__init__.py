# SPDX-License-Identifier: GPL-2.0-or-later
"""What a campaign found, as files and plain data for other programs.

Imports: campaign, catalogue, collect, statistics.

results         results.csv and .parquet: a row per cell and metric
summary_tables  groups.* and comparisons.*: a row per group, and per pair of schedulers
function_rows   functions.*: a row per kernel function of a cell
plain           the summary as plain data, for --json and for the page
junit           test results for continuous integration
sarif           findings for what shows them beside the code
"""
