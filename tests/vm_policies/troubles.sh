# SPDX-License-Identifier: GPL-2.0-or-later
# troubles.sh SECONDS: bfs through each of bench/troubles but the bomb by itself, then what keeps a scheduler from being
# loaded.
. /test/common.sh
. /troubles/troubles.sh
H=schedlab-host
sysctl -w kernel.threads-max=40000 >/dev/null

load() {
	$H load bfs >/tmp/log 2>&1 &
	loader=$!
	wait_state enabled 60 $loader
}

load
for trouble in kthreads masks realtime storm churn freeze herd many bomb hotplug; do
	said=
	before=$(rejected)
	$trouble "$1"
	echo "{\"event\": \"trouble\", \"trouble\": \"$trouble\", \"exit\": $?, \"said\": \"$said\", \"state\": \"$(state)\"," \
		"\"rejected\": $(($(rejected) - before)), \"stalls\": $(dmesg | grep -c stall), \"log\": $(text /tmp/log)}"
done

kill -KILL $loader
wait $loader
wait_state disabled 10
left=$(state)
load
echo "{\"event\": \"killed\", \"left\": \"$left\", \"again\": \"$(state)\"}"
kill -INT $loader
wait $loader

# cannot NAME: what the loader says of a kernel that lets nobody load.
cannot() {
	$H load bfs >/tmp/out 2>/tmp/errors
	echo "{\"event\": \"cannot\", \"why\": \"$1\", \"exit\": $?, \"state\": \"$(state)\", \"said\": $(text /tmp/errors)}"
}

mount -t tmpfs none /sys/kernel/btf
cannot btf
umount /sys/kernel/btf
mount -t tmpfs none /sys/kernel/sched_ext
cannot sched_ext
umount /sys/kernel/sched_ext
mount -t securityfs none /sys/kernel/security
echo integrity >/sys/kernel/security/lockdown
load
echo "{\"event\": \"integrity\", \"state\": \"$(state)\"}"
kill -INT $loader
wait $loader
# Nobody takes this back before the next boot.
echo confidentiality >/sys/kernel/security/lockdown
cannot lockdown
