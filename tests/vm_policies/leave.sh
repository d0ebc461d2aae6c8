# SPDX-License-Identifier: GPL-2.0-or-later
# leave.sh SCHEDULER...: CPU 1 goes offline while tasks wait for it that may run nowhere else. One line of JSON for each
# scheduler: whether it went, and how often the kernel took tasks for CPU 1 from queues of the policy's: once the CPU was
# inactive, and once the policy had been told.
. /test/common.sh
TRACE=/sys/kernel/tracing
mount -t tracefs tracefs $TRACE 2>/dev/null

# probe NAME FUNCTION
probe() {
	echo "p:$1 $2" >>$TRACE/kprobe_events
	echo 1 >$TRACE/events/kprobes/$1/enable
}
probe take scx_bpf_dsq_move_to_local___v2
probe inactive sched_cpu_deactivate
probe told scx_rq_deactivate

for name; do
	log=/tmp/$name.log
	schedlab-host load "$name" >"$log" 2>&1 &
	loader=$!
	wait_state enabled 60 $loader
	hogs=
	for hog in 1 2 3; do
		taskset 2 sh -c 'while :; do :; done' &
		hogs="$hogs $!"
	done
	sleep 1
	echo >$TRACE/trace
	echo 0 >/sys/devices/system/cpu/cpu1/online &
	offline=$!
	# 12 s: for more than 30 the kernel would not let them wait.
	tries=60
	while kill -0 $offline 2>/dev/null && [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		sleep 0.2
	done
	online=$(cat /sys/devices/system/cpu/cpu1/online)
	elsewhere=0
	for hog in $hogs; do
		! grep -q "Cpus_allowed_list:.*0" /proc/$hog/status || elsewhere=$((elsewhere + 1))
	done
	taken=$(grep "\[001\]" $TRACE/trace | awk '
		/ inactive: / { inactive = 1 }
		/ told: / { inactive = 0; told = 1 }
		/ take: / { if (told) after++; else if (inactive) before++ }
		END { print "\"inactive\": " before + 0 ", \"told\": " after + 0 }')
	echo "{\"event\": \"left\", \"scheduler\": \"$name\", \"online\": $online, \"elsewhere\": $elsewhere, \"taken\": {$taken}," \
		"\"state\": \"$(state)\", \"log\": $(text $log)}"
	kill $hogs
	wait $offline
	echo 1 >/sys/devices/system/cpu/cpu1/online
	kill -INT $loader
	wait $loader
	wait_state disabled 10
done
