# SPDX-License-Identifier: GPL-2.0-or-later
"""A root with nothing but Debian's essential packages, laid from those of this machine: no network, a few seconds."""

import os
import shutil
import subprocess
from pathlib import Path

DATABASE = Path("var/lib/dpkg")
# What dpkg writes about its own work.
WRITTEN = (DATABASE, Path("var/log"), Path("var/cache"), Path("run"))


def _essential() -> dict[str, str]:
    """Names of the essential packages and of all that they depend on, each with its paragraph of dpkg's status."""
    paragraphs: dict[str, str] = {}
    provided: dict[str, str] = {}
    essential = []
    for paragraph in (Path("/") / DATABASE / "status").read_text("utf-8").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if ": " in line and line[0] != " ")
        if fields.get("Status") != "install ok installed":
            continue
        name = fields["Package"]
        paragraphs.setdefault(name, paragraph)
        for other in fields.get("Provides", "").split(","):
            provided.setdefault(other.split("(")[0].strip(), name)
        if fields.get("Essential") == "yes":
            essential.append(name)
    found: dict[str, str] = {}
    while essential:
        name = essential.pop()
        if name in found or name not in paragraphs:
            continue
        found[name] = paragraphs[name]
        for line in paragraphs[name].splitlines():
            if line.startswith(("Depends: ", "Pre-Depends: ")):
                for dependency in line.split(": ", 1)[1].split(","):
                    choices = [part.split("(")[0].split(":")[0].strip() for part in dependency.split("|")]
                    there = [choice for choice in choices if choice in paragraphs or choice in provided]
                    if there:
                        essential.append(there[0] if there[0] in paragraphs else provided[there[0]])
    return found


class CleanRoot:
    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        for merged in ("bin", "sbin", "lib", "lib64"):
            if (target := Path("/") / merged).is_symlink():
                (path / merged).symlink_to(os.readlink(target))
                (path / os.readlink(target)).mkdir(parents=True)
        packages = _essential()
        listed = subprocess.run(["dpkg", "-L", *packages], capture_output=True, text=True, check=True).stdout
        files = {line.lstrip("/") for line in listed.splitlines() if line.startswith("/") and os.path.lexists(line)}
        files -= {"", ".", "bin", "sbin", "lib", "lib64"}
        given = "\n".join(sorted(files | {"etc/passwd", "etc/group"})).encode()
        packing = subprocess.run(
            ["tar", "-C", "/", "--no-recursion", "-cf", "-", "-T", "-"], input=given, capture_output=True, check=True
        )
        subprocess.run(["tar", "-C", path, "--keep-directory-symlink", "-xf", "-"], input=packing.stdout, check=True)
        database = path / DATABASE
        for folder in (database / "info", database / "updates", database / "triggers", path / "dev", path / "proc"):
            folder.mkdir(parents=True, exist_ok=True)
        (database / "status").write_text("\n\n".join(packages.values()) + "\n", "utf-8")
        for name in packages:
            for file in (Path("/") / DATABASE / "info").glob(f"{name}[.:]*"):
                shutil.copy(file, database / "info")
        (database / "info/format").write_text("1\n")
        (database / "available").touch()
        (path / "dev/null").touch()
        self.run("ldconfig")

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "DEBIAN_FRONTEND": "noninteractive",
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            ["chroot", self.path, *command], capture_output=True, text=True, check=False, env=environment
        )
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done

    def files(self) -> set[Path]:
        """All of it, but what dpkg keeps about its work."""
        found = {path.relative_to(self.path) for path in self.path.rglob("*")}
        return {path for path in found if not any(path.is_relative_to(own) for own in WRITTEN)}
