# SPDX-License-Identifier: GPL-2.0-or-later
# stress.sh SCHEDULER STORM_SECONDS HOTPLUG_SECONDS: a policy, or the program that loads one, under storms of forks and of
# yields, then under changing affinities, forks, pipes and CPU hotplug. One line of JSON for each, and one for the end.
. /test/common.sh
name=$1
storm_s=$2
hotplug_s=$3
log=/tmp/log
command="schedlab-host load $name"
[ ! -x "$name" ] || command=$name

# pause SECONDS, without a process of its own that would have to be scheduled several times.
mkfifo /tmp/clock
exec 9<>/tmp/clock
pause() { read -t "$1" nothing <&9; }

# CPU 1 goes away for a while and comes back, until the file is gone.
echo 0 >/tmp/offlined
hotplug() {
	n=0
	while [ -e /tmp/hotplug ]; do
		echo 0 >/sys/devices/system/cpu/cpu1/online && n=$((n + 1))
		echo $n >/tmp/offlined
		pause 0.5
		echo 1 >/sys/devices/system/cpu/cpu1/online
		pause 0.5
	done
}

# Under turns of 100 ms each step of a hotplug waits for all hogs: some more rounds, where it has not come often enough.
hotplugged_enough() { [ ! -e /tmp/hotplug ] || [ "$(cat /tmp/offlined)" -ge 5 ] 2>/dev/null; }

# phase NAME SECONDS ARGUMENTS: stress-ng, and what is left of the scheduler afterwards.
phase() {
	before=$(rejected)
	phase=$1
	seconds=$2
	shift 2
	stress-ng "$@" --timeout "${seconds}s" >/tmp/stress.log 2>&1
	stressed=$?
	rounds=6
	until hotplugged_enough || [ $stressed != 0 ] || [ $rounds = 0 ] || [ "$seconds" -lt 25 ]; do
		rounds=$((rounds - 1))
		stress-ng "$@" --timeout 5s >/tmp/stress.log 2>&1
		stressed=$?
	done
	if [ -e /tmp/hotplug ]; then
		rm /tmp/hotplug
		wait $hotplugger
		# A policy without CPU callbacks is loaded again after each hotplug: give the last time a moment.
		sleep 2
		wait_state enabled 30 $loader
	fi
	echo "{\"event\": \"$phase\", \"stress_ng\": $stressed, \"said\": $(text /tmp/stress.log), \"state\": \"$(state)\"," \
		"\"ops\": \"$(ops)\", \"rejected\": $(($(rejected) - before)), \"log\": $(text $log)}"
}

$command >$log 2>&1 &
loader=$!
if wait_state enabled 60 $loader; then
	phase forks "$storm_s" --fork 4 --vfork 2
	phase yields "$storm_s" --yield 8 --cpu 1
	touch /tmp/hotplug
	hotplug &
	hotplugger=$!
	phase hotplug "$hotplug_s" --aggressive -c 2 -f 2 --affinity 1 --affinity-delay 1 --affinity-pin --yield 1 --pipe 1
fi
kill -INT $loader 2>/dev/null
wait $loader
ended=$?
wait_state disabled 10
echo "{\"event\": \"end\", \"loader\": $ended, \"left\": \"$(state)\", \"offlined\": $(cat /tmp/offlined)," \
	"\"log\": $(text $log)}"
