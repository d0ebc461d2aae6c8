# SPDX-License-Identifier: GPL-2.0-or-later
"""Writing a machine file."""

from dataclasses import dataclass, field, replace

# Costs with a value for each distance between two CPUs; here all are the same.
BY_DISTANCE = ("ipi_ns", "lock_transfer_ns", "refill_kib_ns")
MOST_SPREAD_PCT = 90


@dataclass(frozen=True)
class Topology:
    """How many of each the next larger part has."""

    sockets: int = 1
    llcs_per_socket: int = 1
    cores_per_llc: int = 1
    threads_per_core: int = 1
    numbering: str = "adjacent"


@dataclass(frozen=True)
class Description:
    name: str
    title: str
    source: str
    hz: int
    topology: Topology
    costs: dict[str, int] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)  # a cost's, beside it
    spread_pct: dict[str, int] = field(default_factory=dict)  # how far below or above a cost may lie
    head: tuple[str, ...] = ()  # lines of comment

    def with_cost(self, cost: str, value: int, remark: str = "") -> "Description":
        return replace(
            self,
            costs=self.costs | {cost: value},
            remarks=self.remarks | ({cost: remark} if remark else {}),
        )


def text(machine: Description) -> str:
    topology = machine.topology
    lines = [
        "# SPDX-License-Identifier: GPL-2.0-or-later",
        *(f"# {line}".rstrip() for line in machine.head),
        f'name = "{machine.name}"',
        f'title = "{machine.title}"',
        f'source = "{machine.source}"',
        f"hz = {machine.hz}",
        "",
        "[topology]",
        f"sockets = {topology.sockets}",
        f"llcs_per_socket = {topology.llcs_per_socket}",
        f"cores_per_llc = {topology.cores_per_llc}",
        f"threads_per_core = {topology.threads_per_core}",
    ]
    if topology.threads_per_core > 1:
        lines.append(f'numbering = "{topology.numbering}"')
    lines += ["", "[costs]"]
    for cost, value in machine.costs.items():
        shown = f"{value:_}"
        if cost in BY_DISTANCE:
            shown = f"[{', '.join([shown] * 5)}]"
        remark = machine.remarks.get(cost)
        lines.append(f"{cost} = {shown}" + (f"  # {remark}" if remark else ""))
    if machine.spread_pct:
        lines += ["", "[spread_pct]", *(f"{cost} = {pct}" for cost, pct in machine.spread_pct.items())]
    return "\n".join(lines) + "\n"
