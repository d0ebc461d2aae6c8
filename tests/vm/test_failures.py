# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong ends in one line and leaves nothing behind: no QEMU, no temporary files."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab import vm
from schedlab.errors import PlaceError
from schedlab.vm import command, qemu
from schedlab.vm.kernel import Kernel
from schedlab.vm.machine import EmulatorFault


def children(process: int) -> list[int]:
    lists = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    return [int(word) for text in lists for word in text.split()]


def is_qemu(process: int) -> bool:
    try:
        return b"qemu" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def running_guests() -> list[int]:
    return [child for child in children(os.getpid()) if is_qemu(child)]


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Temporary files go to a folder of the test's own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


@pytest.mark.usefixtures("guest")
def test_hanging_guest_is_killed_at_its_limit(nothing_left: Path) -> None:
    started_at = time.monotonic()
    with pytest.raises(vm.GuestFailed) as caught:
        vm.run(["sleep", "1000"], tier="emulated", limit_s=12)
    assert 12 <= time.monotonic() - started_at < 20
    message = str(caught.value)
    # The console's last words are the kernel's, however far a busy machine has come in that time.
    assert re.fullmatch(r"the guest did not end within 12 s; console /\S+\.log ends: .*\[ +\d+\.\d+\] .*", message)
    assert running_guests() == []
    assert list(nothing_left.iterdir()) == []


@pytest.mark.usefixtures("guest")
def test_a_guest_that_nobody_wants_any_more_is_stopped(nothing_left: Path) -> None:
    stop = threading.Event()
    with pytest.raises(vm.GuestStopped):
        vm.run(["sh", "-c", "echo up; sleep 1000"], tier="emulated", on_line=lambda line: stop.set(), stop=stop)
    assert running_guests() == []
    assert list(nothing_left.iterdir()) == []


@pytest.mark.usefixtures("guest")
def test_panicking_guest_is_named_so() -> None:
    with pytest.raises(vm.GuestFailed) as caught:
        vm.run(["/bin/sh", "-c", "echo c >/proc/sysrq-trigger"], tier="emulated")
    message = str(caught.value)
    assert message.startswith("the guest panicked: Kernel panic - not syncing: sysrq triggered crash; console ")
    assert "\n" not in message


@pytest.mark.usefixtures("guest")
def test_a_torn_jump_label_is_the_emulators_fault() -> None:
    script = "echo 'Oops: int3: 0000' >/dev/kmsg; echo c >/proc/sysrq-trigger; sleep 100"
    with pytest.raises(EmulatorFault, match="QEMU tore a jump label while it was patched; run again"):
        vm.run(["sh", "-c", script], tier="emulated", limit_s=60)


@pytest.mark.usefixtures("guest")
def test_who_can_take_back_its_lines_has_the_guest_run_once_more() -> None:
    script = "echo up; echo 'Oops: int3: 0000' >/dev/kmsg; echo c >/proc/sysrq-trigger; sleep 100"
    lines: list[str] = []
    told: list[list[str]] = []

    def again() -> None:
        told.append([*lines])
        lines.clear()

    with pytest.raises(EmulatorFault):
        vm.run(["sh", "-c", script], tier="emulated", limit_s=60, on_line=lines.append, again=again)
    assert (told, lines) == ([["up"]], ["up"])


@pytest.mark.usefixtures("guest")
def test_qemu_that_dies_is_named_so(nothing_left: Path) -> None:
    def kill(line: str) -> None:
        for process in running_guests():
            os.kill(process, signal.SIGKILL)

    with pytest.raises(vm.GuestFailed, match=r"^QEMU ended with status -9: "):
        vm.run(["/bin/sh", "-c", "echo up; sleep 1000"], tier="emulated", limit_s=60, on_line=kill)
    assert list(nothing_left.iterdir()) == []


@pytest.mark.usefixtures("guest")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_command_takes_qemu_along(sign: signal.Signals, nothing_left: Path) -> None:
    if sign == signal.SIGKILL and shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    command = [sys.executable, "-m", "schedlab", "vm", "exec", "--tier", "emulated", "--", "sh", "-c"]
    process = subprocess.Popen([*command, "echo up; sleep 1000"], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "up\n"
    guests = [child for child in children(process.pid) if is_qemu(child)]
    assert len(guests) == 1
    process.send_signal(sign)
    status = process.wait(timeout=10)
    process.stdout.close()
    deadline = time.monotonic() + 5
    while is_qemu(guests[0]) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_qemu(guests[0])
    if sign == signal.SIGINT:
        assert status == 130
        assert list(nothing_left.iterdir()) == []


def test_kvm_that_hangs_falls_back_and_is_remembered(
    own_cache: Path, fake_qemu: Callable[[str], None], kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = qemu.find().path
    fake_qemu(f'case " $* " in *" kvm "*) echo try >>{tmp_path}/tries; exec sleep 1000 ;; esac\nexec {real} "$@"')
    (tmp_path / "kvm").touch()
    monkeypatch.setattr(command, "KVM_DEVICE", tmp_path / "kvm")
    monkeypatch.setattr(command, "KVM_LIMIT_S", 1.5)
    emulator = qemu.find()
    started_at = time.monotonic()
    assert command.choose_tier("auto", emulator, kernel) == "emulated"
    assert time.monotonic() - started_at < 9
    assert children(os.getpid()) == []
    with pytest.raises(PlaceError, match=r"no guest boots with KVM: the guest did not end within 1\.5 s"):
        command.choose_tier("virtual", emulator, kernel)
    assert (tmp_path / "tries").read_text() == "try\n"
    result = vm.run(["true"], tier="auto")
    assert (result.exit_code, result.tier) == (0, "emulated")


def test_missing_kvm_is_not_tried(kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "KVM_DEVICE", tmp_path / "none")
    assert command.choose_tier("auto", qemu.Qemu(Path("/nonexistent"), "10.0", ""), kernel) == "emulated"


def schedlab_vm(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path if path is not None else os.environ["PATH"]}
    command = [sys.executable, "-m", "schedlab", "vm", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def test_missing_qemu_names_the_package() -> None:
    done = schedlab_vm("exec", "--", "true", path="/nonexistent")
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert f"{qemu.BINARY} is not installed: install the package" in done.stderr


def test_old_qemu_names_the_package(own_cache: Path, fake_qemu: Callable[[str], None]) -> None:
    fake_qemu('echo "QEMU emulator version 7.2.19 (Debian 1:7.2+dfsg-7)"')
    done = schedlab_vm("exec", "--", "true")
    assert done.returncode == 3
    assert f"{qemu.BINARY} 7.2.19 crashes guests: install the package" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["exec"], "expected a command after --"),
        (["exec", "--cpus", "0", "--", "true"], "--cpus 0: expected 1 to 255"),
        (["exec", "--memory", "lots", "--", "true"], "--memory lots: expected a size such as 512M or 2G"),
        (["exec", "--file", "/nonexistent", "--", "true"], "--file /nonexistent: expected a file or folder"),
        (["exec", "--kernel", "new", "--", "true"], "--kernel new: expected a series such as 7.2"),
        (["shell"], "standard input is no terminal"),
    ],
)
@pytest.mark.usefixtures("guest")
def test_bad_input_is_one_line(arguments: list[str], expected: str) -> None:
    done = schedlab_vm(*arguments)
    assert done.returncode == 2
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("guest")
def test_second_set_up_does_nothing_quickly() -> None:
    started_at = time.monotonic()
    done = schedlab_vm("setup")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.monotonic() - started_at < 2
