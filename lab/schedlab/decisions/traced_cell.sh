#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in a guest, which is gone afterwards: a cell as it is, which also warms up, then RUNS times traced. Prints of each
# traced run `# schedlab:` notes and the trace.
# usage: traced_cell.sh BUFFER_KIB RUNS keys|plain COMMAND [ARGUMENT...]: the command prints a record.
buffer_kib=$1
runs=$2
keys=$3
shift 3
tracing=/sys/kernel/tracing
fail() {
	echo "tracing: $1" >&2
	exit 125
}
# The kernel has work left over from booting.
sleep 5
"$@" >/tmp/untraced || { status=$? && cat /tmp/untraced && exit $status; }

cd $tracing || fail "no tracefs"
echo 0 >tracing_on
echo mono >trace_clock
echo "$buffer_kib" >buffer_size_kb || fail "no memory for $buffer_kib KiB a CPU"
echo 'sig == 9' >events/signal/signal_generate/filter
if [ "$keys" = keys ]; then
	# What a policy inserts, and what the fair class enqueues, with what they are sorted by.
	echo 'f:schedlab/schedlab_insert dispatch_enqueue pid=p->pid:s32 dsq=dsq->id:x64 slice=p->scx.slice:u64 vtime=p->scx.dsq_vtime:u64' \
		>>dynamic_events || fail "no probe of dispatch_enqueue"
	echo 'f:schedlab/schedlab_fair enqueue_task_fair%return pid=p->pid:s32 slice=p->se.slice:u64 deadline=p->se.deadline:u64' \
		>>dynamic_events || fail "no probe of enqueue_task_fair"
	echo 1 >events/schedlab/enable
fi
for event in sched/sched_switch sched/sched_waking sched/sched_process_fork task/task_rename signal/signal_generate; do
	echo 1 >events/$event/enable || fail "no event $event"
done
run=0
while [ $run -lt "$runs" ]; do
	run=$((run + 1))
	echo >trace
	echo 1 >tracing_on
	"$@" >/tmp/record
	status=$?
	echo 0 >tracing_on
	[ $status = 0 ] || { cat /tmp/record && exit $status; }
	echo "# schedlab: run=$run"
	echo "# schedlab: kernel=$(uname -r)"
	echo "# schedlab: untraced=$(cat /tmp/untraced)"
	echo "# schedlab: record=$(cat /tmp/record)"
	# What a full buffer overwrote is in the trace's head; these are not.
	echo "# schedlab: dropped=$(cat per_cpu/cpu*/stats | awk '/^(commit overrun|dropped events):/ { lost += $NF } END { print lost + 0 }')"
	cat trace
done
