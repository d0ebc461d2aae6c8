# SPDX-License-Identifier: GPL-2.0-or-later
"""What continuous integration runs: the action, the script that it calls, and the container. No container is built."""

import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests import junit_form, sarif_form

ROOT = Path(__file__).resolve().parents[2]
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
CONTAINER = (ROOT / "Containerfile").read_text(encoding="utf-8")
SCRIPT = ROOT / "scripts" / "ci"
SET_UP = (ROOT / "scripts" / "setup").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


def inputs() -> dict[str, str]:
    """The action's inputs, each with the lines of its declaration."""
    block = ACTION.split("\ninputs:\n")[1].split("\nruns:\n")[0]
    parts = re.split(r"^  ([a-z-]+):\n", block, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def steps() -> list[str]:
    return re.split(r"^    - name: ", ACTION.split("\n  steps:\n")[1], flags=re.MULTILINE)[1:]


def test_every_input_is_declared_and_used() -> None:
    runs = ACTION.split("\nruns:\n")[1]
    named = re.findall(r"\binputs\.([a-z-]+)", runs)
    assert set(named) == set(inputs())
    # Outside of a condition it stands in an expression.
    conditions = "\n".join(line for line in runs.splitlines() if line.startswith("      if: "))
    expressions = re.findall(r"\$\{\{ inputs\.[a-z-]+ \}\}", runs)
    assert len(named) == len(expressions) + len(re.findall(r"\binputs\.", conditions))


@pytest.mark.parametrize("name", inputs())
def test_an_input_is_described_and_either_required_or_has_a_default(name: str) -> None:
    keys = re.findall(r"^    ([a-z]+): ", inputs()[name], re.MULTILINE)
    assert keys in (["description", "required"], ["description", "default"])


def test_a_step_that_runs_has_a_shell_and_takes_inputs_by_its_environment_alone(tmp_path: Path) -> None:
    runs = [step for step in steps() if "\n      run: " in step]
    assert len(runs) == 2
    for step in runs:
        assert "\n      shell: bash\n" in step
        command = step.split("\n      run: ")[1].removeprefix(">-\n")
        # An expression in a command would be code of whoever names a file.
        assert "${{" not in command
        script = tmp_path / "step"
        script.write_text(" ".join(line.strip() for line in command.splitlines()), encoding="utf-8")
        subprocess.run(["bash", "-n", script], check=True)


def test_the_script_reads_what_the_action_gives_it() -> None:
    (step,) = (step for step in steps() if "scripts/ci" in step)
    given = set(re.findall(r"^        ([A-Z_]+): ", step, re.MULTILINE))
    text = SCRIPT.read_text(encoding="utf-8")
    read = set(re.findall(r"\$\{?([A-Z_]{2,})", text))
    assert given == read | {"RESULTS"}
    assert '"$RESULTS"' in step


def test_the_alerts_come_from_the_file_that_the_script_writes() -> None:
    (step,) = (step for step in steps() if "sarif_file" in step)
    (name,) = re.findall(r"sarif_file: \$\{\{ inputs\.results \}\}/(\S+)", step)
    assert f"$folder/{name}" in SCRIPT.read_text(encoding="utf-8")


def run(folder: Path, *command: str | Path, **environment: str) -> subprocess.CompletedProcess:
    words = ["bash", str(SCRIPT), str(folder), *map(str, command)]
    given = {**os.environ, "PYTHONPATH": str(ROOT / "lab"), **environment}
    return subprocess.run(words, cwd=ROOT, env=given, capture_output=True, text=True, check=False)


def test_words_are_kept_together_and_not_expanded(tmp_path: Path) -> None:
    given = {"POLICY": "a b.bpf.c", "OPTIONS": "-p 'x=$(id) *' --json", "FAIL_ON": "a > 1 %\n\nb < -2 %\n"}
    done = run(tmp_path, "printf", "[%s]\n", **given)
    assert done.stdout.splitlines() == [
        *["[compare]", "[a b.bpf.c]", "[--fail-on]", "[a > 1 %]", "[--fail-on]", "[b < -2 %]"],
        *["[--junit]", f"[{tmp_path}/compare.xml]", "[--output]", f"[{tmp_path}/compared]"],
        *["[-p]", "[x=$(id) *]", "[--json]"],
    ]
    done = run(tmp_path, "printf", "[%s]\n", POLICY="a.bpf.c")
    assert done.stdout.splitlines()[:2] == ["[check]", "[a.bpf.c]"]


def test_a_check_writes_what_is_uploaded(tmp_path: Path) -> None:
    policy = "tests/check/policies/bugs/unbounded_loop.bpf.c"
    done = run(tmp_path, sys.executable, "-m", "schedlab", POLICY=policy, OPTIONS="--kernel none --runs 5")
    assert done.returncode == 1, done
    assert len(sarif_form.read(tmp_path / "findings.sarif")["results"]) == 1
    assert "failure" in junit_form.verdicts(junit_form.read(tmp_path / "check.xml")).values()
    assert (tmp_path / "finding" / "case.toml").is_file()


def test_a_comparison_is_made_where_there_are_conditions(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "schedlab"]
    few = {"POLICY": "vtime", "OPTIONS": "-w latt --load 4 -p duration_s=1 --no-report"}
    condition = {"FAIL_ON": "wakeup_latency_us.p99 > +5 %"}
    assert run(tmp_path / "a", *program, **few, **condition).returncode == 0
    done = run(tmp_path / "b", *program, **few, **condition, BASELINE=str(tmp_path / "a" / "compared"))
    assert done.returncode == 0, done
    cases = junit_form.verdicts(junit_form.read(tmp_path / "b" / "compare.xml"))
    assert cases == {"latt: wakeup_latency_us.p99 > +5 %": "", "latt: every cell has a value": ""}
    assert "vtime (baseline)" in done.stdout


def container(word: str) -> list[list[str]]:
    """What follows each of a word in the Containerfile."""
    return [line.split()[1:] for line in CONTAINER.splitlines() if line.startswith(f"{word} ")]


def test_what_the_container_copies_makes_and_runs_is_there() -> None:
    for *sources, _ in container("COPY"):
        for source in sources:
            assert (ROOT / source).exists(), source
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    makes = re.findall(r"\bmake ([a-z]+)", "\n".join(line for line in CONTAINER.splitlines() if line[0:3] == "RUN"))
    assert makes == ["setup", "build"]
    for target in makes:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    for name in re.findall(r"\b(SCHEDLAB_WITHOUT\w+)=", CONTAINER):
        assert f"${{{name}:-}}" in SET_UP
    (entry,) = re.findall(r'^ENTRYPOINT \["/opt/schedlab/(\S+)"\]$', CONTAINER, re.MULTILINE)
    assert os.access(ROOT / entry, os.X_OK)
    assert container("WORKDIR")[0] == ["/opt/schedlab"]


def test_the_container_gets_every_file_that_is_tracked_but_results() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    left_out = [line for line in lines if line and line[0] not in "#!"]
    kept = [line[1:] for line in lines if line.startswith("!")]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    for file in tracked:
        parents = [str(parent) for parent in [Path(file), *Path(file).parents]]
        out = any(fnmatch(parent, pattern) for parent in parents for pattern in left_out)
        assert not out or file.startswith("results/"), file
    # The lab reads it wherever it compares.
    assert kept == ["results/agreement"]
    assert any(file.startswith("results/agreement/") for file in tracked)


def test_options_on_the_page_are_those_of_the_commands() -> None:
    for name in ("check", "compare"):
        words = [sys.executable, "-m", "schedlab", name, "--help"]
        known = subprocess.run(words, cwd=ROOT / "lab", check=True, capture_output=True, text=True).stdout
        used = {
            option
            for text in (PAGE, SCRIPT.read_text(encoding="utf-8"))
            for line in text.splitlines()
            if re.search(rf'(schedlab|"\$@") {name}\b', line)
            for option in re.findall(r"(?<![\w-])--[a-z-]+", line.split(name, 1)[1])
        }
        assert used
        for option in used:
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", known), option
    names = set(re.findall(r"^      ([a-z-]+): ", PAGE, re.MULTILINE))
    assert names
    assert names <= set(inputs())


def test_shellcheck_has_nothing_to_say() -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    subprocess.run(["shellcheck", SCRIPT], check=True)
