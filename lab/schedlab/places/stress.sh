# SPDX-License-Identifier: GPL-2.0-or-later
# stress.sh SECONDS hotplug|no-hotplug OBJECT OPTION...: one policy, changing affinities, forks, pipes, a CPU that goes.
# Prints what the loader says, and one line of JSON for schedlab.check.
EXT=/sys/kernel/sched_ext
seconds=$1
hotplug=$2
shift 2
log=$(mktemp)

state() { cat $EXT/state; }

# wait_state STATE SECONDS: whether the kernel got there in time, and before the loader ended.
wait_state() {
	tries=$(($2 * 5))
	while [ "$(state)" != "$1" ]; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		kill -0 $loader 2>/dev/null || return 1
		sleep 0.2
	done
}

# result LOADED STRESS ENDED OPS STATE
result() {
	[ "$1" = true ] || cat $log
	[ "$1" = false ] || grep -v '^libbpf' $log
	echo "schedlab-check: {\"loaded\": $1, \"stress\": $2, \"ended\": $3, \"ops\": \"$4\", \"state\": \"$5\"," \
		"\"seconds\": $seconds, \"kernel\": \"$(uname -r)\"}"
	rm -f $log
}

schedlab-host load "$@" --verbose >$log 2>&1 &
loader=$!
trap 'kill -INT $loader 2>/dev/null' EXIT
if ! wait_state enabled 60; then
	kill $loader 2>/dev/null
	wait $loader
	result false 0 false '' "$(state)"
	exit 1
fi
ops=$(cat $EXT/root/ops)

if command -v stress-ng >/dev/null; then
	stress-ng --aggressive -c 2 -f 2 --affinity 1 --affinity-delay 1 --affinity-pin --yield 1 --pipe 1 \
		--timeout ${seconds}s >/dev/null 2>&1 &
else
	# A poor man's stress: two that compute, and one that forks.
	timeout $seconds sh -c 'while :; do :; done & while :; do :; done & while :; do true | cat; done' >/dev/null 2>&1 &
fi
stress=$!
if [ $hotplug = hotplug ]; then
	sleep $((seconds / 3))
	echo 0 >/sys/devices/system/cpu/cpu1/online
	sleep 1
	echo 1 >/sys/devices/system/cpu/cpu1/online
fi
wait $stress
stressed=$?
# The end of its time is what ends the poor man's.
[ $stressed = 124 ] && stressed=0
[ $stressed = 143 ] && stressed=0
# A policy without CPU callbacks is loaded again after each hotplug: give the last time a moment.
sleep 1
wait_state enabled 30
after=$(state)
# Loaded again for hotplug is no end.
ended=false
[ $(grep -c 'EXIT: ' $log) -eq $(grep -c 'loading it again' $log) ] || ended=true
kill -INT $loader 2>/dev/null
wait $loader
trap - EXIT
result true $stressed $ended "$ops" "$after"
