# SPDX-License-Identifier: GPL-2.0-or-later
"""The configuration of a small kernel that a guest boots: what it needs of a cloud kernel's, and all that schedules.

Most of a cloud kernel is for what no guest has, and is most of its build. Every option here has the value of the cloud
kernel; what is not here is off, but for what these options need.
"""

import re
from collections.abc import Mapping

from schedlab.errors import InputError

# Whole names, as patterns.
_TAKEN = r"""
    64BIT SMP MAXSMP NR_CPUS EXPERT MULTIUSER CC_OPTIMIZE_FOR_PERFORMANCE KERNEL_\w+ RELOCATABLE

    HYPERVISOR_GUEST PARAVIRT PARAVIRT_SPINLOCKS KVM_GUEST PVH ACPI ACPI_PROCESSOR ACPI_NUMA X86_64_ACPI_NUMA PCI
    PCI_MSI CPU_SUP_\w+ X86_TSC VIRTIO_MENU VIRTIO_PCI VIRTIO_CONSOLE TTY UNIX98_PTYS SERIAL_8250 SERIAL_8250_CONSOLE
    SERIAL_8250_PNP HOTPLUG_CPU HOTPLUG_SMT

    BLK_DEV_INITRD DEVTMPFS TMPFS SHMEM PROC_FS SYSFS SYSCTL PROC_SYSCTL DEBUG_FS DEBUG_FS_ALLOW_ALL BINFMT_ELF
    BINFMT_SCRIPT FILE_LOCKING PRINTK PRINTK_TIME BUG POSIX_TIMERS FUTEX FUTEX_\w+ EPOLL SIGNALFD TIMERFD EVENTFD
    ADVISE_SYSCALLS MEMBARRIER RSEQ SYSVIPC POSIX_MQUEUE NAMESPACES \w+_NS NET UNIX INET SECCOMP SECCOMP_FILTER

    SCHED_\w+ SCHEDSTATS PREEMPT PREEMPT_\w+ HZ HZ_\w+ NO_HZ_\w+ HIGH_RES_TIMERS RCU_\w+ UCLAMP_\w+ PSI PSI_\w+ CGROUPS
    CGROUP_SCHED CGROUP_PIDS CGROUP_FREEZER CGROUP_CPUACCT CGROUP_BPF CGROUP_PERF \w+_GROUP_SCHED CFS_BANDWIDTH CPUSETS
    MEMCG VIRT_CPU_ACCOUNTING VIRT_CPU_ACCOUNTING_\w+ IRQ_TIME_ACCOUNTING TASKSTATS TASK_\w+ NUMA NUMA_BALANCING\w*
    CPU_FREQ CPU_FREQ_GOV_SCHEDUTIL CPU_FREQ_DEFAULT_GOV_SCHEDUTIL CPU_IDLE CPU_IDLE_GOV_\w+ HALTPOLL_CPUIDLE
    CPU_ISOLATION

    BPF BPF_\w+ DEBUG_KERNEL DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT DEBUG_INFO_BTF KALLSYMS KALLSYMS_ALL PERF_EVENTS
    PROFILING FTRACE FUNCTION_TRACER DYNAMIC_FTRACE FTRACE_SYSCALLS KPROBES KPROBE_EVENTS UPROBES UPROBE_EVENTS
    JUMP_LABEL UNWINDER_ORC LOCKUP_DETECTOR SOFTLOCKUP_DETECTOR

    CPU_MITIGATIONS MITIGATION_\w+ STACKPROTECTOR STACKPROTECTOR_STRONG INIT_\w+ FORTIFY_SOURCE HARDENED_\w+ UBSAN
    UBSAN_\w+ SLAB_\w+ SLUB_\w+ RANDOMIZE_\w+ VMAP_STACK TRANSPARENT_HUGEPAGE TRANSPARENT_HUGEPAGE_\w+ COMPACTION
    MIGRATION LIST_HARDENED BUG_ON_DATA_CORRUPTION
"""
_LINE = re.compile(rf"CONFIG_({'|'.join(_TAKEN.split())})=(?!m$).*")


def of_guest(cloud: str, changed: Mapping[str, str]) -> str:
    """What `make allnoconfig` is told, out of the cloud kernel's configuration and what the user asks for."""
    taken = [line for line in cloud.splitlines() if (found := _LINE.fullmatch(line)) and found[1] not in changed]
    return "".join(f"{line}\n" for line in [*taken, *(line(name, value) for name, value in changed.items())])


def asked(settings: list[str]) -> dict[str, str]:
    """`NAME=VALUE` words as options and their values; raises InputError."""
    changed = {}
    for setting in settings:
        found = re.fullmatch(r"(?:CONFIG_)?(\w+)=([^\"\\\n]*)", setting)
        if not found or found[2] == "m":
            raise InputError(
                f"--config {setting}: expected NAME=VALUE; y, n, a number, or a text without quotation marks"
            )
        changed[found[1]] = found[2]
    return changed


def line(name: str, value: str) -> str:
    """A line of .config."""
    if value == "n":
        return f"# CONFIG_{name} is not set"
    bare = re.fullmatch(r"y|-?\d+|0x[\da-fA-F]+", value)
    return f"CONFIG_{name}={value}" if bare else f'CONFIG_{name}="{value}"'


def check(made: str, changed: Mapping[str, str]) -> None:
    """Raises InputError for an option that did not become what was asked: kconfig drops it without a word."""
    lines = made.splitlines()
    for name, value in changed.items():
        off = value == "n" and not any(each.startswith(f"CONFIG_{name}=") for each in lines)
        if line(name, value) not in lines and not off:
            raise InputError(f"--config {name}={value}: not possible in this kernel: unknown, or against other options")
