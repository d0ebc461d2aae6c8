# SPDX-License-Identifier: GPL-2.0-or-later
# A scheduler that freezes the machine is taken away at once, with a guard.
. /test/common.sh
schedlab-host run /test/shards/freezes.json --out /tmp/records --records-fd 1 2>/tmp/errors
echo "{\"event\": \"ran\", \"exit\": $?, \"state\": \"$(state)\", \"errors\": $(text /tmp/errors)}"
# When the kernel enabled it, and when it was gone.
dmesg | sed -n 's/^\[ *\([0-9.]*\)\] sched_ext: BPF scheduler "freezes_[^"]*" \([a-z]*\)\(.*\)/{"event": "\2", "at_s": \1, "why": "\3"}/p'
