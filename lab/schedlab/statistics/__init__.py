# SPDX-License-Identifier: GPL-2.0-or-later
"""Values with intervals, changes with intervals, and verdicts on them.

It is read from the bottom up: samples, their numbers, the tests on plain arrays, what is said about a pair, and the
rows of every table. docs/statistics.md has the methods and how to read them.

Imports: campaign, catalogue, collect.

bootstrap             resamples, and the BCa interval
samples               each scheduler's repetitions in a group, and their statistics on every resample
estimates             a value and a change, each with its interval
runs                  one number a repetition, its quantile table and outliers
design                how repetitions are paired, and the power they have
effect                Hedges g
oneway                independent groups: analysis of variance and all pairs
blocks                randomised blocks: paired t, two-way analysis of variance
sequential            evidence that may be looked at after every block
contest               an incumbent, challengers and measures: what is known, and when to stop
multiple_comparisons  Tukey's and Dunnett's methods
stability             noise floor of the A/A control, and drift
negligible            how small a difference is none
model_error           how far the simulator is off, and what that leaves of a change
verdict               better, worse or neither, and Holm's adjustment
comparison            all that is said about a pair of schedulers
rows                  a line of any table, and how a group's samples become its rows
agreement             the same cells in the simulator and on a real kernel
functions             where a cell's instructions went, beside the reference
summary               all rows of a campaign, and the verdict over all loads
change_points         where the level of a series changes
threshold             a difference that a script does not accept, as it is written
crossings             the changes that cross a threshold
"""
