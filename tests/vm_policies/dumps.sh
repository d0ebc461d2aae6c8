# SPDX-License-Identifier: GPL-2.0-or-later
# Policies that let a task wait, until the watchdog ends each: what its loader said, and what the kernel's log says.
. /test/common.sh

# story NAME OBJECT [OPTION…]: loads the object; the function work_NAME is what it then has to schedule.
story() {
	name=$1 object=$2
	shift 2
	seen=$(dmesg | wc -l)
	SCX_TIMEOUT_MS=2000 schedlab-host load /test/objects/$object.bpf.o "$@" >/tmp/said 2>&1 &
	loader=$!
	wait_state enabled 60 $loader && work_$name
	tries=100
	while kill -0 $loader 2>/dev/null && [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		sleep 0.2
	done
	kill -INT $loader 2>/dev/null
	wait $loader
	sed "s/^/dump $name: /" /tmp/said
	dmesg | tail -n +$((seen + 1)) | sed "s/^/log $name: /"
	for pid in $work; do kill -KILL $pid; done 2>/dev/null
	wait $work 2>/dev/null
	work=
}

# hog [COMMAND…]: a task that only computes, started by way of the commands.
hog() {
	"$@" sh -c 'while :; do :; done' &
	work="$work $!"
}

work_forgotten() { hog nice -n 19; }
work_cut() { hog nice -n 19; }
work_refused() { hog nice -n 19; }
work_unread() { :; }

# A name that must be taken for nothing but a name.
work_odd() {
	printf '#!/bin/sh\nwhile :; do :; done\n' >"/tmp/[red]x[1] b"
	chmod +x "/tmp/[red]x[1] b"
	nice -n 19 "/tmp/[red]x[1] b" &
	work="$work $!"
}

work_endless() {
	hog taskset 2
	sleep 0.5
	hog taskset 2
}

# Nor does the watchdog get a CPU.
work_watchdog() {
	hog taskset 1
	hog taskset 2
}

# Nothing bounds what real-time tasks take, as the server for sched_ext's tasks does by default since Linux 7.0.
work_realtime() {
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us
	for server in /sys/kernel/debug/sched/ext_server/cpu*/runtime; do
		[ ! -e $server ] || echo 0 >$server
	done
	hog taskset 2 chrt -f 50
	hog taskset 2
}

story forgotten forgets
story cut forgets --exit-dump-len 700
story odd forgets
story unread pinned_unread
story endless endless
story watchdog endless
story refused refuses
story realtime sound
