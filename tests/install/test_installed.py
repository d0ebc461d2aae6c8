# SPDX-License-Identifier: GPL-2.0-or-later
"""The installed schedlab: it finds its data and programs, writes where the person is, and leaves nothing behind."""

import json
import re
import shutil
from pathlib import Path

from schedlab import version
from schedlab.campaign.cells import engine_digest, file_digest
from tests.install.environment import ROOT, Installed, pip

SCHEDULERS = sorted(file.parent.name for file in ROOT.glob("schedulers/*/scx_*.bpf.c"))
PROGRAMS = ["schedlab", "schedlab-host", "schedlab-sim", *(f"scx_{name}" for name in SCHEDULERS)]
SMALL = ["-w", "latt", "--load", "4", "-p", "duration_s=1", "-m", "desktop-4", "-n", "2"]


def test_the_first_minute(installed: Installed, tmp_path: Path) -> None:
    done = installed.run("schedlab", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nready: simulator" in done.stdout
    assert len(re.findall(r"^  (?:sudo )?schedlab [a-z]+ ", done.stdout, re.MULTILINE)) == 3
    assert "./schedlab" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_every_program_tells_one_number_and_the_commit(installed: Installed, tmp_path: Path) -> None:
    def tells(program: str) -> str:
        return installed.run(program, "--version", cwd=tmp_path).stdout

    assert tells("schedlab") == f"schedlab {version.told()}\n"
    assert tells("schedlab-sim") == f"schedlab-sim {version.told()}\n"
    assert tells("schedlab-host").startswith(f"schedlab-host {version.told()} ")
    assert version.commit().removesuffix("-dirty") in (ROOT / "target/share/schedlab/commit").read_text()
    # The kernel is told which sources a scheduler was built from.
    assert re.fullmatch(rf"scx_bfs {re.escape(version.number())}-[0-9a-f]{{9}} \S+\n", tells("scx_bfs"))


def test_an_installed_loader_makes_the_cells_of_the_checkouts(installed: Installed) -> None:
    built = ROOT / "target" / "release" / "schedlab-host"
    digest = engine_digest(built)
    assert digest != file_digest(built), "the note is not of this program: make build"
    assert engine_digest(installed.programs / "schedlab-host") == digest


def test_the_programs_are_beside_the_command(installed: Installed) -> None:
    before = {path.name for path in installed.before if path.parent == installed.programs}
    assert sorted({path.name for path in installed.programs.iterdir()} - before) == sorted(PROGRAMS)


def test_its_schedulers_workloads_machines_and_studies_are_found(installed: Installed, tmp_path: Path) -> None:
    for what, folder, kind in (
        ("schedulers", "schedulers/*/scx_*.bpf.c", "folder"),
        ("workloads", "workloads/*.toml", "file"),
        ("machines", "machines/*.toml", "file"),
        ("studies", "studies/*.toml", "file"),
    ):
        done = installed.run("schedlab", "list", what, "--json", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        names = {entry["name"] for entry in json.loads(done.stdout)}
        wanted = {path.parent.name if kind == "folder" else path.stem for path in ROOT.glob(folder)}
        assert wanted, folder
        assert wanted <= names


def test_results_are_where_the_person_is(installed: Installed, tmp_path: Path) -> None:
    before = installed.files()
    done = installed.run("schedlab", "compare", "bfs,cfs", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (results,) = (tmp_path / "results").iterdir()
    assert len(list(results.glob("cells/*.json"))) == 4
    assert json.loads((results / "manifest.json").read_text())["schedlab"] == version.told()
    assert f"made by schedlab {version.told()}</small>" in (results / "report.html").read_text()
    # The measured error of the model came along.
    assert re.search(r"model", done.stdout)
    for file in results.rglob("*"):
        assert not file.is_file() or bytes(ROOT) not in file.read_bytes(), file
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    assert list((installed.home / "cache" / "schedlab").iterdir())
    assert installed.files() == before


def test_files_of_one_s_own_are_no_part_of_it(installed: Installed, tmp_path: Path) -> None:
    program = (
        "from schedlab import checkout; print(checkout.root(), checkout.writable(), checkout.command(), sep='\\n')"
    )
    done = installed.run("python", "-c", program, cwd=tmp_path)
    assert done.stdout.splitlines() == [str(installed.environment / "share/schedlab"), str(tmp_path), "schedlab"]


def test_the_simulator_alone_finds_names(installed: Installed, tmp_path: Path) -> None:
    words = ["--scheduler", "vtime", "--workload", "pipe", "--machine", "desktop-4", "--param", "trips=10", "--json"]
    done = installed.run("schedlab-sim", "cell", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "ok"


def test_a_scheduler_s_program_goes_by_its_name(installed: Installed, tmp_path: Path) -> None:
    done = installed.run("scx_bfs", "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--rr-interval-us" in done.stdout


def test_the_doctor_is_about_what_is_run(installed: Installed, tmp_path: Path) -> None:
    done = installed.run("schedlab", "doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[0].startswith("ready: simulator")
    assert "make" not in done.stdout
    assert not re.search(r"^  \w+ +rust ", done.stdout, re.MULTILINE)
    assert re.search(r"^  ok +python +\S+ with \d+ packages$", done.stdout, re.MULTILINE)


def test_without_clang_one_line_says_so(installed: Installed, tmp_path: Path) -> None:
    few = tmp_path / "bin"
    few.mkdir()
    for name in ("sh", "mount", "unshare"):
        (few / name).symlink_to(str(shutil.which(name)))
    none = {"PATH": str(few), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = installed.run("schedlab", "compare", "bfs,cfs", *SMALL, cwd=tmp_path, **none)
    wanted = "schedlab: schedlab-sim: no clang 17 or newer found; `schedlab doctor` names the package\n"
    assert (done.returncode, done.stderr) == (2, wanted)


def test_what_lacks_a_program_says_to_install_again(installed: Installed, tmp_path: Path) -> None:
    program = installed.programs / "schedlab-sim"
    away = program.rename(tmp_path / "away")
    try:
        done = installed.run("schedlab", "list", "workloads", cwd=tmp_path)
    finally:
        away.rename(program)
    assert (done.returncode, done.stderr) == (3, "schedlab: schedlab-sim is not there: install schedlab again\n")


def test_nothing_of_the_tree_s_own_place_is_in_it(installed: Installed) -> None:
    """The programs' tables of source lines, for debuggers, are all that may name it."""
    for file in installed.files() - installed.before:
        if file.is_file() and file.name not in ("schedlab-sim", "schedlab-host"):
            assert bytes(ROOT) not in file.read_bytes(), file


def test_uninstalling_leaves_nothing(installed: Installed) -> None:
    """The last of these tests."""
    pip(installed, "uninstall", "--yes", "schedlab")
    try:
        # Not even pip's, who makes this one and lets it be.
        shared = installed.environment / "share"
        assert installed.files() - {shared} == installed.before
        assert not shared.is_dir() or not list(shared.iterdir())
    finally:
        pip(installed, "install", "--no-index", "--no-deps", str(installed.wheel))
