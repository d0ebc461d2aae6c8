# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel that may serve as the guest's, before it is fetched, and what makes it fit."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import PlaceError

# What a guest needs built in, since its initramfs holds no modules.
OPTIONS = ("SCHED_CLASS_EXT", "VIRTIO_PCI", "VIRTIO_CONSOLE", "SERIAL_8250_CONSOLE", "BLK_DEV_INITRD", "DEVTMPFS")
# From 7.0 on a kfunc with a hidden argument has a twin NAME_impl in the kernel's type information. Where pahole missed
# some of them, as in 7.2.11 and 7.2.12 of trixie-backports, no scheduler loads that calls them.
KFUNC_TWINS = (
    "__scx_bpf_dsq_insert_vtime bpf_iter_scx_dsq_new scx_bpf_create_dsq scx_bpf_destroy_dsq scx_bpf_dsq_insert "
    "scx_bpf_dsq_move_to_local scx_bpf_dsq_nr_queued scx_bpf_error_bstr scx_bpf_exit_bstr scx_bpf_get_idle_cpumask "
    "scx_bpf_get_idle_smtmask scx_bpf_kick_cpu scx_bpf_pick_any_cpu scx_bpf_pick_idle_cpu scx_bpf_select_cpu_dfl "
    "scx_bpf_task_set_dsq_vtime scx_bpf_task_set_slice scx_bpf_test_and_clear_cpu_idle"
).split()


class Unfit(PlaceError):
    """This kernel will not do; another one may."""


@dataclass(frozen=True)
class Candidate:
    """Its `uname -r`, where it comes from, and how to get at its image and its config.

    `fetch` is given an empty folder to work in, and may raise Unfit.
    """

    release: str
    origin: str
    fetch: Callable[[Path], tuple[Path, Path]]


def check_config(release: str, config: str) -> None:
    """Refuse a kernel that lacks what a guest needs."""
    lines = set(config.splitlines())
    lacking = [f"CONFIG_{option}=y" for option in OPTIONS if f"CONFIG_{option}=y" not in lines]
    if lacking:
        raise Unfit(f"kernel {release} lacks {', '.join(lacking)}")


def check_types(release: str, elf: bytes) -> None:
    """Refuse an unpacked kernel that the policies could not be loaded into."""
    if numbers(release)[0] < 7:
        return
    missing = [name for name in KFUNC_TWINS if f"\0{name}_impl\0".encode() not in elf]
    if missing:
        raise Unfit(f"kernel {release} loads no scheduler that calls {missing[0]}: its type information is broken")


def numbers(release: str) -> list[int]:
    """Sorts releases by their numbers: 7.2.9 before 7.2.12."""
    return [int(number) for number in re.findall(r"\d+", release)]
