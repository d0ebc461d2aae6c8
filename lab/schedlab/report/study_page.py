# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a study, or of several: score, claims published beside ours, and what we measured."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from schedlab import atomic
from schedlab.catalogue.metrics import metric
from schedlab.collect import manifest as manifests
from schedlab.collect.store import Store
from schedlab.export.plain import as_json
from schedlab.format.sentences import machine_name
from schedlab.report import charts, claims, palette, tables, world
from schedlab.report.document import MOST_BYTES, document, raw_data
from schedlab.report.html import Markup, element, join, table
from schedlab.statistics.rows import Row
from schedlab.statistics.samples import MEAN
from schedlab.statistics.summary import Summary, summarise
from schedlab.studies import experiments
from schedlab.studies.beside import Beside
from schedlab.studies.calls import AGREES, CONTRADICTED, NO_CALL, UNMEASURED, calls, of_bfs_and_cfs, outcome
from schedlab.studies.in_guests import Cut
from schedlab.studies.score import Reproduction, cells, score
from schedlab.studies.study_file import Experiment, Study

# Units of published/claims.csv that ours call otherwise.
_OURS = {"us": "µs"}


@dataclass(frozen=True)
class Found:
    """A study with all that its page shows."""

    study: Study
    reproductions: list[Reproduction]
    rows: list[dict[str, Any]]  # the same as plain data
    parts: list[tuple[Experiment, str, Summary]]  # experiment, machine
    others: list[Beside]  # the same claims elsewhere
    cuts: list[Cut] | None  # of a guest's results


def found(
    study: Study,
    reproductions: list[Reproduction],
    rows: list[dict[str, Any]],
    base: Path,
    others: list[Beside],
    cuts: list[Cut] | None,
) -> Found:
    return Found(study, reproductions, rows, list(_parts(study, base)), others, cuts)


def _parts(study: Study, base: Path) -> Iterator[tuple[Experiment, str, Summary]]:
    for experiment in study.experiments:
        for machine in experiment.machines:
            folder = experiments.directory(base, experiment, machine)
            if (folder / manifests.NAME).is_file():
                yield experiment, machine, _summary(experiment, folder)


def _summary(experiment: Experiment, folder: Path) -> Summary:
    """Of the metrics that the study reports, and no others."""
    planned = manifests.read(folder)
    records, _ = Store(folder).load(cell.id for cell in planned.cells)
    wanted = {name for names in experiment.metrics.values() for name in names}
    kept = {
        key: replace(
            record,
            metrics={name: value for name, value in record.metrics.items() if name in wanted},
            histograms={name: value for name, value in record.histograms.items() if name in wanted},
        )
        for key, record in records.items()
    }
    return summarise(planned, kept)


def write(everything: list[Found], path: Path, command: str) -> None:
    text = render(everything, command, whole=True)
    if len(text.encode()) > MOST_BYTES:
        text = render(everything, command, whole=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(path, text)


def render(everything: list[Found], command: str, whole: bool) -> str:
    """Not whole: the measured numbers are left to the files beside the page."""
    several = len(everything) > 1
    place = next((summary.manifest.data["place"] for one in everything for *_, summary in one.parts), "")
    reproductions = [v for one in everything for v in one.reproductions]
    scores = [(one.study.name, one.reproductions) for one in everything]
    if several:
        scores.append(("all", reproductions))
    body = [
        element("h1", f"{len(everything)} studies, run again" if several else everything[0].study.title),
        world.badge(place) if place else "",
        _lead(reproductions),
        claims.scores(scores, everything[0].others, several),
        _how(),
        element("div", claims.picture(reproductions), class_="charts"),
        *[_section(one, several, whole) for one in everything],
        _provenance(everything, command),
        raw_data(_data(everything, whole), "Claims, scores" + (" and summaries" if whole else "")),
    ]
    title = "Studies" if several else everything[0].study.name
    return document(f"{title}: published claims beside ours", body, place=place)


def _lead(reproductions: list[Reproduction]) -> Markup:
    words = [outcome(v) for v in reproductions if v.claim.points]
    called, ours = calls(reproductions), calls(of_bfs_and_cfs(reproductions))
    parts = [
        f"Of {len(words)} published claims that count, ours agree with {words.count(AGREES)} and contradict "
        f"{words.count(CONTRADICTED)}; on {words.count(NO_CALL)} they make no call",
        f"; {words.count(UNMEASURED)} were not measured" if UNMEASURED in words else "",
        ". ",
    ]
    if called.called:
        parts.append(f"Right of those called: {claims.share(called.share_right)}. ")
    if ours.called:
        parts.append(
            f"BFS against CFS: {ours.called} of {ours.claims} called, {claims.share(ours.share_right)} of them right."
        )
    return element("p", *parts, class_="lead")


def _how() -> Markup:
    text = (
        "A claim says that A was better than B at one thing. Those about single cells count that were published as "
        "1 % or more. Ours call one where the whole 95 % interval over the seeds lies beyond 1 %. 'Every sign' is an "
        "older score, which takes each sign however small ours is, counts claims under 3 % half, averages within "
        "groups first, and takes what was not measured as wrong. The ratio error is the median of |our A/B over the "
        "published A/B, less 1|."
    )
    return element("p", text, class_="note")


def _section(one: Found, several: bool, whole: bool) -> Markup:
    study = one.study
    return element(
        "section",
        element("h2", study.title if several else "Claims"),
        element("p", study.source, class_="lead"),
        element("p", f"Calibrated on {study.calibrated}. What other schedulers do is a prediction.", class_="note"),
        _hindsight(study),
        _cuts(one),
        _claims(one, several),
        *[_experiment(experiment, one, several, whole) for experiment in study.experiments],
        id=study.name,
    )


def _hindsight(study: Study) -> Markup:
    if not study.hindsight:
        return Markup("")
    header: list[object] = ["of", "value", "chosen", "otherwise", "why"]
    rows: list[list[object]] = [
        [c.owner, c.key, str(c.chosen), "its default" if c.otherwise is None else str(c.otherwise), c.why]
        for c in study.hindsight
    ]
    summary = f"{len(rows)} values were chosen after results were known (--without-hindsight)"
    return element("details", element("summary", summary), table(header, rows))


def _cuts(one: Found) -> Markup:
    """What guests run less of than the simulator, where these results are theirs."""
    if one.cuts is None:
        return Markup("")
    header: list[object] = ["experiment", "in guests", "why"]
    rows: list[list[object]] = [[cut.experiment, cut.what, cut.why] for cut in one.cuts]
    return element("details", element("summary", "What guests run of it"), table(header, rows), open=True)


def _claims(one: Found, several: bool) -> Markup:
    reproductions = one.reproductions
    shown = claims.claims_table(reproductions, {row["id"]: row["why"] for row in one.rows}, one.others)
    if not several:
        return shown
    words = [outcome(v) for v in reproductions]
    counts = ", ".join(f"{words.count(word)} {word.replace('agrees', 'agree')}" for word in dict.fromkeys(words))
    return element("details", element("summary", f"{len(reproductions)} claims, scored or not: {counts}"), shown)


def _experiment(experiment: Experiment, one: Found, several: bool, whole: bool) -> Markup:
    parts = [(machine, summary) for found, machine, summary in one.parts if found is experiment]
    if not parts:
        return Markup("")
    labels = parts[0][1].manifest.labels
    theirs = dict(zip(labels, experiment.schedulers, strict=False))
    ours = {name: label for label, name in theirs.items()}
    names = {label: f"{theirs[label]} = {label}" for label in labels if label in theirs}
    load = parts[0][1].manifest.data["workloads"][0]["load"] or "load"
    figures, folded_tables = [], []
    for machine, summary in parts:
        points = _published_points(one.study, experiment, machine, one.reproductions)
        for rows in _measures(summary):
            where = f" on {machine_name(machine)}" if len(experiment.machines) > 1 else ""
            caption = join([tables.caption(rows), where])
            printed = {
                (ours[name], at): value for (metric, name, at), value in points.items() if metric == rows[0].metric
            }
            if printed:
                caption = join([caption, "; hollow: as published"])
            figures.append(charts.draw(caption, rows, labels, load, printed))
            change = join([element("b", f"{rows[0].title}, change against {theirs[labels[0]]}"), where])
            figures.append(charts.draw_changes(change, rows, labels, load))
            folded_tables.append(tables.numbers(rows, labels, load, where))
    heading = element("h3", f"{experiment.published}: {experiment.name}")
    shown = element("div", *figures, class_="charts")
    if not whole:
        return join([heading, palette.legend(labels, names), shown])
    folded = element("details", element("summary", "The numbers"), element("div", *folded_tables, class_="tables"))
    return join([heading, palette.legend(labels, names), shown, folded])


def _measures(summary: Summary) -> list[list[Row]]:
    """Means, which is what the studies print."""
    return tables.by_measure([row for row in summary.rows if row.statistic == MEAN])


def _provenance(everything: list[Found], command: str) -> Markup:
    facts: list[list[object]] = [["command", element("code", command)]]
    for one in everything:
        for experiment, machine, summary in one.parts:
            data = summary.manifest.data
            counts = ", ".join(f"{count} {kind}" for kind, count in summary.counts.items() if count)
            digests = ", ".join(
                f"{name} {digest}" for kind in data["digests"].values() for name, digest in kind.items() if digest
            )
            text = [f"{data['place']}, {counts}, seeds from {data['seed_base']}; digests: ", element("code", digests)]
            facts.append([f"{experiment.name} on {machine}", join(text)])
    content = element("details", element("summary", "Cells and digests"), table(["", ""], facts, class_="facts"))
    return element("section", element("h2", "Provenance"), content, id="provenance")


def _data(everything: list[Found], whole: bool) -> dict[str, Any]:
    return {
        one.study.name: {
            "score": vars(score(one.reproductions)),
            "calls": vars(calls(one.reproductions)),
            "claims": one.rows,
            "experiments": [
                {"experiment": experiment.name, "machine": machine, "summary": as_json(summary)}
                for experiment, machine, summary in (one.parts if whole else [])
            ],
        }
        for one in everything
    }


# our metric, the study's scheduler, load
Points = dict[tuple[str, str, int], float]


def _published_points(
    study: Study, experiment: Experiment, machine: str, reproductions: Iterable[Reproduction]
) -> Points:
    """In the units of our metrics; what is a sum of several of ours, or a mean over loads, is in no chart."""
    found: Points = {}
    for reproduction in reproductions:
        claim = reproduction.claim
        if claim.machine != machine:
            continue
        for scheduler, value in ((claim.a, claim.value_a), (claim.b, claim.value_b)):
            where = [(name, load) for one, name, load in cells(study, claim, scheduler) if one is experiment]
            if value is None or len(where) != 1:
                continue
            ours = experiment.metrics[claim.metric]
            if len(ours) == 1 and metric(ours[0]).unit == _OURS.get(claim.unit, claim.unit):
                found[ours[0], *where[0]] = value
    return found
