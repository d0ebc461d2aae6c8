# SPDX-License-Identifier: GPL-2.0-or-later
"""Cells whose instructions are counted by kernel function, each in an exact guest of its own (profiled.sh)."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.campaign.matrix import Campaign, PlannedCell
from schedlab.catalogue.schedulers import DEFAULT, written
from schedlab.collect.function_counts import FunctionCounts, of_stretch
from schedlab.errors import InputError, LabError
from schedlab.places import real_kernel, vm

if TYPE_CHECKING:
    from schedlab.vm.counted import Stretch
    from schedlab.vm.symbols import Symbols

# Some ten seconds of the host's time.
MOST = 3_000_000
_SCRIPT = Path(__file__).with_name("profiled.sh")
_INSIDE = "/lab/profiled.sh"

Keep = Callable[[PlannedCell, FunctionCounts | str], None]


def take(campaign: Campaign, wanted: Sequence[PlannedCell], most: int, keep: Keep) -> None:
    """Hands over what was counted of each cell, or why nothing was."""
    with tempfile.TemporaryDirectory(prefix="schedlab-profiled-") as folder:
        objects = real_kernel.objects(vm.engine(), campaign.arms, Path(folder))
        for cell in wanted:
            try:
                stretch, named = counted_cell(campaign, cell, objects, most)
                keep(cell, of_stretch(stretch, named))
            except InputError:
                raise
            except LabError as error:
                keep(cell, " ".join(str(error).split()))


def counted_cell(
    campaign: Campaign,
    cell: PlannedCell,
    objects: dict[str, Path],
    most: int,
    *,
    after_s: str = "",
    in_order: bool = False,
) -> tuple["Stretch", "Symbols"]:
    """The stretch, and what is where in its kernel."""
    from schedlab.vm import counted, kernel, symbols
    from schedlab.vm.command import prepare
    from schedlab.vm.tiers import Shape

    machine = next(m for m in campaign.request.machines if m.name == cell.data["machine"])
    shape = vm.shape(campaign, machine, cell.data.get("kernel", ""), 3)
    named = symbols.of_kernel(kernel.resolve(shape["kernel_spec"]), shape["kernel_spec"])
    inside, places = vm.equipped(campaign, [cell], objects)
    arm = next(a for a in campaign.arms if a.label == cell.label)
    scheduler = DEFAULT
    if arm.scheduler.name != DEFAULT:
        held = real_kernel.is_held(arm.scheduler)
        scheduler = written(arm.scheduler.name if held else places["schedulers"][arm.scheduler.name], arm.tunables)
    words = [f"/lab/{vm.RUNNER}", scheduler, after_s]
    words += [places["workloads"][cell.data["workload"]], "--load", str(cell.data["load"])]
    words += ["--seed", str(cell.data["seed"])]
    words += [word for name, value in cell.data["params"].items() for word in ("--param", f"{name}={value}")]
    guest = prepare(
        ["sh", _INSIDE, *words],
        {**inside, _INSIDE: _SCRIPT},
        shape["environment"],
        shape["tier"],
        Shape(shape["cpus"], shape["memory_mib"], shape["topology"]),
        shape["kernel_spec"],
        "",
        shape["on_disk"],
    )
    own: list[tuple[int, str]] = []
    said: list[str] = []

    def take_symbol(line: str) -> None:
        if found := symbols.parse(line):
            own.append(found)

    try:
        stretch = counted.count(guest, named, most, shape["limit_s"], take_symbol, said.append, in_order)
    except LabError as error:
        raise (LabError(said[-1].removeprefix(f"{vm.RUNNER}: ")) if said else error) from error
    return stretch, symbols.Symbols([*named, *own])
