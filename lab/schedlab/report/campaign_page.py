# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a comparison: verdict, workloads, provenance, raw data."""

from functools import partial
from typing import Any

from schedlab import atomic, parallel
from schedlab.collect import guests
from schedlab.collect.records import Record
from schedlab.collect.store import Store
from schedlab.export import results
from schedlab.export.plain import as_json
from schedlab.report import data as raw
from schedlab.report import glance, provenance, workload_section
from schedlab.report.document import MOST_BYTES, document
from schedlab.report.html import Markup, element
from schedlab.statistics.summary import Summary
from schedlab.terminal import legend

# More would hardly fit: what is drawn in vain takes time.
_MOST_CELLS = 3_000


def write(summary: Summary, found: dict[str, Record], store: Store) -> None:
    booted = guests.read(store)
    whole = len(summary.manifest.cells) <= _MOST_CELLS
    text = render(summary, found, booted, whole)
    if whole and len(text.encode()) > MOST_BYTES:
        text = render(summary, found, booted, whole=False)
    atomic.write(store.directory / "report.html", text)


def render(summary: Summary, found: dict[str, Record], booted: list[dict[str, Any]], whole: bool = True) -> str:
    """Not whole: without one-way plots and single cells, which a large campaign has too many of for one file."""
    data = summary.manifest.data
    title = f"{_enumerate(summary.manifest.labels)}: {_place(data['place'])}"
    sections = parallel.each(
        partial(workload_section.section, summary, described, whole) for described in data["workloads"]
    )
    body = [
        element("h1", title),
        element("p", _subtitle(summary), class_="lead"),
        glance.sentences(summary),
        glance.glance(summary),
        element("p", " ".join(legend.certainty(summary)), class_="note"),
        provenance.troubles(summary),
        *sections,
        provenance.method(summary),
        provenance.section(summary, found, booted),
        _raw(summary, found, whole),
    ]
    return document(title, body)


def _enumerate(labels: list[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"


def _place(place: str) -> str:
    return {
        "sim": "compared in the simulator",
        "vm-exact": "compared in a virtual machine that counts instructions",
        "vm-virtual": "compared in a virtual machine",
        "vm-emulated": "compared in an emulated machine",
        "host": "compared on this machine",
    }.get(place, place)


def _subtitle(summary: Summary) -> str:
    data = summary.manifest.data
    names = [w["name"] for w in data["workloads"]]
    machines = [m["name"] for m in data["machines"]]
    return f"{_enumerate(names)} on {_enumerate(machines)}, {data['repetitions']} repetitions of every cell."


def _raw(summary: Summary, found: dict[str, Record], whole: bool) -> Markup:
    described = {key: value for key, value in summary.manifest.data.items() if key != "cells"}
    content = {"summary": as_json(summary), "manifest": described}
    if not whole:
        return raw.section(content, "The summary and the manifest (every cell's metrics are in results.csv beside it)")
    return raw.section(
        content | {"cells": list(results.rows(summary.manifest, found))}, "The summary and every cell's metrics"
    )
