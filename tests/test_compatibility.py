# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab compatibility with the real simulator behind it, and the page that is made of its results."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from schedlab.report import compatibility_tables, markdown

ROOT = Path(__file__).resolve().parents[1]
BARE = ROOT / "tests/objects/scx_bare.bpf.c"

pytestmark = pytest.mark.skipif(
    not (ROOT / "target/release/schedlab-sim").exists(), reason="no simulator in target/release: make build"
)


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "schedlab", "compatibility", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT / "lab", capture_output=True, text=True)


def test_a_scheduler_that_the_model_refuses_is_a_row_that_says_why(tmp_path: Path) -> None:
    wants = BARE.read_text("utf-8").replace("scx_bpf_dsq_insert", "scx_bpf_not_there").replace("bare_", "wants_")
    (tmp_path / "wants").mkdir()
    refused = tmp_path / "wants" / "scx_wants.bpf.c"
    refused.write_text(wants, encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("<!-- tried: begin -->\n<!-- tried: end -->\n", encoding="utf-8")
    out = tmp_path / "out"
    arguments = (refused, BARE, "--kernel", "none", "-w", "pipe", "-o", out, "--page", page)
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    data = json.loads((out / "compatibility.json").read_text("utf-8"))
    assert data["kernel"] is None
    assert [(one["label"], one["missing"]) for one in data["schedulers"]] == [
        ("wants", ["kfunc scx_bpf_not_there"]),
        ("bare", []),
        ("default", []),
    ]
    assert [one["simulator"].get("pipe", {}).get("status") for one in data["schedulers"]] == [None, "ok", "ok"]
    text = page.read_text("utf-8")
    assert markdown.put(text, compatibility_tables.MARK, compatibility_tables.text(data)) == text
    assert done.stdout.startswith(compatibility_tables.text(data))
    assert str(tmp_path) not in text
    # The second time nothing runs.
    records = {path: path.stat().st_mtime_ns for path in (out / "sim" / "cells").iterdir()}
    assert run(*arguments).stdout == done.stdout
    assert {path: path.stat().st_mtime_ns for path in (out / "sim" / "cells").iterdir()} == records


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["./none.bpf.o"], ["none.bpf.o"]),
        ([BARE, "--kernel", "none", "--page", "missing.md"], ["--page missing.md", "No such file"]),
        ([BARE, "--kernel", "none", "--page", ROOT / "README.md"], ["README.md", "tried: begin"]),
        ([BARE, BARE], ["given twice"]),
    ],
)
def test_bad_input_is_one_line(arguments: list, words: list[str], tmp_path: Path) -> None:
    done = run(*arguments, "-o", tmp_path / "out")
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert not (tmp_path / "out").exists()


def test_the_page_says_what_the_committed_results_say() -> None:
    data = json.loads((ROOT / "results/compatibility/compatibility.json").read_text("utf-8"))
    page = (ROOT / "docs/compatibility.md").read_text("utf-8")
    assert markdown.put(page, compatibility_tables.MARK, compatibility_tables.text(data)) == page
