# SPDX-License-Identifier: GPL-2.0-or-later
"""report.html: one file that works without a network, and README's picture.

Imports: bisection, campaign, capture, catalogue, collect, decisions, export, format, ledger, statistics, studies,
trace.

campaign_page         the page of a comparison
opening               how it begins: one sentence, one picture, the command
gains_picture         that picture: who is better at what
moment_picture        two schedules side by side, at the moment that explains the difference
explaining_moment     which moment that is
world                 simulated, virtual or real, by a word and a line
study_page            the page of a study, or of several
history_page          a number over commits or kernels, with its levels
workload_section      one workload's section of the first
host_tables           the hosts of a fleet
energy_fact           what measured the energy, and how well, or why nothing did
function_tables       the kernel's functions that grew or shrank
claims                published claims beside ours: table and picture
tables                values and changes as tables
charts                metric against load
oneway_plots          every run: one-way plots and quantile tables
schedule_picture      who runs where, and who waits, in a window of a cell
shown_schedules       what that picture shows: simulated again, or out of a kernel's trace
case_picture          the schedules of one case as an SVG file: the longest wait, and what ran meanwhile
compatibility_tables  which schedulers run, and how near the simulator comes to the kernel
agreement_tables      how far the simulator agrees with a kernel, number by number
application_tables    applications beside their models, and recordings beside their replays
readme                README's picture and table of results
markdown              the parts of a Markdown page that are made from results
document              the frame of every page: style, scripts, raw data (style.css, page.js, schedule.js)
figure                a Vega-Lite chart as SVG, and live where JavaScript is on
palette               one colour and one shape per scheduler, and their legend
html                  builds HTML without forgetting to escape
"""
