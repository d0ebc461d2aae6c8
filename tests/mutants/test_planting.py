# SPDX-License-Identifier: GPL-2.0-or-later
"""How mistakes are planted, and what counts as none."""

import subprocess
from pathlib import Path

import pytest

from tests.mutants import btf, results
from tests.mutants.mutant import Mutant
from tests.mutants.tree import ROOT, planted
from tests.policies.programs import clang

SOURCE = "int twice(int x)\n{{\n\t{}return x {};\n}}\n"


def test_a_line_is_planted_and_taken_back(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("if a:\n    b += 1\nb += 1\n", "utf-8")
    second = Mutant("a.py", "b += 1", "pass", nth=1)
    assert second.line(tmp_path) == 3
    with planted(tmp_path, Mutant("a.py", "b += 1", "pass")):
        assert file.read_text("utf-8") == "if a:\n    pass\nb += 1\n"
    assert file.read_text("utf-8") == "if a:\n    b += 1\nb += 1\n"


def test_a_line_that_is_gone_is_not_planted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("b += 1\n", "utf-8")
    with (
        pytest.raises(ValueError, match=r"a\.py has no such line: c \+= 1"),
        planted(tmp_path, Mutant("a.py", "c += 1", "pass")),
    ):
        pass


def essence(folder: Path, text: str) -> str:
    source, out = folder / "a.c", folder / "a.o"
    source.write_text(text, "utf-8")
    subprocess.run([clang(), "-g", "-O2", "-target", "bpf", "-c", source, "-o", out], check=True)
    return btf.essence(out.read_bytes())


def test_objects_differ_by_what_they_do(tmp_path: Path) -> None:
    """Not by where their source stood, nor by how it said so."""
    plain = essence(tmp_path, SOURCE.format("", "* 2"))
    assert essence(tmp_path, "\n\n" + SOURCE.format(" /* twice */ ", "+ x")) == plain
    assert essence(tmp_path, SOURCE.format("", "* 3")) != plain


def test_objects_differ_by_the_types_of_maps(tmp_path: Path) -> None:
    """Their sizes are types of BTF, and no code."""
    text = 'struct {{ int (*max_entries)[{}]; }} map __attribute__((section(".maps")));\n'
    assert essence(tmp_path, text.format(3)) != essence(tmp_path, text.format(4))
    assert essence(tmp_path, text.format(3)) == essence(tmp_path, "\n" + text.format(3))


def test_every_equivalent_is_of_a_line_that_is_there() -> None:
    reasons = results.equivalents()
    assert not results.stale(ROOT, reasons)
    assert all(reasons.values())
