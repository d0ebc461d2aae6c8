# SPDX-License-Identifier: GPL-2.0-or-later
"""The groups of a campaign: workload × machine × load × metric, with one sample for every column."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from schedlab.campaign.roles import CONTROL, MEASURED
from schedlab.collect.manifest import Manifest
from schedlab.collect.records import OK, Record
from schedlab.export.results import ns_per_unit
from schedlab.metrics import sort_key
from schedlab.statistics.samples import MEAN, PERCENTILES, Distributions, Sample, Scalars


@dataclass(frozen=True)
class Group:
    workload: str
    machine: str
    load: int
    metric: str
    records: dict[str, list[tuple[int, Record]]]  # by column, the control among them, with their seeds

    @cached_property
    def samples(self) -> dict[str, Sample]:
        """By column. Made when asked for: by then many CPUs are at it."""
        return {label: sample for label, pairs in self.records.items() if (sample := _sample(self.metric, pairs))}

    @property
    def statistics(self) -> list[str]:
        spread = any(self.metric in record.histograms for pairs in self.records.values() for _, record in pairs)
        return [MEAN, *PERCENTILES] if spread else [MEAN]


def groups(manifest: Manifest, found: dict[str, Record]) -> Iterator[Group]:
    """In the manifest's order of workloads and machines, loads rising."""
    places: dict[tuple[str, str, int], dict[str, list[tuple[int, Record]]]] = defaultdict(lambda: defaultdict(list))
    for cell in manifest.cells:
        record = found.get(cell.id)
        if record is None or record.status != OK or cell.role not in (MEASURED, CONTROL):
            continue
        key = (cell.data["workload"], cell.data["machine"], cell.data["load"])
        places[key][cell.label].append((cell.data["seed"], record))
    order = [w["name"] for w in manifest.data["workloads"]], [m["name"] for m in manifest.data["machines"]]
    for key in sorted(places, key=lambda k: (order[0].index(k[0]), order[1].index(k[1]), k[2])):
        columns = {label: sorted(pairs, key=lambda pair: pair[0]) for label, pairs in places[key].items()}
        names = {
            name for pairs in columns.values() for _, r in pairs for name in r.metrics.keys() | r.histograms.keys()
        }
        for name in sorted(names, key=sort_key):
            yield Group(*key, name, columns)


def _sample(name: str, pairs: list[tuple[int, Record]]) -> Sample | None:
    """A metric that is a distribution in one record is one in all of them."""
    spread = [(seed, r.histograms[name]) for seed, r in pairs if name in r.histograms]
    if spread:
        return Distributions([seed for seed, _ in spread], [h for _, h in spread], ns_per_unit(name))
    plain = [(seed, r.metrics[name]) for seed, r in pairs if name in r.metrics]
    return Scalars([seed for seed, _ in plain], [v for _, v in plain]) if plain else None
