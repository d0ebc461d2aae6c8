# SPDX-License-Identifier: GPL-2.0-or-later
"""What a policy's callbacks cost the kernel: the instructions of a stretch, told apart by callback, helper and kfunc.

A callback begins where the kernel enters the trampoline of a member of `struct sched_ext_ops` and ends behind it. What
lies between is the trampoline itself, entering and leaving (`__bpf_prog_enter`, `__bpf_prog_exit`), the policy's own
code, and the functions that this code calls with all that they call. Thunks of indirect jumps and returns count for the
code that goes through them. A callback in which an interrupt or another callback fell is left out.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from schedlab.vm.symbols import Symbols

_TRAMPOLINE = ("bpf__", "bpf_trampoline_")
_PROGRAM = re.compile(r"bpf_prog_[0-9a-f]{16}_(\w+)")
_THUNK = ("__x86_indirect_", "__x86_return_thunk", "srso_", "retbleed_", "its_", "entry_untrain_ret", "clear_bhb")
_INTERRUPT = ("asm_", "irqentry", "common_interrupt_return")
_TRAMP, _AROUND, _OWN, _CALL = range(4)


@dataclass
class Callback:
    """What the calls of one callback took together."""

    calls: int = 0
    trampoline: int = 0
    around: int = 0
    own: int = 0
    outside: Counter[str] = field(default_factory=Counter)
    owns: Counter[int] = field(default_factory=Counter)


@dataclass
class Outside:
    """What the calls of one helper or kfunc took together, and where."""

    calls: int = 0
    instructions: int = 0
    functions: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)


class Callbacks:
    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self.callbacks: dict[str, Callback] = defaultdict(Callback)
        self.outside: dict[str, Outside] = defaultdict(Outside)
        self.left_out = 0

    def take(self, addresses: Iterable[int]) -> None:
        """The instructions of one CPU, in order."""
        inside = False
        bad = False
        mode = _TRAMP
        name = called = ""
        one = Callback()
        calls: list[tuple[str, Counter[str]]] = []
        trampoline = 0
        for address in addresses:
            start, function = self._symbols.at(address)
            if function.startswith(_TRAMPOLINE):
                if address == start:
                    bad = inside
                    inside, mode, name, trampoline = True, _TRAMP, "", start
                    one, calls = Callback(), []
                if inside and start == trampoline:
                    mode = _TRAMP
                    one.trampoline += 1
                continue
            if not inside:
                continue
            if program := _PROGRAM.match(function):
                name = name or program[1]
                mode = _OWN
                one.own += 1
                continue
            if function.startswith(_THUNK):
                if mode == _OWN:
                    one.own += 1
                elif mode == _CALL:
                    calls[-1][1][called] += 1
                else:
                    one.trampoline += 1
                continue
            if function.startswith(_INTERRUPT):
                bad = True
            if mode == _TRAMP:
                if address == start:
                    mode = _AROUND
                else:
                    # Back in the kernel's code.
                    inside = False
                    if bad:
                        self.left_out += 1
                    else:
                        self._add(name, one, calls)
                    continue
            elif mode == _OWN:
                mode = _CALL
                calls.append((function, Counter()))
            if mode == _AROUND:
                one.around += 1
            else:
                called = function
                calls[-1][1][function] += 1

    def _add(self, name: str, one: Callback, calls: list[tuple[str, Counter[str]]]) -> None:
        total = self.callbacks[name]
        total.calls += 1
        total.trampoline += one.trampoline
        total.around += one.around
        total.own += one.own
        total.owns[one.own] += 1
        for called, functions in calls:
            total.outside[called] += 1
            outside = self.outside[called]
            outside.calls += 1
            outside.instructions += functions.total()
            outside.lengths[functions.total()] += 1
            outside.functions.update(functions)

    def table(self) -> list[str]:
        lines = [f"{'calls':>7} {'around':>7} {'own':>8}  callback, and what it calls"]
        for name, each in sorted(self.callbacks.items()):
            around = (each.trampoline + each.around) / each.calls
            outside = ", ".join(f"{called} {count / each.calls:.2f}" for called, count in sorted(each.outside.items()))
            lines.append(f"{each.calls:7} {around:7.1f} {each.own / each.calls:8.1f}  {name}: {outside}")
            lines.append(f"        own: {sorted(each.owns.most_common(5))}")
        lines += ["", f"{'calls':>7} {'each':>7}  helper or kfunc, and where"]
        for name, found in sorted(self.outside.items()):
            where = ", ".join(f"{f} {count / found.calls:.1f}" for f, count in found.functions.most_common(14))
            lines.append(f"{found.calls:7} {found.instructions / found.calls:7.1f}  {name}: {where}")
            lines.append(f"        lengths: {sorted(found.lengths.most_common(5))}")
        lines.append(f"{self.left_out} callbacks left out")
        return lines
