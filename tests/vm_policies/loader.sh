# SPDX-License-Identifier: GPL-2.0-or-later
# What the loader does beside scheduling, with the simplest scheduler. The shards lie in /test/shards.
. /test/common.sh
H=schedlab-host

# load LOG ARGUMENT...: in the background, enabled when it returns; the process is $loader. The kernel counts in enable_seq
# after it has set the state, and tells the loader then.
load() {
	log=$1
	shift
	"$@" >$log 2>&1 &
	loader=$!
	wait_state enabled 60 $loader
	while ! grep -q " schedules$" $log && kill -0 $loader 2>/dev/null; do
		sleep 0.1
	done
}

ln -s /bin/schedlab-host /bin/scx_vtime
SCX_TIMEOUT_MS=20000 load /tmp/scx scx_vtime --stats 0.5
$H status --json >/tmp/status
echo "{\"event\": \"loaded\", \"ops\": \"$(ops)\", \"switch_all\": $(cat $EXT/switch_all), \"status\": $(text /tmp/status)}"
$H load vtime >/tmp/second 2>&1
echo "{\"event\": \"second\", \"exit\": $?, \"said\": $(text /tmp/second), \"ops\": \"$(ops)\"}"
$H run /test/shards/two.json --out /tmp/none >/tmp/busy 2>&1
echo "{\"event\": \"busy\", \"exit\": $?, \"said\": $(text /tmp/busy)}"
sleep 1
kill -TERM $loader
wait $loader
echo "{\"event\": \"terminated\", \"exit\": $?, \"state\": \"$(state)\", \"said\": $(text /tmp/scx)}"

# Counters, by the loader itself and by another process, of every scheduler that counts.
for name in "$@"; do
	load /tmp/counted $H load $name --stats 1
	timeout -s INT 5 $H load $name --monitor 1 >/tmp/monitored 2>&1 &
	monitor=$!
	$H exec /workloads/latt.toml --load 2 --param duration_s=4 --json >/tmp/exec.json
	ran_under=$(grep -o '"ops":"[^"_]*' /tmp/exec.json)
	wait $monitor
	kill -INT $loader
	wait $loader
	echo "{\"event\": \"counted\", \"scheduler\": \"$name\", \"exec\": \"${ran_under##*\"}\", \"stats\": $(text /tmp/counted)," \
		"\"monitor\": $(text /tmp/monitored)}"
done

# The kernel takes it away: SysRq-S.
load /tmp/sysrq $H load vtime
echo S >/proc/sysrq-trigger
wait $loader
echo "{\"event\": \"sysrq\", \"exit\": $?, \"said\": $(text /tmp/sysrq)}"

# A CPU goes: loaded again, until we end it.
load /tmp/hotplug $H load vtime
seq=$(cat $EXT/enable_seq)
echo 0 >/sys/devices/system/cpu/cpu1/online
tries=100
while [ "$(cat $EXT/enable_seq)" = "$seq" ] && [ $tries -gt 0 ]; do
	sleep 0.1
	tries=$((tries - 1))
done
wait_state enabled 30 $loader
echo 1 >/sys/devices/system/cpu/cpu1/online
sleep 3
wait_state enabled 30 $loader
echo "{\"event\": \"hotplug\", \"state\": \"$(state)\", \"again\": $(($(cat $EXT/enable_seq) - seq))}"
kill -INT $loader
wait $loader
echo "{\"event\": \"hotplug-end\", \"exit\": $?, \"state\": \"$(state)\", \"said\": $(text /tmp/hotplug)}"

# A kernel that gives up soon, for the watchdog, but not while it loads: more tasks than CPUs, and less patience than fifo has.
SCX_TIMEOUT_MS=500 $H run /test/shards/hogs.json --out /tmp/ejected --records-fd 1 2>/tmp/ejected.err
echo "{\"event\": \"ejected\", \"exit\": $?, \"state\": \"$(state)\", \"said\": $(text /tmp/ejected.err)}"

# Taken away in the middle of a cell.
$H run /test/shards/long.json --out /tmp/void --records-fd 1 2>/tmp/void.err &
runner=$!
wait_state enabled 60 $runner
sleep 1
echo S >/proc/sysrq-trigger
wait $runner
echo "{\"event\": \"void\", \"exit\": $?, \"state\": \"$(state)\", \"said\": $(text /tmp/void.err)}"

# Interrupted in the second cell: the first record stays, nothing else does, and running again resumes.
sysctl -w kernel.sched_autogroup_enabled=1 >/dev/null
alone=$(processes)
$H run /test/shards/two.json --out /tmp/two >/tmp/two.out 2>/tmp/two.err &
runner=$!
wait_state enabled 60 $runner
sleep 1
during=$(cat /proc/sys/kernel/sched_autogroup_enabled)
kill -INT $runner
wait $runner
status=$?
echo "{\"event\": \"interrupted\", \"exit\": $status, \"state\": \"$(state)\", \"records\": $(ls /tmp/two | wc -l)," \
	"\"left\": $(($(processes) - alone)), \"autogroup_during\": $during," \
	"\"autogroup\": $(cat /proc/sys/kernel/sched_autogroup_enabled), \"said\": $(text /tmp/two.err)}"
# Meanwhile somebody sets the clock, some years on and more back.
$H run /test/shards/two.json --out /tmp/two >/tmp/two.out 2>/tmp/two.err &
runner=$!
wait_state enabled 60 $runner
sleep 2
set_clock=0
date -s @1924992000 >/dev/null && sleep 2 && date -s @1704067200 >/dev/null && set_clock=1
wait $runner
status=$?
latt=$(grep -l '"workload":"latt"' /tmp/two/*.json)
echo "{\"event\": \"resumed\", \"exit\": $status, \"said\": $(text /tmp/two.out), \"state\": \"$(state)\"," \
	"\"set_clock\": $set_clock, \"elapsed_s\": $(sed 's/.*"elapsed_s":\([0-9.]*\).*/\1/' "$latt")}"

# Somebody's mistake, and somebody without rights.
$H run /test/shards/bad.json --out /tmp/bad 2>/tmp/bad.err
echo "{\"event\": \"bad\", \"exit\": $?, \"said\": $(text /tmp/bad.err), \"records\": $(ls /tmp/bad 2>/dev/null | wc -l)}"
echo 'nobody:x:65534:65534::/:/bin/sh' >>/etc/passwd
su nobody -c "$H load vtime" >/tmp/nobody 2>&1
echo "{\"event\": \"nobody\", \"exit\": $?, \"said\": $(text /tmp/nobody)}"
