# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab snapshot, with a guest that is played by a function."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedlab import vm
from schedlab.catalogue import schedulers
from schedlab.cli.program import main
from schedlab.errors import BAD_INPUT, CHECK_FAILED
from schedlab.places import set_up

TAKEN = {
    "format": 1,
    "program": {"name": "scx_mine", "options": ["-m", "powersave"], "version": "scx_mine 1.2", "digest": "beef"},
    "kernel": "7.2.12-test",
    "cpus": 3,
    "absent": ["it ran enable 2 times in the 2 s after the scheduler was attached"],
    "set_up": {
        "data": {".rodata": "00"},
        "members": {},
        "cleared": [],
        "left_out": [],
        "maps": {"elements": {"max_entries": 1, "entries": [{"key": "00000000", "values": ["01"]}]}},
        "runs": [],
    },
    "object": "7f",
}


@pytest.fixture
def program(checkout: Path) -> Path:
    made = checkout / "scx_mine"
    made.write_bytes(b"\x7fELF")
    made.chmod(0o755)
    return made


def play(monkeypatch: pytest.MonkeyPatch, exit_code: int, lines: list[str], messages: list[str]) -> list[Any]:
    asked: list[Any] = []

    def run(command: list[str], files: dict[str, Path], **options: Any) -> SimpleNamespace:
        asked.append((command, files, options))
        for line in lines:
            options["on_line"](line)
        for line in messages:
            options["on_error_line"](line)
        return SimpleNamespace(exit_code=exit_code)

    monkeypatch.setattr(vm, "run", run)
    return asked


def test_the_guest_s_snapshot_is_a_file_and_a_scheduler(
    monkeypatch: pytest.MonkeyPatch, program: Path, capsys: pytest.CaptureFixture[str], checkout: Path
) -> None:
    asked = play(monkeypatch, 0, ["booted", json.dumps(TAKEN, separators=(",", ":"))], [])
    output = checkout / "mine.bpf.json"
    words = ["snapshot", "--cpus", "3", "-o", str(output), "--", str(program), "-m", "powersave"]
    assert main(words) == 0
    ((command, files, options),) = asked
    assert command == ["/lab/schedlab-host", "snapshot", "--", "/lab/programs/scx_mine", "-m", "powersave"]
    assert files["/lab/programs/scx_mine"] == program
    assert options["cpus"] == 3
    assert json.loads(output.read_text()) == TAKEN
    printed = capsys.readouterr()
    told = "scx_mine 1.2, for 3 CPUs, on Linux 7.2.12-test: 1 sections of data, 1 entries of 1 maps, 0 runs of programs"
    assert printed.out.splitlines()[0] == f"{output}: {told}"
    assert printed.err == f"schedlab: absent: {TAKEN['absent'][0]}\n"
    found = schedulers.find(str(output))
    assert (found.name, found.path, found.is_program) == ("mine", output, False)


def test_a_snapshot_is_kept_for_its_program_and_its_machine(
    monkeypatch: pytest.MonkeyPatch, program: Path, tmp_path: Path
) -> None:
    asked = play(monkeypatch, 0, [json.dumps(TAKEN, separators=(",", ":"))], [])
    guest = set_up.Guest("exact", 3, 1024, None)
    file = tmp_path / "snapshots" / "mine.bpf.json"
    for digest, cpus, taken in [("beef", 3, 1), ("beef", 3, 1), ("beef", 2, 2), ("cafe", 3, 3)]:
        assert set_up.kept(file, program, [], digest, replace(guest, cpus=cpus)) == TAKEN
        assert len(asked) == taken
    assert json.loads(file.read_text()) == TAKEN


def test_values_make_a_scheduler_without_running_anything(
    monkeypatch: pytest.MonkeyPatch, program: Path, capsys: pytest.CaptureFixture[str], checkout: Path
) -> None:
    asked = play(monkeypatch, 0, [], [])
    binary = checkout / "other" / "schedlab-sim"
    binary.parent.mkdir()
    made = json.dumps(TAKEN | {"cpus": None, "kernel": "", "absent": ["all else"]})
    good = f"[ $4 = good.toml ] && echo '{made}' && echo $* >asked && exit"
    binary.write_text(f"#!/bin/sh\n{good}\necho schedlab-sim: bad.toml:1: x >&2\nexit 2\n")
    binary.chmod(0o755)
    monkeypatch.setenv("SCHEDLAB_BIN", str(binary.parent))
    monkeypatch.chdir(checkout)
    assert main(["snapshot", "--rodata", "good.toml", "-o", "mine.bpf.json", "--", str(program)]) == 0
    assert Path("asked").read_text() == f"set-up {program} --rodata good.toml\n"
    assert json.loads(Path("mine.bpf.json").read_text())["cpus"] is None
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "simulate: schedlab compare ./mine.bpf.json,default",
        "a real kernel: schedlab compare ./mine.bpf.json,default --on vm",
    ]
    assert asked == []
    assert main(["snapshot", "--rodata", "bad.toml", "-o", "other.bpf.json", "--", str(program)]) == BAD_INPUT
    assert capsys.readouterr().err == "schedlab: bad.toml:1: x\n"
    assert main(["snapshot", "--rodata", "good.toml", "--", str(program), "-v"]) == BAD_INPUT
    assert not Path("other.bpf.json").exists()


def test_the_program_s_last_words_are_the_message(
    monkeypatch: pytest.MonkeyPatch, program: Path, capsys: pytest.CaptureFixture[str], checkout: Path
) -> None:
    said = ["noise", "schedlab-host: scx_mine ended before its scheduler was enabled: exit status: 1: no", "luck"]
    play(monkeypatch, 1, [], said)
    output = checkout / "mine.bpf.json"
    assert main(["snapshot", "-o", str(output), "--", str(program)]) == CHECK_FAILED
    error = capsys.readouterr().err
    begin = "schedlab: scx_mine ended before its scheduler was enabled: exit status: 1: no\n"
    assert error == f"{begin}schedlab: luck\n"
    assert not output.exists()
    play(monkeypatch, BAD_INPUT, [], ["schedlab-host: /lab/programs/scx_mine: it holds 0"])
    assert main(["snapshot", "-o", str(output), "--", str(program)]) == BAD_INPUT
