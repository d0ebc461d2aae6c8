#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs a cell twice under a scheduler that stays loaded: once to warm up, and to see how long it takes, and once to be
# counted (schedlab.vm.counted). Prints the symbols of BPF programs before.
# The stretch begins where the tasks are let go, if the run is short, else in the middle of the run: the second one gets
# there some hundredths of a second sooner than the first. AFTER_S is where it begins if it is given, in seconds.
# usage: profiled.sh RUNNER SCHEDULER|default AFTER_S|'' WORKLOAD OPTION…
runner=$1
scheduler=$2
after_s=$3
shift 3
short_us=100000

# now_us NAME: the time, without a process of its own. Only busybox's shell has to know it.
now_us() {
	set -- "$1" "$EPOCHREALTIME"
	eval "$1=${2%.*}${2#*.}"
}

if [ "$scheduler" != default ]; then
	cat >/tmp/holder.toml <<-'END'
		name = "holder"
		title = "a task that sleeps for as long as its scheduler is needed"
		source = "schedlab"
		load = "tasks"
		loads = [1]
		[params]
		tasks = { default = 1, min = 1, max = 1, about = "tasks" }
		[[task]]
		name = "holder"
		program = [{ loop = [{ sleep_us = 1_000_000_000 }] }]
		[end]
		after_s = 3_600
		[metrics]
		promises = ["elapsed_s"]
	END
	"$runner" exec /tmp/holder.toml --scheduler "$scheduler" >/tmp/holder 2>&1 &
	holder=$!
	until [ "$(cat /sys/kernel/sched_ext/state)" = enabled ]; do
		kill -0 $holder 2>/dev/null || {
			tail -n 1 /tmp/holder >&2
			exit 1
		}
		sleep 1
	done
fi
# The kernel has work left over from booting.
sleep 5
now_us began_us
"$runner" exec "$@" >/tmp/told || {
	head -n 1 /tmp/told >&2
	exit 1
}
now_us ended_us
elapsed_us=$(awk '$1 == "elapsed_s" { printf "%d", $2 * 1000000 }' /tmp/told)
grep '\[bpf\]$' /proc/kallsyms
if [ -z "$after_s" ] && [ "$elapsed_us" -le $short_us ]; then
	echo begin start
	times >/dev/null
	"$runner" exec "$@" >/dev/null
else
	wait_us=$((ended_us - began_us - elapsed_us / 2))
	echo begin later
	times >/dev/null
	"$runner" exec "$@" >/dev/null &
	sleep "${after_s:-$((wait_us / 1000000)).$(printf %06d $((wait_us % 1000000)))}"
	times >/dev/null
	wait $!
fi
