#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs cells traced, one after the other, and prints of each `# schedlab: cell=NUMBER` and its trace; where it has no
# record or another status than ok, `# schedlab: fault=REASON`. A shard of the name warm-up is run before, untraced.
# usage: pictured.sh BUFFER_KIB RUNNER TRACING.sh SHARDS RECORDS
buffer_kib=$1
runner=$2
tracing=$3
shards=$4
records=$5
child=
# What traces has something to clean up.
trap '[ -z "$child" ] || { kill -TERM "$child" 2>/dev/null && wait "$child"; }; exit 130' INT TERM HUP
if [ -e "$shards/warm-up.json" ]; then
	"$runner" run "$shards/warm-up.json" --out "$records" >/dev/null
	rm -f "$records"/*.json
fi
for shard in "$shards"/[0-9]*.json; do
	number=${shard##*/}
	echo "# schedlab: cell=${number%.json}"
	sh "$tracing" "$buffer_kib" cell "$runner" run "$shard" --out "$records" 2>"$records/said" &
	child=$!
	wait "$child"
	status=$?
	child=
	# Said once: what the tracing changes on this machine, and takes back.
	[ "$shard" != "$shards/00000.json" ] || grep ': tracefs is not mounted here' "$records/said" >&2
	set -- "$records"/*.json
	if [ -e "$1" ]; then
		echo "# schedlab: record=$(cat "$1")"
		rm "$1"
	elif [ $status != 0 ]; then
		echo "# schedlab: fault=$(tail -n 1 "$records/said")"
	fi
done
