# SPDX-License-Identifier: GPL-2.0-or-later
"""A Slurm of one node on this machine: munged, slurmctld and slurmd with keys, ports and folders of their own, and
without what a container may lack: cgroups, accounting, systemd.
"""

import os
import shutil
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.cluster.processes import below, children, kill_with_a_hand, runners
from tests.waiting import wait

_SEARCHED = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_DAEMONS = ("munged", "slurmctld", "slurmd")
_COMMANDS = ("sbatch", "squeue", "scancel", "sinfo", "scontrol")


def lacking() -> str:
    """What keeps a Slurm from running here."""
    if os.geteuid() != 0:
        return "slurmd needs root"
    lacks = [name for name in (*_DAEMONS, *_COMMANDS) if not shutil.which(name, path=_SEARCHED)]
    return f"not installed: {', '.join(lacks)} (Debian: slurm-wlm, munge)" if lacks else ""


class Slurm:
    on = "slurm"

    def __init__(self, folder: Path, cpus: int = 2) -> None:
        self.folder = folder
        self.conf = folder / "slurm.conf"
        self._socket = folder / "munge.socket"
        self._children: list[subprocess.Popen[bytes]] = []
        name = socket.gethostname().partition(".")[0]
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        for each in ("state", "spool"):
            (folder / each).mkdir()
        controller, node = _free_port(), _free_port()
        self.conf.write_text(
            f"""\
ClusterName=schedlab
SlurmctldHost={name}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={self._socket}
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000
NodeName={name} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes={name} Default=YES MaxTime=INFINITE State=UP
"""
        )
        self.environment = {"SLURM_CONF": str(self.conf), "PATH": _SEARCHED}

    def start(self) -> None:
        """Raises AssertionError with what the daemons say where they do not come up."""
        folder = self.folder
        # Its own options stand for the folders of the system's munged, whose owner it would insist on.
        self._daemon(
            "munged", "--foreground", "--force", f"--key-file={folder}/munge.key", f"--socket={self._socket}",
            f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed",
        )  # fmt: skip
        assert wait(self._socket.exists, 120), self.said()
        self._daemon("slurmctld", "-D", "-i")
        self._daemon("slurmd", "-D")
        assert wait(lambda: "idle" in self.ask("sinfo", "-h", "-o", "%t"), 120), self.said()

    def kill_worker_in_a_hand(self, head: subprocess.Popen[str]) -> None:
        """The process of a job that runs cells, which end with it."""

        def find() -> list[tuple[int, int]]:
            # A job's processes are no children of slurmd; its runners are children of the job's Python.
            steps = [pid for pid in _named("slurmstepd") if str(self.conf) in _environment(pid)]
            jobs = [pid for step in steps for pid in below(step)]
            return [(pid, runner) for pid in jobs for runner in runners(pid) if runner in children(pid)]

        kill_with_a_hand(find, head, self.said)

    def ask(self, *words: str) -> str:
        done = subprocess.run(words, env=os.environ | self.environment, capture_output=True, text=True, check=False)
        return done.stdout

    def stop(self) -> None:
        """Jobs first, so that none outlives the daemon that knows of it."""
        self.ask("scancel", "--user=root")
        wait(lambda: not self.ask("squeue", "-h"), 10)
        for child in reversed(self._children):
            child.terminate()
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self._children.clear()

    def said(self) -> str:
        """The end of every daemon's log."""
        logs = [*self.folder.glob("*.log"), *self.folder.glob("*.out")]
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-1500:]}" for log in logs)

    def _daemon(self, name: str, *words: str) -> None:
        program = shutil.which(name, path=_SEARCHED)
        assert program
        with (self.folder / f"{name}.out").open("wb") as out:
            child = subprocess.Popen(
                [program, *words], env=os.environ | self.environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )
        self._children.append(child)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _named(name: str) -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _comm(entry) == name]


def _comm(entry: Path) -> str:
    with suppress(OSError):
        return (entry / "comm").read_text().strip()
    return ""


def _environment(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace")
    return ""
