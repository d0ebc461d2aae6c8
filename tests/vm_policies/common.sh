# SPDX-License-Identifier: GPL-2.0-or-later
# Helpers of the guest's scripts.
EXT=/sys/kernel/sched_ext

state() { cat $EXT/state; }
ops() { cat $EXT/root/ops 2>/dev/null; }
rejected() { cat $EXT/nr_rejected; }

# wait_state STATE SECONDS [PID]: whether the kernel got there in time, and before that process ended.
wait_state() {
	tries=$(($2 * 5))
	while [ "$(state)" != "$1" ]; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		[ -z "$3" ] || kill -0 $3 2>/dev/null || return 1
		sleep 0.2
	done
}

# text FILE: its contents as a JSON string.
text() { printf '"'; tr -d '"\\\r' <"$1" | tr '\t\n' ' |' | tr -d '\000-\037'; printf '"'; }

# processes: how many there are, without the kernel's own threads, which have no command line. One may end meanwhile.
processes() {
	n=0
	for process in /proc/[0-9]*; do
		[ -z "$({ tr -d "\0" <$process/cmdline; } 2>/dev/null)" ] || n=$((n + 1))
	done
	echo $n
}
