# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that come from anybody, good ones with something bad in them: one line says what is wrong, or they are read; no
text of theirs moves a terminal's cursor, is a part of a page, or names a file.

A failure names its mutation: of_bytes(…, SEED, N) and of_json(…, SEED, N) of mutations.py make it again.
"""

import gzip
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from lab.tests import hostile_results
from lab.tests.conftest import make_checkout, run_in
from lab.tests.mutations import of_bytes, of_json
from lab.tests.test_report import Tags
from schedlab.campaign.cells import cell_id
from schedlab.campaign.matrix import campaign
from schedlab.campaign.request import request
from schedlab.capture import process_tree, trace_file, workload_file
from schedlab.catalogue import metrics
from schedlab.cli import outcome
from schedlab.collect import function_counts, hosts, manifest, records, traces
from schedlab.collect.records import CorruptRecord, Record
from schedlab.collect.store import Store
from schedlab.decisions import as_simulated
from schedlab.errors import LabError
from schedlab.report import shown_schedules
from schedlab.sched_ext import dumps_in_text, explanation, stall
from schedlab.statistics import summary as summaries
from schedlab.trace.schedule import Wanted, schedule

DATA = Path(__file__).with_name("data")
DUMPS = Path(__file__).with_name("snapshots") / "dumps"


@contextmanager
def said_in_a_line(where: str) -> Iterator[None]:
    """LabError in a line, or nothing; anything else names the mutation."""
    said = ""
    try:
        yield
    except LabError as error:
        said = str(error)
    except Exception as error:
        raise AssertionError(f"{where}: {error!r}") from error
    assert "\n" not in said, where


def numbered(what: str, found: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"{what}, number {number}", each) for number, each in enumerate(found))


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest says what its metrics are called, which is nothing to the tests after these."""
    monkeypatch.setattr(metrics, "_known", {**metrics._known})


@pytest.fixture
def good(checkout: Path, fake_record: Callable) -> dict[str, Any]:
    (cell, *_) = campaign(request("bfs", workload_names="latt", repetitions=1), checkout / "bin" / "schedlab-sim").cells
    return fake_record(cell.id, cell.data)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout of some good results, in out/."""
    root = make_checkout(tmp_path_factory.mktemp("hostile") / "checkout")
    done = run_in(root, "compare", "bfs,cfs,bfs:rules=424", "-w", "latt,pipe", "-n", "3", "-o", "out")
    assert done.returncode == 0, done.stderr
    return root


def parsed(text: str | bytes, expected_id: str, where: str) -> Record | None:
    try:
        found = records.parse_text(text, expected_id)
    except CorruptRecord:
        return None
    except Exception as error:
        raise AssertionError(f"{where}: {error!r}") from error
    texts = [found.trace_hash, *(value for value in found.provenance.values() if isinstance(value, str))]
    assert all(map(str.isprintable, texts)), where
    assert found.reason.replace("\n", "").replace("\t", "").isprintable(), where
    assert all(name.isidentifier() for name in (*found.metrics, *found.histograms, *found.cost)), where
    for name, histogram in found.histograms.items():
        assert histogram.percentile_ns(99) >= 0, (where, name)
        assert not histogram.count or histogram.mean_ns >= 0, (where, name)
    return found


def test_a_record_is_one_or_it_is_corrupt(good: dict[str, Any]) -> None:
    read = 0
    for where, text in numbered("of_bytes(record, 1)", of_bytes(json.dumps(good).encode(), 1, 500)):
        read += parsed(text, good["id"], where) is not None
    for where, data in numbered("of_json(record, 2)", of_json(good, 2, 1_500)):
        # Who makes a record can make its hash, too.
        text = json.dumps(data)
        if isinstance(data.get("cell"), dict) and data.get("id") == good["id"]:
            try:
                data["id"] = cell_id(data["cell"])
                text = json.dumps(data)
            except UnicodeEncodeError:
                pass
        read += parsed(text, str(data.get("id")), where) is not None
    # Both kinds are among them.
    assert 100 < read < 1_900


def test_a_manifest_is_one_or_a_line_says_why_not(results: Path, tmp_path: Path) -> None:
    text = (results / "out" / "manifest.json").read_bytes()
    data, path, read = json.loads(text), tmp_path / "manifest.json", 0
    # Many of the same cells would leave few mutations for the rest.
    data["cells"] = data["cells"][:2]
    for where, changed in (
        *numbered("of_bytes(manifest, 3)", of_bytes(json.dumps(data).encode(), 3, 200)),
        *numbered("of_json(manifest, 4)", (json.dumps(each).encode() for each in of_json(data, 4, 400))),
    ):
        path.write_bytes(changed)
        with said_in_a_line(where):
            found = manifest.read(tmp_path)
            read += 1
            assert all(label.isprintable() or "\n" in label for label in found.labels), where
            # What is read can be told: of results that are not there, all is told without a value.
            summaries.summarise(found, {}, 1.0)
    assert 40 < read < 560


def test_what_else_lies_in_a_folder_of_results_is_not_believed(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results / "out", tmp_path / "out")
    out = tmp_path / "out"
    store, cell = Store(out), "0" * 20
    environment = {
        **dict.fromkeys(("kernel", "preempt", "boot", "cpu_model", "microcode", "online", "smt"), "x"),
        **dict.fromkeys(("governors", "turbo", "clocksource", "virtualised", "sched_ext"), ""),
        **dict.fromkeys(("hz", "cpus", "load_1_min", "busy_pct", "throttled"), 1),
        "mitigations": {"mds": "none"},
        "temperature_c": None,
    }
    block = {"host": "a", "machine": "4", "void": "", "repetition": 0, "cells": 3}
    fleet = {"format": 1, "hosts": {"a": {"address": "b", "environment": environment}}, "blocks": [block]}
    counts = {"format": 1, "whole": True, "functions": [["schedule", 10, 2], ["pick", 3, 1]]}
    guests = [{"tier": "exact", "kernel": "7", "kernel_arguments": "", "qemu": "10", "hashes": {"kernel": "beef"}}]
    for name, whole, read in (
        ("hosts.json", fleet, lambda: hosts.read(store)),
        (f"functions/{cell}.json", counts, lambda: function_counts.read(out, cell)),
        ("guests.json", guests, lambda: manifest.read_guests(store)),
    ):
        path = out / name
        path.parent.mkdir(exist_ok=True)
        as_texts = (json.dumps(each).encode() for each in of_json(whole, 5, 150))
        for where, changed in (
            *numbered(f"of_json({name}, 5)", as_texts),
            *numbered(f"of_bytes({name}, 6)", of_bytes(json.dumps(whole).encode(), 6, 100)),
        ):
            path.write_bytes(changed)
            with said_in_a_line(where):
                read()
        path.unlink()


@pytest.mark.parametrize("name", ["latt-bfs", "latt-default"])
def test_a_trace_is_read_or_a_line_says_why_not(name: str) -> None:
    whole = (DATA / f"{name}.trace").read_bytes()
    _follow(trace_file.parse(whole.decode().splitlines(), name, allow_lost=True), name)
    for where, text in numbered(f"of_bytes({name}, 8)", of_bytes(whole, 8, 80)):
        with said_in_a_line(where):
            _follow(trace_file.parse(text.decode("utf-8", "replace").splitlines(), name, allow_lost=True), where)


def _follow(trace: trace_file.Trace, where: str) -> None:
    with said_in_a_line(where):
        recording = process_tree.follow(trace, None, True)
        text = workload_file.text(recording, "name", trace.notes.get("command") or recording.root.comm)
        assert all(map(str.isprintable, text.split("\n"))), where
    with said_in_a_line(where):
        schedule(as_simulated.of_cell(as_simulated.traced_cell(trace)), Wanted(10_000_000, 90_000_000, 400, True))


def test_a_perfetto_trace_is_read_or_a_line_says_why_not(tmp_path: Path) -> None:
    trace, path = Trace(), tmp_path / "trace"
    for cpu in range(2):
        bundle = trace.packet.add().ftrace_events
        bundle.cpu = cpu
        for at in range(1, 30):
            event = bundle.event.add()
            event.timestamp, event.pid = at * 1_000_000, 100 + at % 3
            event.sched_switch.prev_pid, event.sched_switch.next_pid = 100 + at % 3, 100 + (at + 1) % 3
            event.sched_switch.prev_comm = event.sched_switch.next_comm = "\x1b[2J\n[[task]]"
    for where, data in numbered("of_bytes(perfetto, 9)", of_bytes(trace.SerializeToString(), 9, 300)):
        path.write_bytes(data)
        with said_in_a_line(where):
            _follow(trace_file.read(path, allow_lost=True), where)


def test_traces_beside_results_are_read_or_a_line_says_why_not(tmp_path: Path) -> None:
    whole = gzip.compress((DATA / "latt-bfs.trace").read_bytes() + b'# schedlab: record={"status": "ok"}\n')
    path = tmp_path / "traces" / "beef.trace.gz"
    path.parent.mkdir()
    for where, data in numbered("of_bytes(gzip, 10)", of_bytes(whole, 10, 60)):
        path.write_bytes(data)
        with said_in_a_line(where):
            traces.read(tmp_path, "beef")
    for text in ('{"status": 1', "[" * 5000, "{}", '{"status": "\x1b[2J", "reason": []}', "null"):
        path.write_bytes(gzip.compress(f"# schedlab: record={text}\n".encode()))
        with pytest.raises(LabError) as error:
            traces.read(tmp_path, "beef")
        assert str(error.value).isprintable()


def test_what_a_dump_says_is_printed_and_moves_no_cursor(lab: Callable, checkout: Path) -> None:
    text = (DUMPS / "cut.txt").read_text(encoding="utf-8")
    stalled = next(each for each in dumps_in_text.find(text).dumps).stalled
    assert stalled
    (checkout / "dump").write_text(text.replace(stalled[0], "\x1b[2J[/b]<b>"), encoding="utf-8")
    for more in ([], ["--json"]):
        done = lab("explain", "dump", *more)
        assert done.returncode == 0, done.stderr
        assert "[2J[/b]<b>" in done.stdout
        assert "\x1b" not in done.stdout
        assert "u001b" not in done.stdout
    for where, data in numbered("of_bytes(dump, 11)", of_bytes(text.encode(), 11, 100)):
        with said_in_a_line(where):
            found = dumps_in_text.find(data.decode(errors="replace"))
            for each in found.dumps:
                what = stall.of(each)
                json.dumps([explanation.facts(what, found.lockups), explanation.sentences(what, found.lockups)])


class _Attributes(Tags):
    def __init__(self) -> None:
        super().__init__()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attributes)
        self.attributes.update(name for name, _ in attributes)


def seen(page: Path) -> _Attributes:
    found = _Attributes()
    found.feed(page.read_text())
    return found


def test_a_page_of_hostile_results_has_nothing_of_theirs_but_text(results: Path, tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    shutil.copytree(results, root, symlinks=True)
    before = seen(root / "out" / "report.html")
    hostile_results.make(root / "out")
    there = {path for path in tmp_path.rglob("*") if not path.is_relative_to(root / "out")}
    done = run_in(root, "report", "out")
    assert done.returncode == 0, done.stderr
    assert "ejected: cfs" in done.stderr or "ejected: bfs" in done.stderr
    assert "onerror=owned=2" in done.stdout, "its words are shown as they are"
    assert "[/b] [red]" in done.stdout.replace("\n", " ")
    for text in (done.stdout, done.stderr):
        assert all(map(str.isprintable, text.split("\n")))
    after = seen(root / "out" / "report.html")
    assert after.open == []
    assert "img" not in after.count
    assert set(after.count) <= set(before.count)
    assert after.attributes <= before.attributes
    assert after.count["script"] <= before.count["script"]
    assert all(link.startswith("#") for link in after.links)
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(root / "out")} == there


def test_a_report_compiles_and_runs_nothing_that_results_name_by_a_path(results: Path, tmp_path: Path) -> None:
    """The simulator executes policies. Whoever opens somebody's results has not asked for theirs."""
    root, ran = tmp_path / "checkout", tmp_path / "ran"
    shutil.copytree(results, root, symlinks=True)
    simulator = root / "bin" / "schedlab-sim"
    simulator.write_text(simulator.read_text().replace("def main() -> int:", _NOTES.format(ran=str(ran)), 1))
    policy = root / "out" / "scx_mine.bpf.c"
    policy.write_text("// mine\n")
    path = root / "out" / "manifest.json"
    data = json.loads(path.read_text())
    for cell in data["cells"]:
        old = root / "out" / "cells" / f"{cell['id']}.json"
        record = json.loads(old.read_text())
        cell["cell"] |= {"scheduler": str(policy)}
        cell["cell"]["digests"]["scheduler"] = ""
        cell["id"] = cell_id(cell["cell"])
        record |= {"id": cell["id"], "cell": cell["cell"]}
        old.unlink()
        (old.parent / f"{cell['id']}.json").write_text(json.dumps(record))
    path.write_text(json.dumps(data))
    done = run_in(root, "report", "out")
    assert done.returncode == 0, done.stderr
    assert str(policy) not in (ran.read_text() if ran.exists() else "")
    assert "named by their paths, which are not followed" in (root / "out" / "report.html").read_text()


_NOTES = """\
def main() -> int:
    with open({ran!r}, "a") as log:
        log.write(" ".join(sys.argv) + "\\n")"""


@pytest.mark.parametrize("key", ["scheduler", "workload", "machine"])
def test_no_path_of_a_cell_is_followed(key: str) -> None:
    for path in ("/tmp/scx_mine.bpf.c", "../mine/latt.toml", "mine.bpf.o" if key == "scheduler" else "x/y.toml"):
        data = {"scheduler": "bfs", "workload": "latt", "machine": "desktop-4"} | {key: path}
        with pytest.raises(LabError, match="which are not followed"):
            shown_schedules._as_it_ran(data)


def test_words_of_a_command_line_are_no_markup(lab: Callable) -> None:
    done = lab("compare", "bfs,bfs:a=[/b]", "-w", "latt", "-n", "2", "-o", "out", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "a=[/b]" in done.stdout


def test_finish_tells_of_hostile_results_what_it_can(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of the manifests that are read, to the end."""
    monkeypatch.setenv("SCHEDLAB_ROOT", str(results))
    monkeypatch.setenv("SCHEDLAB_BIN", str(results / "bin"))
    out = tmp_path / "out"
    shutil.copytree(results / "out", out)
    whole = json.loads((out / "manifest.json").read_text())
    for where, data in numbered("of_json(manifest, 12)", of_json(whole, 12, 40)):
        (out / "manifest.json").write_text(json.dumps(data))
        with said_in_a_line(where):
            outcome.finish(manifest.read(out), Store(out), False, False, outcome.Judged())
        told = capsys.readouterr()
        assert all(map(str.isprintable, (told.out + told.err).split("\n"))), where
