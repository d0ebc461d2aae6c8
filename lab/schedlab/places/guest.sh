#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the guest: every cell in a process of its own, its record printed as soon as it is there, so that a guest
# that breaks later loses none.
# What is on a disk is read once, so that the first cell finds it where all others do.
if [ -e /schedlab/command ] && grep -q ' / ext4 ' /proc/mounts; then
	find /bin /lib* /sbin /usr /lab -xdev -type f -exec cat {} + >/dev/null
fi
# The kernel has work left over from booting, and would do it beside the first cells.
sleep 5
status=0
mkdir -p /tmp/records
for shard in /lab/shards/*.json; do
	/lab/schedlab-host run "$shard" --out /tmp/records >/dev/null
	code=$?
	for record in /tmp/records/*.json; do
		[ -e "$record" ] && cat "$record" && rm "$record"
	done
	case $code in
	0 | 1) [ $code -gt $status ] && status=$code ;;
	*) exit $code ;;
	esac
done
exit $status
