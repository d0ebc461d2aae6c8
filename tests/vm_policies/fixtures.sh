# SPDX-License-Identifier: GPL-2.0-or-later
# Each object named, under ordinary and real-time work, until it is taken away.
. /test/common.sh
H=schedlab-host

for name in "$@"; do
	SCX_TIMEOUT_MS=20000 $H load /test/objects/$name.bpf.o --stats 1 >/tmp/said 2>&1 &
	loader=$!
	wait_state enabled 60 $loader
	$H exec /test/higher.toml --json >/tmp/exec 2>&1
	ran=$?
	kill -INT $loader
	wait $loader
	echo "{\"event\": \"fixture\", \"fixture\": \"$name\", \"exit\": $?, \"ran\": $ran, \"state\": \"$(state)\", \"said\": $(text /tmp/said)}"
done
