# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of the commands that measure: compare, run, study, report, trace, decisions."""

import argparse

from schedlab.campaign.request import DEFAULT_REPETITIONS, DEFAULT_WORKLOADS, TIERS
from schedlab.campaign.where import PLACES
from schedlab.cli.commands import ANYWHERE, HERE, IN_STUDIES, add, add_api, percent
from schedlab.statistics.negligible import NEGLIGIBLE_PCT
from schedlab.statistics.threshold import Threshold, threshold

_ON = f"{', '.join(ANYWHERE)} (default: sim)"
_ON_HERE = f"{', '.join(HERE)} (default: sim)"
_ON_STUDIES = f"{', '.join(IN_STUDIES)} (default: sim)"

_COMPARE = "Run workloads under several schedulers and compare each with the first one."

_COMPARE_EPILOG = """\
schedulers:
  Names, separated by commas (schedlab list schedulers); 'default' is the kernel's own.
  Tunables follow a colon, joined by plus signs: bfs:rules=424+rr_interval_us=3000
  A path to a policy's folder, .bpf.c file or object (.bpf.o) works like a name: ./my/policy:slice_us=500.
  So does a program that holds an object: /usr/bin/scx_bpfland. The simulator runs the object
  in it; a real kernel gets the program itself, started with the options that are given:
  '/usr/bin/scx_bpfland:options=-m powersave'
  In the virtual machine a kernel may follow the name: default@6.12,default@./linux,bfs@7.2:rules=424

results in DIR:
  report.html, results.csv and .parquet (a row per cell and metric), groups.csv and
  .parquet (percentiles, intervals), manifest.json, cells/ (a record per run)
  of a cluster packs/ instead of cells/: records by the hundred (docs/cluster.md)
  of a real kernel traces/, too: some cells run once more, traced, and none of these runs
  is measured; the report shows their schedules (docs/report.md)
  with --profile functions/ and functions.csv, too: instructions by kernel function
  (docs/kernels.md)

The same command again resumes: a cell that has a record is not run a second time.
With -n 20 after -n 10, only the ten new repetitions run."""


def add_all(commands: argparse._SubParsersAction) -> None:
    _compare(commands)
    _run(commands)
    _study(commands)
    _report(commands)
    _trace(commands)
    _decisions(commands)


def _compare(commands: argparse._SubParsersAction) -> None:
    usage = "schedlab compare SCHEDULER[,SCHEDULER…] [options]"
    parser = add(commands, "compare", "compare.compare", epilog=_COMPARE_EPILOG, usage=usage)
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
    where.add_argument("--on", choices=ANYWHERE, default="sim", metavar="PLACE", help=_ON)
    where.add_argument(
        "-m",
        "--machines",
        metavar="LIST",
        help=f"simulated machines (default: {PLACES['sim'].default_machine}), numbers of guest CPUs "
        f"(default: {PLACES['vm'].default_machine}), or numbers of CPUs that hosts have (default: all of the file)",
    )
    where.add_argument(
        "--built-in",
        action="store_true",
        help="in the simulator every scheduler's code costs what it would as part of the kernel, not as a BPF policy; "
        "so it always is for default",
    )
    where.add_argument(
        "--exact-costs",
        action="store_true",
        help="in the simulator every repetition has the costs that stand in the machine file, whatever their spread",
    )
    where.add_argument(
        "--tier",
        choices=TIERS,
        default=None,
        metavar="TIER",
        help="of the virtual machine: exact (default: counted instructions, repeatable to the byte), "
        "virtual (KVM) or emulated (fast emulation)",
    )
    where.add_argument(
        "--kernel",
        metavar="K",
        help="of the virtual machine: a series such as 6.16 (default: 7.2), a release, a Debian package, host, or the "
        "path of a bzImage, a built kernel tree or a .deb; of all schedulers that name none",
    )
    add_api(where)
    _results(parser, where)


_RUN_EPILOG = """\
a campaign file, with every key but the first left out or not:
  schedulers = ["bfs", "bfs:rules=424", "cfs"]
  workloads = ["latt", "pipe"]
  loads = [1, 4, 15]
  machines = ["desktop-4"]
  on = "sim"                      # or "vm", "host", "ssh:hosts.toml", "dask", "slurm"
  tier = "exact"                  # where on = "vm"
  kernel = "6.16"                 # where on = "vm"
  built_in = true                 # where on = "sim"
  api = "6.12"                    # where on = "sim"
  repetitions = 10
  seed_base = 1
  [params]
  duration_s = 5
  "pipe.messages" = 1000          # for one workload alone"""


def _run(commands: argparse._SubParsersAction) -> None:
    parser = add(commands, "run", "compare.run", usage="schedlab run CAMPAIGN.toml [options]", epilog=_RUN_EPILOG)
    parser.add_argument("campaign", metavar="CAMPAIGN.toml", help="what to compare, where and how often")
    _results(parser, parser)


def _jobs(where: argparse._ActionsContainer) -> None:
    where.add_argument(
        "-j",
        "--jobs",
        metavar="N",
        type=int,
        help="simulated cells or exact guests at once (default: one per CPU); on Slurm in each job (default: 1)",
    )


def _results(parser: argparse.ArgumentParser, where: argparse._ActionsContainer) -> None:
    _jobs(where)
    out = parser.add_argument_group("results")
    out.add_argument(
        "-o", "--output", metavar="DIR", help="where they go (default: results/NAME, made from the request)"
    )
    _judged(out)
    out.add_argument("--json", action="store_true", help="print the summary as JSON and nothing else")
    out.add_argument("--no-report", action="store_true", help="do not write report.html")
    out.add_argument(
        "--no-traced-runs",
        action="store_true",
        help="of a real kernel no pictures of schedules in it, for which some cells run once more, traced",
    )
    out.add_argument(
        "--profile",
        action="store_true",
        help="in the exact tier also the kernel's functions that grew or shrank most: a cell of each kind runs once "
        "more, in a guest that counts its instructions by function",
    )


def _judged(out: argparse._ActionsContainer) -> None:
    out.add_argument(
        "--negligible",
        metavar="PCT",
        type=percent,
        default=NEGLIGIBLE_PCT,
        help=f"differences up to so many per cent are none (default: {NEGLIGIBLE_PCT:g})",
    )
    out.add_argument(
        "--fail-on",
        metavar="CONDITION",
        type=_threshold,
        action="append",
        default=[],
        help="status 1 if a scheduler's change against the first one is beyond it with its whole interval, as in "
        "'wakeup_latency_us.p99 > +5 %%'",
    )
    out.add_argument(
        "--baseline",
        metavar="DIR",
        help="compare with the first scheduler of these saved results instead; simulated ones only",
    )
    out.add_argument("--junit", metavar="FILE", help="write JUnit XML: a suite a workload, a test case a condition")


def _threshold(text: str) -> Threshold:
    try:
        return threshold(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


_STUDY_EPILOG = """\
A claim says that A was better than B at one thing. Those about single cells count that were
published as 1 % or more. Ours call one where the whole 95 % interval over the seeds lies
beyond 1 %; 'right' is the share of these. 'agreement' is an older score, which takes every
sign however small ours is. 'ratio error' is the median of |our A/B over the published A/B,
less 1|.

Parameters of a study's workloads are calibrated on its baseline scheduler alone; the file
in studies/ says on which cells. --calibrate finds them again and changes no file. What was
chosen after results were known is listed there as [[hindsight]].

--on vm runs what [experiment.vm] of a study says, on guests shaped like the study's machines.
Results that lie beside these in results/studies are shown beside them."""


def _study(commands: argparse._SubParsersAction) -> None:
    parser = add(commands, "study", "study.study", usage="schedlab study NAME|all [options]", epilog=_STUDY_EPILOG)
    parser.add_argument("study", metavar="NAME", help="a study of 'schedlab list studies', or all of them")
    parser.add_argument("-n", "--repetitions", metavar="N", type=int, help="runs of each cell (default: the file's)")
    parser.add_argument("--no-run", action="store_true", help="score the records that are there")
    parser.add_argument("--calibrate", action="store_true", help="print the parameters that the baseline asks for")
    parser.add_argument(
        "--without-hindsight",
        action="store_true",
        help="with the other values of all that was chosen after results were known",
    )
    where = parser.add_argument_group("where to run")
    where.add_argument("--on", choices=IN_STUDIES, default="sim", metavar="PLACE", help=_ON_STUDIES)
    where.add_argument("-m", "--machines", metavar="CPUS", help="CPUs of the guest, instead of the study's machines")
    where.add_argument("--tier", choices=TIERS, default=None, metavar="TIER", help="of the virtual machine")
    add_api(where)
    _jobs(where)
    out = parser.add_argument_group("results")
    where_to = "where they go (default: results/studies/PLACE or sim-without-hindsight)"
    out.add_argument("-o", "--output", metavar="DIR", help=where_to)
    out.add_argument("--json", action="store_true", help="print scores and claims as JSON and nothing else")
    out.add_argument("--no-report", action="store_true", help="do not write report.html")


def _report(commands: argparse._SubParsersAction) -> None:
    parser = add(commands, "report", "outcome.report", usage="schedlab report DIR [options]")
    parser.add_argument("directory", metavar="DIR", help="the results of 'schedlab compare'")
    _judged(parser)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON and nothing else")


_TRACE_EPILOG = """\
One cell runs in the simulator, and everything it decides goes to FILE: which task runs
where, who waits, every insertion into a queue with its slice and virtual time, every kick.
On a real kernel (--on vm, host) FILE has what tracefs tells: which task runs where, who
waits, who is moved to another CPU, and everything else that ran on the machine. A trace
that lost events is void.

  perfetto   .pftrace, .perfetto-trace, .pb: for Perfetto's viewer and trace processor
  ftrace     .txt, .ftrace: text, for what reads ftrace's (trace-cmd, KernelShark, grep)

examples:
  schedlab trace bfs:rules=424 -w latt --load 15 -o latt.pftrace
  schedlab trace bfs -w hackbench --on vm -m 4 -o hackbench.pftrace"""


def _trace(commands: argparse._SubParsersAction) -> None:
    parser = add(
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
    what.add_argument("--seed", metavar="S", type=int, default=1, help="of the workload's draws (default: 1)")
    where = parser.add_argument_group("where to run")
    where.add_argument("--on", choices=HERE, default="sim", metavar="PLACE", help=_ON_HERE)
    where.add_argument(
        "-m",
        "--machine",
        metavar="NAME",
        help=f"simulated machine (default: {PLACES['sim'].default_machine}), or number of guest CPUs "
        f"(default: {PLACES['vm'].default_machine})",
    )
    add_api(where)
    where.add_argument("--tier", choices=TIERS, metavar="TIER", help="of the virtual machine (default: exact)")
    where.add_argument("--kernel", metavar="K", help="of the virtual machine, as for compare (default: 7.2)")
    where.add_argument(
        "--buffer-kib", metavar="N", type=int, help="a real kernel's trace buffer for each CPU (default: 32768)"
    )
    out = parser.add_argument_group("results")
    out.add_argument("-o", "--output", metavar="FILE", required=True, help="where it goes")
    out.add_argument(
        "--format", choices=["perfetto", "ftrace"], metavar="FORMAT", help="perfetto or ftrace, whatever FILE ends in"
    )


_DECISIONS_EPILOG = """\
The cell runs in a guest with as many CPUs as the machine file has, once as it is and once
traced, and in the simulator. Compared is who had each CPU next and how that ended; times,
kernel threads and the runner are shown, and are no decisions of the cell.

exit status: 0 all decisions agree, 1 some differ, or the trace lost events and is void

examples:
  schedlab decisions bfs -w hackbench -p fds=2 -p loops=10
  schedlab decisions default -w latt --load 4 --keys --trace latt.trace
  schedlab decisions default -w latt --load 4 --from latt.trace"""


def _decisions(commands: argparse._SubParsersAction) -> None:
    usage = "schedlab decisions SCHEDULER -w WORKLOAD [options]"
    parser = add(commands, "decisions", "decisions.decisions", usage=usage, epilog=_DECISIONS_EPILOG)
    parser.add_argument("scheduler", metavar="SCHEDULER", help="a scheduler, with tunables as for compare")
    what = parser.add_argument_group("what to run")
    what.add_argument("-w", "--workload", metavar="NAME", required=True, help="a workload, by name or file")
    what.add_argument("--load", metavar="N", type=int, help="load level (default: the workload's least)")
    what.add_argument("-p", "--param", metavar="K=V", action="append", help="a workload's parameter")
    what.add_argument("--seed", metavar="S", type=int, default=1, help="of the workload's draws (default: 1)")
    what.add_argument(
        "--control",
        action="store_true",
        help="the kernel's run beside a second one of its own: what differs there no simulation can foretell",
    )
    where = parser.add_argument_group("where to run")
    machine = "guest-exact-1"
    where.add_argument("-m", "--machine", metavar="NAME", default=machine, help=f"machine (default: {machine})")
    where.add_argument(
        "--tier",
        choices=TIERS,
        default="exact",
        metavar="TIER",
        help="of the guest: exact (default), virtual, emulated",
    )
    add_api(where)
    where.add_argument(
        "--keys",
        action="store_true",
        help="trace insertions into the kernel's queues, too, which takes time of its own",
    )
    where.add_argument(
        "--buffer-kib", metavar="N", type=int, default=131_072, help="trace buffer for each CPU (default: 131072)"
    )
    where.add_argument("--limit", metavar="S", type=float, default=600.0, help="seconds for the guest (default: 600)")
    out = parser.add_argument_group("results")
    out.add_argument(
        "--nth", metavar="N", type=int, default=1, help="show the Nth that differs (default: 1, the first)"
    )
    out.add_argument("--around", metavar="N", type=int, default=3, help="decisions shown before it (default: 3)")
    out.add_argument("--trace", metavar="FILE", help="keep the kernel's trace, for --from")
    out.add_argument("--from", dest="source", metavar="FILE", help="the kernel's trace of the same cell, and no guest")
    out.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")
