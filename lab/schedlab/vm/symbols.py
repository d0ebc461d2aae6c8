# SPDX-License-Identifier: GPL-2.0-or-later
"""What is where in a kernel: a guest that boots it once prints its symbols, which lie at the same addresses every time.

What is loaded later, as BPF programs, a guest says itself.
"""

import bisect
from collections.abc import Iterable

from schedlab import cache
from schedlab.errors import LabError, PlaceError
from schedlab.vm.command import run
from schedlab.vm.kernel import Kernel

# Data, absolute and undefined symbols.
NO_CODE = "dDbBrRVvANaU"
_FOLDER = "symbols"
_KEPT = 8


class Symbols:
    """Function by address."""

    def __init__(self, named: Iterable[tuple[int, str]]) -> None:
        self._named = sorted(set(named))
        self._addresses = [address for address, _ in self._named]
        self._known: dict[int, tuple[int, str]] = {}

    def at(self, address: int) -> tuple[int, str]:
        """Where the function begins that an address lies in, and its name."""
        found = self._known.get(address)
        if found is None:
            index = bisect.bisect_right(self._addresses, address) - 1
            found = self._named[index] if index >= 0 else (address, hex(address))
            self._known[address] = found
        return found

    def named(self) -> list[tuple[int, str]]:
        return self._named


def parse(line: str) -> tuple[int, str] | None:
    """A line of /proc/kallsyms; None for what is no code."""
    address, _, rest = line.partition(" ")
    kind, _, name = rest.partition(" ")
    if len(address) != 16 or len(kind) != 1 or kind in NO_CODE:
        return None
    return int(address, 16), name.split()[0]


def of_kernel(kernel: Kernel, spec: str) -> list[tuple[int, str]]:
    """Kept by the kernel's image; the first time a guest boots it. `spec` is what the kernel is resolved from."""
    path = cache.root() / _FOLDER / f"{kernel.sha256[:32]}.txt"
    with cache.lock(_FOLDER):
        if not path.is_file():
            lines: list[str] = []
            result = run(["cat", "/proc/kallsyms"], tier="exact", kernel_spec=spec, on_line=lines.append)
            if result.exit_code or not any(map(parse, lines)):
                raise PlaceError(f"kernel {kernel.release}: says nothing of its symbols (CONFIG_KALLSYMS)")
            cache.prune(cache.directory(_FOLDER), _KEPT - 1)
            cache.write(path, "".join(f"{line}\n" for line in lines if parse(line)))
        text = path.read_text(encoding="utf-8")
    return [found for line in text.splitlines() if (found := parse(line))]


def address(named: Iterable[tuple[int, str]], name: str) -> int:
    for at, function in named:
        if function == name:
            return at
    raise LabError(f"the kernel has no function {name}, by which a run's stretch is found")
