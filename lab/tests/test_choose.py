# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab choose, over guests that are played: how a race ends, what is said of it, and input that is refused."""

import json
import os
import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from schedlab import atomic, vm
from schedlab.campaign.arms import parse
from schedlab.campaign.matrix import Campaign
from schedlab.catalogue import toml
from schedlab.choice import gains, keep, mixes, own_command
from schedlab.cli import choose_options
from schedlab.cli.program import main
from schedlab.collect.store import Store
from schedlab.errors import InputError
from schedlab.places import host

COMMAND = ["choose", "--on", "vm", "-o", "out", "--no-report", "--minutes", "5"]


@pytest.fixture
def boots(play_guests: Callable, fake_record: Callable) -> list[int]:
    """Cells of every boot; bfs takes 10 ms where default takes 11."""
    return play_guests(fake_record)


def played(*more: str) -> int:
    return main([*COMMAND, *more, "--", "true"])


def answer() -> dict[str, Any]:
    return json.loads(Path("out/answer.json").read_text())


def test_the_faster_one_wins_and_the_race_stops(boots: list[int], capsys: pytest.CaptureFixture) -> None:
    assert played() == 0
    out = capsys.readouterr().out
    assert out.startswith("bfs: ")
    assert "shorter elapsed time" in out.splitlines()[0]
    assert "keep it: sudo schedlab load bfs\n" in out
    assert "ExecStart=" in out
    found = answer()
    assert (found["outcome"], found["winner"], found["ended"]) == ("winner", "bfs", "decided")
    assert 7 <= found["blocks"] <= 12
    (measure,) = found["challengers"]["bfs"]["measures"]
    assert measure["low_pct"] < -9.1 < measure["high_pct"] < 0
    # A boot a block, each with one run to warm up and every candidate once.
    assert boots == [3] * found["blocks"]


def test_the_same_command_says_it_again_without_running(boots: list[int], capsys: pytest.CaptureFixture) -> None:
    assert played("--blocks", "4") == 1
    assert (
        "not decided after 4 blocks (all blocks are done): bfs: elapsed time so far 8.8 % shorter"
        in capsys.readouterr().out
    )
    assert played() == 0
    first, many = capsys.readouterr().out, len(boots)
    assert many == answer()["blocks"]
    assert played() == 0
    assert (capsys.readouterr().out, len(boots)) == (first, many)


def test_orders_are_random_and_the_same_for_the_same_seed(
    checkout: Path, play_guests: Callable, fake_record: Callable
) -> None:
    ran: list[str] = []

    def record(cell_id: str, cell: dict[str, Any]) -> dict[str, Any]:
        if cell["repetition"] < 1000:
            ran.append(cell["scheduler"])
        return fake_record(cell_id, cell)

    play_guests(record)
    orders = []
    for seed in ("1", "1", "2"):
        ran.clear()
        assert main([*COMMAND, "-o", f"out{len(orders)}", "--seed", seed, "--blocks", "6", "--", "true"]) == 1
        assert all({*pair} == {"bfs", "default"} for pair in zip(ran[::2], ran[1::2], strict=True))
        orders.append([*ran])
    assert orders[0] == orders[1] != orders[2]
    assert {*orders[0][::2]} == {"bfs", "default"}


def test_the_incumbent_stays_where_the_other_is_slower(boots: list[int], capsys: pytest.CaptureFixture) -> None:
    assert played("--among", "bfs,cfs") == 0
    out = capsys.readouterr().out
    assert out.startswith("bfs stays: cfs: ")
    assert "keep it" not in out


def test_one_against_itself_shows_no_difference(boots: list[int], capsys: pytest.CaptureFixture) -> None:
    assert played("--among", "default") == 0
    out = capsys.readouterr().out
    assert out.startswith("no difference worth switching for (< 2 %)\n")
    assert answer()["challengers"]["default (again)"]["outcome"] == "same"


def test_what_is_thrown_out_leaves_the_race(
    boots: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("FAKE_EJECT", "bfs")
    assert played("--among", "default,bfs,cfs") == 0
    out = capsys.readouterr().out
    assert "bfs is out of the race since block 1: the kernel threw it out: runnable task stall" in out
    assert answer()["out"]["bfs"]["block"] == 1
    # It does not run again.
    assert boots[:2] == [4, 3]


def test_what_does_not_attach_leaves_the_race(
    boots: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("FAKE_FAIL", "bfs")
    assert played() == 0
    out = capsys.readouterr().out
    assert out.startswith("default stays: nobody else is left\n")
    assert "bfs is out of the race since block 1: its trial failed: planted failure" in out


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ({"FAKE_FAIL": "default"}, "the trial of default failed: planted failure"),
        ({"FAKE_EJECT": "bfs"}, "bfs was thrown out by the kernel: runnable task stall"),
    ],
)
def test_without_the_incumbents_numbers_there_is_no_race(
    boots: list[int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
    planted: dict[str, str],
    said: str,
) -> None:
    for name, value in planted.items():
        monkeypatch.setenv(name, value)
    among = ["--among", "bfs,cfs"] if "FAKE_EJECT" in planted else []
    assert played(*among) == 1
    streams = capsys.readouterr()
    assert "not decided after 0 blocks" in streams.out
    assert said in streams.err.splitlines()[-1]
    assert len(boots) <= 2


def test_an_interrupt_says_what_is_known_so_far(
    checkout: Path, play_guests: Callable, fake_record: Callable, capsys: pytest.CaptureFixture
) -> None:
    def record(cell_id: str, cell: dict[str, Any]) -> dict[str, Any]:
        if cell["seed"] == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return fake_record(cell_id, cell)

    play_guests(record)
    assert played() == 130
    streams = capsys.readouterr()
    assert "not decided after 3 blocks: bfs: elapsed time so far 8.8 % shorter" in streams.out
    assert "interrupted; what is known so far" in streams.err
    assert answer()["ended"] == "interrupted"


def test_on_the_host_what_ran_before_is_put_back_once(
    checkout: Path, fake_record: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the end of all blocks, also by Ctrl-C; only the first block warms up. Nobody's desktop stays frozen."""
    told: list[str] = []

    @contextmanager
    def ready(*_: object) -> Iterator[None]:
        told.append("stopped")
        try:
            yield
        finally:
            told.append("put back")

    def run(campaign: Campaign, store: Store, *_: object) -> int:
        told.append("-".join(sorted(cell.role for cell in campaign.cells)))
        assert campaign.shard([])["frozen_after_ms"] == 3000
        for cell in campaign.cells:
            if cell.data["seed"] == 3:
                raise KeyboardInterrupt
            atomic.write(store.path(cell.id), json.dumps(fake_record(cell.id, cell.data)))
        return 0

    monkeypatch.setattr(host, "ready", ready)
    monkeypatch.setattr(host, "run", run)
    assert main(["choose", "--on", "host", "-o", "out", "--no-report", "--", "true"]) == 130
    assert told == ["stopped", "measured-measured-warm-up", *["measured-measured"] * 2, "put back"]


def test_a_comparison_is_left_to_the_kernels_watchdog(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(campaign: Campaign, *_: object) -> int:
        assert "frozen_after_ms" not in campaign.shard([])
        raise KeyboardInterrupt

    monkeypatch.setattr(host, "run", run)
    assert main(["compare", "bfs,default", "--on", "host", "-w", "pipe", "-o", "compared", "--no-report"]) == 130


def test_minutes_bound_the_whole(
    checkout: Path, play_guests: Callable, fake_record: Callable, capsys: pytest.CaptureFixture
) -> None:
    """A run that would take for ever is ended; what was finished counts."""

    def record(cell_id: str, cell: dict[str, Any]) -> dict[str, Any]:
        if cell["seed"] == 3:
            signal.pause()
        return fake_record(cell_id, cell)

    play_guests(record)
    assert main([*COMMAND, "--minutes", "0.05", "--", "true"]) == 1
    assert "not decided after 2 blocks (the time is over)" in capsys.readouterr().out
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_guest_that_breaks_leaves_what_is_known(
    checkout: Path, play_guests: Callable, fake_record: Callable, capsys: pytest.CaptureFixture
) -> None:
    def record(cell_id: str, cell: dict[str, Any]) -> dict[str, Any]:
        if cell["seed"] == 3:
            raise vm.GuestFailed("the guest panicked")
        return fake_record(cell_id, cell)

    play_guests(record)
    assert played() == 1
    streams = capsys.readouterr()
    assert streams.out.startswith("not decided after 2 blocks: bfs: elapsed time so far")
    assert "the guest panicked; it was at" in streams.err.splitlines()[-1]


def test_json_is_the_answer_alone(boots: list[int], capsys: pytest.CaptureFixture) -> None:
    assert played("--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["keep"]["now"] == "sudo schedlab load bfs"
    assert found["winner"] == "bfs"


def test_the_page_says_what_was_chosen(boots: list[int]) -> None:
    assert main([*COMMAND[:-3], "--", "true"]) == 0
    page = Path("out/report.html").read_text()
    assert "shorter elapsed time" in page
    assert main(["report", "out"]) == 0
    assert "shorter elapsed time" in Path("out/report.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--minutes", "0"], "--minutes 0: expected more than 0"),
        (["--minutes", "nan"], "--minutes nan: expected more than 0"),
        (["--blocks", "0"], "--blocks 0: expected 1 to 400"),
        (["--frames", "x.csv"], "--frames: expected a command after --, which leaves the file"),
        (["--among", "bfs"], "--among bfs: expected two schedulers or more; default alone"),
        (["--among", "default,bsf"], "unknown scheduler 'bsf'"),
        (["--among", 'default,exec:"no-such-program -x"'], "no-such-program is not installed here"),
        (["--among", 'default,exec:""'], "expected a program"),
        (["--among", 'default,exec:"x'], 'expected exec:"PROGRAM OPTION…"'),
        (["--mix", "server", "--", "true"], "--mix server and a command after --: expected one of them"),
        (["--on", "sim", "--", "true"], "--on sim runs no command: record it with 'schedlab record'"),
        (["-m", "1,2", "--", "true"], "expected one machine"),
        (["--frames", "", "--", "true"], "--frames '': expected the path of a file or folder"),
        (["--", "no-such-program"], "no-such-program: no such program"),
    ],
)
def test_bad_input_is_one_line(boots: list[int], capsys: pytest.CaptureFixture, words: list[str], said: str) -> None:
    assert main(["choose", "--on", "vm", "-o", "out", *words]) == 2
    streams = capsys.readouterr()
    assert said in streams.err
    assert len(streams.err.splitlines()) == 1
    assert streams.out == ""
    assert not boots


def test_a_worth_that_is_none_is_refused(lab: Callable) -> None:
    for text in ("0", "100", "x", "nan"):
        done = lab("choose", "--worth", text)
        assert done.returncode == 2
        assert f"expected per cent, above 0 and below 100, got '{text}'" in done.stderr


def test_a_kernel_without_sched_ext_is_status_3(lab: Callable) -> None:
    if Path("/sys/kernel/sched_ext").exists():
        pytest.skip("this kernel has sched_ext")
    done = lab("choose", "-o", "out", "--", "true")
    assert done.returncode == 3
    assert "this kernel has no sched_ext" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help_names_the_mixes_that_there_are() -> None:
    assert [*toml.read(mixes.FILE)] == [*choose_options.MIXES]
    assert choose_options.MIXES[0] == mixes.DEFAULT


@pytest.mark.parametrize("name", choose_options.MIXES)
def test_the_mixes_are_of_workloads_that_are_there(name: str) -> None:
    """With parameters and metrics that they have."""
    from schedlab.campaign.request import request

    mix = mixes.find(name)
    asked = request(
        "bfs",
        workload_names=",".join(run.workload for run in mix.runs),
        param=[f"{run.workload}.{key}={value}" for run in mix.runs for key, value in run.params.items()],
    )
    for run, workload in zip(mix.runs, asked.workloads, strict=True):
        for text in run.measures.values():
            assert gains.part((run.workload, 1), text).metric in workload.promises


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[x]\nabout = 'a'\nrun = []\nmore = 1", "unknown key 'more'"),
        ("[x]\nrun = []", "key 'about': expected str"),
        ("x = 1", "[x]: expected a table"),
        ("[x]\nabout = 'a'\n[[x.run]]\nworkload = 'latt'", "run 1: key 'load'"),
    ],
)
def test_a_broken_mix_names_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mixes.toml"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        mixes.find("x", file)
    assert str(file) in str(error.value)
    assert said in str(error.value)


def test_how_a_winner_is_kept(checkout: Path, tmp_path: Path) -> None:
    program = tmp_path / "scx_mine"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    bfs, mine, own = parse(f"bfs:rr_interval_us=3000+rules=424,{program}:options=-m x,default", "vm")
    assert keep.now(bfs) == "sudo schedlab load bfs -- --rr-interval-us=3000 --rules=424"
    assert keep.now(mine) == f"sudo {program} -m x"
    assert keep.now(own) == "sudo schedlab unload"
    unit = keep.at_boot(bfs)
    assert "ExecStart=" in unit
    assert "scx_bfs --rr-interval-us=3000 --rules=424" in unit
    assert "scx_loader/config.toml" not in unit
    assert 'default_sched = "scx_mine"' in keep.at_boot(mine)
    assert 'auto_mode = ["-m", "x"]' in keep.at_boot(mine)
    assert keep.at_boot(own) == ""


def test_a_command_is_written_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tomllib

    monkeypatch.delenv("SUDO_USER", raising=False)
    words = ["sh", "-c", "echo \"a\\b\" \x7f 'ü' $x", "--", ""]
    data = tomllib.loads(own_command.text(words, "host", "logs/it's.csv"))
    assert shlex.split(data["command"]["run"]) == ["exec", *words]
    assert data["command"]["frames"] == "logs/it's.csv"
    assert data["metrics"]["promises"] == ["frame_time_us", "elapsed_s"]
    with pytest.raises(InputError, match="UTF-8"):
        own_command.text(["sh", "\udcff"], "host")


def test_under_sudo_a_command_runs_as_who_called(monkeypatch: pytest.MonkeyPatch) -> None:
    import tomllib

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_USER", "nobody")
    run = tomllib.loads(own_command.text(["true"], "host"))["command"]["run"]
    assert "setpriv --reuid=65534" in run
    assert run.endswith("--init-groups -- true")
    assert "setpriv" not in own_command.text(["true"], "vm")
