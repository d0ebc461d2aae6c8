# SPDX-License-Identifier: GPL-2.0-or-later
# What a task of a workload maps that runs under each scheduler named: of the policy's memory nothing.
. /test/common.sh
for name in "$@"; do
	schedlab-host exec /test/sleeps.toml --load 1 --scheduler "$name" >/dev/null &
	runner=$!
	task= tries=0
	while [ -z "$task" ] && [ $tries -lt 300 ]; do
		sleep 0.1
		tries=$((tries + 1))
		task=$(grep -lx sleeper /proc/[0-9]*/comm 2>/dev/null | head -n 1)
	done
	there=$(grep -c bpf-map /proc/$runner/maps)
	mapped=$(grep -c bpf-map "${task%/comm}/maps")
	wait $runner
	echo "{\"event\": \"children\", \"scheduler\": \"$name\", \"exit\": $?, \"runner\": $there, \"task\": $mapped}"
done
