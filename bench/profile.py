#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a context switch goes: every instruction of a stretch of an exact guest, counted by kernel function.

    bench/profile.py bfs -w workloads/pipe.toml --load 8 -p trips=2000

QEMU runs the guest one instruction at a time and names each, so the counts are exact, interrupts-off stretches and
BPF programs included. A run of the workload warms up; what is counted lies within the runs after it. A stretch that is
too short may miss a phase of the workload: look at the number of switches.
"""

import argparse
import bisect
import os
import socket
import sys
import tempfile
import threading
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

from callbacks import Callbacks

from schedlab import checkout
from schedlab.errors import LabError
from schedlab.vm.command import prepare
from schedlab.vm.kernel import SERIES
from schedlab.vm.machine import Guest, GuestFailed, boot
from schedlab.vm.tiers import Shape

_LIMIT_S = 1_800.0
_USER = 0xFFFF_0000_0000_0000  # addresses below are not the kernel's
_KERNEL = "0xffffffff80000000+0x7fffffff"  # its code, its modules' and its programs'
_SWITCH = "__switch_to"
_PROMPT = b"(qemu) "
_SCRIPT = """
if [ $SCHEDULER != default ]; then
	schedlab-host load $SCHEDULER >/tmp/log 2>&1 &
	until [ "$(cat /sys/kernel/sched_ext/state)" = enabled ]; do
		kill -0 $! || { cat /tmp/log >&2; exit 1; }
		sleep 1
	done
fi
sleep 5
schedlab-host exec /workload.toml $ARGUMENTS >/dev/null || exit
grep -v ' [dDbBrRVvAN] ' /proc/kallsyms
while schedlab-host exec /workload.toml $ARGUMENTS >/dev/null; do :; done &
sleep $AFTER
echo symbols end
wait
exit 1
"""


@dataclass(frozen=True)
class Watched(Guest):
    """A guest whose QEMU takes commands at a socket."""

    monitor: str = ""
    kernel_only: bool = False

    def command(self, chardevs: Sequence[str]) -> list[str]:
        command = super().command(chardevs)
        command[command.index("-monitor") + 1] = f"unix:{self.monitor},server=on,wait=off"
        return [*command, *(["-dfilter", _KERNEL] if self.kernel_only else [])]


@dataclass
class Profile:
    """Symbols by rising address, and how often each address was executed."""

    names: list[tuple[int, str]] = field(default_factory=list)
    counts: Counter[int] = field(default_factory=Counter)
    order: dict[str, "array[int]"] = field(default_factory=lambda: defaultdict(lambda: array("Q")))

    def table(self, top: int) -> list[str]:
        self.names.sort()
        addresses = [address for address, _ in self.names]
        spent: Counter[str] = Counter()
        calls: Counter[str] = Counter()
        for address, count in self.counts.items():
            if address < _USER:
                spent["(user space)"] += count
                continue
            at = bisect.bisect_right(addresses, address) - 1
            start, name = self.names[at] if at >= 0 else (address, hex(address))
            spent[name] += count
            if address == start:
                calls[name] += count
        switches = calls[_SWITCH]
        if not switches:
            raise LabError("no context switch within so many instructions; give more with --instructions")
        total = spent.total()
        lines = [
            f"{total:,} instructions, {switches:,} switches, {total / switches:,.0f} instructions each",
            f"{'a switch':>9} {'share':>6} {'calls':>7}  function",
        ]
        for name, count in spent.most_common(top):
            called = f"{calls[name] / switches:7.2f}" if calls[name] else " " * 7
            lines.append(f"{count / switches:9.1f} {count / total:6.1%} {called}  {name}")
        return lines


def profile(options: argparse.Namespace) -> Profile:
    found = Profile()
    enough = threading.Event()
    arguments = ["--load", str(options.load), *(word for each in options.param for word in ("--param", each))]
    with tempfile.TemporaryDirectory(prefix="schedlab-profile-") as name:
        monitor, log = Path(name, "monitor"), Path(name, "log")
        os.mkfifo(log)
        guest = prepare(
            ["sh", "-c", _SCRIPT],
            {"/bin/schedlab-host": checkout.need_binary("schedlab-host"), "/workload.toml": options.workload},
            {"SCHEDULER": options.scheduler, "ARGUMENTS": " ".join(arguments), "AFTER": str(options.after)},
            "exact",
            Shape(options.cpus),
            SERIES,
            "",
        )
        watched = Watched(
            **{each.name: getattr(guest, each.name) for each in fields(guest)},
            monitor=str(monitor),
            kernel_only=options.policy,
        )

        def count() -> None:
            with log.open(encoding="ascii", errors="replace") as lines:
                for number, line in enumerate(lines):
                    # Trace 0: HOST [CS_BASE/PC/FLAGS/CFLAGS] SYMBOL
                    if line.startswith("Trace"):
                        address = int(line.split("/", 2)[1], 16)
                        if options.policy:
                            found.order[line[6]].append(address)
                        else:
                            found.counts[address] += 1
                    if number >= options.instructions:
                        enough.set()

        def watch() -> None:
            with socket.socket(socket.AF_UNIX) as tell:
                tell.connect(str(monitor))
                _answer(tell)
                threading.Thread(target=count, daemon=True).start()
                for command in ("stop", f"logfile {log}", "one-insn-per-tb on", "log exec,nochain", "cont"):
                    tell.sendall(f"{command}\n".encode())
                    _answer(tell)
                enough.wait()
                tell.sendall(b"quit\n")
                _answer(tell)

        def take(line: str) -> None:
            address, _, rest = line.partition(" ")
            if line == "symbols end":
                threading.Thread(target=watch, daemon=True).start()
            elif len(address) == 16:
                found.names.append((int(address, 16), rest.split()[1]))

        try:
            boot(watched, _LIMIT_S, take, lambda line: print(line, file=sys.stderr))
        except GuestFailed:
            # It was told to quit in the middle.
            if not enough.is_set():
                raise
    return found


def _answer(tell: socket.socket) -> None:
    """Until QEMU asks for the next command, or has gone."""
    heard = b""
    while not heard.endswith(_PROMPT):
        more = tell.recv(65_536)
        if not more:
            return
        heard += more


def main() -> int:
    parser = argparse.ArgumentParser(description="Instructions by kernel function, in the exact virtual machine.")
    parser.add_argument("scheduler", help="one of schedlab's, or default")
    parser.add_argument("-w", "--workload", type=Path, required=True, metavar="FILE")
    parser.add_argument("--load", type=int, required=True)
    parser.add_argument("-p", "--param", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--cpus", type=int, default=1)
    parser.add_argument("--instructions", type=int, default=3_000_000, help="how many to count (default: 3000000)")
    parser.add_argument("--after", type=int, default=1, help="seconds of the run before the stretch (default: 1)")
    parser.add_argument("--policy", action="store_true", help="tell callbacks, helpers and kfuncs apart")
    parser.add_argument("--top", type=int, default=60, help="functions to print (default: 60)")
    options = parser.parse_args()
    try:
        found = profile(options)
        if options.policy:
            callbacks = Callbacks(found.names)
            for order in found.order.values():
                callbacks.take(order)
            print("\n".join(callbacks.table()))
        else:
            print("\n".join(found.table(options.top)))
    except LabError as error:
        print(f"bench/profile.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
