# SPDX-License-Identifier: GPL-2.0-or-later
"""What the user asked for, checked: schedulers, workloads with loads and parameters, machines, place, repetitions."""

from dataclasses import dataclass

from schedlab.campaign import arms
from schedlab.campaign import where as wheres
from schedlab.campaign.arms import Arm
from schedlab.campaign.cells import MAX_REPETITIONS
from schedlab.campaign.fleet_file import Fleet
from schedlab.catalogue import workloads
from schedlab.catalogue.machines import Machine
from schedlab.catalogue.workloads import Workload
from schedlab.errors import InputError, unknown

TIERS = ["exact", "virtual", "emulated"]
DEFAULT_WORKLOADS = "latt,pipe,hackbench,counter"
DEFAULT_REPETITIONS = 10
MAX_LOAD = 1_000_000


def assign_params(given: list[str], workloads: list[Workload]) -> dict[str, dict[str, str]]:
    """For each workload the parameters meant for it."""
    assigned: dict[str, dict[str, str]] = {workload.name: {} for workload in workloads}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            raise InputError(f"--param '{text}': expected KEY=VALUE or WORKLOAD.KEY=VALUE")
        owner, dot, bare = key.rpartition(".")
        if dot and owner not in assigned:
            raise unknown("workload", owner, assigned)
        takers = [w for w in workloads if bare in w.params and (not dot or w.name == owner)]
        if not takers:
            raise unknown("parameter", bare, {p for w in workloads if not dot or w.name == owner for p in w.params})
        for workload in takers:
            if bare == workload.load:
                raise InputError(f"--param '{text}': '{bare}' is the load of {workload.name}: use --load")
            assigned[workload.name][bare] = value
    return assigned


@dataclass(frozen=True)
class Request:
    arms: list[Arm]
    workloads: list[Workload]
    loads: list[int] | None  # of all workloads; None: each has its own
    params: dict[str, dict[str, str]]  # by workload
    machines: list[Machine]
    place: str
    tier: str  # of the virtual machine, else ""
    api: str | None  # the release whose interface the simulator shows; None: its own choice
    repetitions: int
    seed_base: int
    exact_costs: bool = False  # of the simulator: as the machine file has them, whatever their spread
    modelled: bool = False  # a real kernel runs workloads as the simulator does: their tasks, never an application
    controlled: bool = True  # on a real kernel its own scheduler runs too, twice: what differs there is noise
    fleet: Fleet | None = None  # the hosts, where the place is a fleet
    address: str = ""  # of a cluster's scheduler, where one was given
    frozen_after_ms: int = 0  # a scheduler under which no ordinary task runs for so long is taken away; 0: none is

    @property
    def record_place(self) -> str:
        return f"vm-{self.tier}" if self.place == "vm" else wheres.kept_as(self.place)

    def loads_of(self, workload: Workload) -> list[int | str]:
        """As they were given: some may count in the machine's CPUs."""
        return [*self.loads] if self.loads else workload.loads

    def loads_on(self, workload: Workload, machine: Machine) -> list[int]:
        return self.loads or workload.loads_on(machine.cpus)


def request(
    schedulers: str,
    *,
    workload_names: str | None = None,
    load: str | None = None,
    machine_names: str | None = None,
    place: str = "sim",
    tier: str | None = None,
    api: str | None = None,
    repetitions: int = DEFAULT_REPETITIONS,
    seed_base: int = 1,
    param: list[str] | None = None,
    kernel: str | None = None,
    built_in: bool = False,
    exact_costs: bool = False,
    modelled: bool = False,
    controlled: bool = True,
) -> Request:
    if not 1 <= repetitions <= MAX_REPETITIONS:
        raise InputError(f"-n {repetitions}: expected 1 to {MAX_REPETITIONS} repetitions")
    if seed_base < 0:
        raise InputError(f"--seed-base {seed_base}: expected 0 or more")
    if tier and place != "vm":
        raise InputError(f"--tier {tier}: only the virtual machine has tiers (--on vm)")
    if kernel and place != "vm":
        raise InputError(f"--kernel {kernel}: only a guest boots a kernel of one's choice (--on vm)")
    if api and not wheres.named(place).simulated:
        raise InputError(f"--api {api}: only the simulator shows another release's interface (--on sim)")
    if built_in and not wheres.named(place).simulated:
        raise InputError(
            f"--built-in with --on {place}: a real kernel loads every policy; only the simulator builds one in"
        )
    if exact_costs and not wheres.named(place).simulated:
        raise InputError(f"--exact-costs with --on {place}: only the simulator draws costs")
    chosen = arms.parse(schedulers, place, built_in, kernel or "")
    names = split(workload_names or DEFAULT_WORKLOADS, "-w")
    where = wheres.named(place)
    boards = [where.machine(name) for name in split(machine_names or where.default_machine, "-m")]
    _refuse_twins([m.name for m in boards], "-m")
    loaded = workloads.find_all(names, [] if load else {machine.cpus: None for machine in boards})
    _refuse_twins([w.name for w in loaded], "-w")
    return Request(
        arms=chosen,
        workloads=loaded,
        loads=parse_loads(load) if load is not None else None,
        params=assign_params(param or [], loaded),
        machines=boards,
        place=wheres.name_of(place),
        fleet=wheres.fleet_of(place),
        address=wheres.address_of(place),
        api=api,
        tier=(tier or TIERS[0]) if place == "vm" else "",
        repetitions=repetitions,
        seed_base=seed_base,
        exact_costs=exact_costs,
        modelled=modelled,
        controlled=controlled,
    )


def split(text: str, option: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InputError(f"{option} '{text}': expected names separated by commas")
    return parts


def parse_loads(text: str) -> list[int]:
    loads = []
    for part in text.split(","):
        number = part.strip()
        if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= MAX_LOAD:
            raise InputError(f"--load '{number}': expected integers from 1 to {MAX_LOAD:,}, separated by commas")
        loads.append(int(number))
    _refuse_twins(loads, "--load")
    return loads


def _refuse_twins(values: list, option: str) -> None:
    for value in values:
        if values.count(value) > 1:
            raise InputError(f"{option}: '{value}' is given twice")
