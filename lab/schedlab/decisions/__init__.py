# SPDX-License-Identifier: GPL-2.0-or-later
"""One cell's decisions in the simulator and in a real kernel, side by side: the first that differs, then the rest.

Imports: campaign, capture, catalogue, places, trace, vm.

traced_cell     runs a cell in a guest, as it is and traced (traced_cell.sh)
moments         the one form that both traces are brought into, and where the cell begins in it
from_kernel     the trace of a guest in that form, its tasks by the workload's names
from_simulator  the simulator's trace in that form
as_simulated    the trace of a kernel in the simulator's form, for pictures and Perfetto files
turns          which task of the cell had which CPU next, and how that ended
waiting         who waits for a CPU at some moment, and in which queue
difference      two sides' turns beside each other, and where they differ
kinds           what kind of difference each is
habits          what a side does in the same situation, however often that comes
"""
