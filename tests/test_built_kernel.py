# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels built for a comparison (bench/kernel.py): the change of the source, the configuration, and bad input.

What stands for a kernel's source here has the files that change, and a Makefile that builds in no time.
"""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

import kernel
import kernel_config
import kernel_tree
from kernel_tree import FEATURES, Tree

from schedlab.errors import InputError, LabError, PlaceError
from schedlab.vm import apt, candidates
from schedlab.vm import kernel as kernels
from schedlab.vm.kernel import Kernel

ROOT = Path(__file__).parents[1]
HEADER = """/* comment */
SCHED_FEAT(RUN_TO_PARITY, true)
SCHED_FEAT(NEXT_BUDDY, false)
SCHED_FEAT(NONTASK_CAPACITY, true)
#ifdef CONFIG_PREEMPT_RT
SCHED_FEAT(TTWU_QUEUE, false)
#else
SCHED_FEAT(TTWU_QUEUE, true)
#endif
"""
CORE = "".join(f"line {number}\n" for number in range(1, 10))
PATCH = """A mail's text.

diff --git a/kernel/core.c b/kernel/core.c
--- a/kernel/core.c
+++ b/kernel/core.c
@@ -4,3 +4,3 @@ line
 line 4
-line 5
+line 5 of another scheduler
 line 6
diff --git a/kernel/sched/new.c b/kernel/sched/new.c
new file mode 100644
--- /dev/null
+++ b/kernel/sched/new.c
@@ -0,0 +1 @@
+a scheduler
"""
MAKEFILE = """allnoconfig:
\tgrep -v DROPPED $(KCONFIG_ALLCONFIG) >$(O)/.config
bzImage:
\t! grep broken kernel/core.c
\tmkdir -p $(O)/arch/x86/boot
\tcat kernel/core.c kernel/sched/features.h >$(O)/arch/x86/boot/bzImage
"""


def content(tree: Tree) -> dict[str, str]:
    return {str(path.relative_to(tree.path)): path.read_text() for path in tree.path.rglob("*") if path.is_file()}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    source = tmp_path / "source"
    (source / "kernel/sched").mkdir(parents=True)
    (source / FEATURES).write_text(HEADER)
    (source / "kernel/core.c").write_text(CORE)
    (source / "Makefile").write_text(MAKEFILE)
    return Tree(source, tmp_path / "kept")


@pytest.fixture
def patch(tmp_path: Path) -> Path:
    path = tmp_path / "a.patch"
    path.write_text(PATCH)
    return path


def test_a_feature_is_switched_wherever_it_is_defined():
    off = kernel_tree.switched(HEADER, "NO_RUN_TO_PARITY")
    assert off == HEADER.replace("RUN_TO_PARITY, true", "RUN_TO_PARITY, false")
    assert kernel_tree.switched(off, "RUN_TO_PARITY") == HEADER
    assert kernel_tree.switched(HEADER, "NEXT_BUDDY") == HEADER.replace("BUDDY, false", "BUDDY, true")
    assert "SCHED_FEAT(TTWU_QUEUE, true)" not in kernel_tree.switched(HEADER, "NO_TTWU_QUEUE")
    assert "SCHED_FEAT(NONTASK_CAPACITY, false)" in kernel_tree.switched(HEADER, "NO_NONTASK_CAPACITY")


def test_a_feature_that_is_none_or_is_so_already_is_refused():
    with pytest.raises(InputError, match=r"unknown scheduler feature 'NO_RUN_TO_PARTY'.*RUN_TO_PARITY"):
        kernel_tree.switched(HEADER, "NO_RUN_TO_PARTY")
    with pytest.raises(InputError, match="--feature RUN_TO_PARITY: is the default of this kernel"):
        kernel_tree.switched(HEADER, "RUN_TO_PARITY")


def test_a_change_is_made_and_taken_back(tree: Tree, patch: Path):
    before = content(tree)
    tree.change([patch], ["NO_RUN_TO_PARITY", "NEXT_BUDDY"])
    assert "of another scheduler" in (tree.path / "kernel/core.c").read_text()
    assert (tree.path / "kernel/sched/new.c").read_text() == "a scheduler\n"
    assert "RUN_TO_PARITY, false" in (tree.path / FEATURES).read_text()
    assert "NEXT_BUDDY, true" in (tree.path / FEATURES).read_text()
    changed_at = (tree.path / FEATURES).stat().st_mtime_ns
    # Another process, after this one was killed.
    Tree(tree.path, tree.kept).change([], [])
    assert content(tree) == before
    assert (tree.path / FEATURES).stat().st_mtime_ns > changed_at, "make would keep the object of the changed header"


def test_a_change_that_fails_leaves_the_source_as_it_was(tree: Tree, patch: Path):
    before = content(tree)
    with pytest.raises(InputError, match="unknown scheduler feature 'X'"):
        tree.change([patch], ["X"])
    assert content(tree) == before
    patch.write_text(PATCH.replace("-line 5\n", "-line five\n"))
    with pytest.raises(
        InputError, match=r"a\.patch: does not apply to this kernel: kernel/core\.c: Hunk #1 FAILED at 4"
    ):
        tree.change([patch], [])
    assert content(tree) == before
    assert not tree.kept.exists()


def test_patches_that_are_none(tree: Tree, tmp_path: Path):
    with pytest.raises(InputError, match=r"none\.patch: cannot be read: No such file"):
        tree.change([tmp_path / "none.patch"], [])
    text = tmp_path / "text"
    text.write_text("nothing")
    with pytest.raises(InputError, match="expected a patch with a/ and b/"):
        tree.change([text], [])
    text.write_text("--- a/../../etc/passwd\n+++ b/../../etc/passwd\n@@ -1 +1 @@\n-a\n+b\n")
    with pytest.raises(InputError, match="is outside of the kernel"):
        tree.change([text], [])


def test_the_configuration_has_what_a_guest_needs_and_what_was_asked():
    needed = [f"CONFIG_{option}=y" for option in (*candidates.OPTIONS, candidates.POLICY_OPTION)]
    cloud = "\n".join(
        [*needed, "CONFIG_HZ=250", "CONFIG_BTRFS_FS=y", "CONFIG_SCHED_SOMETHING=m", "CONFIG_PREEMPT_LAZY=y"]
    )
    changed = kernel_config.asked(["PREEMPT_LAZY=n", "CONFIG_CMDLINE=preempt=full", "SCHED_ALT=y", "NR_CPUS=0x20"])
    assert kernel_config.of_guest(cloud, changed).splitlines() == [
        *needed,
        "CONFIG_HZ=250",
        "# CONFIG_PREEMPT_LAZY is not set",
        'CONFIG_CMDLINE="preempt=full"',
        "CONFIG_SCHED_ALT=y",
        "CONFIG_NR_CPUS=0x20",
    ]


@pytest.mark.parametrize("setting", ["SCHED_ALT", "=y", "A-B=y", "EXT4_FS=m", 'CMDLINE="quiet"'])
def test_an_option_that_is_none(setting: str):
    with pytest.raises(InputError, match=r"--config .*: expected NAME=VALUE"):
        kernel_config.asked([setting])


def test_an_option_that_the_kernel_does_not_take():
    kernel_config.check("# CONFIG_A is not set\nCONFIG_B=y\n", {"A": "n", "B": "y", "UNKNOWN": "n"})
    for changed in ({"A": "y"}, {"B": "n"}, {"C": "3"}):
        with pytest.raises(InputError, match="not possible in this kernel"):
            kernel_config.check("# CONFIG_A is not set\nCONFIG_B=y\n", changed)


@pytest.fixture
def place(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cloud kernel and its source; gives the folder for what is built."""
    (tmp_path / "config").write_text("CONFIG_HZ=250\n")
    cloud = Kernel("7.2.13+deb14-cloud-amd64", tmp_path / "vmlinux", tmp_path / "config", "0", "test")
    monkeypatch.setenv("SCHEDLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernels, "resolve", lambda name: cloud)
    monkeypatch.setattr(kernel, "need_tools", lambda: None)
    monkeypatch.setattr(kernel, "pahole", lambda: Path("pahole"))
    home = tmp_path / "cache/built/7.2.13"
    home.mkdir(parents=True)
    tree.path.rename(home / "source")
    return tmp_path / "made"


def test_builds_share_a_tree_and_differ_in_their_change_alone(place: Path, patch: Path):
    for name, words in {
        "a": ["--feature", "NO_RUN_TO_PARITY", "--patch", str(patch)],
        "b": [],
        "c": ["--config", "HZ=100"],
    }.items():
        kernel.build(kernel.arguments(["-o", str(place / name), *words]))
    images = {name: (place / name / "bzImage").read_text() for name in "abc"}
    assert images["b"] == images["c"] == CORE + HEADER
    assert "RUN_TO_PARITY, false" in images["a"]
    assert "of another scheduler" in images["a"]
    assert [(place / name / "config").read_text() for name in "abc"] == ["CONFIG_HZ=250\n"] * 2 + ["CONFIG_HZ=100\n"]


def test_a_build_that_fails_says_why_and_leaves_no_image(place: Path, tmp_path: Path, patch: Path):
    patch.write_text(PATCH.replace("another scheduler", "a broken scheduler"))
    with pytest.raises(LabError, match=r"does not build: make\S*: \*\*\* .*bzImage.* \(all of it: .*build\.log\)"):
        kernel.build(kernel.arguments(["-o", str(place), "--patch", str(patch)]))
    with pytest.raises(InputError, match="--config DROPPED=y: not possible"):
        kernel.build(kernel.arguments(["-o", str(place), "--config", "DROPPED=y"]))
    assert not place.exists()


def test_tools_that_are_missing_are_named_with_the_command_that_installs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        PlaceError, match=r"^a kernel cannot be built here yet: apt-get install .*bison.*flex.*gcc.*make"
    ):
        kernel.need_tools()


def test_a_source_that_debian_no_longer_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SCHEDLAB_CACHE", str(tmp_path))
    monkeypatch.setattr(apt, "mirror", lambda: "http://127.0.0.1:1/none")
    monkeypatch.setattr(kernel, "Apt", Archive)
    cloud = Kernel("7.2.1+deb14-cloud-amd64", tmp_path, tmp_path, "0", "test")
    with pytest.raises(PlaceError, match=r"no linux-source-7\.2 of 7\.2\.1 now.*it has 7\.2\.13-1 in sid"):
        kernel.work(cloud, "7.2")


class Archive:
    """Debian's, with the source of one release in one suite."""

    def __init__(self, suite: str, sources: dict[str, list[str]]) -> None:
        self.suite = suite

    def update(self) -> None:
        pass

    def candidate(self, package: str) -> str | None:
        return "7.2.13-1" if self.suite == "sid" else None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--series", "seven", "-o", "x"], "--series seven: expected a series such as 7.2"),
        (["-j", "0", "-o", "x"], "--jobs 0: expected 1 or more"),
        (["--config", "HZ", "-o", "x"], "--config HZ: expected NAME=VALUE"),
        (["-o", __file__], "expected a folder"),
        ([], "required: -o/--output"),
    ],
)
def test_bad_arguments_end_with_status_2_and_one_line(words: list[str], said: str, tmp_path: Path):
    command = [sys.executable, str(ROOT / "bench/kernel.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert not list(tmp_path.iterdir())
