# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab doctor on machines made up of files: each gap is found, and mended by the distribution's own command."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab import doctor
from schedlab.cli import main, this_machine
from schedlab.distribution import System, detect
from schedlab.doctor import place_requirements, programs, requirement
from schedlab.doctor.programs import COMMANDS, HEADERS
from schedlab.doctor.requirement import Requirement

OS_RELEASE = {
    "debian 12": 'ID=debian\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "debian 13": "ID=debian\nVERSION_CODENAME=trixie\n",
    "debian sid": "ID=debian\nVERSION_CODENAME=forky\n",
    "ubuntu 24.04": "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\nUBUNTU_CODENAME=noble\n",
    "ubuntu 26.04": "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=resolute\nUBUNTU_CODENAME=resolute\n",
    "mint 22": 'ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_CODENAME=xia\nUBUNTU_CODENAME=noble\n',
    "fedora": "ID=fedora\nVERSION_ID=43\n",
    "nobara": 'ID=nobara\nID_LIKE="rhel centos fedora"\n',
    "arch": "ID=arch\n",
    "cachyos": "ID=cachyos\nID_LIKE=arch\n",
    "tumbleweed": 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n',
    "leap": 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\n',
    "gentoo": "ID=gentoo\n",
}
# The status of an ordinary user's process, and of root's.
USER = "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n"
ROOT = "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n"


class Machine:
    """Starts with nothing but an os-release and an old kernel."""

    def __init__(self, folder: Path, release: str) -> None:
        self.root = folder / "root"
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self.guest_kernel = ""
        self.fault = ""
        self.file("/etc/os-release", OS_RELEASE[release])
        self.file("/proc/sys/kernel/osrelease", "6.1.0-30-amd64\n")
        self.file("/proc/self/status", USER)

    def file(self, path: str, content: str = "") -> None:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)

    def program(self, name: str, says: str = "") -> None:
        (self.bin / name).write_text(f"#!/bin/sh\necho '{says}'\n")
        (self.bin / name).chmod(0o755)

    def package(self, number: int, energy_uj: str = "1234\n") -> None:
        self.file(f"/sys/class/powercap/intel-rapl:{number}/name", f"package-{number}\n")
        self.file(f"/sys/class/powercap/intel-rapl:{number}/energy_uj", energy_uj)

    def examine(self) -> dict[str, Requirement]:
        return {
            requirement.name: requirement for requirement in doctor.examine(System(self.root, str(self.bin)), self)[1]
        }

    def kernel(self) -> str:
        return self.guest_kernel

    def kvm_fault(self) -> str:
        return self.fault

    def complete(self) -> None:
        """Everything that schedlab can use."""
        for name in COMMANDS:
            self.program(name)
        for header in HEADERS.values():
            self.file(f"/usr/include/{header}")
        for tools in programs.needs().values():
            for tool in tools:
                if tool.startswith("/"):
                    self.file(tool.replace("*", "17"))
                else:
                    self.program(tool)
        self.program("cargo", "cargo 1.96.0")
        self.program("rustc", "rustc 1.96.0")
        self.program("clang-19", "Debian clang version 19.1.7")
        self.program("qemu-system-x86_64", "QEMU emulator version 10.0.2")
        self.file("/dev/kvm")
        self.guest_kernel = "7.2.12"
        self.file("/proc/sys/kernel/osrelease", "7.2.12\n")
        self.file("/sys/kernel/sched_ext/state", "disabled\n")
        self.file("/sys/kernel/btf/vmlinux")
        self.package(0)
        self.file("/proc/self/status", ROOT)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Machine]:
    """On each, the simulator's program is built and runs."""
    runner = tmp_path / "schedlab-sim"
    runner.write_text("#!/bin/sh\necho schedlab-sim 0.1.0\n")
    runner.chmod(0o755)
    monkeypatch.setattr(place_requirements.checkout, "find_binary", lambda _name: runner)
    return lambda release: Machine(tmp_path, release)


def mends(checks: dict[str, Requirement]) -> dict[str, str]:
    return {name: check.mend for name, check in checks.items() if not check.ok}


APT = "sudo apt-get install -y "
COMMON = set("cc make git clang libbpf libelf zlib pkg-config busybox stress-ng cpio zstd".split())

EXPECTED = {
    "debian 12": {
        "rust": APT + "rustc-web cargo-web rustfmt-web rust-web-clippy",
        "clang": APT + "clang-19 libclang-rt-19-dev",
        "libelf": APT + "libelf-dev",
        "QEMU": "sudo ./schedlab vm setup",
        "sched_ext": "",
    },
    "debian 13": {
        "rust": APT + "rustc-web cargo-web rustfmt-web rust-web-clippy",
        "QEMU": "sudo ./schedlab vm setup",
        "sched_ext": APT + "-t trixie-backports linux-image-amd64",
    },
    "debian sid": {"rust": APT + "rustc cargo rustfmt rust-clippy", "sched_ext": APT + "linux-image-amd64"},
    "ubuntu 24.04": {
        "rust": APT + "rustup && rustup default stable",
        "clang": APT + "clang",
        "QEMU": APT + "qemu-system-x86",
        "sched_ext": APT + "linux-generic-hwe-24.04",
    },
    "ubuntu 26.04": {"sched_ext": APT + "linux-generic"},
    "mint 22": {"sched_ext": APT + "linux-generic-hwe-24.04"},
    "fedora": {
        "rust": "sudo dnf install -y rust cargo rustfmt clippy",
        "libelf": "sudo dnf install -y elfutils-libelf-devel",
        "QEMU": "sudo dnf install -y qemu-system-x86-core",
        "sched_ext": "sudo dnf install -y kernel",
    },
    "nobara": {"zlib": "sudo dnf install -y zlib-devel"},
    "arch": {
        "rust": "sudo pacman -S --needed rust",
        "libbpf": "sudo pacman -S --needed libbpf",
        "QEMU": "sudo pacman -S --needed qemu-system-x86",
        "sched_ext": "sudo pacman -S --needed linux",
    },
    "cachyos": {"clang": "sudo pacman -S --needed clang compiler-rt"},
    "tumbleweed": {
        "rust": "sudo zypper install -y rust cargo",
        "busybox": "sudo zypper install -y busybox-static",
        "QEMU": "sudo zypper install -y qemu-x86",
        "sched_ext": "sudo zypper install -y kernel-default",
    },
    "leap": {"QEMU": "sudo zypper install -y qemu-x86", "sched_ext": ""},
    "gentoo": {"rust": "", "clang": "", "QEMU": "", "sched_ext": ""},
}


@pytest.mark.parametrize("release", EXPECTED)
def test_every_gap_is_named_with_the_command_of_the_distribution(
    machine: Callable[[str], Machine], release: str
) -> None:
    found = mends(machine(release).examine())
    assert found.keys() >= COMMON | {"rust", "QEMU", "kernel", "KVM", "sched_ext", "BTF", "privileges"}
    for name, mend in EXPECTED[release].items():
        assert found[name] == mend, name
    if release != "gentoo":
        assert all(found[name] for name in COMMON)


@pytest.mark.parametrize("release", ["debian 13", "fedora", "arch", "tumbleweed"])
def test_a_machine_with_everything_has_no_gap(machine: Callable[[str], Machine], release: str) -> None:
    made = machine(release)
    made.complete()
    checks = made.examine()
    assert mends(checks) == {}
    assert requirement.places(list(checks.values())) == {"sim": True, "vm": True, "host": True}


def test_the_simulator_needs_neither_qemu_nor_root(machine: Callable[[str], Machine]) -> None:
    made = machine("debian 12")
    made.program("clang-19", "Debian clang version 19.1.7")
    assert requirement.places(list(made.examine().values())) == {"sim": True, "vm": False, "host": False}


def test_without_clang_nothing_runs(machine: Callable[[str], Machine]) -> None:
    made = machine("debian 12")
    made.complete()
    (made.bin / "clang-19").unlink()
    assert requirement.places(list(made.examine().values())) == {"sim": False, "vm": False, "host": False}


@pytest.mark.parametrize(
    ("program", "says", "name", "detail"),
    [
        ("clang-19", "Debian clang version 14.0.6", "clang", "14.0.6 is too old: 17 or newer is needed"),
        ("rustc", "rustc 1.63.0", "rust", "1.63.0 is too old: 1.88 or newer is needed"),
        ("qemu-system-x86_64", "QEMU emulator version 7.2.19 (Debian)", "QEMU", "7.2.19 is older than 10"),
    ],
)
def test_an_old_program_is_a_gap(
    machine: Callable[[str], Machine], program: str, says: str, name: str, detail: str
) -> None:
    made = machine("debian 12")
    made.complete()
    made.program(program, says)
    check = made.examine()[name]
    assert (check.ok, check.detail) == (False, detail)
    assert check.mend


def test_counters_of_energy_are_named(machine: Callable[[str], Machine]) -> None:
    made = machine("debian 12")
    made.complete()
    made.package(1)
    made.file("/sys/class/powercap/intel-rapl:2/name", "psys\n")
    made.file("/sys/class/powercap/intel-rapl:0:0/name", "package-9\n")
    made.file("/sys/class/powercap/intel-rapl-mmio:0/name", "package-0\n")
    check = made.examine()["energy"]
    assert (check.ok, check.detail) == (True, "counters of package-0, package-1")
    # Nobody but root may read them.
    made.package(1, "")
    check = made.examine()["energy"]
    counter = "/sys/class/powercap/intel-rapl:1/energy_uj"
    said = f"no energy: the counter of package-1 may be read by root alone ({counter})"
    assert (check.ok, check.optional, check.detail) == (False, True, said)


def test_a_machine_without_counters_of_energy_lacks_nothing(machine: Callable[[str], Machine]) -> None:
    made = machine("debian 12")
    made.complete()
    shutil.rmtree(made.root / "sys/class/powercap")
    checks = made.examine()
    said = "no energy: /sys/class/powercap has no package domain"
    assert (checks["energy"].ok, checks["energy"].detail) == (False, said)
    assert requirement.places(list(checks.values()))["host"]


def test_the_newest_of_several_clangs_counts(machine: Callable[[str], Machine]) -> None:
    made = machine("debian 12")
    made.program("clang", "Debian clang version 14.0.6")
    made.program("clang-17", "Debian clang version 17.0.6")
    made.program("clang-19", "Debian clang version 19.1.7")
    assert made.examine()["clang"].detail == f"19.1.7 ({made.bin}/clang-19)"


def test_root_needs_no_sudo(machine: Callable[[str], Machine]) -> None:
    made = machine("debian 12")
    made.file("/proc/self/status", ROOT)
    checks = made.examine()
    assert checks["privileges"].ok
    assert checks["libelf"].mend == "apt-get install -y libelf-dev"


def test_a_suite_that_apt_does_not_know_is_added_first(machine: Callable[[str], Machine]) -> None:
    made = machine("debian 13")
    made.program("apt-get", "http://mirror.example/debian/ trixie")
    assert made.examine()["sched_ext"].mend == (
        "echo 'deb http://mirror.example/debian/ trixie-backports main' | "
        "sudo tee /etc/apt/sources.list.d/trixie-backports.list && sudo apt-get update && "
        "sudo apt-get install -y -t trixie-backports linux-image-amd64"
    )
    made.program("apt-get", "http://mirror.example/debian/ trixie\nhttp://mirror.example/debian/ trixie-backports")
    assert made.examine()["sched_ext"].mend == "sudo apt-get install -y -t trixie-backports linux-image-amd64"


def test_a_loaded_scheduler_is_named(machine: Callable[[str], Machine]) -> None:
    made = machine("arch")
    made.complete()
    made.file("/sys/kernel/sched_ext/state", "enabled\n")
    made.file("/sys/kernel/sched_ext/root/ops", "lavd_1.1.4\n")
    check = made.examine()["scheduler"]
    assert (check.ok, check.detail) == (True, "lavd_1.1.4 (enabled)")


@pytest.mark.parametrize("service", ["scx.service", "scx_loader.service", "scx_bfs.service"])
def test_a_service_that_would_load_its_own_scheduler_is_a_gap(machine: Callable[[str], Machine], service: str) -> None:
    made = machine("arch")
    made.complete()
    made.file(f"/sys/fs/cgroup/system.slice/{service}/cgroup.procs", "812\n")
    checks = made.examine()
    assert mends(checks) == {service: f"systemctl stop {service}"}
    assert requirement.places(list(checks.values())) == {"sim": True, "vm": True, "host": False}


@pytest.mark.parametrize("where", ["/proc/config.gz", "/boot/config-6.1.0-30-amd64"])
def test_a_kernel_that_has_it_built_in_needs_no_other(machine: Callable[[str], Machine], where: str) -> None:
    made = machine("fedora")
    made.file(where)
    content = b"CONFIG_BPF=y\nCONFIG_SCHED_CLASS_EXT=y\n"
    (made.root / where.lstrip("/")).write_bytes(gzip.compress(content) if where.endswith("gz") else content)
    check = made.examine()["sched_ext"]
    assert not check.ok
    assert check.mend == ""
    assert "built into 6.1.0-30-amd64" in check.detail


def test_kvm_without_permission(machine: Callable[[str], Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    made = machine("fedora")
    made.complete()
    monkeypatch.setattr(place_requirements.os, "access", lambda *_: False)
    check = place_requirements._kvm(System(made.root, str(made.bin)), detect(System(made.root)), made)
    assert (check.ok, check.optional, check.mend) == (False, True, "usermod -aG kvm $USER")


def test_kvm_that_is_there_but_boots_nothing(machine: Callable[[str], Machine]) -> None:
    made = machine("fedora")
    made.complete()
    made.fault = "no guest boots with KVM: still silent after 10 s"
    checks = made.examine()
    assert (checks["KVM"].ok, checks["KVM"].optional) == (False, True)
    assert checks["KVM"].detail == "no guest boots with KVM: still silent after 10 s; the VM works without it, emulated"
    assert requirement.places(list(checks.values()))["vm"]


def test_kvm_is_not_tried_without_a_kernel_for_the_guest(machine: Callable[[str], Machine]) -> None:
    made = machine("fedora")
    made.complete()
    made.guest_kernel = ""
    checks = made.examine()
    assert mends(checks) == {"kernel": "./schedlab vm setup", "KVM": ""}
    assert not requirement.places(list(checks.values()))["vm"]


@pytest.mark.parametrize(
    ("flag", "mend"), [("vmx", "sudo modprobe kvm_intel"), ("svm", "sudo modprobe kvm_amd"), ("", "")]
)
def test_kvm_without_its_module(machine: Callable[[str], Machine], flag: str, mend: str) -> None:
    made = machine("fedora")
    made.file("/proc/cpuinfo", f"flags\t\t: fpu {flag} sse2\n")
    check = made.examine()["KVM"]
    assert (check.ok, check.optional, check.mend) == (False, True, mend)


def test_a_simulator_that_is_not_built(machine: Callable[[str], Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    made = machine("debian 12")
    made.complete()
    monkeypatch.setattr(place_requirements.checkout, "find_binary", lambda _name: None)
    checks = made.examine()
    assert mends(checks) == {"schedlab-sim": "make build"}
    assert not requirement.places(list(checks.values()))["sim"]


def test_a_simulator_that_fails(
    machine: Callable[[str], Machine], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = machine("debian 12")
    made.complete()
    runner = tmp_path / "schedlab-sim"
    runner.write_text(
        "#!/bin/sh\n[ $1 = --version ] && echo sim 0.1.0 && exit\necho 'no clang 17 or newer' >&2\nexit 2\n"
    )
    checks = made.examine()
    assert checks["schedlab-sim"].ok
    assert (checks["simulation"].ok, checks["simulation"].detail) == (False, "no clang 17 or newer")
    assert not requirement.places(list(checks.values()))["sim"]


def test_the_text_has_one_line_a_check(machine: Callable[[str], Machine]) -> None:
    made = machine("debian 12")
    distribution, checks = doctor.examine(System(made.root, str(made.bin)), made)
    lines = requirement.as_text(distribution, checks).splitlines()
    assert lines[0].startswith("not ready: rust: ")
    assert lines[1] == "Debian GNU/Linux 12 (bookworm)"
    assert sum(line.startswith(("  ok ", "  missing ")) for line in lines) == len(checks)
    (line,) = [line for line in lines if line.split()[:2] == ["missing", "zlib"]]
    assert line.endswith("no /usr/include/zlib.h; mend: sudo apt-get install -y zlib1g-dev")


def test_where_it_is_installed_nothing_is_built(
    machine: Callable[[str], Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = machine("fedora")
    monkeypatch.setattr(doctor.checkout, "tree", lambda: None)
    monkeypatch.setattr(
        programs.metadata, "requires", lambda _name: ["duckdb", 'other ; extra == "more"', "no-such>=2"]
    )
    monkeypatch.setattr(programs.checkout, "mend", lambda: "install schedlab again")
    checks = made.examine()
    assert {name for name, check in checks.items() if check.place == "build"} == {
        "clang",
        "busybox",
        "stress-ng",
        "cpio",
        "zstd",
        "python",
    }
    assert checks["clang"].mend == "sudo dnf install -y clang compiler-rt"
    assert checks["python"].detail.endswith(" lacks no-such")
    assert checks["python"].mend == "install schedlab again"


@pytest.mark.parametrize("works", [True, False])
def test_the_command_ends_by_the_simulator(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], machine: Callable[[str], Machine], works: bool
) -> None:
    made = machine("fedora")
    if works:
        made.complete()
    system = System(made.root, str(made.bin))
    monkeypatch.setattr("schedlab.cli.this_machine.System", lambda: system)
    monkeypatch.setattr("schedlab.cli.this_machine.LabGuest", lambda: made)
    assert main(["doctor", "--json"]) == (0 if works else 3)
    said = json.loads(capsys.readouterr().out)
    assert said["distribution"] == "fedora"
    assert said["places"]["sim"] is works
    assert {"place", "name", "ok", "detail", "mend", "optional"} == said["checks"][0].keys()


def test_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--jsn"])
    assert ended.value.code == 2


@pytest.mark.skipif(not shutil.which("apt-cache"), reason="asks this machine's apt, and there is none")
def test_apt_knows_the_packages_of_debian() -> None:
    """Of the release that this machine runs: a name that does not exist mends nothing."""
    system = System()
    distribution = detect(system)
    if distribution.name != "debian" or not system.output("apt-cache", "pkgnames", "zlib1g-dev"):
        pytest.skip("not Debian, or its package lists are empty")
    packages = {name for need in (*COMMON, "rust", "python", "qemu") for name in distribution.package(need).split()}
    shown = system.output("apt-cache", "show", "--no-all-versions", *sorted(packages))
    assert packages == {line.removeprefix("Package: ") for line in shown.splitlines() if line.startswith("Package: ")}


def test_a_missing_application_is_a_gap_of_its_own(machine: Callable[[str], Machine]) -> None:
    made = machine("debian 13")
    made.complete()
    (made.bin / "sysbench").unlink()
    checks = made.examine()
    assert mends(checks) == {"oltp": "apt-get install -y sysbench"}
    assert checks["oltp"].detail == "lacks sysbench"
    assert requirement.places(list(checks.values())) == {"sim": True, "vm": True, "host": True}


def test_the_first_line_says_where_it_works_or_what_keeps_it_from_working() -> None:
    fine = Requirement("sim", "schedlab-sim", True, "0.1.0")
    absent = Requirement("host", "sched_ext", False, "not in this kernel")
    assert requirement.verdict([fine, absent]) == (
        "ready: simulator, real kernel in a virtual machine; not here: this machine's own kernel"
    )
    gap = Requirement("sim", "schedlab-sim", False, "not built", "make build")
    no_guest = Requirement("vm", "QEMU", False, "none")
    assert requirement.verdict([gap, no_guest, absent]) == "not ready: schedlab-sim: not built; mend: make build"
    assert requirement.verdict([fine]) == (
        "ready: simulator, real kernel in a virtual machine, this machine's own kernel"
    )


def test_without_a_command_it_says_where_it_works_and_three_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Requirement("sim", "simulation", True, ""), Requirement("vm", "QEMU", False, "none")]
    monkeypatch.setattr(this_machine, "examine", lambda _system, _guest: (None, found))
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "ready: simulator, this machine's own kernel; not here: real kernel in a virtual machine" in lines
    commands = [line.split("   ")[0].strip() for line in lines if line.startswith("  ")]
    assert commands == ["schedlab compare bfs,cfs", "sudo schedlab choose -- make -j4", "schedlab check FILE.bpf.c"]
