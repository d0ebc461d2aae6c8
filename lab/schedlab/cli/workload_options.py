# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of the commands that make files of what somebody brings along: record, snapshot, calibrate."""

import argparse

from schedlab.campaign.request import TIERS
from schedlab.cli.commands import add


def add_all(commands: argparse._SubParsersAction) -> None:
    _record(commands)
    _snapshot(commands)
    _calibrate(commands)


_RECORD_EPILOG = """\
A wake-up by another task of the program stays one: in the replay it comes when that task is
as far again. Any other wake-up becomes a sleep. docs/recording.md says what is left out.
On this machine it takes root. Where tracefs is not mounted, it is mounted for the time.

examples:
  sudo schedlab record -o mywork.toml -- make -j4
  schedlab record --on vm --file ./prog -- prog --threads 4
  perf script >trace.txt; schedlab record --from trace.txt --root make -o mywork.toml
  schedlab record --from mine.perfetto-trace --root make -o mywork.toml
  schedlab compare default,bfs,cfs -w ./mywork.toml"""


def _record(commands: argparse._SubParsersAction) -> None:
    usage = "schedlab record [options] -- COMMAND\n       schedlab record --from TRACE [options]"
    parser = add(commands, "record", "record.record", usage=usage, epilog=_RECORD_EPILOG)
    what = parser.add_argument_group("what to record")
    what.add_argument(
        "--from", dest="source", metavar="TRACE", help="a trace that is there: of ftrace, perf, perf script or Perfetto"
    )
    what.add_argument("--root", metavar="TASK", help="which program of the trace: its PID or name")
    what.add_argument("--allow-lost", action="store_true", help="take a trace that lacks events")
    what.add_argument(
        "--others",
        action="store_true",
        help="also what else ran, kernel threads and other programs: each is woken when it was",
    )
    _where(parser)
    out = parser.add_argument_group("results")
    out.add_argument("-o", "--output", metavar="FILE", default="recorded.toml", help="(default: recorded.toml)")
    out.add_argument("--trace", metavar="FILE", help="keep the trace, for --from")
    out.add_argument(
        "--replay",
        metavar="SCHEDULER",
        help="simulate the workload under it and print both; status 1 where elapsed time is off by more than 10 %% "
        "or switches by more than 20 %%",
    )
    out.add_argument("-m", "--machine", metavar="NAME", help="of the replay (default: as many CPUs as were recorded)")


_SNAPSHOT_EPILOG = """\
The program runs until its scheduler is enabled. FILE holds its object, its options and what
it did to the object before: constants, variables, maps, and which programs it ran. It is a
scheduler from then on, in the simulator, on machines of as many CPUs as the guest has.
What cannot be kept is listed; docs/compatibility.md says what that means.

With --rodata nothing is started: FILE holds the object of a policy or program with the
values that VALUES.toml gives its constants and variables, NAME = VALUE, by its types. That
is a scheduler on real kernels too.

examples:
  schedlab snapshot --cpus 4 -- scx_bpfland -m powersave
  schedlab snapshot --rodata values.toml -- ./mine.bpf.o
  schedlab compare ./bpfland.bpf.json,default -m desktop-4"""


def _snapshot(commands: argparse._SubParsersAction) -> None:
    usage = "schedlab snapshot [options] -- PROGRAM [OPTION…]\n       schedlab snapshot --rodata VALUES.toml -- POLICY"
    parser = add(commands, "snapshot", "snapshot.snapshot", usage=usage, epilog=_SNAPSHOT_EPILOG)
    what = parser.add_argument_group("what to keep")
    what.add_argument("--rodata", metavar="VALUES.toml", help="these values, and nothing of what a program does")
    where = parser.add_argument_group("where to run")
    where.add_argument("--on", choices=["vm", "host"], default="vm", metavar="PLACE", help="vm (default), host")
    where.add_argument("--tier", choices=["auto", *TIERS], default="auto", metavar="TIER", help="of the guest")
    where.add_argument("--cpus", metavar="N", type=int, default=4, help="of the guest (default: 4)")
    where.add_argument("--topology", metavar="SxCxT", help="sockets x cores x threads, such as 1x4x2 (default: flat)")
    where.add_argument("--memory", metavar="M", default="1G", help="of the guest (default: 1G)")
    out = parser.add_argument_group("results")
    out.add_argument("-o", "--output", metavar="FILE", help="(default: NAME.bpf.json)")


_CALIBRATE_EPILOG = """\
The profile has, for each kind of task, how long it runs between two blocks and how long it
blocks: quantiles as a table that a workload file takes as it is, median and sigma. Where
there is no tracing, only what the kernel accounts for each process.

'calibrate machine -o machines/NAME.toml' measures what things cost instead: it runs the
probes in machines/probes, and finds the costs with which the simulator takes as long."""


def _calibrate(commands: argparse._SubParsersAction) -> None:
    usage = "schedlab calibrate WORKLOAD|machine [options]"
    parser = add(commands, "calibrate", "calibrate.calibrate", usage=usage, epilog=_CALIBRATE_EPILOG)
    parser.add_argument(
        "workload", metavar="WORKLOAD", help="a workload of 'schedlab list workloads', or a file; or machine"
    )
    parser.add_argument("--load", metavar="N", type=int, help="its load (default: the least its file offers)")
    parser.add_argument(
        "-n", "--repetitions", metavar="N", type=int, default=3, help="of each probe of a machine (default: 3)"
    )
    parser.add_argument("-p", "--param", metavar="K=V", action="append", default=[], help="a parameter of the workload")
    parser.add_argument("--from", dest="source", metavar="TRACE", help="of a trace that is there, of the same workload")
    parser.add_argument("--root", metavar="TASK", help="which program of that trace: its PID or name")
    _where(parser)
    out = parser.add_argument_group("results")
    out.add_argument("-o", "--output", metavar="FILE", help="(default: profiles/WORKLOAD.toml)")
    out.add_argument(
        "--model",
        action="store_true",
        help="measure nothing: lay that profile beside the model, simulated; status 1 where a kind of task with 2 %% "
        "of the CPU time or more is off by more than 16 %%",
    )


def _where(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("where to run")
    where.add_argument("--on", choices=["host", "vm"], default="host", metavar="PLACE", help="host (default), vm")
    where.add_argument(
        "--buffer-kib", metavar="N", type=int, default=32768, help="trace buffer for each CPU (default: 32768)"
    )
    where.add_argument("--tier", choices=["auto", *TIERS], default="auto", metavar="TIER", help="of the guest")
    where.add_argument("--cpus", metavar="N", type=int, default=2, help="of the guest (default: 2)")
    where.add_argument("--memory", metavar="M", default="1G", help="of the guest (default: 1G)")
    where.add_argument(
        "--file",
        metavar="PATH[:GUESTPATH]",
        action="append",
        default=[],
        help="what the guest gets: a file or folder, executables with their libraries",
    )
    where.add_argument(
        "--package", metavar="NAME", action="append", default=[], help="the same, an installed Debian package's files"
    )
    where.add_argument("--limit", metavar="S", type=float, default=600.0, help="seconds for the guest (default: 600)")
