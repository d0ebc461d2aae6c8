# SPDX-License-Identifier: GPL-2.0-or-later
# Snapshots of a program's scheduler, printed as they come.
. /test/common.sh
alone=$(processes)

# take NAME OPTION...
take() {
	name=$1
	shift
	schedlab-host snapshot -- /programs/scx_carried "$@" 2>/tmp/$name.err
	echo "{\"event\": \"$name\", \"exit\": $?, \"state\": \"$(state)\", \"left\": $(($(processes) - alone))," \
		"\"said\": $(text /tmp/$name.err)}"
}

take plain --slice-us 2000
take goes_on --go-on
take fails --fail
schedlab-host load vtime 2>/tmp/vtime &
loader=$!
wait_state enabled 60 $loader
take beside
kill -INT $loader
wait $loader
