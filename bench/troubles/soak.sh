# SPDX-License-Identifier: GPL-2.0-or-later
# soak.sh MINUTES SEED COMMAND...: the scheduler that the command loads, through troubles that are drawn, up to three at
# once, for ten seconds each. One line of JSON for each thing that is worth a number.
. /test/common.sh
. /troubles/troubles.sh
minutes=$1
seed=$2
shift 2
ROUND_S=10
# With real-time hogs in it a round of ten seconds takes a minute.
HUNG_S=180
sysctl -w kernel.threads-max=40000 >/dev/null

# Sets `drawn` to a number below $1.
draw() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	drawn=$((seed / 65536 % $1))
}

# Sets `mix` to different troubles. Who binds a task to a CPU cannot have it taken away meanwhile.
mixed() {
	mix=
	draw 3
	left=$((drawn + 1))
	while [ $left -gt 0 ]; do
		draw $#
		eval "one=\${$((drawn + 1))}"
		case "$mix $one" in
		*"$one "*) continue ;;
		*hotplug*masks* | *masks*hotplug* | *hotplug*realtime* | *realtime*hotplug*) continue ;;
		esac
		mix="$mix$one "
		left=$((left - 1))
	done
}

latency() {
	schedlab-host exec /workloads/cyclictest.toml --load 4 --param hogs=4 --param duration_s=10 --json >$T/latency 2>&1 || return
	echo "{\"event\": \"latency\", \"record\": $(cat $T/latency)}"
}

# What the kernel and the loader hold.
memory() {
	echo 3 >/proc/sys/vm/drop_caches
	available=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)
	resident=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' /proc/$loader/status)
	echo "{\"event\": \"memory\", \"available_kib\": $available, \"loader_kib\": ${resident:-0}}"
}

# Who is left of a round that does not end; those that block are in the console's log.
hung() {
	sleep $HUNG_S
	echo "round $rounds does not end: $mix" >&2
	ps -o pid,ppid,stat,args >&2
	echo w >/proc/sysrq-trigger
	touch $T/hung
	kill $running
}

"$@" >$T/loader 2>&1 &
loader=$!
if ! wait_state enabled 60 $loader; then
	echo "{\"event\": \"end\", \"survived\": false, \"loader\": $(text $T/loader)}"
	exit
fi
sleep 2
first=$(cat $EXT/enable_seq)
refused=$(rejected)
latency
memory
ends=$(ends_cs $((minutes * 60)))
began=$(now_cs)
rounds=0
survived=true
while [ "$(now_cs)" -lt "$ends" ]; do
	mixed kthreads masks realtime storm stress churn freeze herd bomb hotplug
	for trouble in $mix; do
		("$trouble" $ROUND_S || echo "$rounds: $said" >&2) &
		running="$running $!"
	done
	hung &
	guard=$!
	wait $running
	kill $guard 2>/dev/null
	running=
	rounds=$((rounds + 1))
	# Some programs load their scheduler again when a CPU goes.
	if [ -e $T/hung ] || ! wait_state enabled 30 $loader; then
		survived=false
		break
	fi
done
took_cs=$(($(now_cs) - began))
[ $survived = false ] || latency
[ $survived = false ] || memory
echo "{\"event\": \"end\", \"survived\": $survived, \"minutes\": $((took_cs / 6000)), \"rounds\": $rounds," \
	"\"last\": \"$mix\", \"loaded\": $(($(cat $EXT/enable_seq) - first + 1)), \"rejected\": $(($(rejected) - refused))," \
	"\"kernel\": \"$(dmesg | sed -n 's/.*sched_ext: BPF scheduler.*disabled (\(.*\))/\1/p' | tail -1)\"," \
	"\"stalls\": $(dmesg | grep -c 'stall'), \"loader\": $(text $T/loader)}"
kill -INT $loader 2>/dev/null
wait $loader
