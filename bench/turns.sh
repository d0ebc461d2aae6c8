# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in a guest: a shell bound to each CPU counts for three seconds, and says how far it came.
for cpu in $(seq 0 $(($(nproc) - 1))); do
	taskset -c "$cpu" sh -c "n=0; trap 'echo $cpu: \$n; exit' TERM; while :; do n=\$((n + 1)); done" &
	loops="$loops $!"
done
sleep 3
kill $loops
wait
