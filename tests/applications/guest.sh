# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in a guest: the applications of /test/shard.json, their records on standard output.
schedlab-host run /test/shard.json --out /tmp/records --records-fd 1
echo "{\"event\": \"end\", \"exit\": $?, \"state\": \"$(cat /sys/kernel/sched_ext/state)\", \"left\": \"$(ls /dev/shm)\"}"
