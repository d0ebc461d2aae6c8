# SPDX-License-Identifier: GPL-2.0-or-later
"""What is run again to know which tests cover a file."""

from pathlib import Path

import pytest

from tests.mutants import cover

FOLDER = "tests/policies"
TEXTS = {
    "test_a.py": "def test_one(): pass\n",
    "test_c.py": "from tests.policies import programs\nprograms.names('c')\n",
    "helper.py": "HZ = 1000\n",
    "c/program.c": "int main(void) { return 0; }\n",
}


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        ("test_a.py", ["test_a.py"]),
        ("helper.py", ["test_a.py", "test_c.py"]),
        ("c/program.c", ["test_c.py"]),
        ("", []),
    ],
)
def test_only_what_changed_runs_again(
    changes: str, again: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def run(root: Path, files: list[str]) -> dict[str, dict]:
        ran.extend(files)
        return {f"{file}::test_one": {"seconds": 1.0, "policies": ["bfs"], "files": []} for file in files}

    monkeypatch.setattr(cover, "_run", run)
    for name, text in TEXTS.items():
        (tmp_path / FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / FOLDER / name).write_text(text, "utf-8")
    first = cover.tests(tmp_path, tmp_path / "cover-policies.json", [FOLDER])
    assert [test.name for test in first] == [f"{FOLDER}/{name}::test_one" for name in ("test_a.py", "test_c.py")]
    assert cover.seconds(tmp_path) == {test.name: 1.0 for test in first}
    ran.clear()
    if changes:
        (tmp_path / FOLDER / changes).write_text(TEXTS[changes] + "\n", "utf-8")
    assert cover.tests(tmp_path, tmp_path / "cover-policies.json", [FOLDER]) == first
    assert ran == [f"{FOLDER}/{name}" for name in again]
