# SPDX-License-Identifier: GPL-2.0-or-later
# Control groups: what a policy hears of them, who heeds their weights, and that nothing of them remains.
. /test/common.sh
H=schedlab-host
GROUPS_OF=/sys/fs/cgroup
TRACE=/sys/kernel/tracing/trace

# What is there beside the kernel's own files.
left() { ls -d $GROUPS_OF/*/ 2>/dev/null | wc -l; }
enabled() { cat $GROUPS_OF/cgroup.subtree_control; }
before=$(enabled)

# run NAME SCHEDULER WORKLOAD [OPTION...]: a run, as a record, and what is left of its groups.
run() {
	name=$1 scheduler=$2 workload=$3
	shift 3
	$H exec /test/$workload.toml --scheduler $scheduler --json "$@" >/tmp/record 2>/tmp/errors
	status=$?
	echo "{\"event\": \"ran\", \"run\": \"$name\", \"exit\": $status, \"left\": $(left), \"enabled\": \"$(enabled 2>&1)\", \"errors\": $(text /tmp/errors), \"record\": $(cat /tmp/record; [ -s /tmp/record ] || echo null)}"
}

echo "{\"event\": \"before\", \"left\": $(left), \"enabled\": \"$before\"}"

echo >$TRACE
run told /test/objects/tells.bpf.o told
sed -n 's/.*bpf_trace_printk: //p' $TRACE >/tmp/said
echo "{\"event\": \"told\", \"said\": $(text /tmp/said)}"

run shares /test/objects/shares.bpf.o shares --load 2
# Longer than the other: a group that is ahead from the first moments stays so by the same time.
run alike /test/objects/shares.bpf.o shares --load 2 --param less=300 --param seconds=9
run kernel default shares --load 2
cp /workloads/slices.toml /test/
run slices /test/objects/shares.bpf.o slices --load 4 --param duration_s=3
run shrink default shrink --load 2
run shrink_bfs bfs shrink --load 2
run limits bfs limits --load 2
run limits_kernel default limits --load 2
run limits_eevdf eevdf limits --load 2
run quota default quota --load 2
run quota_eevdf eevdf quota --load 2
# All on one CPU: what each of them gets is a matter of weights alone.
sed 's/^cgroup = /cpus = [0]\n&/' /test/shares.toml >/test/pinned.toml
run pinned default pinned --load 2 --param seconds=1
run pinned_eevdf eevdf pinned --load 2 --param seconds=1

# A run that is killed leaves nothing behind.
others=$(processes)
$H exec /test/shares.toml --load 2 --param seconds=1000 >/dev/null 2>&1 &
runner=$!
tries=300
until [ "$(cat $GROUPS_OF/schedlab-*/*/cgroup.procs 2>/dev/null | wc -l)" = 4 ]; do
	tries=$((tries - 1))
	[ $tries -gt 0 ] || break
	sleep 0.1
done
filled=$(cat $GROUPS_OF/schedlab-*/*/cgroup.procs | wc -l)
kill -KILL $runner
wait $runner
tries=300
until [ "$(left)" = 0 ] && [ "$(processes)" = "$others" ]; do
	tries=$((tries - 1))
	[ $tries -gt 0 ] || break
	sleep 0.1
done
echo "{\"event\": \"killed\", \"filled\": $filled, \"left\": $(left), \"enabled\": \"$(enabled)\", \"processes\": $(($(processes) - others))}"

# So does one whose task the policy does not let in, and one without the controllers.
sed 's/^name = "much"/name = "barred"/' /test/shares.toml >/test/barred.toml
run barred /test/objects/tells.bpf.o barred --load 2
umount $GROUPS_OF
run unmounted default shares --load 2
mount -t cgroup2 cgroup2 $GROUPS_OF
