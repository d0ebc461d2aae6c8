# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers and sentences for people, the same in the terminal and on the page.

Imports: statistics.

numbers    a readable unit, and no more digits than were measured
function_words  what a table of functions says
finding    what a comparison came to, in one sentence
sentences  what is said in words about a result
"""
