# SPDX-License-Identifier: GPL-2.0-or-later
# serve.sh SHARD: the input of `schedlab-host serve` ends in the middle of a cell; then a shard where a scheduler of
# somebody else's is loaded.
. /test/common.sh
mkdir -p /run
mkfifo /tmp/in

# begin: a server with the shard, and its input open as 3.
begin() {
	schedlab-host serve --who tests </tmp/in >/tmp/out 2>/tmp/err &
	server=$!
	exec 3>/tmp/in
	cat "$1" >&3
	echo >&3
}

begin "$1"
wait_state enabled 60 $server
running=$(ops)
locked=$(cat /run/*.lock /run/lock/*.lock 2>/dev/null | cut -d, -f1)
sleep 2
exec 3>&-
wait $server
echo "{\"event\": \"gone\", \"exit\": $?, \"ran\": \"$running\", \"locked\": \"$locked\", \"state\": \"$(state)\"," \
	"\"left\": \"$(ls /run /run/lock 2>/dev/null | grep lock$ | grep -v ^lock$)\", \"said\": $(text /tmp/out)}"

schedlab-host load vtime >/tmp/vtime.log 2>&1 &
loader=$!
wait_state enabled 60 $loader
begin "$1"
wait $server
code=$?
exec 3>&-
echo "{\"event\": \"refused\", \"exit\": $code, \"ops\": \"$(ops)\", \"said\": $(text /tmp/err)}"
kill -INT $loader
wait $loader
