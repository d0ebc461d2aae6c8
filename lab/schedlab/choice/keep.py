# SPDX-License-Identifier: GPL-2.0-or-later
"""How a scheduler is kept: the command that loads it now, and what loads it at every boot."""

import shlex
from pathlib import Path

from schedlab import checkout
from schedlab.campaign.arms import Arm
from schedlab.catalogue.schedulers import DEFAULT, OPTIONS

# The modes in which scx_loader may be asked to start a scheduler.
_MODES = ("auto", "gaming", "lowlatency", "powersave", "server")


def now(arm: Arm) -> str:
    """A command."""
    if arm.scheduler.name == DEFAULT:
        return "sudo schedlab unload"
    if _of_tree(arm):
        options = [f"--{name.replace('_', '-')}={value}" for name, value in arm.tunables.items()]
        return shlex.join(["sudo", "schedlab", "load", arm.scheduler.name, *(["--", *options] if options else [])])
    made = [] if arm.scheduler.is_program or _is_object(arm) else [shlex.join(_build(arm))]
    return " && ".join([*made, f"sudo {shlex.join(_command(arm))}"])


def at_boot(arm: Arm) -> str:
    """Lines for a person to put where they say; empty for the kernel's own scheduler, which is there by itself."""
    if arm.scheduler.name == DEFAULT:
        return ""
    unit = [
        f"at every boot, /etc/systemd/system/{_unit(arm)} (then systemctl enable --now {_unit(arm)}):",
        "  [Unit]",
        f"  Description=CPU scheduler {arm.label}",
        "  Conflicts=scx.service scx_loader.service",
        "  [Service]",
        f"  ExecStart={shlex.join(_command(arm)).replace('%', '%%')}",
        "  Restart=on-failure",
        "  [Install]",
        "  WantedBy=multi-user.target",
    ]
    if not arm.scheduler.is_program:
        return "\n".join(unit)
    options = ", ".join(f'"{word}"' for word in shlex.split(arm.tunables.get(OPTIONS, "")))
    name = f"scx_{arm.scheduler.name}"
    loader = [
        "or where scx_loader knows it, /etc/scx_loader/config.toml:",
        f'  default_sched = "{name}"',
        '  default_mode = "Auto"',
        f"  [scheds.{name}]",
        *(f"  {mode}_mode = [{options if mode == 'auto' else ''}]" for mode in _MODES),
    ]
    return "\n".join([*unit, *loader])


def _unit(arm: Arm) -> str:
    return f"schedlab-{arm.scheduler.name}.service"


def _of_tree(arm: Arm) -> bool:
    origin = arm.scheduler.origin
    return bool(origin and origin.resolve().parent == (checkout.root() / "schedulers").resolve())


def _command(arm: Arm) -> list[str]:
    scheduler = arm.scheduler
    if scheduler.is_program:
        return [str(scheduler.origin), *shlex.split(arm.tunables.get(OPTIONS, ""))]
    options = [f"--{name.replace('_', '-')}={value}" for name, value in arm.tunables.items()]
    if _of_tree(arm):
        program = checkout.find_binary(f"scx_{scheduler.name}", resolve=False) or f"scx_{scheduler.name}"
        return [str(program), *options]
    made = str(scheduler.path) if _is_object(arm) else str(_built(arm))
    return [_ours("schedlab-host"), "load", made, *options]


def _is_object(arm: Arm) -> bool:
    """Whether its file can be loaded as it is."""
    return bool(arm.scheduler.path and arm.scheduler.path.suffix in (".o", ".json"))


def _built(arm: Arm) -> Path:
    """The object of a policy's source, beside it."""
    assert arm.scheduler.origin
    return arm.scheduler.origin.resolve() / f"scx_{arm.scheduler.name}.bpf.o"


def _build(arm: Arm) -> list[str]:
    return [_ours("schedlab-sim"), "object", str(arm.scheduler.path), str(_built(arm))]


def _ours(name: str) -> str:
    return str(checkout.find_binary(name) or name)
