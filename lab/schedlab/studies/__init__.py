# SPDX-License-Identifier: GPL-2.0-or-later
"""Published studies, run again: their experiments, their claims, and how well ours agree.

Imports: campaign, catalogue, collect, export, format, statistics.

study_file      a study's file: experiments with our schedulers, workloads and machines
published       the published claims
in_guests       a study cut to what guests can run
hindsight       a study without what was chosen after its results were known
experiments     what is asked of a place for a study, and what its records gave
calibration     finds a parameter on the study's baseline scheduler
score           each claim beside ours, and how many signs agree
calls           which claims ours commit themselves on, and how many of these are right
beside          what the same claims came to elsewhere
contradictions  why a claim is contradicted: the counters that differ most
"""
