# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab: compare CPU schedulers in a simulator, in a virtual machine and on the host.

The packages, from the command line down. Each imports only packages below it (lab/tests/test_layers.py), and says in
its own first lines which, and what its modules are.

cli               the commands
doctor            what this machine can do
report, terminal  the page and the tables
studies           published studies, run again
export, format    tables for other programs; numbers and sentences for people
statistics        values, changes and verdicts
decisions         the simulator and a real kernel, decision by decision
places, probes    where cells run: sim, vm, host; what things cost on real machines
collect           records and the results directory
capture, trace    scheduling traces of real kernels, and of simulated cells
campaign          a request, and the cells that answer it
sched_ext         the running kernel's scheduler
vm                guests with a sched_ext kernel
catalogue         schedulers, workloads and machines to choose from

The plain modules beside them belong to no stage and import no package.
"""
