#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's first process: mount what programs expect, run the command, report its exit status, power off.
# Three virtio-serial ports lead to the host: what the command prints, what it complains about, and how it ended.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/ HOME=/ LANG=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
ln -s /proc/self/fd /dev/fd
ip link set lo up
hostname schedlab

if [ -e /schedlab/interactive ]; then
	# Our terminal's size, by way of the kernel's command line.
	stty cols "$COLUMNS" rows "$LINES" </dev/console
	setsid cttyhack sh -l
else
	echo started >/dev/vport0p3
	sh /schedlab/command </dev/null >/dev/vport0p1 2>/dev/vport0p2
	echo "exit $?" >/dev/vport0p3
fi
poweroff -f
