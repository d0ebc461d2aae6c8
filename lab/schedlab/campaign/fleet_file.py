# SPDX-License-Identifier: GPL-2.0-or-later
"""A file of hosts: other machines that run blocks (docs/fleet.md).

[defaults]                    # of every host; a host's own table goes before it
user = "root"
port = 22
identity = "~/.ssh/fleet"     # a private key
cpus = 8                      # that are online on it
options = ["ProxyJump=gate"]  # as ssh's -o takes them
[hosts.left]
address = "10.0.0.1"          # a name or number, or a Host of ssh's own configuration
[hosts.right]
address = "10.0.0.2"
cpus = 16
[limits]
busy_pct = 10                 # of all CPUs' time that others may take before and after a block
cell_s = 300                  # that nothing may come from a host
silence_s = 30                # after which a host ends by itself what it hears nothing about
retries = 3                   # of a host that fails
backoff_s = 5                 # before the first of them; twice as long before each other
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab.catalogue import toml
from schedlab.catalogue.machines import Machine
from schedlab.errors import InputError, unknown

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_WORD = re.compile(r"[^\s\0-]\S*")
_OPTION = re.compile(r"[A-Za-z]+=[^\0\n]+")
_TABLES = ("defaults", "hosts", "limits")
_MACHINE = re.compile(r"(\d+)(?:-cpus)?")
MOST_CPUS = 4096


@dataclass(frozen=True)
class Host:
    name: str
    address: str
    cpus: int
    user: str = ""  # empty: as ssh's own configuration says; so are the others
    port: int = 0
    identity: str = ""
    options: tuple[str, ...] = ()

    @property
    def destination(self) -> str:
        """For people."""
        return f"{f'{self.user}@' if self.user else ''}{self.address}{f' port {self.port}' if self.port else ''}"

    @property
    def machine(self) -> str:
        """Hosts with as many CPUs stand for each other."""
        return f"{self.cpus}-cpus"


@dataclass(frozen=True)
class Limits:
    busy_pct: float = 10
    cell_s: float = 300
    silence_s: int = 30
    retries: int = 3
    backoff_s: float = 5


@dataclass(frozen=True)
class Fleet:
    path: Path
    hosts: tuple[Host, ...]
    limits: Limits = Limits()

    @property
    def machines(self) -> str:
        """All that its hosts are, as -m names them."""
        return ",".join(dict.fromkeys(host.machine for host in self.hosts))

    def machine(self, name: str) -> Machine:
        found = _MACHINE.fullmatch(name)
        cpus = int(found[1]) if found else 0
        if not any(host.cpus == cpus for host in self.hosts):
            there = ", ".join(dict.fromkeys(str(host.cpus) for host in self.hosts))
            raise InputError(f"-m '{name}': expected a number of CPUs that a host of {self.path} has: {there}")
        return Machine(f"{cpus}-cpus", None, f"hosts with {cpus} CPUs", cpus)


def read(path: Path) -> Fleet:
    data = toml.read(path)
    for key in data:
        if key not in _TABLES:
            raise InputError(f"{path}: {unknown('key', key, _TABLES)}")
    tables = {key: _table(path, key, data.get(key, {})) for key in _TABLES}
    defaults = _settings(path, "defaults", tables["defaults"], with_address=False)
    if not tables["hosts"]:
        raise InputError(f"{path}: key 'hosts': expected a table for each host, such as [hosts.left]")
    hosts = [_host(path, name, table, defaults) for name, table in tables["hosts"].items()]
    return Fleet(path, tuple(hosts), _limits(path, tables["limits"]))


def _table(path: Path, key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{path}: key '{key}': expected a table")
    return value


def _host(path: Path, name: str, table: Any, defaults: dict[str, Any]) -> Host:
    key = f"hosts.{name}"
    if not _NAME.fullmatch(name):
        raise InputError(f"{path}: key '{key}': expected a name of letters, digits, '-', '_' and '.'")
    settings = defaults | _settings(path, key, _table(path, key, table), with_address=True)
    for needed, expected in (("address", "a name or number"), ("cpus", "how many CPUs are online on it")):
        if needed not in settings:
            raise InputError(f"{path}: key '{key}.{needed}': expected {expected}")
    return Host(name=name, **settings)


def _settings(path: Path, at: str, table: dict[str, Any], with_address: bool) -> dict[str, Any]:
    known = [*(["address"] if with_address else []), "user", "port", "identity", "cpus", "options"]
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise InputError(f"{path}: {at}: {unknown('key', key, known)}")
        name = f"{path}: key '{at}.{key}'"
        if key in ("address", "user"):
            # What begins with a hyphen would be an option.
            if not isinstance(value, str) or not _WORD.fullmatch(value) or (key == "user" and "@" in value):
                raise InputError(f"{name}: expected a word, got {value!r}")
        elif key in ("port", "cpus"):
            most = 65_535 if key == "port" else MOST_CPUS
            if type(value) is not int or not 1 <= value <= most:
                raise InputError(f"{name}: expected an integer from 1 to {most}, got {value!r}")
        elif key == "identity":
            value = _identity(path, name, value)
        elif not isinstance(value, list) or not all(isinstance(v, str) and _OPTION.fullmatch(v) for v in value):
            raise InputError(f"{name}: expected a list of strings such as 'ProxyJump=gate', got {value!r}")
        found[key] = tuple(value) if isinstance(value, list) else value
    return found


def _identity(path: Path, name: str, value: Any) -> str:
    """A path that is not absolute begins where the file is."""
    if not isinstance(value, str) or not value:
        raise InputError(f"{name}: expected the path of a private key, got {value!r}")
    key = path.resolve().parent / Path(value).expanduser()
    if not key.is_file():
        raise InputError(f"{name}: no such file: {key}")
    return str(key)


_RANGES = {
    "busy_pct": (0, 100, False),
    "cell_s": (1, 86_400, False),
    "silence_s": (2, 86_400, True),
    "retries": (0, 100, True),
    "backoff_s": (0, 3_600, False),
}


def _limits(path: Path, table: dict[str, Any]) -> Limits:
    for key, value in table.items():
        if key not in _RANGES:
            raise InputError(f"{path}: limits: {unknown('key', key, _RANGES)}")
        least, most, whole = _RANGES[key]
        is_number = type(value) is int or (type(value) is float and not whole)
        if not is_number or not least <= value <= most:
            kind = "an integer" if whole else "a number"
            raise InputError(f"{path}: key 'limits.{key}': expected {kind} from {least} to {most:,}, got {value!r}")
    return Limits(**table)
