# SPDX-License-Identifier: GPL-2.0-or-later
"""What scx_loader is given, against the form of its configuration as its project describes it (configuration.md)."""

import subprocess
import tomllib
from pathlib import Path

from tests.packaging.conftest import ROOT

SNIPPET = ROOT / "packaging/scx_loader.toml"
# Of a scheduler: options for each mode in which scx_loader may be asked to start it, in the order of its D-Bus numbers.
MODES = ["auto_mode", "gaming_mode", "powersave_mode", "lowlatency_mode", "server_mode"]


def test_the_snippet_names_the_scheduler_and_every_mode():
    config = tomllib.loads(SNIPPET.read_text("utf-8"))
    # No default_sched: scx_loader takes no name there that it was not built with, and would not start at all.
    assert list(config) == ["scheds"]
    assert list(config["scheds"]) == ["scx_bfs"]
    assert sorted(config["scheds"]["scx_bfs"]) == sorted(MODES)


def test_the_scheduler_takes_the_options_of_every_mode(scx_bfs: Path):
    for mode, options in tomllib.loads(SNIPPET.read_text("utf-8"))["scheds"]["scx_bfs"].items():
        assert all(isinstance(option, str) for option in options), mode
        # The options are read before it is told to do no more than this.
        done = subprocess.run([scx_bfs, *options, "--help-stats"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), mode
