# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual page without complaints, and what three shells propose, as somebody types."""

import os
import pty
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def completions(scx_bfs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("completions")
    made = {"bash": folder / "scx_bfs", "zsh": folder / "_scx_bfs", "fish": folder / "scx_bfs.fish"}
    for shell, path in made.items():
        path.write_bytes(subprocess.run([scx_bfs, "--completions", shell], capture_output=True, check=True).stdout)
    return made


def test_the_manual_page_reads_well(scx_bfs: Path, tmp_path: Path, needs: Callable[..., None]):
    needs("man")
    page = tmp_path / "scx_bfs.8"
    page.write_bytes(subprocess.run([scx_bfs, "--man"], capture_output=True, check=True).stdout)
    command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "MANWIDTH": "80"})
    assert done.stderr == ""
    shown = subprocess.run(
        ["man", "-l", page], capture_output=True, text=True, check=True, env={**os.environ, "MANWIDTH": "100"}
    )
    for part in ("--rr-interval-us", "STATISTICS", "kicks", "EXIT STATUS", "/etc/default/scx", "scx_bfs.service"):
        assert part in shown.stdout, part


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        (["--stat"], {"--stats"}),
        (["--iso-policy", ""], {"none", "batch"}),
        (["--rules", "4"], {"424"}),
    ],
)
def test_bash_proposes(completions: dict[str, Path], words: list[str], proposed: set[str]):
    script = """
    source "$1"; shift
    COMP_WORDS=(scx_bfs "$@"); COMP_CWORD=$#
    _scx_bfs scx_bfs "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    command = ["bash", "--norc", "-c", script, "bash", completions["bash"], *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stderr, set(done.stdout.split())) == ("", proposed)


@pytest.mark.parametrize(
    ("line", "proposed"),
    [
        ("scx_bfs --stat", {"--stats"}),
        ("scx_bfs --iso-policy ", {"none", "batch"}),
        ("scx_bfs --rules 4", {"424"}),
    ],
)
def test_fish_proposes(
    completions: dict[str, Path], needs: Callable[..., None], tmp_path: Path, line: str, proposed: set[str]
):
    needs("fish")
    script = f"source {completions['fish']}; complete -C'{line}'"
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(["fish", "-N", "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} == proposed


@pytest.mark.parametrize(
    ("typed", "becomes"), [("scx_bfs --iso-pol", "--iso-policy"), ("scx_bfs --rules mod", "--rules modern")]
)
def test_zsh_completes_what_is_typed(
    completions: dict[str, Path], needs: Callable[..., None], tmp_path: Path, typed: str, becomes: str
):
    needs("zsh")
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(HOME=str(tmp_path), TERM="dumb", PS1="$ ")
        os.execlp("zsh", "zsh", "-f", "-i")
    try:
        ready = f"fpath=({completions['zsh'].parent} $fpath); autoload -Uz compinit; compinit -D -u; echo rea''dy\n"
        assert "ready" in _answer(terminal, ready, "ready")
        # Only what is completed is not typed here.
        assert becomes in _answer(terminal, f"{typed}\t", becomes)
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def _answer(terminal: int, typed: str, wanted: str, patience_s: float = 60.0) -> str:
    os.write(terminal, typed.encode())
    shown = ""
    until = time.monotonic() + patience_s
    while wanted not in shown and time.monotonic() < until:
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 4096).decode(errors="replace")
    return shown
