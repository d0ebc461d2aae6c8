# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of the commands on policies, this machine and its guests.

They are check, explain, compatibility, list, doctor, vm, load, status and unload.
"""

import argparse

from schedlab.campaign.request import TIERS
from schedlab.cli.commands import add, add_api

# Where a policy may be tried on a real kernel.
_KERNELS = ("auto", "vm", "host", "none")
_GUESTS = ("auto", "vm", "none")


def add_all(commands: argparse._SubParsersAction) -> None:
    _check(commands)
    _explain(commands)
    _compatibility(commands)
    _list(commands)
    _doctor(commands)
    _vm(commands)
    _load(commands)


_CHECK_EPILOG = """\
POLICY is a .bpf.c file, an object (.bpf.o), a folder that holds scx_NAME.bpf.c, or a
scheduler of the tree.

A finding is shrunk to a small workload and machine, which lie in DIR with the last of the
trace; one line is printed that runs it again. docs/checking.md says what each checker means.

exit status: 0 nothing found, 1 found or refused by the kernel, 2 bad input (the policy does
not compile), 3 the place is not available, 130 interrupted: what was found is kept"""


def _check(commands: argparse._SubParsersAction) -> None:
    parser = add(
        commands,
        "check",
        "check.check",
        usage="schedlab check POLICY [options]\n       schedlab check --conformance DIR",
        epilog=_CHECK_EPILOG,
    )
    parser.add_argument("policy", metavar="POLICY", nargs="?", help="what to check")
    what = parser.add_argument_group("what to run")
    what.add_argument(
        "-o", "--set", metavar="K=V", action="append", default=[], help="set a tunable; those not set are drawn"
    )
    what.add_argument("--each", metavar="CHOICE", help="check every value of this choice in turn, such as rules")
    what.add_argument("--seed", metavar="N", type=int, help="of the random cases: run K of a seed is always the same")
    amount = what.add_mutually_exclusive_group()
    amount.add_argument("--runs", metavar="N", type=int, help="how many random cases (default: 500)")
    amount.add_argument("--time-s", metavar="S", type=int, help="as many as fit into so many seconds")
    what.add_argument("-j", "--jobs", metavar="N", type=int, help="cases at once (default: one per CPU)")
    add_api(what)
    what.add_argument(
        "--rodata",
        metavar="FILE.toml",
        help="set the policy's constants, variables and members of its sched_ext_ops first, in the simulator and on "
        "the kernel: NAME = VALUE",
    )
    what.add_argument(
        "--interleave",
        action="store_true",
        help="break operations off between two calls of the policy's, so that those of other CPUs come in between",
    )
    what.add_argument(
        "--no-real-time", action="store_true", help="leave out the real-time tasks that hold a CPU for long"
    )
    what.add_argument("--no-cgroups", action="store_true", help="leave out control groups")
    what.add_argument("--replay", metavar="FILE", help="run this case.toml again, and nothing else")
    what.add_argument(
        "--conformance",
        metavar="DIR",
        help="instead of a policy: run the kernel's own tests of sched_ext, of the kernel tree DIR, in the simulator",
    )
    bounds = parser.add_argument_group("what is a finding")
    bounds.add_argument("--idle-ms", metavar="MS", type=int, help="a CPU idle so long beside a task (default: 100)")
    bounds.add_argument("--starvation-ms", metavar="MS", type=int, help="a task that waits so long (default: 1000) …")
    bounds.add_argument(
        "--share-ms", metavar="MS", type=int, help="… and so long for each weight of its own that others have (50)"
    )
    bounds.add_argument(
        "--pause-us",
        metavar="US",
        type=int,
        help="tasks that change their own nice, policy or affinity sleep so long after it (default: 1000)",
    )
    where = parser.add_argument_group("real kernel")
    where.add_argument(
        "--kernel", choices=_KERNELS, default="auto", metavar="PLACE", help="vm, host, none; auto: vm where it can be"
    )
    where.add_argument("--stress-s", metavar="S", type=int, default=10, help="seconds of stress (default: 10)")
    out = parser.add_argument_group("results")
    out.add_argument("-C", "--directory", metavar="DIR", help="where a finding goes (default: results/check/NAME)")
    out.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")
    out.add_argument("--sarif", metavar="FILE", help="write the findings as SARIF 2.1.0, however the check ends")
    out.add_argument("--junit", metavar="FILE", help="write JUnit XML: a test case a policy or choice")
    out.add_argument(
        "--coverage",
        metavar="FILE",
        help="count what the simulated runs execute of the policy: name lines that none reached, and write all for "
        "lcov's tools",
    )


_EXPLAIN_EPILOG = """\
DUMP is a file or - for standard input: what the scheduler's program printed, a journal, the
kernel's log, a trace with the event sched_ext_dump, or a part of these that was pasted.

With --case, random cases are tried in the simulator; one that ends as the dump does is shrunk
and lies in DIR with the command that runs it again. docs/explain.md has the details.

exit status: 0 explained (with --case: and a case found), 1 no case found, 2 no dump in the
text or other bad input, 130 interrupted"""


def _explain(commands: argparse._SubParsersAction) -> None:
    usage = "schedlab explain DUMP [options]"
    parser = add(commands, "explain", "explain.explain", usage=usage, epilog=_EXPLAIN_EPILOG)
    parser.add_argument("dump", metavar="DUMP", help="a file, or - for standard input")
    parser.add_argument("--nth", metavar="K", type=int, help="of several dumps in the text (default: the last)")
    parser.add_argument("--json", action="store_true", help="print all facts as JSON and nothing else")
    case = parser.add_argument_group("a simulated case that ends the same way")
    case.add_argument("--case", metavar="POLICY", help="search for one under this policy (as for check)")
    case.add_argument("-o", "--output", metavar="DIR", help="where it goes (default: results/explain/NAME)")
    case.add_argument("--set", metavar="K=V", action="append", default=[], help="set a tunable of the policy")
    case.add_argument("--runs", metavar="N", type=int, help="how many random cases at most (default: 500)")
    case.add_argument("--seed", metavar="N", type=int, default=1, help="of the first random cases (default: 1)")
    case.add_argument("-j", "--jobs", metavar="N", type=int, help="cases at once (default: one per CPU)")


_COMPATIBILITY_EPILOG = """\
FILE is a scheduler by its path, as for compare: an object (.bpf.o), a program that holds
one, a source. The same cells run in the simulator and, where a guest can be had, in the
exact tier on one CPU; the kernel's own scheduler runs beside them in both.

A scheduler that does not run is a row that says why. The same command again resumes.
Results in DIR: compatibility.json, and agreement.csv with every number of both."""


def _compatibility(commands: argparse._SubParsersAction) -> None:
    usage = "schedlab compatibility FILE… [options]"
    parser = add(commands, "compatibility", "compatibility.compatibility", usage=usage, epilog=_COMPATIBILITY_EPILOG)
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="schedulers by their paths, with tunables as for compare"
    )
    what = parser.add_argument_group("what to run")
    workloads = "latt,pipe,counter"
    what.add_argument("-w", "--workloads", metavar="LIST", default=workloads, help=f"(default: {workloads})")
    what.add_argument("-n", "--repetitions", metavar="N", type=int, default=1, help="runs of each cell (default: 1)")
    where = parser.add_argument_group("where to run")
    machine = "guest-exact-1"
    where.add_argument(
        "-m", "--machine", metavar="NAME", default=machine, help=f"simulated machine (default: {machine})"
    )
    where.add_argument(
        "--kernel",
        choices=_GUESTS,
        default="auto",
        metavar="PLACE",
        help="real kernel: vm, none; auto (default): vm where it can be",
    )
    where.add_argument("-j", "--jobs", metavar="N", type=int, help="simulated cells at once (default: one per CPU)")
    out = parser.add_argument_group("results")
    directory = "results/compatibility"
    out.add_argument("-o", "--output", metavar="DIR", default=directory, help=f"where they go (default: {directory})")
    out.add_argument("--page", metavar="FILE", help="put the tables into this page too, between its lines for them")


def _list(commands: argparse._SubParsersAction) -> None:
    kinds = ["schedulers", "workloads", "machines", "studies"]
    usage = f"schedlab list {'|'.join(kinds)} [--json]\n       schedlab list workloads PATH... [--json]"
    parser = add(commands, "list", "listing.list_things", usage=usage)
    parser.add_argument("what", choices=kinds, metavar="KIND", help=", ".join(kinds))
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="workload files, or folders of them: which are accepted, and why the others are not",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


_DOCTOR_EPILOG = """\
exit status: 0 the simulator works here, with --on all hosts are ready; 3 not"""


def _doctor(commands: argparse._SubParsersAction) -> None:
    parser = add(
        commands,
        "doctor",
        "this_machine.doctor",
        usage="schedlab doctor [--on ssh:FILE] [--json]",
        epilog=_DOCTOR_EPILOG,
    )
    parser.add_argument("--on", metavar="ssh:FILE", help="what each host of this file can do, instead")
    parser.add_argument("--json", action="store_true", help="print JSON")


_VM_EPILOG = """\
The first use fetches QEMU and a kernel; lab/schedlab/vm/README.md says what a guest is."""


def _vm(commands: argparse._SubParsersAction) -> None:
    parser = add(commands, "vm", "guest.vm", usage="schedlab vm setup|exec|shell [options]", epilog=_VM_EPILOG)
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)
    setup = _vm_action(actions, "setup", "[--refresh]", "install QEMU, fetch the kernel; nothing the second time")
    setup.add_argument("--refresh", action="store_true", help="look for a newer kernel")
    run = _vm_action(actions, "exec", "[options] -- COMMAND", "run a command in a guest; its exit status is ours")
    _guest(run)
    run.add_argument("--limit", type=float, default=600.0, metavar="S", help="seconds (default: 600)")
    run.add_argument("-v", "--verbose", action="store_true", help="say what it ran on and how long it took to boot")
    run.add_argument("words", nargs="*", metavar="COMMAND", help="after --, with its arguments")
    shell = _vm_action(actions, "shell", "[options]", "a busybox shell on the guest's console")
    _guest(shell)
    for each in (setup, run, shell):
        each.add_argument(
            "--kernel",
            metavar="K",
            help="a series such as 7.2 (the default), a release, a package, host, or the path of a bzImage, a built "
            "kernel tree or a .deb",
        )


def _vm_action(actions: argparse._SubParsersAction, name: str, usage: str, about: str) -> argparse.ArgumentParser:
    description = about[0].upper() + about[1:] + "."
    prog = f"schedlab vm {name}"
    return actions.add_parser(name, prog=prog, usage=f"{prog} {usage}", help=about, description=description)


def _guest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tier",
        choices=["auto", *TIERS],
        default="auto",
        metavar="TIER",
        help="exact: counts instructions, runs are identical; virtual: KVM; emulated: software, a thread per CPU "
        "(default: auto, virtual where KVM boots a guest, else emulated)",
    )
    parser.add_argument("--cpus", type=int, default=1, metavar="N", help="virtual CPUs (default: 1)")
    parser.add_argument("--memory", default="1G", metavar="M", help="512M, 2G (default: 1G)")
    parser.add_argument("--topology", metavar="SxCxT", help="sockets x cores x threads, such as 1x4x2 (default: flat)")
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="PATH[:GUESTPATH]",
        help="bring a file or folder along, executables with their libraries (default place: /NAME, where commands "
        "are looked for as well)",
    )
    parser.add_argument("--disk", action="store_true", help="files on a disk, not in memory (not in the exact tier)")
    parser.add_argument("--append", default="", metavar="TEXT", help="more for the kernel's command line")


def _load(commands: argparse._SubParsersAction) -> None:
    load = add(
        commands,
        "load",
        "this_machine.load",
        usage="schedlab load NAME [-- OPTIONS]",
        epilog="OPTIONS go to the scheduler's own program; 'build/bin/scx_NAME --help' lists them.\nNeeds root.",
    )
    load.add_argument("scheduler", metavar="NAME", help="a scheduler of 'schedlab list schedulers'")
    status = add(commands, "status", "this_machine.status", usage="schedlab status [--json]")
    status.add_argument("--json", action="store_true", help="print JSON")
    add(commands, "unload", "this_machine.unload", usage="schedlab unload", epilog="Needs root.")
