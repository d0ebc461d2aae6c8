# SPDX-License-Identifier: GPL-2.0-or-later
"""All commands and options."""

import argparse
from collections.abc import Callable

from schedlab import __version__
from schedlab.campaign.request import DEFAULT_MACHINE, DEFAULT_REPETITIONS, DEFAULT_WORKLOADS, PLACES, TIERS
from schedlab.cli.help import Parser, groups

# Where a policy may be tried on a real kernel.
_KERNELS = ("auto", "vm", "host", "none")

_COMMANDS = {
    "measure": {
        "compare": "compare schedulers",
        "run": "compare schedulers as a campaign file says",
        "study": "run a published study again and lay its claims beside ours",
        "report": "make tables and report again from the records in a directory",
        "trace": "write down all that one simulated cell decides, for Perfetto or as ftrace text",
    },
    "bring your own work": {
        "record": "record a program's scheduling as a workload",
        "calibrate": "measure how long a workload's tasks run and block, into a profile",
    },
    "write a scheduler": {
        "check": "try a policy on a real kernel, then on random simulated machines under checkers",
    },
    "find out": {
        "list": "list schedulers, workloads, machines or studies",
        "doctor": "what this machine can do, and the command that mends each gap",
    },
    "this machine's scheduler": {
        "load": "run this machine under a scheduler",
        "status": "say which scheduler runs",
        "unload": "go back to the kernel's own scheduler",
    },
    "virtual machine": {
        "vm": "set up a guest with a sched_ext kernel, run a command or a shell in it",
    },
}
_ABOUT = {name: about for group in _COMMANDS.values() for name, about in group.items()}

_DESCRIPTION = f"""\
Which CPU scheduler is best for this machine and this work, and how sure are we?

{groups(_COMMANDS)}"""

_EPILOG = """\
examples:
  schedlab compare bfs,cfs                        in the simulator, four workloads
  schedlab compare bfs,bfs:rules=424 -w latt      two variants of one scheduler
  schedlab compare bfs,cfs --on vm --tier exact   on a real kernel in a virtual machine
  sudo schedlab load bfs                          run this machine under BFS

exit status: 0 ok, 1 a comparison or check failed, 2 bad usage or input,
3 the place is not available here, 130 interrupted"""

_COMPARE = "Run workloads under several schedulers and compare each with the first one."

_COMPARE_EPILOG = """\
schedulers:
  Names, separated by commas (schedlab list schedulers); 'default' is the kernel's own.
  Tunables follow a colon, joined by plus signs: bfs:rules=424+rr_interval_us=3000
  A path to a policy's folder or .bpf.c file works like a name: ./my/policy:slice_us=500

results in DIR:
  report.html, results.csv and .parquet (a row per cell and metric), groups.csv and
  .parquet (percentiles, intervals), manifest.json, cells/ (a record per run)

The same command again resumes: a cell that has a record is not run a second time.
With -n 20 after -n 10, only the ten new repetitions run."""


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="schedlab", description=_DESCRIPTION, epilog=_EPILOG, usage="schedlab COMMAND [options]")
    parser.add_argument("--version", action="version", version=f"schedlab {__version__}", help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", dest="name", required=True, parser_class=Parser)
    _compare(commands)
    _run(commands)
    _study(commands)
    _report(commands)
    _trace(commands)
    _record(commands)
    _calibrate(commands)
    _check(commands)
    _list(commands)
    _doctor(commands)
    _vm(commands)
    _load(commands)
    return parser


def _add(commands: argparse._SubParsersAction, name: str, function: str, **more: str) -> argparse.ArgumentParser:
    about = _ABOUT[name]
    more.setdefault("prog", f"schedlab {name}")
    parser = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".", **more)
    parser.set_defaults(command=_lazy(*function.rsplit(".", 1)))
    return parser


def _lazy(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """--help must not wait for NumPy and rich."""

    def command(options: argparse.Namespace) -> int:
        from importlib import import_module

        return getattr(import_module(f"schedlab.cli.{module}"), function)(options)

    return command


def _compare(commands: argparse._SubParsersAction) -> None:
    usage = "schedlab compare SCHEDULER[,SCHEDULER…] [options]"
    parser = _add(commands, "compare", "compare.compare", epilog=_COMPARE_EPILOG, usage=usage)
    parser.description = _COMPARE
    parser.add_argument("schedulers", metavar="SCHEDULERS", help="what to compare; the first is the reference")
    what = parser.add_argument_group("what to run")
    what.add_argument("-w", "--workloads", metavar="LIST", help=f"names or files (default: {DEFAULT_WORKLOADS})")
    what.add_argument("--workload", dest="workloads", help=argparse.SUPPRESS)  # one is a list, too
    what.add_argument("--load", metavar="LIST", help="load levels, such as 1,4,15 (default: each workload's own)")
    what.add_argument(
        "-p", "--param", metavar="K=V", action="append", help="a workload's parameter; WORKLOAD.K=V for one alone"
    )
    what.add_argument("--scale", metavar="PCT", help="size of real applications in %% of the whole: -p scale_pct=PCT")
    what.add_argument(
        "-n",
        "--repetitions",
        metavar="N",
        type=int,
        default=DEFAULT_REPETITIONS,
        help=f"runs of each cell (default: {DEFAULT_REPETITIONS}; claims need 5)",
    )
    what.add_argument("--seed-base", metavar="S", type=int, default=1, help="seed of the first repetition (default: 1)")
    where = parser.add_argument_group("where to run")
    where.add_argument("--on", choices=PLACES, default="sim", metavar="PLACE", help="sim (default), vm or host")
    where.add_argument(
        "-m",
        "--machines",
        metavar="LIST",
        help=f"simulated machines (default: {DEFAULT_MACHINE['sim']}), or numbers of guest CPUs "
        f"(default: {DEFAULT_MACHINE['vm']})",
    )
    where.add_argument(
        "--tier",
        choices=TIERS,
        default=None,
        metavar="TIER",
        help="of the virtual machine: exact (default: counted instructions, repeatable to the byte), "
        "virtual (KVM) or emulated (fast emulation)",
    )
    _results(parser, where)


_RUN_EPILOG = """\
a campaign file, with every key but the first left out or not:
  schedulers = ["bfs", "bfs:rules=424", "cfs"]
  workloads = ["latt", "pipe"]
  loads = [1, 4, 15]
  machines = ["desktop-4"]
  on = "sim"
  tier = "exact"                  # where on = "vm"
  repetitions = 10
  seed_base = 1
  [params]
  duration_s = 5
  "pipe.messages" = 1000          # for one workload alone"""


def _run(commands: argparse._SubParsersAction) -> None:
    parser = _add(commands, "run", "compare.run", usage="schedlab run CAMPAIGN.toml [options]", epilog=_RUN_EPILOG)
    parser.add_argument("campaign", metavar="CAMPAIGN.toml", help="what to compare, where and how often")
    _results(parser, parser)


def _results(parser: argparse.ArgumentParser, where: argparse._ActionsContainer) -> None:
    where.add_argument("-j", "--jobs", metavar="N", type=int, help="simulated cells at once (default: one per CPU)")
    out = parser.add_argument_group("results")
    out.add_argument(
        "-o", "--output", metavar="DIR", help="where they go (default: results/NAME, made from the request)"
    )
    out.add_argument("--json", action="store_true", help="print the summary as JSON and nothing else")
    out.add_argument("--no-report", action="store_true", help="do not write report.html")


_STUDY_EPILOG = """\
A claim says that A was better than B at one thing. The score takes single cells, leaves
out differences under 1 %, counts those under 3 % half, and averages within groups first;
'ratio error' is the median of |our A/B over the published A/B, less 1|.

Parameters of a study's workloads are calibrated on its baseline scheduler alone; the file
in studies/ says on which cells. --calibrate finds them again and changes no file."""


def _study(commands: argparse._SubParsersAction) -> None:
    parser = _add(commands, "study", "study.study", usage="schedlab study NAME|all [options]", epilog=_STUDY_EPILOG)
    parser.add_argument("study", metavar="NAME", help="a study of 'schedlab list studies', or all of them")
    parser.add_argument("-n", "--repetitions", metavar="N", type=int, help="runs of each cell (default: the file's)")
    parser.add_argument("--no-run", action="store_true", help="score the records that are there")
    parser.add_argument("--calibrate", action="store_true", help="print the parameters that the baseline asks for")
    where = parser.add_argument_group("where to run")
    where.add_argument("--on", choices=PLACES, default="sim", metavar="PLACE", help="sim (default), vm or host")
    where.add_argument("-m", "--machines", metavar="CPUS", help="CPUs of the guest, instead of the study's machines")
    where.add_argument("--tier", choices=TIERS, default=None, metavar="TIER", help="of the virtual machine")
    where.add_argument("-j", "--jobs", metavar="N", type=int, help="simulated cells at once (default: one per CPU)")
    out = parser.add_argument_group("results")
    out.add_argument("-o", "--output", metavar="DIR", help="where they go (default: results/studies/PLACE)")
    out.add_argument("--json", action="store_true", help="print scores and claims as JSON and nothing else")
    out.add_argument("--no-report", action="store_true", help="do not write report.html")


def _report(commands: argparse._SubParsersAction) -> None:
    parser = _add(commands, "report", "report.report", usage="schedlab report DIR [options]")
    parser.add_argument("directory", metavar="DIR", help="the results of 'schedlab compare'")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON and nothing else")


_RECORD_EPILOG = """\
A wake-up by another task of the program stays one: in the replay it comes when that task is
as far again. Any other wake-up becomes a sleep. docs/recording.md says what is left out.

examples:
  sudo schedlab record -o mywork.toml -- make -j4
  schedlab record --on vm --file ./prog -- prog --threads 4
  perf script >trace.txt; schedlab record --from trace.txt --root make -o mywork.toml
  schedlab compare default,bfs,cfs -w ./mywork.toml"""


def _record(commands: argparse._SubParsersAction) -> None:
    usage = "schedlab record [options] -- COMMAND\n       schedlab record --from TRACE [options]"
    parser = _add(commands, "record", "record.record", usage=usage, epilog=_RECORD_EPILOG)
    what = parser.add_argument_group("what to record")
    what.add_argument(
        "--from", dest="source", metavar="TRACE", help="a trace that is there: ftrace text, or from perf script"
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


_CALIBRATE_EPILOG = """\
The profile has, for each kind of task, how long it runs between two blocks and how long it
blocks: quantiles as a table that a workload file takes as it is, median and sigma. Where
there is no tracing, only what the kernel accounts for each process."""


def _calibrate(commands: argparse._SubParsersAction) -> None:
    usage = "schedlab calibrate WORKLOAD [options]"
    parser = _add(commands, "calibrate", "calibrate.calibrate", usage=usage, epilog=_CALIBRATE_EPILOG)
    parser.add_argument("workload", metavar="WORKLOAD", help="a workload of 'schedlab list workloads', or a file")
    parser.add_argument("--load", metavar="N", type=int, help="its load (default: the least its file offers)")
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


_TRACE_EPILOG = """\
One cell runs in the simulator, and everything it decides goes to FILE: which task runs
where, who waits, every insertion into a queue with its slice and virtual time, every kick.

  perfetto   .pftrace, .perfetto-trace, .pb: for Perfetto's viewer and trace processor
  ftrace     .txt, .ftrace: text, for what reads ftrace's (trace-cmd, KernelShark, grep)

example: schedlab trace bfs:rules=424 -w latt --load 15 -o latt.pftrace"""


def _trace(commands: argparse._SubParsersAction) -> None:
    parser = _add(
        commands,
        "trace",
        "trace.trace",
        usage="schedlab trace SCHEDULER -w WORKLOAD -o FILE [options]",
        epilog=_TRACE_EPILOG,
    )
    parser.add_argument("scheduler", metavar="SCHEDULER", help="a scheduler, with tunables as for compare")
    what = parser.add_argument_group("what to run")
    what.add_argument("-w", "--workload", metavar="NAME", required=True, help="a workload, by name or file")
    what.add_argument("--load", metavar="N", type=int, help="load level (default: the workload's least)")
    what.add_argument("-p", "--param", metavar="K=V", action="append", help="a workload's parameter")
    machine = DEFAULT_MACHINE["sim"]
    what.add_argument("-m", "--machine", metavar="NAME", default=machine, help=f"machine (default: {machine})")
    what.add_argument("--seed", metavar="S", type=int, default=1, help="of the workload's draws (default: 1)")
    out = parser.add_argument_group("results")
    out.add_argument("-o", "--output", metavar="FILE", required=True, help="where it goes")
    out.add_argument(
        "--format", choices=["perfetto", "ftrace"], metavar="FORMAT", help="perfetto or ftrace, whatever FILE ends in"
    )


_CHECK_EPILOG = """\
POLICY is a .bpf.c file, a folder that holds scx_NAME.bpf.c, or a scheduler of the tree.

A finding is shrunk to a small workload and machine, which lie in DIR with the last of the
trace; one line is printed that runs it again. docs/checking.md says what each checker means.

exit status: 0 nothing found, 1 found or refused by the kernel, 2 bad input (the policy does
not compile), 3 the place is not available, 130 interrupted: what was found is kept"""


def _check(commands: argparse._SubParsersAction) -> None:
    parser = _add(commands, "check", "check.check", usage="schedlab check POLICY [options]", epilog=_CHECK_EPILOG)
    parser.add_argument("policy", metavar="POLICY", help="what to check")
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
    what.add_argument("--replay", metavar="FILE", help="run this case.toml again, and nothing else")
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


def _list(commands: argparse._SubParsersAction) -> None:
    kinds = ["schedulers", "workloads", "machines", "studies"]
    parser = _add(commands, "list", "listing.list_things", usage=f"schedlab list {'|'.join(kinds)} [--json]")
    parser.add_argument("what", choices=kinds, metavar="KIND", help=", ".join(kinds))
    parser.add_argument("--json", action="store_true", help="print JSON")


def _doctor(commands: argparse._SubParsersAction) -> None:
    parser = _add(commands, "doctor", "doctor.doctor", usage="schedlab doctor [--json]")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _vm(commands: argparse._SubParsersAction) -> None:
    # It has options of its own, --help among them: main() passes everything on before this parser sees it.
    _add(commands, "vm", "vm.vm")


def _load(commands: argparse._SubParsersAction) -> None:
    load = _add(
        commands,
        "load",
        "load.load",
        usage="schedlab load NAME [-- OPTIONS]",
        epilog="OPTIONS go to the scheduler's own program; 'build/bin/scx_NAME --help' lists them.\nNeeds root.",
    )
    load.add_argument("scheduler", metavar="NAME", help="a scheduler of 'schedlab list schedulers'")
    status = _add(commands, "status", "load.status", usage="schedlab status [--json]")
    status.add_argument("--json", action="store_true", help="print JSON")
    _add(commands, "unload", "load.unload", usage="schedlab unload", epilog="Needs root.")
