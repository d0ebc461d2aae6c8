#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Records the scheduling of a command and its descendants (tree), or of everything (all), in a tracing instance of its own,
# which is gone afterwards, however this ends. Prints the trace; the command's output goes to standard error.
# usage: tracing.sh BUFFER_KIB tree|all COMMAND [ARGUMENT...]; ends with the command's status, 125 where tracing failed.
fail() {
	echo "record: $1" >&2
	exit 125
}
buffer_kib=$1
what=$2
shift 2
tracing=/sys/kernel/tracing
[ -d "$tracing/instances" ] || tracing=/sys/kernel/debug/tracing
[ -w "$tracing/instances" ] || fail "no tracefs that can be written: run as root, on a kernel with tracing"
instance=$tracing/instances/schedlab-$$
probes=schedlab_$$
child=
remove() {
	# Ctrl-C comes from the terminal and once more from who started us.
	trap '' INT TERM HUP
	[ -z "$child" ] || kill -TERM "$child" 2>/dev/null
	echo 0 >"$instance/tracing_on"
	[ ! -d "$instance/events/$probes" ] || echo 0 >"$instance/events/$probes/enable"
	rmdir "$instance" || { sleep 1 && rmdir "$instance"; }
	echo "-:$probes/" 2>/dev/null >>"$tracing/dynamic_events"
}
# probe NAME EVENT FIELD...: a system call's arguments, which its own event shows as addresses.
probe() {
	name=$1
	event=$2
	shift 2
	echo "e:$probes/$name syscalls/$event $*" >>"$tracing/dynamic_events" && echo 1 >"$instance/events/$probes/$name/enable"
}
mkdir "$instance" || fail "$instance: cannot be made"
trap remove EXIT
trap 'exit 130' INT TERM HUP

cd "$instance" || fail "$instance: cannot be entered"
echo 0 >tracing_on
echo mono >trace_clock
echo "$buffer_kib" >buffer_size_kb || fail "no memory for $buffer_kib KiB a CPU"
for event in switch waking wakeup wakeup_new process_fork process_exec process_exit migrate_task; do
	echo 1 >"events/sched/sched_$event/enable" || fail "no event sched_$event"
done
# Whether what is forked is a thread.
[ ! -d events/task/task_newtask ] || echo 1 >events/task/task_newtask/enable
# Who is woken by a packet over loopback is woken by its sender; the event of the device is not in every kernel.
for event in net/net_dev_queue irq/softirq_entry irq/softirq_exit; do
	case $event in
	net/*) filter='name == "lo"' ;;
	*) filter='vec == 3' ;;
	esac
	[ ! -d "events/$event" ] || { echo "$filter" >"events/$event/filter" && echo 1 >"events/$event/enable"; }
done
# Moves between cgroups are counted: a cpuset's CPUs are no task's own.
[ ! -d events/cgroup/cgroup_attach_task ] || echo 1 >events/cgroup/cgroup_attach_task/enable
# Affinities, policies and nice values asked for, where the kernel can show them (CONFIG_FTRACE_SYSCALLS, CONFIG_PROBE_EVENTS).
mask=
bytes=0
while [ $((bytes * 8)) -lt "$(grep -c ^processor /proc/cpuinfo)" ]; do
	mask="$mask m$bytes=+u$bytes(\$user_mask_ptr):x64"
	bytes=$((bytes + 8))
done
attributes=no
if {
	probe schedlab_affinity sys_enter_sched_setaffinity 'pid=$pid:s32' 'len=$len:u32' $mask &&
		probe schedlab_policy sys_enter_sched_setscheduler 'pid=$pid:s32' 'policy=$policy:u32' 'priority=+u0($param):u32' &&
		probe schedlab_attr sys_enter_sched_setattr 'pid=$pid:s32' 'policy=+u4($uattr):u32' 'priority=+u20($uattr):u32' \
			'nice=+u16($uattr):s32' &&
		probe schedlab_nice sys_enter_setpriority 'which=$which:s32' 'who=$who:s32' 'nice=$niceval:s32' &&
		probe schedlab_asked sys_exit_sched_setaffinity 'ret=$ret:s64' &&
		probe schedlab_asked2 sys_exit_sched_setscheduler 'ret=$ret:s64' &&
		probe schedlab_asked3 sys_exit_sched_setattr 'ret=$ret:s64' &&
		probe schedlab_asked4 sys_exit_setpriority 'ret=$ret:s64'
} 2>/dev/null; then
	attributes=yes
fi
# The command's children are followed as they are forked.
echo 1 >options/event-fork
cd "$OLDPWD" || exit 125

# What runs beside a shell would have an empty standard input.
exec 3<&0
sh -c '
	cd "$0" && { [ "$1" = all ] || echo $$ >set_event_pid; } && shift && echo 1 >tracing_on && cd "$OLDPWD" && exec "$@"
' "$instance" "$what" "$@" >&2 <&3 3<&- &
child=$!
wait "$child"
status=$?
root=$child
child=
echo 0 >"$instance/tracing_on"
echo "# schedlab: root=$root"
echo "# schedlab: cpus=$(grep -c ^processor /proc/cpuinfo)"
echo "# schedlab: kernel=$(uname -r)"
echo "# schedlab: hz=$(sed -n 's/^CONFIG_HZ=//p' "/boot/config-$(uname -r)" 2>/dev/null)"
echo "# schedlab: allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
echo "# schedlab: policy=$(sed 's/.*) //' /proc/self/stat | cut -d ' ' -f 39)"
echo "# schedlab: attributes=$attributes"
echo "# schedlab: ops=$(cat /sys/kernel/sched_ext/root/ops 2>/dev/null)"
cat "$instance/trace"
exit $status
