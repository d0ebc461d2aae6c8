# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/setup: names or installs what is missing, once, and can be run again after a failure."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.setup.fakes import Checkout

MISSING_ELSEWHERE = {
    "debian": "sudo apt-get install -y clang-19 libclang-rt-19-dev libelf-dev stress-ng",
    "ubuntu": "sudo apt-get install -y clang libelf-dev stress-ng",
    "fedora": "sudo dnf install -y clang compiler-rt elfutils-libelf-devel stress-ng",
    "arch": "sudo pacman -S --needed clang compiler-rt libelf stress-ng",
    "opensuse": "sudo zypper install -y clang libelf-devel stress-ng",
}


@pytest.mark.parametrize("distribution", MISSING_ELSEWHERE)
def test_without_root_it_names_what_is_missing_and_the_command(checkout: Checkout, distribution: str) -> None:
    checkout.without("clang-19", "stress-ng")
    done = checkout.run(distribution=distribution, ABSENT="#include <libelf.h>")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr == (
        "set-up: missing: clang libelf stress-ng. Install the packages, then run this again: "
        f"{MISSING_ELSEWHERE[distribution]}\n"
    )
    assert checkout.called() == []


def test_what_a_build_lacks_is_named_and_not_installed(checkout: Checkout) -> None:
    checkout.without("stress-ng")
    assert checkout.run(arguments=["programs"], ABSENT="#include <zlib.h>").stderr == (
        "set-up: missing: zlib. Install the packages, then run this again: sudo apt-get install -y zlib1g-dev\n"
    )
    assert checkout.run(arguments=["programs"]).returncode == 0
    # Only tests of policies link clang's sanitizer.
    checkout.program("clang-19", "[ $1 = -dumpversion ] && echo 19.1.7")
    assert checkout.run(arguments=["programs"]).returncode == 0
    checkout.without("clang-19")
    done = checkout.run(arguments=["programs"])
    assert (done.returncode, done.stdout) == (3, "")
    assert "missing: clang." in done.stderr
    assert not (checkout.path / ".venv").exists()
    assert checkout.called() == []


def test_an_old_compiler_is_a_missing_one(checkout: Checkout) -> None:
    checkout.program("clang-19", "echo 16.0.6")
    done = checkout.run()
    assert done.returncode == 3
    assert "missing: clang." in done.stderr


def test_a_clang_without_its_sanitizer_is_a_missing_one(checkout: Checkout) -> None:
    checkout.program("clang-19", "[ $1 = -dumpversion ] && echo 19.1.7")
    done = checkout.run()
    assert done.returncode == 3
    assert "missing: clang." in done.stderr


def test_a_busybox_that_needs_a_c_library_is_a_missing_one(checkout: Checkout) -> None:
    checkout.program("ldd", "exit 0")
    done = checkout.run()
    assert done.returncode == 3
    assert "missing: busybox." in done.stderr
    assert done.stderr.endswith("apt-get install -y busybox-static\n")


def test_without_root_it_goes_on_where_nothing_is_missing(checkout: Checkout) -> None:
    done = checkout.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "set-up: python: making .venv from lab/requirements.txt with uv",
        "set-up: ready",
    ]
    pth = next((checkout.path / ".venv").glob("lib/python*/site-packages/schedlab.pth"))
    named = pth.read_text().strip()
    assert not Path(named).is_absolute()
    assert (pth.parent / named).resolve() == (checkout.path / "lab").resolve()


def test_a_second_run_does_nothing_and_is_quick(checkout: Checkout) -> None:
    assert checkout.run().returncode == 0
    calls = checkout.called()
    start = time.monotonic()
    done = checkout.run()
    assert time.monotonic() - start < 5
    assert (done.returncode, done.stdout) == (0, "set-up: nothing to do\n")
    assert checkout.called() == calls


def test_other_requirements_make_the_environment_anew(checkout: Checkout) -> None:
    assert checkout.run().returncode == 0
    with (checkout.path / "lab/requirements.txt").open("a") as requirements:
        requirements.write("# changed\n")
    assert "making .venv" in checkout.run().stdout


def test_after_a_full_disk_it_can_be_run_again(checkout: Checkout) -> None:
    done = checkout.run(UV_FAILS="error: No space left on device (os error 28)")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: No space left on device (os error 28)",
        "set-up: python: uv could not install lab/requirements.txt: see the lines above",
    ]
    again = checkout.run()
    assert again.returncode == 0
    assert "making .venv" in again.stdout
    assert checkout.run().stdout == "set-up: nothing to do\n"


def test_after_an_interruption_it_can_be_run_again(checkout: Checkout) -> None:
    running = subprocess.Popen(
        [checkout.path / "scripts/setup"],
        env=checkout.environment(UV_SLEEPS="30"),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not any(call.startswith("pip install") for call in checkout.called()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # Ctrl-C reaches the whole foreground group.
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(10) != 0
    again = checkout.run()
    assert again.returncode == 0
    assert "making .venv" in again.stdout
    assert checkout.run().stdout == "set-up: nothing to do\n"


APT = """
echo "$*" >>"$CALLS"
case " $* " in
*" -s "*) [ -z "$UNKNOWN" ] || grep -q '^.*update' "$CALLS" ;;
*" update "*) [ -z "$UPDATE_FAILS" ] ;;
*" install "*)
	if [ -n "$FIRST_FAILS" ] && ! grep -q update "$CALLS"; then echo "E: 404 Not Found" >&2; exit 100; fi
	[ -z "$SCHEDLAB_CREATECLUSTER" ] || cat "$SCHEDLAB_CREATECLUSTER"/* >>"$CALLS"
	[ -z "$ALWAYS_FAILS" ] || exit 100
	for name in stress-ng zstd; do
		printf '#!/bin/bash\\n' >"$(dirname "$0")/$name" && chmod +x "$(dirname "$0")/$name"
	done ;;
esac
"""


def as_root(checkout: Checkout, **more: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Set-up as root without stress-ng and zstd, and what it asked of apt for real."""
    checkout.without("stress-ng", "zstd")
    checkout.program("apt-get", APT)
    checkout.program("apt-cache", "exit 0")
    checkout.program("dpkg", 'echo "dpkg $*" >>"$CALLS"')
    done = checkout.run(FAKE_UID="0", **more)
    asked = [call for call in checkout.called() if re.search(r"update|install --no|dpkg", call) and " -s " not in call]
    return done, [re.sub(r"^-q -y (-o \S+ )*", "", call) for call in asked]


INSTALL = "install --no-install-recommends stress-ng zstd"


def test_root_installs_only_what_is_missing(checkout: Checkout) -> None:
    done, asked = as_root(checkout)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "set-up: apt: installing stress-ng zstd"
    assert asked == [INSTALL]


def test_lists_are_fetched_where_they_do_not_know_a_package(checkout: Checkout) -> None:
    done, asked = as_root(checkout, UNKNOWN="1")
    assert done.returncode == 0
    assert done.stdout.splitlines()[:2] == [
        "set-up: apt: fetching the package lists",
        "set-up: apt: installing stress-ng zstd",
    ]
    assert asked == ["update", INSTALL]


def test_a_source_that_cannot_be_reached_does_not_matter(checkout: Checkout) -> None:
    done, asked = as_root(checkout, UNKNOWN="1", UPDATE_FAILS="1")
    assert done.returncode == 0
    assert "apt: not all package lists could be fetched" in done.stdout
    assert asked == ["update", INSTALL]


def test_packages_that_bring_too_old_a_rust(checkout: Checkout) -> None:
    checkout.program("rustc", "echo rustc 1.85.0")
    done, _ = as_root(checkout)
    assert done.returncode == 3
    assert done.stderr.endswith(
        "set-up: Debian's Rust is older than 1.88 here: add its security suite to apt's sources, or install rustup\n"
    )


def test_a_failed_installation_is_mended_once(checkout: Checkout) -> None:
    done, asked = as_root(checkout, FIRST_FAILS="1")
    assert done.returncode == 0
    assert asked == [INSTALL, "dpkg --configure -a", "update", INSTALL]


# Stands for the lab, which knows what the workloads need.
LACKING = """
class System: pass
class programs:
    missing_packages = staticmethod(lambda _: ["postgresql", "sysbench"])
"""


@pytest.mark.parametrize("fails", ["", "1"])
def test_what_only_tests_need_may_be_missing_and_no_database_server_is_started(checkout: Checkout, fails: str) -> None:
    doctor = checkout.path / "lab/schedlab/doctor"
    doctor.mkdir()
    (doctor / "programs.py").touch()
    (doctor / "__init__.py").write_text(LACKING)
    folder = checkout.path / "createcluster.d"
    checkout.without("chromium")
    checkout.program("apt-get", APT)
    checkout.program("apt-cache", "exit 0")
    checkout.program("dpkg", "exit 0")
    done = checkout.run(FAKE_UID="0", SCHEDLAB_CREATECLUSTER=str(folder), ALWAYS_FAILS=fails)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "set-up: ready")
    wanted = "postgresql sysbench chromium"
    assert f"set-up: apt: installing {wanted}" in done.stdout
    assert (f"going on without these, whose tests are skipped: {wanted}" in done.stdout) is bool(fails)
    assert "create_main_cluster = false" in checkout.called()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("fails", ["", "1"])
def test_no_sshd_is_started_that_only_tests_need(checkout: Checkout, fails: str) -> None:
    file = checkout.path / "ssh" / "sshd_not_to_be_run"
    checkout.without("sshd")
    checkout.program("apt-get", f'[ ! -e "{file}" ] || echo "kept off" >>"$CALLS"\n{APT}')
    checkout.program("apt-cache", "exit 0")
    checkout.program("dpkg", "exit 0")
    done = checkout.run(FAKE_UID="0", SCHEDLAB_NO_SSHD=str(file), ALWAYS_FAILS=fails)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "set-up: ready")
    assert "set-up: apt: installing openssh-server" in done.stdout
    assert "kept off" in checkout.called()
    # Whoever installs it later wants it.
    assert file.exists() is not bool(fails)


@pytest.mark.parametrize("fails", ["", "1"])
def test_no_daemon_of_slurm_is_started_that_only_tests_need(checkout: Checkout, fails: str) -> None:
    units, policy = checkout.path / "units", checkout.path / "sbin" / "policy-rc.d"
    units.mkdir()
    # Somebody has one of their own, which stays.
    (units / "slurmd.service").write_text("[Unit]\n")
    checkout.without("slurmctld", "munged")
    looks = f'[ "$(readlink "{units}/munge.service")" != /dev/null ] || "{policy}" || echo "kept off: $?" >>"$CALLS"'
    checkout.program("apt-get", f"{looks}\n{APT}")
    checkout.program("apt-cache", "exit 0")
    checkout.program("dpkg", "exit 0")
    done = checkout.run(FAKE_UID="0", SCHEDLAB_UNITS=str(units), SCHEDLAB_START_POLICY=str(policy), ALWAYS_FAILS=fails)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "set-up: ready")
    assert "set-up: apt: installing slurm-wlm munge" in done.stdout
    assert "not started, and masked for systemd: munge slurmctld (" in done.stdout
    assert "kept off: 101" in checkout.called()
    assert not policy.exists()
    kept = ["slurmd.service"] if fails else ["munge.service", "slurmctld.service", "slurmd.service"]
    assert sorted(path.name for path in units.iterdir()) == kept
    assert (units / "slurmd.service").read_text() == "[Unit]\n"


def test_what_only_tests_need_can_be_left_out(checkout: Checkout) -> None:
    checkout.without("chromium")
    checkout.program("apt-get", APT)
    done = checkout.run(FAKE_UID="0", SCHEDLAB_WITHOUT_TESTS="1")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "set-up: ready")
    assert "apt" not in done.stdout


def test_the_doctor_needs_no_set_up(checkout: Checkout) -> None:
    checkout.program("python3", 'echo "$PYTHONPATH: $*"')
    done = checkout.run("schedlab", arguments=["doctor", "--json"])
    assert (done.returncode, done.stdout) == (0, f"{checkout.path}/lab: -m schedlab doctor --json\n")


def test_the_command_line_says_that_the_checkout_is_not_set_up(checkout: Checkout) -> None:
    done = checkout.run("schedlab")
    assert done.returncode == 3
    assert done.stderr == f"schedlab: {checkout.path} is not set up; run: make -C {checkout.path} build\n"


@pytest.mark.parametrize("status", [0, 1, 3])
def test_the_simulator_does_not_wait_for_the_virtual_machine(checkout: Checkout, status: int) -> None:
    program = checkout.path / "lab/schedlab/__main__.py"
    program.write_text(f"import sys\nassert sys.argv[1:] == ['vm', 'setup']\nsys.exit({status})\n")
    done = checkout.run()
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "set-up: ready"
    assert ("going on without the virtual machine" in done.stdout) is (status > 0)
    assert done.stderr == ""
