# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts of a fleet on this machine: each an sshd in namespaces of its own, with its own processes, temporary folder,
lock and files of /sys, and keys that are thrown away.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from tests.waiting import wait

ROOT = Path(__file__).resolve().parents[2]
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
RUNNER = ROOT / "target/release/schedlab-host"

# A cell of it is over in a few milliseconds.
TINY = """\
# SPDX-License-Identifier: GPL-2.0-or-later
name = "tiny"
title = "tasks that compute for a tenth of a millisecond"
source = "test"
load = "tasks"
loads = [1, 2, 3, 4]
[params]
tasks = { default = 1, min = 1, max = 64, about = "tasks" }
work_us = { default = 100, min = 1, max = 100_000_000, about = "of each" }
[[task]]
name = "worker"
count = "tasks"
program = [{ run_us = "work_us" }]
[metrics]
promises = ["elapsed_s"]
"""


def lacking() -> str:
    """What keeps these tests from running here."""
    if not RUNNER.exists():
        return "no schedlab-host in target/release: make build"
    if os.geteuid() != 0:
        return "measuring needs root"
    lacks = [name for name in ("ssh", "ssh-keygen", "unshare", "nsenter") if not shutil.which(name)]
    lacks += ["sshd"] if not sshd() else []
    if lacks:
        return f"not installed: {', '.join(lacks)}"
    made = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"], capture_output=True)
    return f"no namespaces here: {made.stderr.decode().strip()}" if made.returncode else ""


def sshd() -> str:
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or ""


class Host:
    def __init__(self, name: str, folder: Path, key: Path, disk: str = "200m", forced: str = "") -> None:
        """`forced`: a command that runs instead of any that is asked for."""
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.disk = disk
        self.clock = self.folder / "clock"
        self.clock.write_text("tsc\n")
        self._key(self.folder / "host_key")
        options = f'restrict,command="{forced}" ' if forced else ""
        (self.folder / "authorized").write_text(options + key.with_suffix(".pub").read_text())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (self.folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host_key\nPidFile none\n"
            f"AuthorizedKeysFile {self.folder}/authorized\nPermitRootLogin prohibit-password\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nStrictModes no\nMaxStartups 50\n"
        )
        self.child: subprocess.Popen[bytes] | None = None

    @staticmethod
    def _key(path: Path) -> None:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)

    def known(self) -> str:
        kind, key, *_ = (self.folder / "host_key.pub").read_text().split()
        return f"[127.0.0.1]:{self.port} {kind} {key}\n"

    def start(self) -> None:
        Path("/run/sshd").mkdir(exist_ok=True)
        # Without PAM, sshd lets nobody into a locked account.
        shadow = self.folder / "shadow"
        shadow.write_text(Path("/etc/shadow").read_text().replace("root:!", "root:*", 1))
        shadow.chmod(0o600)
        mounts = [
            f"mount --bind {shadow} /etc/shadow",
            "mount -t tmpfs -o mode=1777 tmpfs /run/lock",
            f"mount -t tmpfs -o mode=1777,size={self.disk} tmpfs /var/tmp",
            f"if [ -e {CLOCK} ]; then mount --bind {self.clock} {CLOCK}; fi",
            f"exec {sshd()} -D -e -f {self.folder}/sshd_config -E {self.folder}/log",
        ]
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        environment = {key: value for key, value in os.environ.items() if key != "TMPDIR"}
        self.child = subprocess.Popen([*words, "sh", "-ec", "\n".join(mounts)], env=environment)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.05)
        raise AssertionError(f"sshd does not start: {(self.folder / 'log').read_text()}")

    def die(self) -> None:
        """As if it lost its power."""
        if self.child:
            self.child.kill()
            self.child.wait()
            self.child = None

    def processes(self) -> dict[int, str]:
        """Of its own namespace, by their numbers here, but for sshd's listener."""
        assert self.child
        listener = self._children(self.child.pid)[0]
        own = os.readlink(f"/proc/{listener}/ns/pid")
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != listener:
                with suppress(OSError):
                    if os.readlink(entry / "ns/pid") == own:
                        found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        return {pid: command for pid, command in found.items() if command}

    @staticmethod
    def _children(pid: int) -> list[int]:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def runner(self) -> int:
        """The process that runs cells there; 0 where there is none."""
        found = [pid for pid, command in self.processes().items() if command.startswith("./schedlab-host serve")]
        # Its tasks are forked from it and have its name.
        return min(found, default=0)

    def left(self) -> list[str]:
        """What a campaign left behind: files and processes."""
        assert self.child
        root = Path(f"/proc/{self._children(self.child.pid)[0]}/root")
        files = [str(path) for folder in ("var/tmp", "run/lock") for path in (root / folder).iterdir()]
        return files + [command for command in self.processes().values() if not command.startswith("sshd")]

    def is_clean(self, within_s: float = 20) -> bool:
        return wait(lambda: not self.left(), within_s)


class Fleet:
    """The hosts, their file, and the command that runs on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hosts: dict[str, Host] = {}
        self.key = folder / "key"
        Host._key(self.key)
        self.file = folder / "hosts.toml"
        self.workload = folder / "tiny.toml"
        self.workload.write_text(TINY)
        self.known = folder / "known_hosts"
        self.out = folder / "out"
        self.limits = {"busy_pct": 100, "backoff_s": 0.2, "retries": 2}

    def add(self, name: str, **more: str) -> Host:
        host = self.hosts[name] = Host(name, self.folder, self.key, **more)
        host.start()
        self.write()
        return host

    def write(self) -> None:
        self.known.write_text("".join(host.known() for host in self.hosts.values()))
        options = [f"UserKnownHostsFile={self.known}", "GlobalKnownHostsFile=/dev/null", "StrictHostKeyChecking=yes"]
        lines = ["[defaults]", 'user = "root"', 'identity = "key"', f"cpus = {os.cpu_count()}", f"options = {options}"]
        for name, host in self.hosts.items():
            lines += [f"[hosts.{name}]", 'address = "127.0.0.1"', f"port = {host.port}"]
        lines += ["[limits]", *(f"{key} = {value}" for key, value in self.limits.items())]
        self.file.write_text("\n".join(lines) + "\n")

    def command(self, *more: str) -> list[str]:
        words = ["compare", "default", "-w", str(self.workload), "--on", f"ssh:{self.file}", "-o", str(self.out)]
        return [sys.executable, "-m", "schedlab", *words, "--no-report", *more]

    def compare(self, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*more), cwd=ROOT / "lab", capture_output=True, text=True, timeout=120, check=False
        )

    def start(self, *more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*more), cwd=ROOT / "lab", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
