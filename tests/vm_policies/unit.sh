# SPDX-License-Identifier: GPL-2.0-or-later
# The unit of scx_bfs under a systemd of its own, which is the first process of a namespace, as in a container. Its settings
# are those of the package; what it says goes to a file, as no journal is there.
. /test/common.sh

if [ "$1" != inside ]; then
	mkdir -p /usr/bin /etc/default /etc/systemd/system/scx_bfs.service.d /var
	ln -s /run /var/run
	ln -s /bin/schedlab-host /usr/bin/scx_bfs
	printf '[Service]\nStandardOutput=append:%s\nStandardError=append:%s\n' /run/scx_bfs.log /run/scx_bfs.log \
		>/etc/systemd/system/scx_bfs.service.d/log.conf
	# Another scheduler's service, under the name that scx's has.
	printf '[Service]\nType=exec\nExecStart=/bin/schedlab-host load vtime\n' >/etc/systemd/system/scx.service
	ln -s /lib/systemd/system/multi-user.target /etc/systemd/system/default.target
	container=test SYSTEMD_LOG_TARGET=null unshare -m -p -f --mount-proc /lib/systemd/systemd --show-status=no &
	outside=$!
	until [ -S /run/systemd/private ]; do
		sleep 0.2
	done
	# It answers only those whom it can see.
	exec nsenter -t $(cat /proc/$outside/task/$outside/children) -m -p sh "$0" inside
fi

LOG=/run/scx_bfs.log

# show PROPERTY: of the unit.
show() { systemctl show --property="$1" --value scx_bfs; }

# told EVENT [KEY VALUE...]: what the unit and the kernel are at. The values are JSON.
told() {
	event=$1
	shift
	more=
	while [ $# -gt 0 ]; do
		more="$more, \"$1\": $2"
		shift 2
	done
	echo "{\"event\": \"$event\", \"active\": \"$(show ActiveState)\", \"result\": \"$(show Result)\"," \
		"\"restarts\": $(show NRestarts), \"state\": \"$(state)\", \"ops\": \"$(ops)\", \"log\": $(text $LOG)$more}"
	: >$LOG
}

# until_true SECONDS COMMAND...: waits until it succeeds; fails when the time is over. A systemctl takes a second here.
until_true() {
	tries=$(($1 * 5))
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.2
	done
}
main_pid() { tail -n 1 /sys/fs/cgroup/system.slice/scx_bfs.service/cgroup.procs 2>/dev/null; }
other_process() { [ "$(main_pid)" != "$1" ] && [ "$(state)" = enabled ] && [ -n "$(main_pid)" ]; }
failed() { systemctl --quiet is-failed scx_bfs; }
answers() { systemctl is-system-running | grep -Eq "running|degraded"; }

# crash: the loader is killed; who it was stays in killed.
crash() {
	killed=$(main_pid)
	kill -KILL "$killed"
}

: >$LOG
until_true 60 answers

systemctl start scx_bfs
wait_state enabled 60
timeout -s INT 3 scx_bfs --monitor 1 >/tmp/monitor 2>&1
told started monitor "$(text /tmp/monitor)" socket "\"$(find /run/scx -type s)\""

# A loader that is killed, until systemd has seen it too often.
for times in 1 2 3; do
	crash
	until_true 30 other_process "$killed"
	told killed times $times
done
crash
until_true 30 failed
told "given up"

systemctl reset-failed scx_bfs
systemctl start scx_bfs
wait_state enabled 60
systemctl start scx
wait_state disabled 10
wait_state enabled 30
told "another starts"
systemctl start scx_bfs
wait_state enabled 60
told "taken back" other "\"$(systemctl show --property=ActiveState --value scx)\""
systemctl stop scx_bfs
told stopped left "\"$(find /run/scx -type s)\""

# What /etc/default/scx says.
printf 'SCX_SCHEDULER=scx_bfs\nSCX_FLAGS="--no-such-option"\n' >/etc/default/scx
systemctl start scx_bfs
until_true 30 failed
sleep 3
told "bad options"
printf 'SCX_SCHEDULER=scx_lavd\nSCX_FLAGS="--performance"\n' >/etc/default/scx
systemctl reset-failed scx_bfs
systemctl start scx_bfs
wait_state enabled 60
told "for another"
systemctl stop scx_bfs
printf 'SCX_SCHEDULER=scx_lavd\nSCX_SCHEDULER_OVERRIDE=scx_bfs\nSCX_FLAGS_OVERRIDE="--rules 424"\n' >/etc/default/scx
systemctl start scx_bfs
wait_state enabled 60
told overridden
systemctl stop scx_bfs
echo "{\"event\": \"end\", \"state\": \"$(state)\"}"
