# SPDX-License-Identifier: GPL-2.0-or-later
"""load, status, unload and putting back the previous scheduler, against a made-up /sys/kernel/sched_ext."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedlab.cli import main
from schedlab.errors import LabError, PlaceError
from schedlab.sched_ext import attached, sysfs

# A scheduler's program: enables itself in the made-up sysfs and leaves it at SIGINT.
_PROGRAM = """\
#!/bin/sh
cd {sysfs}
case "$1" in
--bad) echo "cannot load bfs: the verifier refused it" >&2; exit 1 ;;
esac
leave() { echo disabled >state; rm -rf root; exit 0; }
trap leave INT
mkdir -p root
echo "bfs_0.1 $*" >root/ops
echo $(($(cat enable_seq) + 1)) >enable_seq
echo enabled >state
while :; do sleep 0.05; done
"""


@pytest.fixture
def sysfs_folder(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    root = tmp_path / "sched_ext"
    root.mkdir()
    for name, text in {"state": "disabled", "enable_seq": "4", "nr_rejected": "0", "switch_all": "0"}.items():
        (root / name).write_text(f"{text}\n")
    for name in ("scx_bfs", "scx_cfs"):
        program = checkout / "bin" / name
        program.write_text(_PROGRAM.replace("{sysfs}", str(root)))
        program.chmod(0o755)
    monkeypatch.setattr(sysfs, "ROOT", root)
    monkeypatch.setattr(attached, "FOLDER", tmp_path / "run")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    yield root
    running = attached.find()
    if running:
        attached.stop(running)


def test_load_status_unload(sysfs_folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["load", "bfs", "--", "--slice", "5"]) == 0
    assert "bfs schedules this machine" in capsys.readouterr().out
    assert (sysfs_folder / "root/ops").read_text() == "bfs_0.1 --slice 5\n"
    assert main(["status"]) == 0
    assert capsys.readouterr().out.startswith("bfs_0.1 --slice 5 is enabled (loaded by schedlab, process ")
    assert main(["status", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["state"], said["loaded"], said["enable_seq"]) == ("enabled", "bfs", 5)
    assert main(["unload"]) == 0
    assert capsys.readouterr().out == "bfs is gone; the kernel's own scheduler runs\n"
    assert (sysfs_folder / "state").read_text() == "disabled\n"
    assert main(["unload"]) == 0
    assert capsys.readouterr().out == "nothing to unload: the kernel's own scheduler runs\n"


def test_loading_another_takes_the_place_of_the_first(sysfs_folder: Path) -> None:
    main(["load", "bfs"])
    first = attached.find()
    assert main(["load", "cfs"]) == 0
    second = attached.find()
    assert first
    assert second
    assert second.name == "cfs"
    assert second.pid != first.pid
    assert (sysfs_folder / "enable_seq").read_text() == "6\n"


def test_a_scheduler_that_does_not_stay_says_why(sysfs_folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["load", "bfs", "--", "--bad"]) == 1
    assert "cannot load bfs: the verifier refused it" in capsys.readouterr().err
    assert attached.find() is None


def test_somebody_else_s_scheduler_is_left_alone(sysfs_folder: Path, capsys: pytest.CaptureFixture) -> None:
    (sysfs_folder / "state").write_text("enabled\n")
    (sysfs_folder / "root").mkdir()
    (sysfs_folder / "root/ops").write_text("lavd_1.1\n")
    assert main(["load", "bfs"]) == 3
    assert "lavd_1.1 is running, and schedlab did not start it" in capsys.readouterr().err
    assert main(["unload"]) == 1
    assert "lavd_1.1 was not loaded by schedlab" in capsys.readouterr().err
    assert (sysfs_folder / "state").read_text() == "enabled\n"
    with (
        pytest.raises(PlaceError, match=r"lavd_1\.1 is running and was not started by schedlab"),
        attached.put_back(print),
    ):
        pytest.fail("measured under somebody else's scheduler")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["load", "bsf"], 2, "unknown scheduler 'bsf'; did you mean bfs? known: bfs, cfs, default"),
        (["load", "default"], 2, "the kernel's own scheduler runs where none is loaded: use 'schedlab unload'"),
    ],
)
def test_load_refuses(
    sysfs_folder: Path, capsys: pytest.CaptureFixture, arguments: list[str], status: int, message: str
) -> None:
    assert main(arguments) == status
    assert capsys.readouterr().err == f"schedlab: {message}\n"


def test_load_needs_root_and_sched_ext(
    sysfs_folder: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["load", "bfs"]) == 3
    assert capsys.readouterr().err == "schedlab: loading a scheduler needs root: run it with sudo\n"
    monkeypatch.setattr(sysfs, "ROOT", sysfs_folder / "nowhere")
    assert main(["status"]) == 3
    assert "this kernel has no sched_ext" in capsys.readouterr().err


def test_the_previous_scheduler_is_put_back_after_an_error_too(sysfs_folder: Path) -> None:
    main(["load", "bfs", "--", "--slice", "7"])
    said: list[str] = []

    def measure() -> None:
        with attached.put_back(said.append):
            assert not sysfs.read().enabled
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure()
    assert sysfs.read().ops == "bfs_0.1 --slice 7"
    assert said == ["stopping bfs; it is put back at the end", "bfs runs again"]


def test_a_process_that_took_over_the_number_is_not_ours(sysfs_folder: Path, tmp_path: Path) -> None:
    main(["load", "bfs"])
    note = tmp_path / "run" / "loaded.json"
    mine = json.loads(note.read_text())
    note.write_text(json.dumps(mine | {"started": "1"}))
    assert attached.find() is None
    note.write_text(json.dumps(mine))
    assert attached.find() is not None


def test_a_scheduler_that_is_never_enabled_is_ended(
    sysfs_folder: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attached, "_PATIENCE_S", 0.3)
    (checkout / "bin" / "scx_bfs").write_text("#!/bin/sh\nexec sleep 100\n")
    with pytest.raises(LabError, match="bfs was not enabled within 0 s"):
        attached.start("bfs", [str(checkout / "bin" / "scx_bfs")])
    assert attached.find() is None
