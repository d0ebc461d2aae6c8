# SPDX-License-Identifier: GPL-2.0-or-later
# Every workload under every scheduler: /test/shards/all.json, the records on standard output.
. /test/common.sh
schedlab-host run /test/shards/all.json --out /tmp/records --records-fd 1
echo "{\"event\": \"end\", \"exit\": $?, \"state\": \"$(state)\", \"files\": $(ls /tmp/records | wc -l)}"
