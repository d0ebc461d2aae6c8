# SPDX-License-Identifier: GPL-2.0-or-later
# What machines do to a scheduler, each as a function of so many seconds. One fails where its own promise is not kept,
# and then `said` has why. They run beside each other. A shell takes this in after /test/common.sh, as root in a guest.
CGROUPS=/sys/fs/cgroup
T=/tmp/troubles
mkdir -p $T

# In hundredths of a second, from the start.
now_cs() {
	read -r up _ </proc/uptime
	echo "${up%.*}${up#*.}"
}

ends_cs() { echo $(($(now_cs) + $1 * 100)); }

hogs=
hog() {
	hogs=
	for _ in $(seq "$1"); do
		sh -c 'while :; do :; done' &
		hogs="$hogs $!"
	done
}

# group PATH CONTROLLER...: a group that has these controllers.
group() {
	mkdir "$CGROUPS/$1" || return
	above=$(dirname "$CGROUPS/$1")
	shift
	for controller in "$@"; do
		echo "+$controller" >"$above/cgroup.subtree_control"
	done
}

# Removes a group, and those in it, once their last task is gone. One kill is not always enough for tasks that fork.
no_group() {
	tries=300
	while [ -d "$CGROUPS/$1" ]; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { said="$1: tasks are left in it"; return 1; }
		echo 1 >"$CGROUPS/$1/cgroup.kill"
		sleep 0.1
		rmdir "$CGROUPS/$1"/*/ "$CGROUPS/$1" 2>/dev/null
	done
	return 0
}

# works NAME SECONDS: a workload of this folder, where something has to be done in every one of so many seconds.
works() {
	if ! schedlab-host exec "/troubles/$1.toml" --param "seconds=$2" --json >"$T/$1" 2>&1; then
		said="$1: $(tail -1 "$T/$1")"
		return 1
	fi
	done_per_s=$(sed 's/.*"throughput_per_s":\([0-9]*\).*/\1/' "$T/$1")
	[ "$done_per_s" -gt 0 ] && return
	said="$1: nothing was done"
	return 1
}

# Masks of tasks that run, wait and sleep change all the time.
masks() { works masks "$1"; }

# A real-time task that never sleeps, on each CPU.
realtime() { works realtime "$1"; }

# 10,000 threads at once, which are then let go. It takes the time that this takes.
many() {
	stress-ng --pthread 1 --pthread-max 10000 --timeout 600s >$T/many 2>&1 &
	threads=$!
	ends=$(ends_cs 150)
	tasks=0
	while [ "$tasks" -lt 10000 ] && [ "$(now_cs)" -lt "$ends" ]; do
		sleep 0.2
		tasks=$(cut -d' ' -f4 /proc/loadavg)
		tasks=${tasks#*/}
	done
	kill $threads
	wait $threads
	[ "$tasks" -ge 10000 ] || { said="many: $tasks tasks"; return 1; }
}

# A herd that wakes at once, again and again.
herd() { works herd "$1"; }

# Work that the kernel has done on every CPU by a thread bound to it, beside hogs. It is awaited.
kthreads() {
	hog 8
	ends=$(ends_cs "$1")
	worst_cs=0
	while [ "$(now_cs)" -lt "$ends" ]; do
		began=$(now_cs)
		cat /proc/sys/vm/stat_refresh
		took=$(($(now_cs) - began))
		[ $took -le $worst_cs ] || worst_cs=$took
	done
	kill $hogs
	# Eight hogs on two CPUs make one of four wait for three slices.
	[ $worst_cs -lt 300 ] || { said="kthreads: waited $worst_cs hundredths of a second"; return 1; }
}

# Processes that begin, become others and end.
storm() {
	stress-ng --fork 4 --vfork 2 --clone 1 --clone-max 64 --exec 2 --exec-max 4 --zombie 1 --zombie-max 64 \
		--timeout "${1}s" >$T/storm 2>&1 || { said="storm: $(tail -1 $T/storm)"; return 1; }
}

# Yields, pipes and affinities, as hard as stress-ng can.
stress() {
	stress-ng --aggressive -c 2 -f 2 --affinity 1 --affinity-delay 1 --affinity-pin --yield 1 --pipe 1 \
		--timeout "${1}s" >$T/stress 2>&1 || { said="stress: $(tail -1 $T/stress)"; return 1; }
}

# Groups that come and go with tasks in them, with weights, limits and CPUs that change.
churn() {
	group churn cpu cpuset || return
	hog 4
	movers=$hogs
	ends=$(ends_cs "$1")
	n=0
	while [ "$(now_cs)" -lt "$ends" ]; do
		n=$((n + 1))
		one=$CGROUPS/churn/$n
		group churn/$n cpu cpuset
		for pid in $movers; do
			echo "$pid" >$one/cgroup.procs
		done
		echo $((n * 37 % 9999 + 1)) >$one/cpu.weight
		echo "$((n * 13 % 9 + 1))000 10000" >$one/cpu.max
		# CPU 1 may be away just now.
		echo 0-1 >$one/cpuset.cpus
		echo 1 >$one/cpuset.cpus
		echo 0 >$one/cpuset.cpus
		[ ! -d $CGROUPS/churn/$((n - 1)) ] || rmdir $CGROUPS/churn/$((n - 1))
	done
	kill $movers
	no_group churn || return
	[ $n -ge "$1" ] || { said="churn: $n groups in $1 s"; return 1; }
}

# Groups stop as a whole and go on, as a machine's tasks do when it is suspended.
freeze() {
	group freeze || return
	one=$CGROUPS/freeze
	hog 8
	frozen=$hogs
	for pid in $frozen; do
		echo "$pid" >$one/cgroup.procs
	done
	ends=$(ends_cs "$1")
	n=0
	while [ "$(now_cs)" -lt "$ends" ]; do
		echo 1 >$one/cgroup.freeze
		until grep -q "frozen 1" $one/cgroup.events; do :; done
		echo 0 >$one/cgroup.freeze
		n=$((n + 1))
	done
	kill $frozen
	no_group freeze || return
	[ $n -ge "$1" ] || { said="freeze: $n times in $1 s"; return 1; }
}

# A fork bomb, in a group of 300 tasks at most.
bomb() {
	group bomb pids || return
	one=$CGROUPS/bomb
	echo 300 >$one/pids.max
	sh -c "echo \$\$ >$one/cgroup.procs; exec sh /troubles/bomb.sh" >/dev/null 2>&1 &
	sleep "$1"
	refused=$(sed -n 's/^max //p' $one/pids.events)
	no_group bomb || return
	[ "$refused" -gt 0 ] || { said="bomb: it never had its 300 tasks"; return 1; }
}

# CPU 1 goes and comes back.
hotplug() {
	ends=$(ends_cs "$1")
	n=0
	while [ "$(now_cs)" -lt "$ends" ]; do
		echo 0 >/sys/devices/system/cpu/cpu1/online && n=$((n + 1))
		sleep 0.5
		echo 1 >/sys/devices/system/cpu/cpu1/online
		sleep 0.5
	done
	[ $n -gt 0 ] || { said="hotplug: CPU 1 never went"; return 1; }
}
