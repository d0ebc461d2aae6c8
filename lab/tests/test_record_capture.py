# SPDX-License-Identifier: GPL-2.0-or-later
"""Ctrl-C while recording on this machine: the script that traces is asked to clean up, and waited for."""

import signal
from pathlib import Path

import pytest

from schedlab.capture import tracing


def test_an_interrupt_lets_the_script_clean_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, gone = tmp_path / "tracing.sh", tmp_path / "gone"
    script.write_text(f"trap 'sleep 0.3; echo >{gone}; exit 130' TERM\necho began\nsleep 60 &\nwait\n")
    monkeypatch.setattr(tracing, "SCRIPT", script)
    monkeypatch.setattr(tracing, "can_trace", lambda: True)
    # Not before the first line: an interrupt while Popen() still forks finds nobody to ask.
    with pytest.raises(KeyboardInterrupt):
        tracing._on_host(["true"], lambda _line: signal.raise_signal(signal.SIGINT))
    assert gone.exists()


def test_what_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "tracing.sh"
    script.write_text('echo "# $1 $2"\nshift 2\n"$@" >&2\n')
    monkeypatch.setattr(tracing, "SCRIPT", script)
    monkeypatch.setattr(tracing, "can_trace", lambda: True)
    lines, status = tracing.capture(["sh", "-c", "echo out; exit 3"], None, 64)
    assert status == 3
    assert lines[0].startswith("# schedlab: date=2")
    assert lines[1:] == ["# schedlab: command=sh -c 'echo out; exit 3'", "# 64 tree"]
    assert tracing.capture(["true"], None, 64, others=True)[0][-1] == "# 64 all"
