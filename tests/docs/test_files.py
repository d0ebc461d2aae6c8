# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that pages show are taken by the program: a reader may copy them."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from schedlab import simulator
from schedlab.campaign import fleet_file
from schedlab.catalogue import described
from tests.docs import blocks
from tests.docs.blocks import ROOT, Block

FILES = [block for block in blocks.all_blocks() if block.language in ("toml", "json", "yaml")]


def shown(page: str, language: str, begin: str) -> str:
    """The text of the page's one block that has this line."""
    texts = ["\n".join(block.lines) for block in FILES if (block.page, block.language) == (page, language)]
    (text,) = (text for text in texts if re.search(f"^{re.escape(begin)}", text, re.MULTILINE))
    return text + "\n"


@pytest.mark.parametrize("block", FILES, ids=[block.place for block in FILES])
def test_it_can_be_read(block: Block) -> None:
    read = {"toml": tomllib.loads, "json": json.loads, "yaml": yaml.safe_load}[block.language]
    assert read("\n".join(block.lines)), block.place


def test_every_file_is_tried() -> None:
    """A new one needs a test below."""
    counts = {(block.page, block.language): 0 for block in FILES}
    for block in FILES:
        counts[block.page, block.language] += 1
    assert counts == {
        ("docs/ci.md", "yaml"): 2,
        ("docs/compatibility.md", "toml"): 1,
        ("docs/fleet.md", "toml"): 1,
        ("docs/machines.md", "toml"): 2,
        ("docs/records.md", "json"): 3,
        ("docs/workloads.md", "toml"): 3,
    }


def accepted(kind: str, file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    (entry,) = described.entries(**{kind: [file]})[kind]
    assert "error" not in entry, entry["error"]
    assert entry["name"] == file.stem


def test_a_machine(tmp_path: Path) -> None:
    accepted("machines", tmp_path / "my-server.toml", shown("docs/machines.md", "toml", "name = "))


def test_a_machine_with_every_key_that_stands_in_comments(tmp_path: Path) -> None:
    text = shown("docs/machines.md", "toml", "name = ")
    every = re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE).replace("[1024, 512]", str([1024] * 16))
    assert every.count(" = ") > text.count("\n[") + 10
    accepted("machines", tmp_path / "my-server.toml", every)


def test_a_machine_whose_clocks_change(tmp_path: Path) -> None:
    text = shown("docs/machines.md", "toml", "name = ") + shown("docs/machines.md", "toml", r"[frequency]")
    accepted("machines", tmp_path / "my-server.toml", text)


def test_a_workload_and_its_control_groups(tmp_path: Path) -> None:
    text = shown("docs/workloads.md", "toml", 'name = "ask"')
    accepted("workloads", tmp_path / "ask.toml", text)
    accepted("workloads", tmp_path / "ask.toml", text + shown("docs/workloads.md", "toml", "[[cgroup]]"))


def test_an_application(tmp_path: Path) -> None:
    """With the tasks, the parameters and the files that it names."""
    text = shown("docs/workloads.md", "toml", 'name = "ask"').replace('"client"', '"player"')
    text = text.replace("[params]", '[params]\nframes = { default = 1, min = 1, max = 9, about = "frames" }')
    text = text.replace('"answers"', '"frames_shown"')
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/quality.preset").write_text("fast\n")
    accepted("workloads", tmp_path / "ask.toml", text + shown("docs/workloads.md", "toml", "[command]"))


def test_a_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/fleet").touch(0o600)
    file = tmp_path / "hosts.toml"
    file.write_text(shown("docs/fleet.md", "toml", "[hosts.left]"), encoding="utf-8")
    assert [host.name for host in fleet_file.read(file).hosts] == ["left", "right"]


def test_values_of_constants(tmp_path: Path) -> None:
    """In the policy of docs/policies.md, under the name that the values go by."""
    page = "docs/policies.md"
    found = blocks.blocks(page, (ROOT / page).read_text(encoding="utf-8"))
    policy = next("\n".join(block.lines) for block in found if block.language == "c")
    policy = re.sub(r"\bvtime(?=_\w+\b)|(?<=\")vtime(?=\")", "mine", policy)
    policy = policy.replace("#include <scx.h>", "#include <scx.h>\nconst volatile u64 slice_ns = 1;", 1)
    (tmp_path / "scx_mine.bpf.c").write_text(policy.replace("SCX_SLICE_DFL, p", "slice_ns, p"), encoding="utf-8")
    (tmp_path / "values.toml").write_text(shown("docs/compatibility.md", "toml", "slice_ns"), encoding="utf-8")
    words = ["check", "scx_mine.bpf.c", "--rodata", "values.toml", "--kernel", "none", "--runs", "2"]
    done = subprocess.run([ROOT / "schedlab", *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def keys(value: dict[str, Any], above: str = "") -> set[str]:
    """Of tables in each other; what is named by a workload, a metric or a digest counts as one."""
    found = set()
    for key, each in value.items():
        found.add(above + key)
        if isinstance(each, dict) and key not in ("metrics", "params", "tunables"):
            found |= keys(each, f"{above}{key}.")
    return found


def test_a_record() -> None:
    words = simulator.command("bfs", "latt", "desktop-4", load=2, params={"duration_s": 1})
    made = simulator.record(words)
    page = json.loads(shown("docs/records.md", "json", '  "format"'))
    cell = json.loads(shown("docs/records.md", "json", '  "scheduler"'))
    assert set(page) == set(made)
    assert keys(cell) == keys(made["cell"])
    assert keys(page["provenance"]) <= keys(made["provenance"])
    assert keys(page["cost"]) <= keys(made["cost"])
    (name,) = page["histograms"]
    assert set(page["histograms"][name]) == set(made["histograms"][name])


def test_a_shard_has_cells_and_their_files() -> None:
    shard = json.loads(shown("docs/records.md", "json", '  "files"'))
    assert set(shard) == {"files", "cells"}


def test_steps_of_github_know_the_action_s_inputs() -> None:
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    for block in FILES:
        if block.language == "yaml":
            job = yaml.safe_load("\n".join(block.lines))
            steps = job["steps"] if isinstance(job, dict) else job
            for step in (step for step in steps if "with" in step):
                assert set(step["with"]) <= set(inputs), block.place
