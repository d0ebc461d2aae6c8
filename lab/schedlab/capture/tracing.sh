#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Records the scheduling of a command and its descendants (tree), or of everything (all), in a tracing instance of its own,
# which is gone afterwards, however this ends. Prints the trace; the command's output goes to standard error. Where tracefs
# is not mounted, it is for the time.
# usage: tracing.sh BUFFER_KIB tree|all|cell COMMAND [ARGUMENT...]; ends with the command's status, 125 where tracing failed.
# cell: everything, but only what a picture of the schedule shows, and from the beginning until the buffer is full.
fail() {
	echo "record: $1" >&2
	exit 125
}
buffer_kib=$1
what=$2
shift 2
tracing=/sys/kernel/tracing
[ -d "$tracing/instances" ] || tracing=/sys/kernel/debug/tracing
mounted=
# Signals end the script by way of what is to be done on EXIT.
trap 'exit 130' INT TERM HUP
unmount() {
	[ -n "$mounted" ] || return 0
	umount "$mounted" || { sleep 1 && umount "$mounted"; } || umount -l "$mounted"
	rmdir "$mounted"
}
if [ ! -d "$tracing/instances" ]; then
	# In a folder of our own, so that nobody else begins to use what is unmounted afterwards.
	tracing=$(mktemp -d) || fail "no folder to mount tracefs in"
	if ! mount -t tracefs tracefs "$tracing" 2>/dev/null; then
		rmdir "$tracing"
		fail "no tracefs that can be written, nor can it be mounted: run as root, on a kernel with tracing"
	fi
	mounted=$tracing
	trap unmount EXIT
	echo "record: tracefs is not mounted here: it is mounted on $mounted until the recording is over" >&2
fi
[ -w "$tracing/instances" ] || fail "no tracefs that can be written: run as root, on a kernel with tracing"
instance=$tracing/instances/schedlab-$$
probes=schedlab_$$
child=
remove() {
	# Ctrl-C comes from the terminal and once more from who started us.
	trap '' INT TERM HUP
	cd /
	[ -z "$child" ] || kill -TERM "$child" 2>/dev/null
	if [ ! -d "$instance" ]; then
		unmount
		return
	fi
	echo 0 >"$instance/tracing_on"
	[ ! -d "$instance/events/$probes" ] || echo 0 >"$instance/events/$probes/enable"
	rmdir "$instance" || { sleep 1 && rmdir "$instance"; }
	[ ! -e "$tracing/dynamic_events" ] || echo "-:$probes/" 2>/dev/null >>"$tracing/dynamic_events"
	unmount
}
# probe NAME EVENT FIELD...: a system call's arguments, which its own event shows as addresses.
probe() {
	name=$1
	event=$2
	shift 2
	echo "e:$probes/$name syscalls/$event $*" >>"$tracing/dynamic_events" && echo 1 >"$instance/events/$probes/$name/enable"
}
# Before there is anything to remove, so that no signal comes between.
trap remove EXIT
mkdir "$instance" || fail "$instance: cannot be made"

cd "$instance" || fail "$instance: cannot be entered"
echo 0 >tracing_on
echo mono >trace_clock
echo "$buffer_kib" >buffer_size_kb || fail "no memory for $buffer_kib KiB a CPU"
for event in switch waking wakeup wakeup_new process_fork process_exec process_exit migrate_task; do
	echo 1 >"events/sched/sched_$event/enable" || fail "no event sched_$event"
done
# Whether what is forked is a thread.
[ ! -d events/task/task_newtask ] || echo 1 >events/task/task_newtask/enable
attributes=no
if [ "$what" = cell ]; then
	# What the tasks of a cell are called, and when those that are left are killed.
	echo 'sig == 9' >events/signal/signal_generate/filter
	for event in task/task_rename signal/signal_generate; do
		echo 1 >"events/$event/enable" || fail "no event $event"
	done
	echo 0 >options/overwrite || fail "the buffer cannot be kept from being overwritten"
else
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
fi
# The command's children are followed as they are forked.
echo 1 >options/event-fork
cd "$OLDPWD" || exit 125

# What runs beside a shell would have an empty standard input.
exec 3<&0
sh -c '
	cd "$0" && { [ "$1" != tree ] || echo $$ >set_event_pid; } && shift && echo 1 >tracing_on && cd "$OLDPWD" && exec "$@"
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
if [ "$what" = cell ]; then
	# A full buffer takes nothing more: what it has is whole until then. What is lost otherwise may be missing anywhere.
	full=
	for cpu in "$instance"/per_cpu/cpu*; do
		grep -q '^dropped events: 0$' "$cpu/stats" || full="$full ${cpu##*cpu}"
	done
	echo "# schedlab: full=${full# }"
	echo "# schedlab: dropped=$(cat "$instance"/per_cpu/cpu*/stats | awk '/^commit overrun:/ { lost += $NF } END { print lost + 0 }')"
fi
cat "$instance/trace"
exit $status
