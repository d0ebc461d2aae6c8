# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the instructions went: from recorded counts to the table in the terminal, the page, CSV and JSON."""

import csv
import json
import re
import socket
import threading
from array import array
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from schedlab import atomic
from schedlab.campaign import kernels
from schedlab.campaign.matrix import campaign
from schedlab.campaign.request import request
from schedlab.collect import function_counts, manifest
from schedlab.collect.function_counts import FunctionCounts, of_stretch
from schedlab.collect.store import Store
from schedlab.errors import InputError, LabError
from schedlab.foreign import NewerFormat
from schedlab.places import vm as place
from schedlab.statistics import functions
from schedlab.vm import counted, symbols
from schedlab.vm.counted import Stretch
from schedlab.vm.debugger import Debugger, Gone
from schedlab.vm.symbols import Symbols

OLD = FunctionCounts(
    False,
    {
        "pick_next": 4000,
        "copy.isra.0": 100,
        "bpf_prog_0123456789abcdef_mine": 70,
        "gone": 50,
        "(user space)": 5770,
        "__switch_to": 10,
    },
    {"__switch_to": 10, "pick_next": 10},
)
NEW = FunctionCounts(
    False,
    {
        "pick_next": 4000,
        "copy": 240,
        "bpf_prog_fedcba9876543210_mine": 140,
        "come": 400,
        "(user space)": 11200,
        "__switch_to": 20,
    },
    {"__switch_to": 20, "pick_next": 20},
)


@pytest.fixture
def results(checkout: Path, monkeypatch: pytest.MonkeyPatch, fake_record: Callable) -> Store:
    """Two kernels, two loads, two seeds, all cells with a record."""
    monkeypatch.setattr(kernels, "_resolved", lambda spec: SimpleNamespace(sha256=f"{spec:0<64}", without_policies=""))
    what = request("default@7.1,default@7.2", workload_names="latt", place="vm", machine_names="1", repetitions=2)
    planned = campaign(what, place.engine())
    store = Store(checkout / "out")
    store.create()
    manifest.write(manifest.describe(planned, "schedlab compare"), store)
    for cell in planned.cells:
        atomic.write(store.path(cell.id), json.dumps(fake_record(cell.id, cell.data)))
    return store


def keep(store: Store, counts: dict[str, FunctionCounts | str], load: int) -> None:
    for cell in manifest.read(store.directory).cells:
        if cell.role == "measured" and (cell.data["load"], cell.data["seed"]) == (load, 1) and cell.label in counts:
            function_counts.keep(store.directory, cell.id, counts[cell.label])


def test_what_grew_and_shrank_by_switch(results: Store) -> None:
    keep(results, {"default@7.1": OLD, "default@7.2": NEW}, 4)
    found = {table.load: table for table in functions.tables(manifest.read(results.directory), results.directory)}
    assert list(found) == [1, 4]
    assert set(found[1].faults.values()) == {"its instructions were not counted"}
    table = found[4]
    assert (table.unit, table.reference, table.seed) == (functions.SWITCH, "default@7.1", 1)
    (spent,) = table.spent
    assert (spent.label, spent.total_before, spent.total_after) == ("default@7.2", 1000.0, 800.0)
    told = [(one.name, one.before, one.after) for one in spent.shown]
    # What has not changed by switch is not among them: copy and mine go by other names in the other build.
    assert told == [
        ("pick_next", 400.0, 200.0),
        ("come", 0.0, 20.0),
        ("(user space)", 577.0, 560.0),
        ("gone", 5.0, 0.0),
        ("copy", 10.0, 12.0),
    ]


def test_whole_runs_are_counted_by_run_and_those_without_switches_by_instructions() -> None:
    def unit(*counts: FunctionCounts) -> str:
        return functions._unit(list(counts))

    whole = FunctionCounts(True, {"a": 1}, {})
    assert unit(whole, whole) == functions.RUN
    assert unit(whole, OLD) == functions.THOUSAND
    assert unit(OLD, NEW) == functions.SWITCH
    spent = functions._spent("x", whole, FunctionCounts(True, {"a": 3}, {}), functions.RUN)
    assert (spent.total_before, spent.total_after) == (1.0, 3.0)


def test_the_table_is_on_the_page_in_the_terminal_and_in_files(results: Store, lab: Callable) -> None:
    keep(results, {"default@7.1": OLD, "default@7.2": NEW}, 4)
    keep(results, {"default@7.1": OLD, "default@7.2": "the kernel has no function futex_requeue"}, 1)
    done = lab("report", "out")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    at = lines.index("latt on a guest with 1 CPU, load 4: where the instructions went, by switch")
    assert re.split(r" {2,}", lines[at + 2].strip()) == ["pick_next", "400.0", "200.0", "−200.0", "40.0 % → 25.0 %"]
    assert lines[at + 7].split() == ["all", "1,000", "800.0", "−200.0"]
    page = (results.directory / "report.html").read_text(encoding="utf-8")
    assert "Where the instructions went" in page
    assert re.search(r"<code>pick_next</code></th><td[^>]*><data value=\"400.0\">400.0</data>", page)
    assert "No counts of default@7.2 at load 1: the kernel has no function futex_requeue." in page
    with (results.directory / "functions.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["load"] == "4"]
    by_name = {(row["label"], row["function"]): row for row in rows}
    copy = by_name["default@7.2", "copy"]
    assert (copy["instructions"], copy["per_unit"], copy["reference_per_unit"], copy["difference"]) == (
        "240",
        "12.0",
        "10.0",
        "2.0",
    )
    assert by_name["default@7.1", "gone"]["difference"] == ""
    assert by_name["default@7.2", "gone"]["instructions"] == "0"
    assert sum(int(row["instructions"]) for row in rows if row["label"] == "default@7.2") == NEW.total
    said = json.loads(lab("report", "out", "--json").stdout)["functions"]
    (four,) = [one for one in said if one["load"] == 4]
    assert four["counted"]["default@7.2"] == {"instructions": 16000, "switches": 20, "whole": False}
    assert four["against"]["default@7.2"]["functions"][0] == {
        "function": "pick_next",
        "reference_per_unit": 400.0,
        "per_unit": 200.0,
        "difference": -200.0,
    }


def test_without_counts_nothing_is_said(results: Store, lab: Callable) -> None:
    done = lab("report", "out", "--json")
    assert "functions" not in json.loads(done.stdout)
    assert not (results.directory / "functions.csv").exists()
    assert "instructions went" not in (results.directory / "report.html").read_text(encoding="utf-8")


def test_counts_are_kept_as_they_are(tmp_path: Path) -> None:
    function_counts.keep(tmp_path, "0" * 20, OLD)
    assert function_counts.read(tmp_path, "0" * 20) == OLD
    function_counts.keep(tmp_path, "1" * 20, "no such kernel")
    with pytest.raises(LabError, match="no such kernel"):
        function_counts.read(tmp_path, "1" * 20)
    (tmp_path / "functions" / f"{'2' * 20}.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        function_counts.read(tmp_path, "2" * 20)
    # What a newer schedlab counted is not counted anew.
    (tmp_path / "functions" / f"{'3' * 20}.json").write_text('{"format": 2, "by": {}}')
    with pytest.raises(NewerFormat, match="its format is 2, and this schedlab knows 1: update schedlab"):
        function_counts.is_there(tmp_path, "3" * 20)


@pytest.mark.parametrize("where", [["--on", "sim"], ["--on", "vm", "--tier", "emulated"]])
def test_only_the_exact_tier_counts(lab: Callable, where: list[str]) -> None:
    done = lab("compare", "default,bfs" if "vm" in where else "bfs,cfs", "-w", "latt", "--profile", *where)
    assert done.returncode == 2
    assert (
        done.stderr
        == "schedlab: --profile: only a guest of the exact tier counts instructions (--on vm --tier exact)\n"
    )


def test_instructions_by_function() -> None:
    lines = [
        "ffffffff81000000 T first",
        "ffffffff81000010 t second",
        "ffffffff82000000 D data",
        "ffffffffc0000000 t bpf_prog_0123456789abcdef_mine\t[bpf]",
        "nonsense",
    ]
    named = Symbols([found for line in lines if (found := symbols.parse(line))])
    addresses = {
        0xFFFFFFFF81000000: 2,
        0xFFFFFFFF81000004: 2,
        0xFFFFFFFF81000012: 5,
        0xFFFFFFFFC0000000: 1,
        0x401000: 7,
    }
    found = of_stretch(Stretch(True, Counter(addresses)), named)
    assert found.instructions == {"first": 4, "second": 5, "bpf_prog_0123456789abcdef_mine": 1, "(user space)": 7}
    assert found.calls == {"first": 2, "bpf_prog_0123456789abcdef_mine": 1}
    with pytest.raises(LabError, match="has no function third"):
        symbols.address(named.named(), "third")


def trace(cpu: int, address: int) -> bytes:
    return b"Trace %d: 0x7f00 [0000000000000000/%016x/00c0/ff00] \n" % (cpu, address)


@pytest.mark.parametrize("piece", [1, 7, 70, 1000])
def test_an_instruction_that_was_not_executed_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    """Wherever the file is cut as it is read."""
    log = tmp_path / "log"
    stopped = b"Stopped execution of TB chain before 0x7f00 [0000000000000005] \n"
    log.write_bytes(trace(0, 5) + trace(1, 6) + stopped + trace(1, 7) + trace(0, 5) + trace(0, 8) + stopped)
    monkeypatch.setattr(counted, "_PIECE", piece)
    named = [(0, name) for name in ("__x64_sys_times", "futex_requeue", "futex_wake", "__x64_sys_kill")]
    counter = counted._Counter(log, named, 100, in_order=False)
    counter._read()
    assert counter.stretch.counts == {5: 2, 7: 1}
    assert not counter.enough.is_set()
    ordered = counted._Counter(log, named, 2, in_order=True)
    ordered._read()
    assert ordered.stretch.order == {0: array("Q", [5]), 1: array("Q", [7])}
    assert ordered.enough.is_set()


def test_the_debugger_goes_to_an_address_and_on(tmp_path: Path) -> None:
    heard: list[bytes] = []
    answers = {
        b"Z0,1f,1": [b"OK"],
        b"c": [b"T05thread:01;"],
        b"qRcmd,6c6f67": [b"O6869", b"OK"],
        b"g": [b"00" * 24 + b"ffffff7f00000000" + b"00" * 8],
        b"z0,1f,1": [b""],
    }
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "debugger"))
        server.listen()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                rest = b""
                while len(heard) < len(answers):
                    rest += connection.recv(100)
                    while found := re.search(rb"\$([^#]*)#(..)", rest):
                        assert sum(found[1]) % 256 == int(found[2], 16)
                        heard.append(found[1])
                        rest = rest[found.end() :]
                        # An answer may come in pieces.
                        for text in (b"+", *(b"$%s#%02x" % (said, sum(said) % 256) for said in answers[found[1]])):
                            connection.sendall(text[:2])
                            connection.sendall(text[2:])
                connection.recv(100)

        thread = threading.Thread(target=serve)
        thread.start()
        debugger = Debugger(tmp_path / "debugger")
        debugger.stop_at(0x1F)
        debugger.go_on()
        debugger.wait()
        debugger.monitor("log")
        assert debugger.register(3) == 0x7FFFFFFF
        with pytest.raises(LabError, match="QEMU's debugger refuses z0,1f,1: unknown"):
            debugger.no_stop_at(0x1F)
        thread.join()
        with pytest.raises(Gone):
            debugger.wait()
    assert heard == list(answers)
