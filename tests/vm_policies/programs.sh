# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that load their schedulers themselves. The shards lie in /test/shards.
. /test/common.sh
H=schedlab-host
alone=$(processes)

# ended NAME STATUS: what is left of a shard.
ended() {
	echo "{\"event\": \"$1\", \"exit\": $2, \"state\": \"$(state)\", \"left\": $(($(processes) - alone))," \
		"\"said\": $(text /tmp/$1.err)}"
}

# Their records are printed.
for name in good bad ejected; do
	$H run /test/shards/$name.json --out /tmp/$name --records-fd 1 2>/tmp/$name.err
	ended $name $?
done

# The program is killed in the middle of a cell.
$H run /test/shards/killed.json --out /tmp/killed --records-fd 1 2>/tmp/killed.err &
runner=$!
wait_state enabled 60
sleep 1
kill -KILL $(pidof scx_carried)
wait $runner
ended killed $?

# Ctrl-C in the middle of a cell.
$H run /test/shards/interrupted.json --out /tmp/interrupted 2>/tmp/interrupted.err &
runner=$!
wait_state enabled 60 $runner
sleep 1
kill -INT $runner
wait $runner
ended interrupted $?
